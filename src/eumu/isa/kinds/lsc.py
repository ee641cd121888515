"""Operands of the LSC instructions: caching, data with its shape, addresses with their model.

Source: vISA pages "LSC_UNTYPED", "LSC_TYPED", "LSC_FENCE"; the text is what Intel's front end reads
and prints: `lsc_load.ugm.uc.ca (M1, 32)  V59:d32x2  flat[V58+0x10]:a64`.
"""

from __future__ import annotations

import re
from typing import Any

from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder, Rows
from eumu.isa.kinds.bytes import EncodeError, Packer, Unpacker
from eumu.isa.kinds.control import ExecKind
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import pack_raw, unpack_raw
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import integer_literal, offset
from eumu.isa.kinds.lsc_encoding import (
    CACHE,
    MODELS,
    choose,
    pack_pitch,
    pack_shape,
    pack_surface,
    unpack_index,
    unpack_scalar,
    unpack_shape,
    unpack_surface,
)
from eumu.isa.kinds.lsc_model import SCALAR, model_surface, parse_model, print_model
from eumu.isa.kinds.operands import DataShape, ExecSize, General, Immediate, Raw
from eumu.isa.kinds.raw import RawKind
from eumu.records import dataclass
from eumu.types import UQ

SFIDS = ("ugm", "ugml", "slm")
SFID_CODES = (0, 1, 3)  # 2 is tgm


