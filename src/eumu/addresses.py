"""What numbers mean as addresses: the one table of bases, reserved surfaces and pointer tags."""

from __future__ import annotations

from typing import Final

# Device memory starts where no user-space pointer of a 64-bit host can lie (bit 47 set, not
# sign-extended), so that a host pointer used as a device address, or the other way round, is seen.
DEVICE_BASE: Final = 0x0000_B000_0000_0000

# A generic pointer of OpenCL C carries its space in bits 63:61.
GENERIC_TAG_SHIFT: Final = 61
GENERIC_PRIVATE: Final = 1
GENERIC_LOCAL: Final = 2

# Binding-table indices that name no entry of the table (vISA page "Surface").
BTI_BINDLESS: Final = 252
BTI_STATELESS_NON_COHERENT: Final = 253
BTI_SLM: Final = 254
BTI_STATELESS: Final = 255

# A surface index at or above this is not a binding-table index: it names a surface state by its
# byte offset in the surface state heap, as `ss(..)` and `bss(..)` operands do.
SURFACE_STATE_BASE: Final = 0x1_0000
SURFACE_STATE_BYTES: Final = 64

# A bindless handle before LSC has that offset, a multiple of 64 bytes, in bits 31:12, without its
# low six bits, as extended message descriptors do.
BINDLESS_SHIFT: Final = 6

# The surface that stands for the thread's own scratch space.  Kernels find the offset of its state
# in r0.5, shifted left by 4 (bits 3:0 of r0.5 are not part of it).
SCRATCH_STATE: Final = 0x2_0000

# What names it where surfaces have pointers (Xe3p): the argument scratch_pointer, and %scratchloc.
SCRATCH_HANDLE: Final = SCRATCH_STATE - SURFACE_STATE_BASE

# The surface that stands for the URB, rows of 16 bytes that all threads share.
URB_SURFACE: Final = 0x3_0000

# Intel's compiler sets this bit in the offsets of static __local variables, so that none of them
# looks like a null pointer; shared local memory does not see it.
SLM_POINTER_BIT: Final = 0x1000_0000

# The symbol that stands for the structure of implicit arguments of a launch, which called functions
# read in the address model `arg` of LSC.  No variable of a program has a name like it.
IMPLICIT_ARGUMENTS: Final = "%implicit_args"

# Functions have addresses of their own, where no data lies.  Compiled code keeps 32 bits of them,
# which must be enough to tell them apart, and from offsets in code.
FUNCTION_BASE: Final = 0x0000_C0DE_C0DE_0000
_FUNCTION_BYTES: Final = 64


def function_address(index: int) -> int:
    """The address of the function in this place of its program, counted from 0."""
    return FUNCTION_BASE + _FUNCTION_BYTES * (index + 1)
