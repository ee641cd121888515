"""The bit fields of a Gen9 instruction word, as data.

A word has 128 bits; bit 0 is the least significant bit of the first byte.  Ranges are written
(high, low); a field in several pieces lists the least significant one first.  Source: public driver
and assembler sources, measured against Intel's assembler.
"""

from __future__ import annotations

from typing import Final

from eumu.records import dataclass
from eumu.types import DF, HF, UB, UD, UQ, UV, UW, VF, B, D, F, Q, Type, V, W


class Undecodable(Exception):
    """A word that is no instruction; the message says which field is wrong."""


class Unencodable(Exception):
    """An operand that has no encoding; the message says why."""


class BitField:
    """A named field of the word."""

    __slots__ = ("_pieces", "mask", "name", "signed", "width")

    def __init__(self, name: str, *ranges: tuple[int, int], signed: bool = False) -> None:
        self.name, self.signed = name, signed
        at, pieces = 0, []
        for high, low in ranges:
            width = high - low + 1
            pieces.append((low, at, (1 << width) - 1))
            at += width
        self._pieces = tuple(pieces)
        self.width = at
        self.mask = sum(ones << low for low, _, ones in pieces)

    def __repr__(self) -> str:
        return self.name

    def get(self, word: int) -> int:
        """The field's value in a word."""
        value = 0
        for low, at, ones in self._pieces:
            value |= (word >> low & ones) << at
        if self.signed and value >> self.width - 1:
            value -= 1 << self.width
        return value

    def put(self, value: int) -> int:
        """A word that is zero but for this field."""
        least = -(1 << self.width - 1) if self.signed else 0
        if not least <= value < least + (1 << self.width):
            raise Unencodable(f"{self.name} {value} does not fit its {self.width} bits")
        word = 0
        for low, at, ones in self._pieces:
            word |= (value >> at & ones) << low
        return word


# ---- control: the same place in every format

OPCODE: Final = BitField("opcode", (6, 0))
ACCESS_MODE: Final = BitField("access mode", (8, 8))
NO_DD_CLR: Final = BitField("NoDDClr", (9, 9))
NO_DD_CHK: Final = BitField("NoDDChk", (10, 10))
CHANNEL_OFFSET: Final = BitField("channel offset", (11, 11), (13, 12))  # NibCtrl, QtrCtrl
THREAD_CONTROL: Final = BitField("thread control", (15, 14))
PREDICATE_CONTROL: Final = BitField("predicate control", (19, 16))
PREDICATE_INVERSE: Final = BitField("predicate inverse", (20, 20))
EXEC_SIZE: Final = BitField("execution size", (23, 21))
CONDITION: Final = BitField("condition modifier", (27, 24))  # function of math, SFID of send
BIT_28: Final = BitField("bit 28", (28, 28))  # AccWrEn, BranchCtrl or NoSrcDepSet
COMPACT: Final = BitField("compaction control", (29, 29))
DEBUG: Final = BitField("debug control", (30, 30))
SATURATE: Final = BitField("saturate", (31, 31))
FLAG: Final = BitField("flag register", (33, 32))  # f0.0 f0.1 f1.0 f1.1
MASK_CONTROL: Final = BitField("mask control", (34, 34))

# ---- one and two sources


@dataclass(frozen=True, slots=True)
class DestinationBits:
    """The fields of a destination; those of Align16 share bits with those of Align1."""

    file: BitField
    type: BitField
    byte: BitField
    number: BitField
    hstride: BitField
    indirect: BitField
    offset: BitField
    element: BitField
    channels: BitField
    half: BitField  # Align16: the 16-byte half of the register
    offset16: BitField  # Align16, indirect: in units of 16 bytes


@dataclass(frozen=True, slots=True)
class SourceBits:
    """The fields of a source."""

    file: BitField
    type: BitField
    byte: BitField
    number: BitField
    absolute: BitField
    negate: BitField
    indirect: BitField
    hstride: BitField
    width: BitField
    vstride: BitField
    offset: BitField
    element: BitField
    half: BitField
    swizzle: BitField
    offset16: BitField
    accumulator: BitField  # of the macros: the special accumulator that goes with the register


DST: Final = DestinationBits(
    file=BitField("dst file", (36, 35)),
    type=BitField("dst type", (40, 37)),
    byte=BitField("dst subregister", (52, 48)),
    number=BitField("dst register", (60, 53)),
    hstride=BitField("dst stride", (62, 61)),
    indirect=BitField("dst addressing", (63, 63)),
    offset=BitField("dst address offset", (56, 48), (47, 47), signed=True),
    element=BitField("dst address subregister", (60, 57)),
    channels=BitField("dst channel enables", (51, 48)),
    half=BitField("dst subregister", (52, 52)),
    offset16=BitField("dst address offset", (56, 52), (47, 47), signed=True),
)
SRC0: Final = SourceBits(
    file=BitField("src0 file", (42, 41)),
    type=BitField("src0 type", (46, 43)),
    byte=BitField("src0 subregister", (68, 64)),
    number=BitField("src0 register", (76, 69)),
    absolute=BitField("src0 abs", (77, 77)),
    negate=BitField("src0 negate", (78, 78)),
    indirect=BitField("src0 addressing", (79, 79)),
    hstride=BitField("src0 horizontal stride", (81, 80)),
    width=BitField("src0 width", (84, 82)),
    vstride=BitField("src0 vertical stride", (88, 85)),
    offset=BitField("src0 address offset", (72, 64), (95, 95), signed=True),
    element=BitField("src0 address subregister", (76, 73)),
    half=BitField("src0 subregister", (68, 68)),
    swizzle=BitField("src0 swizzle", (67, 64), (83, 80)),
    offset16=BitField("src0 address offset", (72, 68), (95, 95), signed=True),
    accumulator=BitField("src0 accumulator", (67, 64)),
)
SRC1: Final = SourceBits(
    file=BitField("src1 file", (90, 89)),
    type=BitField("src1 type", (94, 91)),
    byte=BitField("src1 subregister", (100, 96)),
    number=BitField("src1 register", (108, 101)),
    absolute=BitField("src1 abs", (109, 109)),
    negate=BitField("src1 negate", (110, 110)),
    indirect=BitField("src1 addressing", (111, 111)),
    hstride=BitField("src1 horizontal stride", (113, 112)),
    width=BitField("src1 width", (116, 114)),
    vstride=BitField("src1 vertical stride", (120, 117)),
    offset=BitField("src1 address offset", (104, 96), (121, 121), signed=True),
    element=BitField("src1 address subregister", (108, 105)),
    half=BitField("src1 subregister", (100, 100)),
    swizzle=BitField("src1 swizzle", (99, 96), (115, 112)),
    offset16=BitField("src1 address offset", (104, 100), (121, 121), signed=True),
    accumulator=BitField("src1 accumulator", (99, 96)),
)
IMMEDIATE_32: Final = BitField("immediate", (127, 96))
IMMEDIATE_64: Final = BitField("immediate", (127, 64))

