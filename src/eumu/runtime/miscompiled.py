"""Kernels whose code is known to be wrong, by what the compiler's file says."""

from __future__ import annotations

from typing import Final

from eumu.zebin import Kernel
from eumu.zebin.compilers import CUT_BEHIND

_LAST: Final = (4, 1)  # vISA of the last release that is known for it


def cut_addresses(kernel: Kernel) -> str:
    """What is wrong with a kernel whose compiler cannot tell its local variables apart, or "".

    IGC of 22.43 writes the address of a local variable behind 64 KiB as a word. Local arguments are
    not concerned, as a launch says where they lie.
    """
    size, version = kernel.info.execution_env.slm_size, kernel.visa_version
    if size <= CUT_BEHIND or not version or version > _LAST:
        return ""
    return (
        f"kernel {kernel.info.name} has {size} bytes of local variables; the compiler that made it"
        f" (vISA {version[0]}.{version[1]}) may put those behind {CUT_BEHIND} bytes on top of the"
        " first ones, and what it computes is wrong then: compile it with a newer one"
    )
