"""Raw operands, surfaces and what else memory messages take.

Source: vISA pages "Operands" (raw operands), "OWORD_LD", "MEDIA_LD", "DWORD_ATOMIC", "FENCE".
"""

from __future__ import annotations

import re
from typing import ClassVar

from eumu.isa.kinds.builder import InstBuilder, Rows
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import pack_raw, unpack_raw
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import expression, integer_literal
from eumu.isa.kinds.operands import Raw
from eumu.isa.kinds.variables import SurfaceVariable, Variable
from eumu.isa.kinds.vector import variable
from eumu.records import dataclass
from eumu.types import UD

_NULL = re.compile(r"(?:%null|V0)\b(\.0\b)?")
_OFFSET = re.compile(r"\.(?=[\d(])")


class RawKind(Kind):
    """`V.offset` (bytes) or `%null.0`; the body gets :class:`Rows`.

    A `bare` operand, as LSC instructions have it, may leave out an offset of 0.
    """

    def __init__(self, *, bare: bool = False) -> None:
        self.bare = bare
        self.manual = "registers: V.0, V.64 from byte 64 on, %null.0 for none"
        self.example = "{name}.0"
        if bare:
            self.manual = "registers: V, V.64 from byte 64 on, %null for none"
            self.example = "{name}"

    def parse(self, cursor: Cursor, names: Names) -> Raw:
        start = cursor.skip()
        if match := cursor.match(_NULL):
            if not self.bare and not match.group(1):
                cursor.fail("expected '%null.0'", start=start)
            return Raw(None)
        declared = variable(cursor, names, Variable, what="a raw operand such as V32.0")
        if not cursor.adjacent(_OFFSET):
            if self.bare:
                return Raw(declared)
            cursor.fail("expected '.' and a byte offset, as in V32.0")
        if cursor.take("("):
            start = cursor.skip()
            offset = expression(cursor, names)
            if offset < 0:
                cursor.fail(f"offset {offset} is negative", start=start)
            cursor.expect(")")
            return Raw(declared, offset)
        return Raw(declared, integer_literal(cursor))

    def print(self, operand: Raw) -> str:
        name = operand.variable.name if operand.variable else "%null"
        return name if self.bare and not operand.offset else f"{name}.{operand.offset}"

    def pack(self, operand: Raw, out: Packer) -> None:
        pack_raw(operand, out)

    def unpack(self, source: Unpacker) -> Raw:
        return unpack_raw(source)

    def bind(self, operand: Raw, builder: InstBuilder) -> Rows:
        if operand.variable is None:
            return Rows(None, 0, UD)
        root, base = builder.root(operand.variable)
        return Rows(root, base + operand.offset, operand.variable.type)


class SurfaceKind(Kind):
    """A surface variable by name; the body gets the variable."""

    manual = "a surface: %slm, %bss, or a variable with v_type=T"
    example = "{name}"

    def parse(self, cursor: Cursor, names: Names) -> SurfaceVariable:
        surface: SurfaceVariable = variable(
            cursor, names, SurfaceVariable, what="a surface variable"
        )
        return surface

    def print(self, operand: SurfaceVariable) -> str:
        return operand.name

    def pack(self, operand: SurfaceVariable, out: Packer) -> None:
        out.u8(out.variable(operand), "the number of a surface")

    def unpack(self, source: Unpacker) -> SurfaceVariable:
        at = source.pos
        return source.variable(SurfaceVariable, source.u8("a surface"), at)

    def bind(self, operand: SurfaceVariable, builder: InstBuilder) -> SurfaceVariable:
        return operand


class CountKind(Kind):
    """A decimal number out of a few, right after what stands before it: the `.4` of `gather.4`."""

    _digits = re.compile(r"\d+")

    def __init__(self, what: str, *values: int) -> None:
        self.what, self.values = what, values
        self.manual, self.example = f"one of {', '.join(map(str, values))}", str(values[-1])

    def parse(self, cursor: Cursor, names: Names) -> int:
        start = cursor.pos
        match = cursor.adjacent(self._digits)
        if match is None or int(match.group()) not in self.values:
            allowed = ", ".join(map(str, self.values))
            cursor.fail(f"{self.what} is not one of {allowed}", start=start, code="count")
        return int(match.group())

    def print(self, operand: int) -> str:
        return str(operand)

    def pack(self, operand: int, out: Packer) -> None:
        out.code(self.values, operand, self.what)

    def unpack(self, source: Unpacker) -> int:
        return source.code(self.values, self.what)


@dataclass(frozen=True, slots=True)
class BlockSize:
    """`(4)`: owords of a block; an unaligned one may start at any dword."""

    owords: int
    unaligned: bool = False

    @property
    def bytes(self) -> int:
        return 16 * self.owords