# ---- three sources (always Align16)


@dataclass(frozen=True, slots=True)
class TernaryBits:
    """The fields of one of three sources; `half` says that the source is HF where others are not.

    The subregister counts words; the accumulator is that of the macro.
    """

    absolute: BitField
    negate: BitField
    replicate: BitField
    swizzle: BitField
    word: BitField
    number: BitField
    accumulator: BitField
    half: BitField | None


TERNARY_SOURCE_TYPE: Final = BitField("source type", (45, 43))
TERNARY_DST_TYPE: Final = BitField("dst type", (48, 46))
TERNARY_CHANNELS: Final = BitField("dst channel enables", (52, 49))
TERNARY_DST_DWORD: Final = BitField("dst subregister", (55, 53))
TERNARY_DST_NUMBER: Final = BitField("dst register", (63, 56))
TERNARY: Final = (
    TernaryBits(
        absolute=BitField("src0 abs", (37, 37)),
        negate=BitField("src0 negate", (38, 38)),
        replicate=BitField("src0 replicate", (64, 64)),
        swizzle=BitField("src0 swizzle", (72, 65)),
        word=BitField("src0 subregister", (84, 84), (75, 73)),
        number=BitField("src0 register", (83, 76)),
        accumulator=BitField("src0 accumulator", (68, 65)),
        half=None,
    ),
    TernaryBits(
        absolute=BitField("src1 abs", (39, 39)),
        negate=BitField("src1 negate", (40, 40)),
        replicate=BitField("src1 replicate", (85, 85)),
        swizzle=BitField("src1 swizzle", (93, 86)),
        word=BitField("src1 subregister", (105, 105), (96, 94)),
        number=BitField("src1 register", (104, 97)),
        accumulator=BitField("src1 accumulator", (89, 86)),
        half=BitField("src1 type", (36, 36)),
    ),
    TernaryBits(
        absolute=BitField("src2 abs", (41, 41)),
        negate=BitField("src2 negate", (42, 42)),
        replicate=BitField("src2 replicate", (106, 106)),
        swizzle=BitField("src2 swizzle", (114, 107)),
        word=BitField("src2 subregister", (126, 126), (117, 115)),
        number=BitField("src2 register", (125, 118)),
        accumulator=BitField("src2 accumulator", (110, 107)),
        half=BitField("src2 type", (35, 35)),
    ),
)

# ---- messages and branches

DESCRIPTOR: Final = BitField("message descriptor", (126, 96))
EOT: Final = BitField("end of thread", (127, 127))
EXTENDED: Final = BitField("extended descriptor", (67, 64), (83, 80), (88, 85), (94, 91))
SPLIT_LENGTH: Final = BitField("extended message length", (67, 64))
SPLIT_EXTENDED: Final = BitField("extended descriptor", (95, 80))
SPLIT_EXTENDED_INDIRECT: Final = BitField("extended descriptor selector", (61, 61))
SPLIT_EXTENDED_ELEMENT: Final = BitField("extended descriptor subregister", (82, 80))
SPLIT_SRC0_OFFSET: Final = BitField("src0 address offset", (72, 68), (78, 78), signed=True)
SPLIT_INDIRECT: Final = BitField("descriptor selector", (77, 77))
SPLIT_DST_FILE: Final = BitField("dst file", (35, 35))
SPLIT_SRC1_FILE: Final = BitField("src1 file", (36, 36))
SPLIT_SRC1_NUMBER: Final = BitField("src1 register", (51, 44))
JIP: Final = BitField("JIP", (127, 96), signed=True)
UIP: Final = BitField("UIP", (95, 64), signed=True)

# ---- codes

ARF, GRF, IMMEDIATE = 0, 1, 3

REGISTER_TYPES: Final[tuple[Type, ...]] = (UD, D, UW, W, UB, B, DF, F, UQ, Q, HF)
IMMEDIATE_TYPES: Final[tuple[Type, ...]] = (UD, D, UW, W, UV, VF, V, F, UQ, Q, DF, HF)
TERNARY_TYPES: Final[tuple[Type, ...]] = (F, D, UD, DF, HF)
HSTRIDES: Final = (0, 1, 2, 4)
WIDTHS: Final = (1, 2, 4, 8, 16)
VSTRIDES: Final = (0, 1, 2, 4, 8, 16, 32)
PER_ROW: Final = 15  # vertical stride: every row has its own address (Vx1, VxH)
SPLIT_TYPES: Final = {UQ, Q, DF}  # immediates of 64 bits
