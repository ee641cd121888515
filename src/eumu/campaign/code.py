"""What of a build of a kernel eumu runs: where it is the same in two builds, one run is enough."""

from __future__ import annotations

from dataclasses import replace

import eumu
from eumu.zebin.ze_info import KernelInfo

Code = tuple[object, ...]


def code_of(program: eumu.Program, name: str, level: str) -> Code:
    """Everything that a launch of a kernel depends on at a level, but for its arguments.

    >>> import eumu
    >>> program = eumu.load("tests/kernels/bin/apl/saxpy.bin")
    >>> code_of(program, "saxpy", "visa") == code_of(program, "saxpy", "native")
    False
    """
    elf = program.elf
    assert elf is not None, "random OpenCL C is compiled"
    (kernel,) = (k for k in elf.kernels if k.name == name)
    data = ((section.name, section.data, section.size) for section in elf.data)
    shared = (_needs(kernel.info), *data)
    called = elf.functions_of(name)
    texts = (kernel.visaasm, *((f.name, f.visaasm) for f in called))
    if level == "visa":
        return texts, shared
    words = (kernel.text, kernel.entry, repr(kernel.relocations))
    return texts, shared, words, tuple((f.text, f.offset) for f in called)


def _needs(info: KernelInfo) -> str:
    """What a kernel needs, without the registers that a thread has: here they have no bound."""
    env = replace(info.execution_env, grf_count=1, eu_thread_count=0)
    return repr(replace(info, name="", execution_env=env))
