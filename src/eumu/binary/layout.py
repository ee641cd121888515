"""Numbers of the object file that are no operands: its header, its tables, its marks.

Little endian, nothing padded:

====== ==================================================================================
header u32 "CISA", u8 major, u8 minor, u16 kernels; per kernel: its name, u32 offset, u32 size,
       u32 offset of its inputs, two empty lists of relocations, u8 number of native binaries
       and for each u8 platform, u32 offset, u32 size; u16 variables of the file (none);
       u16 functions; per function: u8 linkage, name, u32 offset, u32 size, two empty lists
object u32 strings, each with a NUL; u32 name; tables of general, address and predicate variables,
       labels, samplers, surfaces, VME variables (none); of a kernel u32 inputs; u32 size of the
       code, u32 its offset; of a function u8 registers of arguments, u8 of results; u16 attributes;
       the code
====== ==================================================================================
"""

from __future__ import annotations

import re

from eumu.isa.kinds.variables import (
    PREDEFINED,
    AddressVariable,
    Declared,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)

MAGIC = b"CISA"
OLDEST = (3, 4)
NEWEST_MAJOR = 4
# Versions from these on count kernel names in 16 bits, and inputs in 32 bits.
LONG_NAMES = (3, 7)
MANY_INPUTS = (3, 5)

# The file's numbers of platforms, as far as files have shown them.
PLATFORMS = {
    **{3: "bdw", 5: "skl", 6: "bxt", 10: "icllp", 11: "xehp", 12: "tgllp", 13: "dg2"},
}

# The marks are instructions in the file.
LABEL_CODES = (0x31, 0x30)  # of a block, of a subroutine
LABEL_KINDS = ("block", "subroutine", "fc")
FILE, LOC = 0x51, 0x52

# Names that every pool begins with, after the kernel's own.
POOL = tuple(name for name in PREDEFINED if name != "%scratchloc")  # which came with 4.2

ALIGNMENTS = (
    *(None, "word", "dword", "qword", "oword", "GRF", "GRFx2", "hword", "wordx32", "wordx64"),
)
# Tables after that of the general variables: class, struct format of the count.
SMALL_TABLES: tuple[tuple[type[Declared], str], ...] = (
    (AddressVariable, "H"),
    (PredicateVariable, "H"),
)
STATE_TABLES: tuple[tuple[type[Declared], str], ...] = (
    (SamplerVariable, "B"),
    (SurfaceVariable, "B"),
)
INPUTS: tuple[type[Declared], ...] = (Variable, SamplerVariable, SurfaceVariable)

# Implicit kinds of inputs; others are UNDEFINED_n.  Intel's printer has PSEUDO_INPUT for 4 too.
IMPLICIT = {1: "LOCAL_SIZE", 2: "GROUP_COUNT", 3: "LOCAL_ID", 16: "PSEUDO_INPUT"}
_OTHER = re.compile(r"UNDEFINED_(\d{1,2})")


def implicit_name(code: int) -> str:
    """The kind of an input, empty for one that is explicit."""
    return IMPLICIT.get(code, f"UNDEFINED_{code}") if code else ""


def implicit_code(name: str) -> int | None:
    """The code of a kind, None where there is none."""
    if not name:
        return 0
    if match := _OTHER.fullmatch(name):
        return int(match[1]) if int(match[1]) < 32 else None
    return next((code for code, word in IMPLICIT.items() if word == name), None)
