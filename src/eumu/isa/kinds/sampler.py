"""Operands of the sampler's messages: samplers, options, texel offsets, lists of parameters.

Source: vISA pages "3D_SAMPLE", "3D_LOAD", "3D_SAMPLE4", "SAMPLE_UNORM".  Parameters may be left out
from the end; they are zero then, and `%null.0` is zero too.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder, Rows
from eumu.isa.kinds.bytes import EncodeError, Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import pack_raw, unpack_raw
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import NAME, integer_literal
from eumu.isa.kinds.lsc_model import SCALAR, model_surface
from eumu.isa.kinds.operands import ExecSize, General, Immediate, Raw
from eumu.isa.kinds.raw import ChannelsKind, RawKind, SurfaceKind
from eumu.isa.kinds.variables import SamplerVariable, Variable
from eumu.isa.kinds.vector import BEFORE_POINTERS, SourceKind, variable
from eumu.records import dataclass
from eumu.types import UD, D

# The releases of 2022 and of 2026 call their formats 4.1 and 4.2; only the latter pairs surfaces.
BEFORE_PAIRS = (4, 1)


# ---- states by their pointers


@dataclass(frozen=True, slots=True)
class Pointer:
    """`V` or `V(0,0)<0;1,0>[0]`: a surface or sampler by a pointer of 64 bits, as Xe3p has it.

    `index` is the number in brackets, None where there are none.
    """

    place: General
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Pointed:
    """What a body gets of a pointer: the state's offset in its heap, as ud."""

    offset: Value


_REGION = re.compile(r"<0;1,0>")
_POINTER_BYTES = 8


def _pointer(cursor: Cursor, names: Names) -> Pointer | None:
    """The pointer that comes next; nothing where a state variable does."""
    start = cursor.skip()
    name = cursor.match(NAME)
    variable = names.find(name.group()) if name else None
    cursor.pos = start
    if not isinstance(variable, Variable) or names.version <= BEFORE_POINTERS:
        return None
    place = SCALAR.parse(cursor, names)
    assert isinstance(place, General)
    if place.type.size != _POINTER_BYTES:
        cursor.fail(f"'{variable.name}' is :{place.type}; a pointer has 64 bits", start=start)
    if not cursor.match(_REGION):
        return Pointer(place)
    cursor.expect("[", "and an index behind the pointer")
    index = integer_literal(cursor)
    cursor.expect("]")
    return Pointer(place, index)


def _print_pointer(operand: Pointer) -> str:
    if operand.index is None:
        return SCALAR.print(operand.place)
    place = operand.place
    return f"{place.variable.name}({place.row},{place.col})<0;1,0>[{operand.index}]"


def _bind_pointer(operand: Pointer, builder: InstBuilder) -> Pointed:
    if operand.index:
        raise Unsupported("an index behind a pointer, which no page tells")
    return Pointed(model_surface(builder, "surf", operand.place, 0))


def _pack_pointer() -> None:
    raise EncodeError("a surface or sampler by its pointer has no form in documents of the format")


class _OrPointer(Kind):
    """What a kind of variables has besides: since version 4.2 a pointer; the body gets Pointed."""

    def parse(self, cursor: Cursor, names: Names) -> Any:
        return _pointer(cursor, names) or super().parse(cursor, names)

    def print(self, operand: Any) -> str:
        return _print_pointer(operand) if isinstance(operand, Pointer) else super().print(operand)

    def pack(self, operand: Any, out: Packer) -> None:
        if isinstance(operand, Pointer):
            _pack_pointer()
        super().pack(operand, out)

    def bind(self, operand: Any, builder: InstBuilder) -> Any:
        return _bind_pointer(operand, builder) if isinstance(operand, Pointer) else operand


class ImageKind(_OrPointer, SurfaceKind):
    """A surface variable, or since version 4.2 a pointer; the body gets the variable or Pointed."""

    manual = "an image: %bss, a variable with v_type=T, or since version 4.2 a pointer of 64 bits"


class SamplerKind(Kind):
    """A sampler variable by name; the body gets the variable."""

    manual = "a sampler: S31 (bindless), or a variable with v_type=S"
    example = "S0"

    def parse(self, cursor: Cursor, names: Names) -> Any:
        return variable(cursor, names, SamplerVariable, what="a sampler variable")

    def print(self, operand: Any) -> str:
        return str(operand.name)

    def pack(self, operand: Any, out: Packer) -> None:
        out.u8(out.variable(operand), "the number of a sampler")

    def unpack(self, source: Unpacker) -> SamplerVariable:
        at = source.pos
        return source.variable(SamplerVariable, source.u8("a sampler"), at)


