"""Launches on other implementations of OpenCL, with the arguments that eumu gets.

One process asks one of them: the loader looks for drivers once.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eumu
import opencl_process
from eumu.runtime.parameters import Passing, element_type
from public_kernels.arguments import LOCAL_BYTES, contents
from public_kernels.sources import Text

_INTEL = re.compile(r"-cl-intel\S*")


class Other:
    """A source built for an implementation."""

    def __init__(self, context: Any, program: Any) -> None:
        self._context, self._program = context, program

    @staticmethod
    @cache
    def of(name: str, source: Text, options: str) -> Other:
        """Build it; RuntimeError says why not."""
        import pyopencl as cl

        context = _context(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = _INTEL.sub("", options).replace('"', "").split()
                return Other(context, cl.Program(context, source.text).build(options=wanted))
            except cl.Error as error:
                raise RuntimeError(str(error).splitlines()[0]) from None

    def run(
        self, kernel: eumu.Kernel, global_size: tuple[int, ...], local_size: tuple[int, ...]
    ) -> list[NDArray[np.uint8]]:
        """What the buffers hold in the end."""
        import pyopencl as cl

        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffers, arguments = [], []
        for parameter, content in zip(kernel.args, contents(kernel), strict=True):
            if parameter.passing is Passing.BUFFER:
                assert content is not None
                buffers.append((cl.Buffer(self._context, flags, hostbuf=content), content.nbytes))
                arguments.append(buffers[-1][0])
            elif parameter.passing is Passing.LOCAL:
                arguments.append(cl.LocalMemory(LOCAL_BYTES))
            elif content is None:
                raise RuntimeError(f"a parameter of type {parameter.type_name}")
            else:
                arguments.append(_value(parameter, content))
        try:
            queue = cl.CommandQueue(self._context)
            found = cl.Kernel(self._program, kernel.name)
            found.set_args(*arguments)
            cl.enqueue_nd_range_kernel(queue, found, global_size, local_size)
            queue.finish()
            return [_read(cl, queue, buffer, size) for buffer, size in buffers]
        except cl.Error as error:
            raise RuntimeError(str(error).splitlines()[0]) from None


def _value(parameter: eumu.Parameter, content: NDArray[Any]) -> Any:
    known = element_type(parameter.type_name)
    if known is None:
        return content
    if known[1] == 1:
        return content[0]
    return np.append(content, content[:1]) if known[1] == 3 else content


def _read(cl: Any, queue: Any, buffer: Any, size: int) -> NDArray[np.uint8]:
    made = np.empty(size, np.uint8)
    cl.enqueue_copy(queue, made, buffer)
    return made


@cache
def _context(name: str) -> Any:
    import pyopencl as cl

    with tempfile.TemporaryDirectory() as place:
        if name == "intel":  # the loader does not know it, and looks once
            (Path(place) / "intel.icd").write_text(f"{opencl_process.INTEL}\n")
            os.environ["OCL_ICD_VENDORS"] = place
        platforms = cl.get_platforms()
    for platform in platforms:
        if opencl_process.NAMES[name] in platform.name:
            return cl.Context(platform.get_devices()[:1])
    raise RuntimeError(f"{name} is not installed")
