"""Another implementation of OpenCL samples images: a process of its own, fed with pickles.

The loader reads its drivers once, when PyOpenCL is imported, and Intel's runtime for CPUs is not
registered with the system; so each implementation gets a process with its own environment.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INTEL = Path(sys.prefix) / "lib" / "libintelocl.so"
NAMES = {"pocl": "Portable", "intel": "Intel"}


def ask(name: str, cases: list[dict[str, Any]]) -> list[Any] | str:
    """What an implementation makes of the cases; a text if it is not there."""
    with tempfile.TemporaryDirectory() as place:
        environment = dict(os.environ)
        if name == "intel":
            if not INTEL.exists():
                return "Intel's OpenCL runtime for CPUs is not installed (pip: intel-opencl-rt)"
            (Path(place) / "intel.icd").write_text(f"{INTEL}\n")
            environment["OCL_ICD_VENDORS"] = place
        done = subprocess.run(
            [sys.executable, str(HERE / "opencl_oracle.py"), name],
            input=pickle.dumps(cases),
            capture_output=True,
            env=environment,
            timeout=300,
            check=False,
        )
    if done.returncode == 77:
        return done.stderr.decode()
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-2000:])
    found: list[Any] = pickle.loads(done.stdout)
    return found


def _serve(name: str) -> None:
    import numpy as np

    try:
        import pyopencl as cl
    except ImportError:
        _absent("PyOpenCL is not installed (pip install pyopencl)")
    try:
        platforms = [p for p in cl.get_platforms() if NAMES[name] in p.name]
    except cl.Error:
        platforms = []
    if not platforms:
        _absent(f"no OpenCL implementation named {NAMES[name]} is installed")
    context = cl.Context(platforms[0].get_devices()[:1])
    queue = cl.CommandQueue(context)
    source = (HERE / "sampled.cl").read_text()
    program = cl.Program(context, source).build(options=["-cl-std=CL2.0"])
    kernels = {k.function_name: k for k in program.all_kernels()}
    out = []
    for case in pickle.loads(sys.stdin.buffer.read()):
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
    sys.stdout.buffer.write(pickle.dumps(out))


def _absent(reason: str) -> None:
    print(reason, file=sys.stderr)
    sys.exit(77)


if __name__ == "__main__":
    _serve(sys.argv[1])