class ImageSamplerKind(_OrPointer, SamplerKind):
    """The same, or since version 4.2 a pointer; the body gets the variable or Pointed."""

    manual = f"{SamplerKind.manual}, or since version 4.2 a pointer of 64 bits"


# ---- options

OPTIONS = ("pixel_null_mask", "cps", "divS")


class SamplerOptionsKind(Kind):
    """`.pixel_null_mask.cps.divS`: words out of OPTIONS, in this order; the body gets a set.

    `pixel_null_mask` asks for a register more, with the lanes that touched no unmapped page; `cps`
    adjusts the level of detail to coarse pixels; `divS` says that lanes have samplers of their own.
    The options share the byte of the sub-opcode, and have one of their own since version 4.
    """

    codes = ("low", "high")

    def __init__(self, *words: str) -> None:
        self.words = words
        self.manual = f"nothing, or in this order: {' '.join(f'.{word}' for word in words)}"

    def parse(self, cursor: Cursor, names: Names) -> frozenset[str]:
        return frozenset(w for w in self.words if cursor.adjacent(_OPTION_WORDS[w]))

    def print(self, operand: frozenset[str]) -> str:
        return "".join(f".{word}" for word in OPTIONS if word in operand)

    def pack_code(self, code: str, operand: frozenset[str], out: Packer) -> None:
        bits = sum(1 << n for n, word in enumerate(OPTIONS) if word in operand)
        if code == "low":
            out.u8(0 if _has_own_byte(out) else bits << 5)
        elif _has_own_byte(out):
            out.u8(bits)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> int:
        if code == "high" and not _has_own_byte(source):
            return 0
        at, byte = source.pos, source.u8("the options of a sampler message")
        bits = byte >> 5 if code == "low" else byte
        allowed = sum(1 << n for n, word in enumerate(OPTIONS) if word in self.words)
        if bits & ~allowed or (bits and code == "low" and _has_own_byte(source)):
            source.fail(f"the options of a sampler message are {byte:#04x}", at)
        return bits

    def join(self, parts: dict[str, Any]) -> frozenset[str]:
        bits = parts["low"] | parts["high"]
        return frozenset(word for n, word in enumerate(OPTIONS) if bits >> n & 1)


_OPTION_WORDS = {word: re.compile(rf"\.{word}\b") for word in OPTIONS}


def _has_own_byte(file: Packer | Unpacker) -> bool:
    return file.version >= (4, 0)


# ---- channels


class ChannelKind(Kind):
    """`R`, `G`, `B` or `A`; the body gets its number, R is 0."""

    manual = "one channel: R, G, B or A"
    example = "R"
    _letters = re.compile(r"[RGBArgba]+\b")

    def parse(self, cursor: Cursor, names: Names) -> int:
        start = cursor.pos
        match = cursor.adjacent(self._letters)
        if match is None or len(match.group()) != 1:
            cursor.fail("expected one channel, as in .R", start=start)
        return "RGBA".index(match.group().upper())

    def print(self, operand: int) -> str:
        return "RGBA"[operand]

    def pack(self, operand: int, out: Packer) -> None:
        out.u8(operand)

    def unpack(self, source: Unpacker) -> int:
        at, byte = source.pos, source.u8("a channel")
        if byte > 3:
            source.fail(f"channel {byte} is not one of four", at)
        return byte


class AllChannelsKind(ChannelsKind):
    """`.RGBA`; the documents' text leaves it out, which means all."""

    manual = "channels in the order RGBA: .R, .RA; nothing is all"
    example = ".RGBA"
    _dot = re.compile(r"\.")

    def parse(self, cursor: Cursor, names: Names) -> tuple[int, ...]:
        return super().parse(cursor, names) if cursor.adjacent(self._dot) else (0, 1, 2, 3)

    def print(self, operand: tuple[int, ...]) -> str:
        return f".{super().print(operand)}"


@dataclass(frozen=True, slots=True)
class UnormChannels:
    """`RG.16-full`: channels, and how many bits of which pixels are returned."""

    channels: tuple[int, ...]
    format: str


UNORM_FORMATS = ("16-full", "16-downsampled", "8-full", "8-downsampled")


