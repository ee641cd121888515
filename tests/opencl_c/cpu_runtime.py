"""Runs launches on another implementation of OpenCL: a process of its own, fed with pickles."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import opencl_process


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel of a source; `arrays` are its buffers, and the last one is the result."""

    source: str
    options: str
    kernel: str
    arrays: tuple[NDArray[Any], ...]
    global_size: int
    local_size: int


def results(name: str, launches: Sequence[Launch]) -> list[NDArray[Any] | str] | str:
    """Each launch's last buffer, or why it cannot run; a text if `name` is not there."""
    plain = [tuple(getattr(x, f) for f in Launch.__slots__) for x in launches]
    return opencl_process.ask(Path(__file__).resolve(), name, plain)


def _serve(name: str) -> None:
    context = opencl_process.context(name)
    import pyopencl as cl

    built: dict[tuple[str, str], Any] = {}
    out: list[NDArray[Any] | str] = []
    for plain in opencl_process.cases():
        launch = Launch(*plain)
        key = launch.source, launch.options
        try:
            if key not in built:
                built[key] = _build(context, launch)
            out.append(_run(context, built[key], launch))
        except cl.Error as error:
            out.append(str(error))
    opencl_process.answer(out)


def _build(context: Any, launch: Launch) -> Any:
    import pyopencl as cl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cl.Program(context, launch.source).build(options=launch.options.split())


def _run(context: Any, program: Any, launch: Launch) -> NDArray[Any]:
    import pyopencl as cl

    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=a) for a in launch.arrays]
    kernel = cl.Kernel(program, launch.kernel)
    kernel.set_args(*buffers)
    queue = cl.CommandQueue(context)
    cl.enqueue_nd_range_kernel(queue, kernel, (launch.global_size,), (launch.local_size,))
    made = np.empty_like(launch.arrays[-1])
    cl.enqueue_copy(queue, made, buffers[-1])
    queue.finish()
    return made


if __name__ == "__main__":
    _serve(sys.argv[1])