class LscExecKind(ExecKind):
    """An execution size that may be left out: the documents' examples do, Intel's front end does
    not allow it.  It is then the native one, 16 lanes, or 32 where registers have 64 bytes; typed
    messages have half as many.
    """

    optional = True

    def __init__(self, *, typed: bool = False) -> None:
        self.typed = typed
        self.manual = f"{ExecKind.manual}; may be left out"

    def parse(self, cursor: Cursor, names: Names) -> ExecSize | None:  # type: ignore[override]
        return super().parse(cursor, names) if cursor.ahead("(") else None

    def print(self, operand: ExecSize | None) -> str:
        return "" if operand is None else super().print(operand)

    def bind(self, operand: ExecSize | None, builder: InstBuilder) -> ExecSize:
        native = builder.grf // (4 if self.typed else 2)
        return super().bind(operand or ExecSize(native), builder)

    def pack(self, operand: ExecSize | None, out: Packer) -> None:
        super().pack(operand or ExecSize(out.grf_bytes // (4 if self.typed else 2)), out)


# ---- caching

_CACHE = re.compile(r"\.(df|uc|ca|wb|wt|st|ri|cc)\b")
_OVERFETCH = re.compile(r"\.ov\b")
_CACHED, _BACK = ("uc", "ca"), ("uc", "wb")

# The pairs (L1, L3) that each class of message may ask for, as Intel's front end has them; those
# with `cc` (cached for constants) and `ri.ri` since Xe2.
CACHE_PAIRS: dict[str, frozenset[str]] = {
    "load": frozenset(
        {"df.df", "uc.uc", "uc.ca", "ca.uc", "ca.ca", "st.uc", "st.ca", "ri.ca"}
        | {"ri.ri", "uc.cc", "ca.cc"}
    ),
    "store": frozenset({"df.df", "uc.uc", "uc.wb", "wb.wb", "wt.uc", "wt.wb", "st.uc", "st.wb"}),
    "atomic": frozenset({"df.df", "uc.uc", "uc.wb"}),
}
# The same with a cache between them, (L1, L2, L3): Xe3p.
CACHE_TRIPLES: dict[str, frozenset[str]] = {
    "load": frozenset(
        {"uc.uc.uc", "ri.ri.ri"}
        | {f"{l1}.{l2}.{l3}" for l1 in ("uc", "ca", "st") for l2 in _CACHED for l3 in _CACHED}
    ),
    "store": frozenset(
        {f"{l1}.{l2}.{l3}" for l1 in ("uc", "wt", "st", "wb") for l2 in _BACK for l3 in _BACK}
        - {"st.wb.wb", "wb.wb.wb"}
    ),
    "atomic": frozenset({"uc.uc.uc", "uc.uc.wb", "uc.wb.uc"}),
}


@dataclass(frozen=True, slots=True)
class Caching:
    """What the first-level and the last-level cache do; `df` is the default of the state.

    `l2` is "" where two caches are told only.  `overfetch` (Xe3p) lets the first one take more
    than what is asked for.
    """

    l1: str = "df"
    l3: str = "df"
    l2: str = ""
    overfetch: bool = False

    def __str__(self) -> str:
        return ".".join(filter(None, (self.l1, self.l2, self.l3, "ov" * self.overfetch)))


class CachingKind(Kind):
    """`.uc.ca`, or nothing; a pair that the class of message does not know is an error."""

    def __init__(self, access: str, *, overfetch: bool = False) -> None:
        self.access, self.overfetch = access, overfetch
        self.words = tuple(sorted(CACHE_PAIRS[access] | CACHE_TRIPLES[access]))
        pairs = " ".join(f".{pair}" for pair in sorted(CACHE_PAIRS[access]))
        self.manual = f"nothing, or what the L1 and L3 caches do: {pairs}"
        if CACHE_TRIPLES[access]:
            self.manual += "; on Xe3p also L1, L2 and L3, as in .uc.uc.uc"
        if overfetch:
            self.manual += ", and .ov, to fetch more, behind a cached L1"

    def parse(self, cursor: Cursor, names: Names) -> Caching:
        start = cursor.pos
        levels: list[str] = []
        while len(levels) < 3 and (match := cursor.adjacent(_CACHE)):
            levels.append(match.group(1))
        if len(levels) < 3:
            levels += ["df"] * (2 - len(levels))
        asked = ".".join(levels)
        if asked not in self.words:
            legal = ", ".join(sorted(CACHE_PAIRS[self.access]))
            cursor.fail(
                f"caching '{asked}' is not known to a {self.access}; legal are {legal}",
                start=start,
                code="caching",
            )
        l2 = levels[1] if len(levels) == 3 else ""
        return Caching(levels[0], levels[-1], l2, self._overfetch(cursor, levels[0]))

    def _overfetch(self, cursor: Cursor, l1: str) -> bool:
        start = cursor.pos
        if not self.overfetch or cursor.adjacent(_OVERFETCH) is None:
            return False
        if l1 != "ca":
            cursor.fail(".ov needs a cached L1, .ca", start=start, code="caching")
        return True

    def print(self, operand: Caching) -> str:
        return "" if operand == Caching() else f".{operand}"

    def pack(self, operand: Caching, out: Packer) -> None:
        if operand.l2 or operand.overfetch:
            raise EncodeError(f"caching '{operand}': the object file has two levels, and no more")
        out.code(CACHE, operand.l1, "caching")
        out.code(CACHE, operand.l3, "caching")

    def unpack(self, source: Unpacker) -> Caching:
        at = source.pos
        caching = Caching(source.code(CACHE, "caching"), source.code(CACHE, "caching"))
        if str(caching) not in CACHE_PAIRS[self.access]:
            source.fail(f"caching '{caching}' is not known to a {self.access}", at)
        return caching


# ---- data

_SIZE = re.compile(r":[du](8[cu]32|16[cu]32h?|8|16|32|64)")
_COUNT = re.compile(r"x(\d+)")
_ORDER = re.compile(r"t\b")
_CHANNELS = re.compile(r"\.([xyzwXYZW]{1,4})\b")
VECTORS = (1, 2, 3, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class LscData:
    """A register and the shape of what it holds."""

    register: Raw
    shape: DataShape


@dataclass(frozen=True, slots=True)
class DataRows:
    """:class:`LscData` as a body gets it."""

    rows: Rows
    shape: DataShape


class LscDataKind(Kind):
    """`V:d32x2`, `V.64:d32x16t`, `%null:d32`; with `channels`, `V:d32.xyz`."""

    codes = ("size", "order", "elements", "channels", "register")
    _register = RawKind(bare=True)

    def __init__(self, *, channels: bool = False) -> None:
        self.channels = channels
        self.manual = "registers and elements: V:d32, V:d64x4 (vectors), V:d32x16t (one address)"
        self.example = "{name}:d32"
        if channels:
            self.manual = "registers, element, channels: V:d32.xyzw"
            self.example = "{name}:d32.xyzw"

    def parse(self, cursor: Cursor, names: Names) -> LscData:
        register = self._register.parse(cursor, names)
        size = cursor.need(_SIZE, "the shape of the data, as in :d32 or :d32x4").group(1)
        size = "d" + size.replace("u32", "c32")
        return LscData(
            register, self._quad(cursor, size) if self.channels else _vector(cursor, size)
        )

    def _quad(self, cursor: Cursor, size: str) -> DataShape:
        match = cursor.adjacent(_CHANNELS)
        channels = tuple("xyzw".index(c) for c in match.group(1).lower()) if match else ()
        if not channels or sorted(set(channels)) != list(channels):
            cursor.fail("expected channels in the order xyzw, as in :d32.xy")
        return DataShape(size, channels=channels)

    def print(self, operand: LscData) -> str:
        return f"{self._register.print(operand.register)}:{operand.shape}"

    def pack_code(self, code: str, operand: LscData, out: Packer) -> None:
        out.shape = operand.shape
        if code == "register":
            pack_raw(operand.register, out)
        else:
            pack_shape(code, operand.shape, out)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        if code == "register":
            return unpack_raw(source)
        return unpack_shape(code, source, parts, channels=self.channels)

    def join(self, parts: dict[str, Any]) -> LscData:
        elements = parts["channels"]
        count, channels = (1, elements) if self.channels else (elements, ())
        shape = DataShape(parts["size"], count, parts["order"], channels)
        return LscData(parts["register"], shape)

    def bind(self, operand: LscData, builder: InstBuilder) -> DataRows:
        return DataRows(self._register.bind(operand.register, builder), operand.shape)


def _vector(cursor: Cursor, size: str) -> DataShape:
    start = cursor.pos
    match = cursor.adjacent(_COUNT)
    elements = int(match.group(1)) if match else 1
    if elements not in VECTORS:
        allowed = ", ".join(f"x{n}" for n in VECTORS)
        cursor.fail(f"a vector of {elements} elements is not one of {allowed}", start=start)
    if elements > 1 and size not in ("d32", "d64"):
        cursor.fail("only d32 and d64 have vectors", start=start)
    return DataShape(size, elements, cursor.adjacent(_ORDER) is not None)


# ---- addresses

_ADDRESS_SIZE = re.compile(r":a(16|32|64)((?<=32)[us])?\b")
# As the object file has them; of 32 bits, u and s say how indices become 64.
_SIZES = (None, *((16, ""), (32, ""), (64, ""), (32, "u"), (32, "s")))
_SCALE = re.compile(r"\d\w*\s*\*")


@dataclass(frozen=True, slots=True)
class LscAddress:
    """`ss(S)[scale*V+offset]:a32`: one address per lane, or with `strided` a base and a pitch.

    `surface` goes with the models bti, ss, bss, and surf (Xe3p); of flat it is a base (Xe3p).
    `index` counts surface states from there on, since version 4.2.
    `size` is in bits, `offset` and `pitch` count bytes; a strided access without a pitch is packed.
    `extension` u or s (Xe3p) makes indices of 32 bits 64 before they are scaled.
    """

    model: str
    surface: General | Immediate | None
    base: Raw
    size: int
    offset: int = 0
    scale: int = 1
    pitch: General | Immediate | None = None
    extension: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True)
class Addresses:
    """:class:`LscAddress` as a body gets it: `surface` and `pitch` are one lane each."""

    model: str
    surface: Value | None
    base: Rows
    size: int
    offset: int
    scale: int
    pitch: Value | None
    extension: str = ""


class LscAddressKind(Kind):
    """`flat[V+0x10]:a64`, `bti(0x4)[V]:a32`, `[V]:a32`; if `strided`, `flat[V, 0x4]:a64`."""

    codes = ("model", "scale", "offset", "size", "surface", "index", "base", "pitch")
    _register = RawKind(bare=True)

    def __init__(self, *, strided: bool = False) -> None:
        self.strided = strided
        self.manual = "addresses: flat[V+0x10]:a64, bti(0x4)[V]:a32, ss(S)[4*V]:a32, [V]:a32"
        self.example = "flat[{name}]:a64"
        if strided:
            self.manual = "a first address and a pitch: flat[V, 0x4]:a64"
            self.example = "flat[{name}, 0x4]:a64"

    def parse(self, cursor: Cursor, names: Names) -> LscAddress:
        model, surface, index = parse_model(cursor, names)
        cursor.expect("[", "and an address, as in flat[V32]:a64")
        scale = self._scale(cursor)
        base = self._register.parse(cursor, names)
        added = offset(cursor, names)
        pitch = SCALAR.parse(cursor, names) if self.strided and cursor.take(",") else None
        cursor.expect("]")
        match = cursor.need(_ADDRESS_SIZE, "the size of an address, as in :a64")
        size, extension = int(match[1]), match[2] or ""
        return LscAddress(model, surface, base, size, added, scale, pitch, extension, index)

    def _scale(self, cursor: Cursor) -> int:
        start = cursor.skip()
        if _SCALE.match(cursor.text, start) is None:
            return 1
        scale = integer_literal(cursor)
        cursor.expect("*")
        if scale < 1 or scale & (scale - 1):
            cursor.fail(f"the scale {scale} is not a power of two", start=start)
        return scale

    def print(self, operand: LscAddress) -> str:
        scale = f"{operand.scale}*" if operand.scale != 1 else ""
        base = self._register.print(operand.base)
        sign = "-" if operand.offset < 0 else "+"
        offset = f"{sign}{abs(operand.offset):#x}" if operand.offset else ""
        pitch = f", {SCALAR.print(operand.pitch)}" if operand.pitch else ""
        model = print_model(operand.model, operand.surface, operand.index)
        return f"{model}[{scale}{base}{offset}{pitch}]:a{operand.size}{operand.extension}"

    def pack_code(self, code: str, operand: LscAddress, out: Packer) -> None:
        match code:
            case "model":
                out.code(MODELS, operand.model, "the model of an address")
            case "scale":
                out.u16(operand.scale, "scale")
            case "offset":
                out.number("i", operand.offset, "offset")
            case "size":
                out.code(_SIZES, (operand.size, operand.extension), "the size of an address")
            case "surface":
                pack_surface(operand.surface, out)
            case "index":
                out.number("I", operand.index, "the index of a surface state")
            case "base":
                pack_raw(operand.base, out)
            case _:
                pack_pitch(operand.pitch, out)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        match code:
            case "model":
                return choose(source, MODELS, "the model of an address")
            case "scale":
                at, scale = source.pos, source.u16("a scale")
                if scale & (scale - 1) or not scale:
                    source.fail(f"the scale {scale} is not a power of two", at)
                return scale
            case "offset":
                return source.i32("an offset")
            case "size":
                return choose(source, _SIZES, "the size of an address")
            case "surface":
                return unpack_surface(source, parts["model"])
            case "index":
                return unpack_index(source, parts["model"])
            case "base":
                return unpack_raw(source)
        return unpack_scalar(source)

    def left_out(self, code: str, operand: LscAddress) -> bool:
        return code == "index" and not operand.index

    def join(self, parts: dict[str, Any]) -> LscAddress:
        size, extension = parts["size"]
        return LscAddress(**{**parts, "size": size, "extension": extension})

    def bind(self, operand: LscAddress, builder: InstBuilder) -> Addresses:
        return Addresses(
            operand.model,
            _surface(operand, builder),
            self._register.bind(operand.base, builder),
            operand.size,
            operand.offset,
            operand.scale,
            None if operand.pitch is None else SCALAR.bind(operand.pitch, builder),
            operand.extension,
        )


def _surface(operand: LscAddress, builder: InstBuilder) -> Value | None:
    """The surface as ud, of flat addresses the base that is added to each, as uq.

    Of `surf` it is a pointer of 64 bits; one that is no handle here leads to no surface.
    """
    if operand.surface is None:
        return None
    if operand.model == "flat":
        return builder.convert(SCALAR.bind(operand.surface, builder), UQ)
    return model_surface(builder, operand.model, operand.surface, operand.index)
