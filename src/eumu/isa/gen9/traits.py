"""What rules and tools must know of single instructions and no field says."""

from __future__ import annotations

from enum import Enum, auto
from functools import cache

from eumu.isa.spec import Opcode


class Trait(Enum):
    """A property of an instruction."""

    COPIES = auto()  # moves bits when types allow it
    MULTIPLIES = auto()  # a product of two integer dwords is 64 bits wide
    MULTIPLIES_WORDS = auto()  # takes a dword times a word, dword first
    READS_ACCUMULATOR = auto()  # without naming it
    WRITES_ACCUMULATOR = auto()  # without naming it
    MATH = auto()  # runs in the shared math unit
    DIVIDES = auto()  # divides integers there


_DIVISIONS = (11, 12, 13)  # functions of math
_MNEMONICS = {
    Trait.COPIES: ("mov",),
    Trait.MULTIPLIES: ("mul", "mad"),
    Trait.MULTIPLIES_WORDS: ("mul",),
    Trait.READS_ACCUMULATOR: ("mac", "mach", "sada2"),
    Trait.WRITES_ACCUMULATOR: ("addc", "subb"),
    Trait.MATH: ("math",),
}


@cache
def has_trait(opcode: Opcode, trait: Trait) -> bool:
    """Whether an instruction has a property.

    >>> has_trait(GEN9.find("mul")[0], Trait.MULTIPLIES)
    True
    """
    if trait is Trait.DIVIDES:
        return opcode.mnemonic == "math" and opcode.sub in _DIVISIONS
    return opcode.mnemonic in _MNEMONICS[trait]