class UnormChannelsKind(Kind):
    """Channels and format of `sample_unorm`, which share a byte."""

    manual = f"channels and format: RGBA.16-full; formats are {', '.join(UNORM_FORMATS)}"
    example = "RGBA.16-full"
    _channels = ChannelsKind()
    _format = re.compile(r"\.((?:16|8)-(?:full|downsampled))\b")

    def parse(self, cursor: Cursor, names: Names) -> UnormChannels:
        channels = self._channels.parse(cursor, names)
        match = cursor.adjacent(self._format)
        if match is None:
            cursor.fail(f"expected a format, one of {', '.join(UNORM_FORMATS)}, as in .16-full")
        return UnormChannels(channels, match.group(1))

    def print(self, operand: UnormChannels) -> str:
        return f"{self._channels.print(operand.channels)}.{operand.format}"

    def pack(self, operand: UnormChannels, out: Packer) -> None:
        format = UNORM_FORMATS.index(operand.format)
        out.u8(sum(1 << c for c in operand.channels) | format << 4)

    def unpack(self, source: Unpacker) -> UnormChannels:
        at, byte = source.pos, source.u8("channels")
        if not byte & 15 or byte >> 6:
            source.fail(f"channels and format are {byte:#04x}", at)
        channels = tuple(c for c in range(4) if byte >> c & 1)
        return UnormChannels(channels, UNORM_FORMATS[byte >> 4])


@dataclass(frozen=True, slots=True)
class LegacyLanes:
    """`RG (8)`: channels and lanes of the messages before 3D_SAMPLE."""

    channels: tuple[int, ...]
    lanes: int


class LegacyLanesKind(Kind):
    """Channels and number of lanes of `sample` and `load`, which share a byte."""

    manual = "channels and 8 or 16 lanes: RGBA (8)"
    example = "RGBA (8)"
    _channels = ChannelsKind()
    _lanes: ClassVar = (8, 16)

    def parse(self, cursor: Cursor, names: Names) -> LegacyLanes:
        channels = self._channels.parse(cursor, names)
        cursor.expect("(", "and the number of lanes, as in (8)")
        start = cursor.skip()
        lanes = integer_literal(cursor)
        if lanes not in self._lanes:
            code = "lanes" if lanes == 32 else "parse"
            cursor.fail(f"{lanes} lanes are not 8 or 16", start=start, code=code)
        cursor.expect(")")
        return LegacyLanes(channels, lanes)

    def print(self, operand: LegacyLanes) -> str:
        return f"{self._channels.print(operand.channels)} ({operand.lanes})"

    def pack(self, operand: LegacyLanes, out: Packer) -> None:
        channels = sum(1 << c for c in operand.channels)
        out.u8(channels | self._lanes.index(operand.lanes) << 4)

    def unpack(self, source: Unpacker) -> LegacyLanes:
        at, byte = source.pos, source.u8("channels")
        if not byte & 15 or byte >> 4 >= len(self._lanes):
            source.fail(f"channels and lanes are {byte:#04x}", at)
        return LegacyLanes(tuple(c for c in range(4) if byte >> c & 1), self._lanes[byte >> 4])

    def bind(self, operand: LegacyLanes, builder: InstBuilder) -> LegacyLanes:
        builder.begin(ExecSize(operand.lanes))
        return operand


# ---- texel offsets


@dataclass(frozen=True, slots=True)
class TexelOffsets:
    """What is added to the texel's place, -8 to 7 each, as one lane of `d`.

    `constant` has (u, v, r) where the program does.
    """

    u: Value
    v: Value
    r: Value
    constant: tuple[int, int, int] | None


class TexelOffsetsKind(SourceKind):
    """Bits 0-3 are the offset of r, 4-7 of v, 8-11 of u, signed; the body gets TexelOffsets."""

    manual = "texel offsets of u, v, r, four signed bits each: 0x0:uw, 0x1f0:uw for u+1, v-1"
    example = "0x0:uw"

    def __init__(self) -> None:
        super().__init__(scalar=True)
        self.manual, self.example = type(self).manual, type(self).example

    def forms(self, classes: str) -> list[tuple[str, str]]:
        return [(self.manual, self.example)]

    def bind(self, operand: Any, builder: InstBuilder) -> TexelOffsets:  # type: ignore[override]
        bits = builder.convert(super().bind(operand, builder), UD)
        constant = _offsets(operand.bits) if isinstance(operand, Immediate) else None
        if constant is not None:
            u, v, r = (builder.const(D, number) for number in constant)
        else:
            u, v, r = (_signed_nibble(builder, bits, place) for place in (8, 4, 0))
        return TexelOffsets(u, v, r, constant)


