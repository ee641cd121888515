"""The 8-byte form of an instruction.

A compacted instruction has indices into tables of frequent bit patterns instead of the fields
themselves.  Tables and mapping were checked against what Intel's compiler and assembler write.
"""

from __future__ import annotations

from typing import Final

from eumu.isa.gen9.bits import (
    COMPACT,
    IMMEDIATE,
    IMMEDIATE_TYPES,
    SPLIT_TYPES,
    SRC0,
    SRC1,
    BitField,
)
from eumu.records import dataclass


def _table(digits: str) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in digits.split())


_CONTROL: Final = _table(
    "2 4000 4001 4002 4003 4004 4005 4007 4008 4009 400d 6000 6001 6002 6003 6004 6005 6007 6009"
    " 600d 6010 6100 8000 8002 8004 8100 16000 16010 18000 18100 28000 28100"
)
_DATATYPE: Final = _table(
    "40001 40040 40041 400c1 4015d 405dd 40741 40745 4075d 41041 43040 43041 45145 47144 47145"
    " 5c75d 5d71d 5d75c 5d75d 5f75c 40c 4005d 40145 41040 45144 47104 49209 5775d 5f75d 4f34c"
    " 49248 4b248"
)
_SUBREGISTER: Final = _table(
    "0 1 8 f 10 80 100 180 200 210 280 1000 1001 1081 1082 1083 1084 1087 1088 108e 108f 1180"
    " 11e8 2000 2180 3000 3c87 4000 5000 6000 7000 701c"
)
_SOURCE: Final = _table(
    "0 2 10 12 18 20 28 48 50 70 78 300 302 308 310 312 320 328 338 340 342 348 350 360 368 370"
    " 371 378 468 469 46a 588"
)
_TERNARY_CONTROL: Final = _table("806001 6001 8001 8021")
_TERNARY_SOURCE: Final = _table("7272720f000 7272720f002 7272720f008 7272720f020")


@dataclass(frozen=True, slots=True)
class CompactField:
    """A field of the short form, and the bits of the word that it stands for.

    With a table the field is an index; without one it is the bits themselves.
    """

    short: BitField
    full: BitField
    table: tuple[int, ...] = ()

    def expand(self, half: int) -> int:
        value = self.short.get(half)
        return self.full.put(self.table[value] if self.table else value)

    def shorten(self, word: int, ignored: int = 0) -> int | None:
        """The short field of a word, of which the `ignored` bits may become others."""
        value = self.full.get(word)
        if not self.table:
            return self.short.put(value)
        care = ~self.full.get(ignored)
        rows = (k for k, row in enumerate(self.table) if (row ^ value) & care == 0)
        index = next(rows, None)
        return None if index is None else self.short.put(index)


def _part(
    name: str, short: tuple[int, int], *full: tuple[int, int], table: tuple[int, ...] = ()
) -> CompactField:
    return CompactField(BitField(name, short), BitField(name, *full), table)


_SHARED: Final = (
    _part("opcode", (6, 0), (6, 0)),
    _part("debug control", (7, 7), (30, 30)),
    _part("control", (12, 8), (8, 8), (34, 34), (10, 9), (23, 12), (33, 31), table=_CONTROL),
    _part("datatype", (17, 13), (46, 35), (94, 89), (63, 61), table=_DATATYPE),
    _part("subregisters", (22, 18), (52, 48), (68, 64), (100, 96), table=_SUBREGISTER),
    _part("AccWrEn", (23, 23), (28, 28)),
    _part("condition", (27, 24), (27, 24)),
    _part("src0", (34, 30), (88, 77), table=_SOURCE),
    _part("dst register", (47, 40), (60, 53)),
    _part("src0 register", (55, 48), (76, 69)),
)
_TWO_REGISTERS: Final = (
    *_SHARED,
    _part("src1", (39, 35), (120, 109), table=_SOURCE),
    _part("src1 register", (63, 56), (108, 101)),
)
# With an immediate, the subregister of src1 is part of its 13 bits, not of the index.
_SHORT_IMMEDIATE: Final = BitField("immediate", (63, 56), (39, 35), signed=True)
_FULL_IMMEDIATE: Final = BitField("immediate", (127, 96), signed=True)
_SPLIT_CODES: Final = [IMMEDIATE_TYPES.index(type) for type in SPLIT_TYPES]

_TERNARY: Final = (
    _part("opcode", (6, 0), (6, 0)),
    _part("control", (9, 8), (28, 8), (34, 32), (36, 35), table=_TERNARY_CONTROL),
    _part(
        *("source", (11, 10)),
        *((55, 37), (72, 65), (93, 86), (114, 107), (83, 83), (84, 84), (105, 104), (126, 125)),
        table=_TERNARY_SOURCE,
    ),
    _part("dst register", (18, 12), (62, 56)),
    _part("src0 replicate", (28, 28), (64, 64)),
    _part("debug control", (30, 30), (30, 30)),
    _part("saturate", (31, 31), (31, 31)),
    _part("src1 replicate", (32, 32), (85, 85)),
    _part("src2 replicate", (33, 33), (106, 106)),
    _part("src0 subregister", (36, 34), (75, 73)),
    _part("src1 subregister", (39, 37), (96, 94)),
    _part("src2 subregister", (42, 40), (117, 115)),
    _part("src0 register", (49, 43), (82, 76)),
    _part("src1 register", (56, 50), (103, 97)),
    _part("src2 register", (63, 57), (124, 118)),
)


def _has_immediate(word: int) -> bool:
    return IMMEDIATE in (SRC1.file.get(word), SRC0.file.get(word))


def expand(half: int, *, ternary: bool) -> int:
    """The full word of a compacted one, its compaction bit cleared."""
    if ternary:
        return sum(part.expand(half) for part in _TERNARY)
    word = 0
    for part in _SHARED:
        word |= part.expand(half)
    if _has_immediate(word):
        return word & ~SRC1.byte.mask | _FULL_IMMEDIATE.put(_SHORT_IMMEDIATE.get(half))
    for part in _TWO_REGISTERS[len(_SHARED) :]:
        word |= part.expand(half)
    return word


def shorten(word: int, *, ternary: bool, loose: bool = False) -> int | None:
    """The compacted form of a word, None if it has none.

    Under an immediate a subregister has no meaning; a `loose` form may change it, as the assembler
    does to find a form at all.
    """
    word &= ~COMPACT.mask
    parts: tuple[CompactField, ...] = _TERNARY if ternary else _TWO_REGISTERS
    half, ignored = COMPACT.put(1), 0
    if not ternary and _has_immediate(word):
        value = _FULL_IMMEDIATE.get(word)
        if not -0x1000 <= value < 0x1000 or _is_split(word):
            return None
        parts, half = _SHARED, half | _SHORT_IMMEDIATE.put(value)
        ignored = SRC1.byte.mask
        if loose and SRC0.file.get(word) == IMMEDIATE:
            ignored |= SRC0.byte.mask
    for part in parts:
        short = part.shorten(word, ignored)
        if short is None:
            return None
        half |= short
    changed = expand(half, ternary=ternary) ^ word
    return None if changed & ~(SRC0.byte.mask if loose else 0) else half


def _is_split(word: int) -> bool:
    return SRC0.file.get(word) == IMMEDIATE and SRC0.type.get(word) in _SPLIT_CODES
