"""Another implementation of OpenCL samples images, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import opencl_process

HERE = Path(__file__).resolve().parent


def ask(name: str, cases: list[dict[str, Any]]) -> list[Any] | str:
    """What an implementation makes of the cases; a text if it is not there."""
    return opencl_process.ask(Path(__file__).resolve(), name, cases)


def _serve(name: str) -> None:
    import numpy as np

    context = opencl_process.context(name)
    import pyopencl as cl

    queue = cl.CommandQueue(context)
    source = (HERE / "sampled.cl").read_text()
    program = cl.Program(context, source).build(options=["-cl-std=CL2.0"])
    kernels = {k.function_name: k for k in program.all_kernels()}
    out = []
    for case in opencl_process.cases():
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        format = cl.ImageFormat(
            getattr(cl.channel_order, case["order"]), getattr(cl.channel_type, case["type"])
        )
        data, shape = case["data"], tuple(reversed(case["shape"]))
        try:
            image = cl.create_image(
                context, flags, format, shape=shape, hostbuf=data, is_array=case["layers"]
            )
        except cl.Error as error:
            out.append(str(error))
            continue
        sampler = cl.Sampler(
            context,
            case["normalized"],
            getattr(cl.addressing_mode, case["address"]),
            getattr(cl.filter_mode, case["filter"]),
        )
        result = np.zeros((len(case["points"]), 4), case["result"])
        buffer = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, result.nbytes)
        points = cl.Buffer(context, flags, hostbuf=case["points"])
        kernel = kernels[case["kernel"]]
        kernel.set_args(image, sampler, points, buffer)
        cl.enqueue_nd_range_kernel(queue, kernel, (len(result),), None)
        cl.enqueue_copy(queue, result, buffer)
        queue.finish()
        out.append(result)
    opencl_process.answer(out)


if __name__ == "__main__":
    _serve(sys.argv[1])
