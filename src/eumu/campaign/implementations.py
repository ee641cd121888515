"""Random programs on other implementations of OpenCL, as far as the loader finds any.

``python -m eumu.campaign.implementations`` reads programs and prints what they leave: an
implementation that crashes or does not end takes no more than this process with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from eumu import processes
from eumu.fuzz.opencl.kernels import RandomKernel, source

OPTIONS: Final = "-w"
# What a device must have for a feature of a kernel.
_NEEDS: Final = {"half": "cl_khr_fp16", "double": "cl_khr_fp64", "sub_group": "cl_khr_subgroups"}
_OURS: Final = "eumu"
_N: Final = 2  # the argument n of random kernels
NAMES: Final = {"Portable Computing Language": "PoCL", "Intel(R) OpenCL": "Intel's CPU runtime"}


def ask(kernels: Sequence[RandomKernel], limit: float) -> dict[str, dict[str, str | None]]:
    """By implementation and kernel: what it leaves in hexadecimal, None where it cannot run.

    Nothing at all where there is no implementation, or no PyOpenCL to ask it.
    """
    answers: dict[str, dict[str, str | None]] = {}
    text = json.dumps([_described(k) for k in kernels])
    command = (sys.executable, "-m", "eumu.campaign.implementations")
    try:
        done = processes.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            timeout=limit,
            processors=os.cpu_count() or 1,
        )
    except subprocess.TimeoutExpired as late:
        lines = (late.stdout or b"").decode().splitlines()
    else:
        lines = done.stdout.splitlines()
    for line in lines:  # those before a crash count
        if line.startswith("{"):
            row = json.loads(line)
            answers.setdefault(row["implementation"], {})[row["kernel"]] = row["left"]
    return answers


def left(arrays: Sequence[bytes]) -> str:
    """What a launch leaves, in one text."""
    return b"".join(arrays).hex()


def _described(kernel: RandomKernel) -> dict[str, Any]:
    arrays = {name: _encoded(array) for name, array in kernel.arrays().items()}
    images = {name: _encoded(texels) for name, texels in kernel.images().items()}
    return {
        "name": kernel.name,
        "text": source([kernel]),
        "features": sorted(kernel.features),
        "sizes": [kernel.global_size, kernel.items],
        "arrays": arrays,
        "images": images,
    }


def _encoded(array: np.ndarray[Any, Any]) -> tuple[str, str, tuple[int, ...]]:
    return b64encode(array.tobytes()).decode(), array.dtype.str, array.shape


def _decoded(row: tuple[str, str, list[int]]) -> np.ndarray[Any, Any]:
    return np.frombuffer(b64decode(row[0]), row[1]).reshape(row[2]).copy()


# ---- in the process


def main() -> int:
    try:
        import pyopencl as cl
    except ImportError:
        return 0
    wanted = json.loads(sys.stdin.read())
    for name, device in _devices(cl):
        context = cl.Context([device])
        queue = cl.CommandQueue(context)
        for row in wanted:
            answer = _run(cl, context, queue, row) if _can(device, row) else None
            reply = {"implementation": name, "kernel": row["name"], "left": answer}
            print(json.dumps(reply), flush=True)
    return 0


def _devices(cl: Any) -> Iterator[tuple[str, Any]]:
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        return
    for platform in platforms:
        name = next((short for long, short in NAMES.items() if long in platform.name), None)
        if name is not None and _OURS not in platform.name.lower():
            yield from ((name, device) for device in platform.get_devices()[:1])


def _can(device: Any, row: dict[str, Any]) -> bool:
    has_image = device.image_support or "image" not in row["features"]
    needs = [_NEEDS[f] for f in row["features"] if f in _NEEDS]
    return bool(has_image and all(need in device.extensions.split() for need in needs))


def _run(cl: Any, context: Any, queue: Any, row: dict[str, Any]) -> str | None:
    flags = cl.mem_flags
    copy = flags.READ_WRITE | flags.COPY_HOST_PTR
    try:
        program = cl.Program(context, row["text"]).build(OPTIONS)
    except cl.Error:
        return None
    kernel = cl.Kernel(program, row["name"])
    arrays = {name: _decoded(value) for name, value in row["arrays"].items()}
    buffers = {name: cl.Buffer(context, copy, hostbuf=array) for name, array in arrays.items()}
    texels = {name: _decoded(value) for name, value in row["images"].items()}
    format = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    images = {
        name: cl.Image(context, copy, format, shape=array.shape[1::-1], hostbuf=array)
        for name, array in texels.items()
    }
    kernel.set_args(*buffers.values(), np.uint32(_N), *images.values())
    whole, local = row["sizes"]
    cl.enqueue_nd_range_kernel(queue, kernel, (whole,), (local,))
    for name in ("out", "shared"):
        cl.enqueue_copy(queue, arrays[name], buffers[name])
    written = [arrays["out"].tobytes(), arrays["shared"].tobytes()]
    if "target" in images:
        into = texels["target"]
        cl.enqueue_copy(queue, into, images["target"], origin=(0, 0), region=into.shape[1::-1])
        written.append(into.tobytes())
    queue.finish()
    return left(written)


if __name__ == "__main__":
    sys.exit(main())