def _offsets(bits: int) -> tuple[int, int, int]:
    u, v, r = ((bits >> place & 15 ^ 8) - 8 for place in (8, 4, 0))
    return u, v, r


def _signed_nibble(builder: InstBuilder, bits: Value, place: int) -> Value:
    top = builder.bitcast(builder.shl(bits, builder.const(UD, 28 - place)), D)
    return builder.shr(top, builder.const(D, 28))


# ---- parameters


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of a message by name: a register's first lanes each, no register for zeros."""

    rows: dict[str, Rows]

    def __getitem__(self, name: str) -> Rows:
        return self.rows[name]

    def __contains__(self, name: str) -> bool:
        """Whether the program gives it."""
        return name in self.rows and self.rows[name].root is not None


class PairedKind(Kind):
    """`%null.0`: since version 4.2 a surface beside the one that is read; the body gets nothing."""

    optional = True
    manual = "since version 4.2: a second surface, none: %null.0"
    example = "%null.0"
    _register = RawKind()

    def parse(self, cursor: Cursor, names: Names) -> Raw | None:
        return self._register.parse(cursor, names) if names.version > BEFORE_PAIRS else None

    def print(self, operand: Raw | None) -> str:
        return "" if operand is None else f" {self._register.print(operand)}"

    def pack(self, operand: Raw | None, out: Packer) -> None:
        pack_raw(operand or Raw(None), out)

    def unpack(self, source: Unpacker) -> Raw:
        return unpack_raw(source)

    def bind(self, operand: Raw | None, builder: InstBuilder) -> None:
        if operand is not None and operand.variable is not None:
            raise Unsupported("a message to the sampler with a paired surface, which no page tells")


class ParametersKind(Kind):
    """`U.0 V.0 R.0`: one to all of the names, as raw operands; the body gets Parameters.

    `short` are the names where the first parameter has elements of 16 bits.
    """

    optional = True  # a reader must not take the first parameter for all of them
    _register = RawKind()

    def __init__(self, *names: str, short: tuple[str, ...] = ()) -> None:
        self.names, self.short = names, short
        self.manual = f"registers, the last ones may be left out: {' '.join(names)}"
        if short:
            self.manual += f"; of words: {' '.join(short)}"
        self.example = " ".join(f"{{name}}.{64 * n}" for n in range(min(2, len(names))))

    def names_of(self, operand: tuple[Raw, ...]) -> tuple[str, ...]:
        """What the parameters are called, in order."""
        first = operand[0].variable
        return self.short if self.short and first and first.type.size == 2 else self.names

    def parse(self, cursor: Cursor, names: Names) -> tuple[Raw, ...]:
        start = cursor.skip()
        parameters: list[Raw] = []
        while not parameters or not cursor.at_end():
            parameters.append(self._register.parse(cursor, names))
        many = "parameters"
        self._check(tuple(parameters), lambda message: cursor.fail(message, start=start, code=many))
        return tuple(parameters)

    def _check(self, parameters: tuple[Raw, ...], fail: Any) -> None:
        names = self.names_of(parameters)
        if len(parameters) > len(names):
            fail(f"{len(parameters)} parameters; there are {len(names)}: {' '.join(names)}")

    def print(self, operand: tuple[Raw, ...]) -> str:
        return " ".join(self._register.print(raw) for raw in operand)

    def pack(self, operand: tuple[Raw, ...], out: Packer) -> None:
        if not operand:
            raise EncodeError("a sampler message has one parameter at least")
        out.u8(len(operand), "the number of parameters")
        for raw in operand:
            pack_raw(raw, out)

    def unpack(self, source: Unpacker) -> tuple[Raw, ...]:
        at, count = source.pos, source.u8("the number of parameters")
        if not count:
            source.fail("a sampler message has one parameter at least", at)
        parameters = tuple(unpack_raw(source) for _ in range(count))
        self._check(parameters, lambda message: source.fail(message, at))
        return parameters

    def bind(self, operand: tuple[Raw, ...], builder: InstBuilder) -> Parameters:
        bound = [self._register.bind(raw, builder) for raw in operand]
        names = self.names_of(operand)
        nothing = [Rows(None, 0, bound[0].type)] * (len(names) - len(bound))
        return Parameters(dict(zip(names, bound + nothing, strict=True)))