class BlockSizeKind(Kind):
    """`(4)`, written where other instructions have their execution size."""

    manual = "owords (16 bytes): (1), (2), (4), (8) or (16)"
    words = ("unaligned",)
    example = "(4)"
    parts = ("unaligned",)
    _word = re.compile(r"\.unaligned\b")
    _mask = re.compile(r"M[1-8](_NM)?[ \t]*,")

    def parse_part(self, part: str, cursor: Cursor) -> tuple[str, bool]:
        return "unaligned", cursor.adjacent(self._word) is not None

    def print_part(self, part: str, operand: BlockSize) -> str:
        return ".unaligned" if operand.unaligned else ""

    def parse(self, cursor: Cursor, names: Names) -> BlockSize:
        cursor.expect("(", "and a number of owords, as in (4)")
        start = cursor.skip()
        if cursor.match(self._mask):
            message = "a block has no execution mask; its size is written (4)"
            cursor.fail(message, start=start, code="block-mask")
        owords = integer_literal(cursor)
        if owords not in (1, 2, 4, 8, 16):
            cursor.fail(f"a block of {owords} owords is not one of 1, 2, 4, 8, 16", start=start)
        cursor.expect(")")
        return BlockSize(owords)

    def print(self, operand: BlockSize) -> str:
        return f"({operand.owords})"

    def pack(self, operand: BlockSize, out: Packer) -> None:
        out.u8((operand.owords.bit_length() - 1) | operand.unaligned << 3)

    def unpack(self, source: Unpacker) -> BlockSize:
        at, byte = source.pos, source.u8("a number of owords")
        if byte & 7 > 4 or byte >> 4:
            source.fail(f"the number of owords has code {byte:#x}", at)
        return BlockSize(1 << (byte & 7), bool(byte >> 3))


class ChannelsKind(Kind):
    """`RGBA`: enabled channels, in order; the body gets their numbers, R is 0."""

    manual = "channels in the order RGBA: R, RG, GA, RGBA"
    words = ("R", "RG", "RGB", "RGBA")
    example = "RGBA"
    _letters = re.compile(r"[RGBArgba]{1,4}\b")

    def parse(self, cursor: Cursor, names: Names) -> tuple[int, ...]:
        start = cursor.pos
        match = cursor.adjacent(self._letters)
        channels = tuple("RGBA".index(c) for c in match.group().upper()) if match else ()
        if not channels or sorted(set(channels)) != list(channels):
            cursor.fail("expected channels in the order RGBA, as in R or RGB", start=start)
        return channels

    def print(self, operand: tuple[int, ...]) -> str:
        return "".join("RGBA"[c] for c in operand)

    def pack(self, operand: tuple[int, ...], out: Packer) -> None:
        out.u8(sum(1 << c for c in operand))

    def unpack(self, source: Unpacker) -> tuple[int, ...]:
        at, byte = source.pos, source.u8("channels")
        if not 1 <= byte <= 15:
            source.fail(f"channels {byte:#x} are not of four", at)
        return tuple(c for c in range(4) if byte >> c & 1)


