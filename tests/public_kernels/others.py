"""Launches on other implementations of OpenCL, with the arguments that eumu gets.

One process asks one of them: the loader looks for drivers once.  One of them, Oclgrind, runs the
work items of the source one by one and says what they do that is undefined.
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
from eumu.runtime.parameters import Passing
from public_kernels.arguments import LOCAL_BYTES, Way, contents, element
from public_kernels.sources import Text

_NAMES = {**opencl_process.NAMES, "oclgrind": "Oclgrind"}
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

    def run(self, kernel: eumu.Kernel, way: Way) -> list[NDArray[np.uint8]]:
        """What the buffers hold in the end."""
        import pyopencl as cl

        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffers, arguments = [], []
        for parameter, content in zip(kernel.args, contents(kernel, way), strict=True):
            if parameter.passing is Passing.BUFFER:
                assert content is not None
                buffers.append((cl.Buffer(self._context, flags, hostbuf=content), content.nbytes))
                arguments.append(buffers[-1][0])
            elif parameter.passing is Passing.LOCAL:
                arguments.append(cl.LocalMemory(LOCAL_BYTES))
            elif content is None:
                raise RuntimeError(f"a parameter of type {parameter.type_name}")
            else:
                arguments.append(_value(parameter, content, way))
        try:
            queue = cl.CommandQueue(self._context)
            found = cl.Kernel(self._program, kernel.name)
            found.set_args(*arguments)
            cl.enqueue_nd_range_kernel(queue, found, way.global_size, way.local_size)
            queue.finish()
            return [_read(cl, queue, buffer, size) for buffer, size in buffers]
        except cl.Error as error:
            raise RuntimeError(str(error).splitlines()[0]) from None


def _value(parameter: eumu.Parameter, content: NDArray[Any], way: Way) -> Any:
    known = element(parameter, way)
    if known is None:
        return content
    if known[1] == 1:
        return content[0]
    return np.append(content, content[:1]) if known[1] == 3 else content


def _read(cl: Any, queue: Any, buffer: Any, size: int) -> NDArray[np.uint8]:
    made = np.empty(size, np.uint8)
    cl.enqueue_copy(queue, made, buffer)
    return made


OCLGRIND = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
_UNDEFINED = re.compile(
    r"^((?:\S+ data race|Uninitialized value|Invalid (?:read|write)) .*?\bmemory)\b", re.M
)


# What Oclgrind looks for when it is asked to, one at a time: the second one lacks instructions.
UNDEFINED = ("DATA_RACES", "UNINITIALIZED")


def undefined(source: Text, options: str, kernel: eumu.Kernel, way: Way, asked: str) -> str:
    """What Oclgrind sees that OpenCL does not define: what was asked for, and accesses outside.

    RuntimeError says why it cannot tell.
    """
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        os.environ |= {f"OCLGRIND_{asked}": "1", "OCLGRIND_LOG": log.name}
        Other.of("oclgrind", source, options).run(kernel, way)
        return ", ".join(sorted(set(_UNDEFINED.findall(log.read()))))


# Drivers that the system's loader does not know.
_DRIVERS = {"intel": opencl_process.INTEL, "oclgrind": OCLGRIND}


@cache
def _context(name: str) -> Any:
    import pyopencl as cl

    with tempfile.TemporaryDirectory() as place:
        if (driver := _DRIVERS.get(name)) is not None:
            (Path(place) / f"{name}.icd").write_text(f"{driver}\n")
            os.environ["OCL_ICD_VENDORS"] = place
        try:
            platforms = cl.get_platforms()
        except cl.Error as error:
            raise RuntimeError(f"{name} is not installed: {error}") from None
    for platform in platforms:
        if _NAMES[name] in platform.name:
            return cl.Context(platform.get_devices()[:1])
    raise RuntimeError(f"{name} is not installed")
