"""Operands of the messages to render targets: options, and the operands that they ask for.

Source: vISA pages "RT_WRITE" and "RT_READ".
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any, Final

from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder, Rows
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import pack_raw, unpack_raw
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.operands import Raw
from eumu.isa.kinds.raw import RawKind
from eumu.isa.kinds.vector import SourceKind
from eumu.records import dataclass

# Words of `rt_write_3d` and their bits, in the order in which Intel's printer has them.
WRITE_BITS: Final = {
    **{"RTI": 2, "A": 3, "O": 4, "Z": 5, "ST": 6, "LRTW": 7},
    **{"CPS": 8, "PS": 9, "CM": 10, "SI": 11, "NULLRT": 12},
}
READ_BITS: Final = {"PS": 0, "SI": 1}

# Operands by the word that asks for them, None for those that are always there, in order: first
# those that are vectors, then registers.
_SCALARS: Final = (("SI", "sample_index"), ("CPS", "coarse"), ("RTI", "target"))
_REGISTERS: Final = (
    *(("A", "alpha0"), ("O", "omask"), (None, "r"), (None, "g"), (None, "b"), (None, "a")),
    *(("Z", "depth"), ("ST", "stencil")),
)


def scalars_of(options: frozenset[str]) -> tuple[str, ...]:
    """The vector operands that options ask for."""
    return tuple(name for word, name in _SCALARS if word in options)


def registers_of(options: frozenset[str]) -> tuple[str, ...]:
    """The registers that options ask for, colours included."""
    return tuple(name for word, name in _REGISTERS if word is None or word in options)


def parse_words(cursor: Cursor, bits: dict[str, int]) -> frozenset[str]:
    """`.<A><LRTW>`, in any order."""
    start = cursor.pos
    if not cursor.adjacent(_OPTIONS_START):
        return frozenset()
    chosen = set()
    while word := cursor.adjacent(_WORD):
        if word.group(1) not in bits:
            allowed = " ".join(f"<{name}>" for name in bits)
            message = f"the option {word.group()} is not one of {allowed}"
            cursor.fail(message, start=start, code="option")
        chosen.add(word.group(1))
    return frozenset(chosen)


_OPTIONS_START = re.compile(r"\.(?=<)")
_WORD = re.compile(r"<([A-Za-z]+)>")


def print_words(options: frozenset[str], bits: dict[str, int]) -> str:
    words = "".join(f"<{name}>" for name in bits if name in options)
    return f".{words}" if words else ""


def pack_words(options: frozenset[str], bits: dict[str, int], out: Packer) -> None:
    out.u16(sum(1 << bits[word] for word in options))


def unpack_words(source: Unpacker, bits: dict[str, int]) -> frozenset[str]:
    at, value = source.pos, source.u16("the options of a render target message")
    if value & ~sum(1 << bit for bit in bits.values()):
        source.fail(f"the options of a render target message are {value:#06x}", at)
    return frozenset(word for word, bit in bits.items() if value >> bit & 1)


@dataclass(frozen=True, slots=True)
class RenderData:
    """Options and operands of `rt_write_3d`; `scalars` and `registers` as the options name them."""

    header: Raw
    scalars: tuple[Any, ...]
    registers: tuple[Raw, ...]
    options: frozenset[str] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class RenderRows:
    """:class:`RenderData` as a body gets it: operands by name, those that are there."""

    options: frozenset[str]
    header: Rows
    scalars: dict[str, Value]
    registers: dict[str, Rows]


class RenderDataKind(Kind):
    """`.<RTI>` behind the mnemonic, then `%null.0 0x1:ud R.0 G.0 B.0 A.0`: header, vectors, rest.

    The documents' text leaves out the header, Intel's front end needs it; they have a number of
    registers in the object file, its reader has none.
    """

    manual = (
        "the header, then what options ask for: <SI> sample index, <CPS> counter, <RTI> target,"
        " <A> alpha of target 0, <O> mask of samples; red, green, blue, alpha; <Z> depth, <ST>"
        " stencil.  Other options: <LRTW> last write, <PS> per sample, <CM> coarse, <NULLRT>"
    )
    example = "{name}.0 {name}.64 {name}.128 {name}.192 {name}.256"
    parts = ("options",)
    codes = ("options", "header", "scalars", "registers")
    optional = True  # a reader must not take the first operand for all of them
    _register = RawKind()
    _scalar = SourceKind(scalar=True)

    def parse_part(self, part: str, cursor: Cursor) -> tuple[str, frozenset[str]]:
        return "options", parse_words(cursor, WRITE_BITS)

    def print_part(self, part: str, operand: RenderData) -> str:
        return print_words(operand.options, WRITE_BITS)

    def parse(self, cursor: Cursor, names: Names) -> RenderData:
        header = self._register.parse(cursor, names)
        scalars: list[Any] = []
        registers: list[Raw] = []
        while not cursor.at_end():
            if registers or _RAW.match(cursor.text, cursor.skip()):
                registers.append(self._register.parse(cursor, names))
            else:
                scalars.append(self._scalar.parse(cursor, names))
        return RenderData(header, tuple(scalars), tuple(registers))

    def complete(self, cursor: Cursor, operand: RenderData) -> None:
        for actual, wanted, what in (
            (operand.scalars, scalars_of(operand.options), "vector operands"),
            (operand.registers, registers_of(operand.options), "registers behind the header"),
        ):
            if len(actual) != len(wanted):
                shown = f": {' '.join(wanted)}" if wanted else ""
                many = what.startswith("registers") and len(actual) > len(wanted)
                cursor.fail(
                    f"{len(actual)} {what}; the options ask for {len(wanted)}{shown}",
                    found=False,
                    code="registers" if many else "parse",
                )

    def print(self, operand: RenderData) -> str:
        scalars = [self._scalar.print(o) for o in operand.scalars]
        registers = [self._register.print(o) for o in operand.registers]
        return " ".join([self._register.print(operand.header), *scalars, *registers])

    def pack_code(self, code: str, operand: RenderData, out: Packer) -> None:
        match code:
            case "options":
                pack_words(operand.options, WRITE_BITS, out)
            case "header":
                pack_raw(operand.header, out)
            case "scalars":
                for scalar in operand.scalars:
                    self._scalar.pack(scalar, out)
            case _:
                for register in operand.registers:
                    pack_raw(register, out)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        match code:
            case "options":
                return unpack_words(source, WRITE_BITS)
            case "header":
                return unpack_raw(source)
            case "scalars":
                wanted = scalars_of(parts["options"])
                return tuple(self._scalar.unpack(source) for _ in wanted)
        return tuple(unpack_raw(source) for _ in registers_of(parts["options"]))

    def join(self, parts: dict[str, Any]) -> RenderData:
        return RenderData(**parts)

    def bind(self, operand: RenderData, builder: InstBuilder) -> RenderRows:
        scalars = [self._scalar.bind(o, builder) for o in operand.scalars]
        registers = [self._register.bind(o, builder) for o in operand.registers]
        return RenderRows(
            operand.options,
            self._register.bind(operand.header, builder),
            dict(zip(scalars_of(operand.options), scalars, strict=True)),
            dict(zip(registers_of(operand.options), registers, strict=True)),
        )


_RAW = re.compile(r"%?\w+\.[\d(]")


@dataclass(frozen=True, slots=True)
class ReadSample:
    """Options of `rt_read_3d`, and the sample index that <SI> asks for."""

    options: frozenset[str] = frozenset()
    index: Any = None


class ReadSampleKind(Kind):
    """`.<PS><SI>` behind the mnemonic; with <SI>, a sample index."""

    manual = "with the option <SI>, a sample index; <PS> is the other option"
    parts = ("options",)
    codes = ("options", "index")
    optional = True
    default = ReadSample()
    _scalar = SourceKind(scalar=True)

    def parse_part(self, part: str, cursor: Cursor) -> tuple[str, frozenset[str]]:
        return "options", parse_words(cursor, READ_BITS)

    def print_part(self, part: str, operand: ReadSample) -> str:
        return print_words(operand.options, READ_BITS)

    def parse(self, cursor: Cursor, names: Names) -> ReadSample:
        if _RAW.match(cursor.text, cursor.skip()) or cursor.at_end():
            return ReadSample()
        return ReadSample(index=self._scalar.parse(cursor, names))

    def complete(self, cursor: Cursor, operand: ReadSample) -> None:
        if ("SI" in operand.options) != (operand.index is not None):
            cursor.fail("the option <SI> and a sample index go together", found=False)

    def print(self, operand: ReadSample) -> str:
        return "" if operand.index is None else f"{self._scalar.print(operand.index)} "

    def pack_code(self, code: str, operand: ReadSample, out: Packer) -> None:
        if code == "options":
            pack_words(operand.options, READ_BITS, out)
        elif operand.index is not None:
            self._scalar.pack(operand.index, out)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        if code == "options":
            return unpack_words(source, READ_BITS)
        return self._scalar.unpack(source) if "SI" in parts["options"] else None

    def join(self, parts: dict[str, Any]) -> ReadSample:
        return ReadSample(**parts)

    def bind(self, operand: ReadSample, builder: InstBuilder) -> frozenset[str]:
        if operand.index is not None:
            self._scalar.bind(operand.index, builder)
        return operand.options