class OptionalWordKind(Kind):
    """`.mod` of `oword_ld`: kept, and without a meaning here."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.manual, self.words = f"nothing, or .{word}", (word,)
        self._word = re.compile(rf"\.{word}\b")

    def parse(self, cursor: Cursor, names: Names) -> bool:
        return cursor.adjacent(self._word) is not None

    def print(self, operand: bool) -> str:
        return f".{self.word}" if operand else ""

    def pack(self, operand: bool, out: Packer) -> None:
        out.u8(operand)

    def unpack(self, source: Unpacker) -> bool:
        return source.code((False, True), "a modifier")


# Atomic operations of the legacy messages in the order of their codes (page "DWORD_ATOMIC").
ATOMIC_CODES: dict[str, int] = {
    "add": 0x00,
    "sub": 0x01,
    "inc": 0x02,
    "dec": 0x03,
    "min": 0x04,
    "max": 0x05,
    "xchg": 0x06,
    "cmpxchg": 0x07,
    "and": 0x08,
    "or": 0x09,
    "xor": 0x0A,
    "minsint": 0x0B,
    "maxsint": 0x0C,
    "predec": 0x0D,
    "fmax": 0x10,
    "fmin": 0x11,
    "fcmpwr": 0x12,
    "fadd": 0x13,
    "fsub": 0x14,
}
_ATOMIC_NAMES = {code: name for name, code in ATOMIC_CODES.items()}
_ATOMIC_WIDTHS = (32, 16, 64)
_DOCUMENTED = {"imin": "minsint", "imax": "maxsint"}


@dataclass(frozen=True, slots=True)
class AtomicOperation:
    """`add`, `add.16`, `add.64`: a name of ATOMIC_CODES and the width of the memory element."""

    name: str
    bits: int = 32


class AtomicKind(Kind):
    """The operation of `dword_atomic` and `svm_atomic`.

    The front end calls the signed ones minsint and maxsint, the documents IMIN and IMAX; both are
    read, the first is printed.
    """

    _name = re.compile(r"[A-Za-z]+")
    _bits = re.compile(r"\.(16|32|64)\b")
    words = tuple(ATOMIC_CODES)

    def __init__(self, *widths: int) -> None:
        self.widths = widths
        bits = " ".join(f".{w}" for w in widths if w != 32)
        self.manual = f"one of {', '.join(ATOMIC_CODES)}; {bits} for memory that is not of 32 bits"
        self.example = "add" if 32 in widths else f"add.{widths[0]}"

    def parse(self, cursor: Cursor, names: Names) -> AtomicOperation:
        start = cursor.pos
        match = cursor.adjacent(self._name)
        name = match.group().lower() if match else ""
        name = _DOCUMENTED.get(name, name)
        if name not in ATOMIC_CODES:
            operations = ", ".join(ATOMIC_CODES)
            cursor.fail(f"atomic operation '{name}' is not one of {operations}", start=start)
        start = cursor.pos
        suffix = cursor.adjacent(self._bits)
        bits = int(suffix.group(1)) if suffix else 32
        if bits not in self.widths:
            cursor.fail(f"there is no atomic operation of {bits} bits here", start=start)
        return AtomicOperation(name, bits)

    def print(self, operand: AtomicOperation) -> str:
        return operand.name if operand.bits == 32 else f"{operand.name}.{operand.bits}"

    def pack(self, operand: AtomicOperation, out: Packer) -> None:
        out.u8(ATOMIC_CODES[operand.name] | _ATOMIC_WIDTHS.index(operand.bits) << 5)

    def unpack(self, source: Unpacker) -> AtomicOperation:
        at, byte = source.pos, source.u8("an atomic operation")
        name = _ATOMIC_NAMES.get(byte & 31)
        bits = _ATOMIC_WIDTHS[byte >> 5] if byte >> 5 < len(_ATOMIC_WIDTHS) else 0
        if name is None or bits not in self.widths:
            source.fail(f"atomic operation {byte:#x} is not known here", at)
        return AtomicOperation(name, bits)


class FenceMaskKind(Kind):
    """`.ECR`: what a fence flushes; commit, and the caches I S C R and L1, in this order."""

    manual = "nothing, or what is flushed: .E, .ECR, .L1 (letters in the order E I S C R L1)"
    example = ".E"
    _letters = re.compile(r"\.(E?)(I?)(S?)(C?)(R?)(L1)?(?!\w)")
    _bits: ClassVar = {"E": 0x01, "I": 0x02, "S": 0x04, "C": 0x08, "R": 0x10, "L1": 0x40}

    def parse(self, cursor: Cursor, names: Names) -> tuple[str, ...]:
        match = cursor.adjacent(self._letters)
        return tuple(g for g in match.groups() if g) if match else ()

    def print(self, operand: tuple[str, ...]) -> str:
        return "." + "".join(operand) if operand else ""

    def pack(self, operand: tuple[str, ...], out: Packer) -> None:
        out.u8(sum(bit for name, bit in self._bits.items() if name in operand))

    def unpack(self, source: Unpacker) -> tuple[str, ...]:
        at, byte = source.pos, source.u8("the mask of a fence")
        if byte & ~sum(self._bits.values()):
            source.fail(f"the mask of a fence is {byte:#04x}", at)
        return tuple(name for name, bit in self._bits.items() if byte & bit)


@dataclass(frozen=True, slots=True)
class MediaBlock:
    """`(width, height)` of a media block, width in bytes."""

    width: int
    height: int


class MediaBlockKind(Kind):
    """`(32, 4)`: up to 64 bytes wide, 64 rows high, 256 bytes large."""

    manual = "width in bytes and rows of the block: (32, 4); up to 64 each and 256 bytes"
    example = "(32, 4)"

    def parse(self, cursor: Cursor, names: Names) -> MediaBlock:
        cursor.expect("(", "and the size of the block, as in (32,4)")
        start = cursor.skip()
        width = integer_literal(cursor)
        cursor.expect(",", "between width and height")
        height = integer_literal(cursor)
        cursor.expect(")")
        if not 1 <= width <= 64 or not 1 <= height <= 64 or width * height > 256:
            cursor.fail(
                "a media block is 1 to 64 bytes wide and has 1 to 64 rows and at most 256 bytes",
                start=start,
            )
        return MediaBlock(width, height)

    def print(self, operand: MediaBlock) -> str:
        return f"({operand.width},{operand.height})"

    def pack(self, operand: MediaBlock, out: Packer) -> None:
        out.u8(operand.width)
        out.u8(operand.height)

    def unpack(self, source: Unpacker) -> MediaBlock:
        return MediaBlock(source.u8("a width"), source.u8("a height"))


class PlaneKind(Kind):
    """The plane of a media block, a plain number before the coordinates; 0 when left out."""

    manual = "the plane of the image, 0 to 3; nothing is 0"
    example = "0"
    _plane = re.compile(r"(\d+)(?![\w:])")

    def parse(self, cursor: Cursor, names: Names) -> int:
        start = cursor.skip()
        match = cursor.match(self._plane)
        plane = int(match.group(1)) if match else 0
        if plane > 3:
            cursor.fail(f"plane {plane} is not in 0 to 3", start=start)
        return plane

    def print(self, operand: int) -> str:
        return str(operand)

    def pack(self, operand: int, out: Packer) -> None:
        out.u8(operand)

    def unpack(self, source: Unpacker) -> int:
        return source.u8("a plane")
