"""Functions that read a texel in every lane, and its bits into numbers and back.

`@texel(record, left, row, x, y, slice)` gives the channels that were asked for, floats or integers.
All places must be inside the surface: what is not has been clamped or replaced by 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.compiled.writer import Body, Module, number
from eumu.device.surfaces.formats import Channel, Encoding, Numbers, TexelFormat
from eumu.device.surfaces.texels import linear_from_srgb, srgb_from_linear

__all__ = [
    "Piece",
    "Texels",
    "can_keep",
    "can_read",
    "can_write",
    "encode",
    "encode_some",
    "float_bits",
    "offsets",
    "tables",
    "texel_function",
]

# Channels of a pair in its four bytes: luma of both texels, Cb, Cr.
_PAIRS: Final = {
    "YCRCB_NORMAL": (0, 2, 1, 3),
    "YCRCB_SWAPUVY": (1, 3, 2, 0),
    "YCRCB_SWAPUV": (0, 2, 3, 1),
    "YCRCB_SWAPY": (1, 3, 0, 2),
}


@dataclass(frozen=True, slots=True)
class Texels:
    """A kind of surface: format, tile mode (0 linear), whether rows and slices are counted."""

    format: TexelFormat
    tiles: int
    rows: bool = True
    slices: bool = True

    @property
    def is_integer(self) -> bool:
        return self.format.is_integer

    def type(self, b: Body) -> str:
        """The type of a channel's vector."""
        return b.i if self.is_integer else b.f


def can_read(format: TexelFormat) -> bool:
    """Whether there is code for texels of a format."""
    if format.encoding in (Encoding.PACKED_422, Encoding.PLANAR):
        return True
    crossing = any(c.shift % 32 + c.size > 32 for c in format.channels)
    return format.encoding is Encoding.PLAIN and not crossing


def can_write(format: TexelFormat) -> bool:
    """Whether there is code that makes texels of a format."""
    never = {Numbers.SHAREDEXP, Numbers.USCALED, Numbers.SSCALED, Numbers.NONE}
    numbers = {c.numbers for c in format.channels}
    return can_read(format) and format.encoding is Encoding.PLAIN and not numbers & never


def can_keep(format: TexelFormat, given: frozenset[int]) -> bool:
    """Whether a write of some channels can leave the bits of the others alone: they are whole
    bytes, fill the texel, and what is decoded would become the same bits again.
    """
    exact = (Numbers.UINT, Numbers.SINT, Numbers.UNORM)
    for c in format.channels:
        kept = c.numbers in exact and c.size < 32
        kept = kept or (c.size == 32 and c.numbers is not Numbers.UNORM)
        if c.size % 8 or c.numbers is Numbers.SNORM or not (kept or c.to[0] in given):
            return False
    return 8 * format.bytes == sum(c.size for c in format.channels)


# ---- sRGB


def _sizes(format: TexelFormat) -> list[int]:
    """The different sizes of sRGB channels; their tables are in this order."""
    return sorted({c.size for c in format.channels if c.srgb})


@cache
def _decoded(size: int) -> NDArray[np.float32]:
    return linear_from_srgb(np.arange(1 << size) / np.float64((1 << size) - 1))


@cache
def _thresholds(size: int) -> NDArray[np.float32]:
    """For each code the least float that becomes it, by bisection; the first is minus infinity."""
    top = (1 << size) - 1
    code = np.arange(1, top + 1)
    low = np.zeros(top, np.int64)
    high = np.full(top, int(np.float32(1).view(np.uint32)), np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        value = middle.astype(np.uint32).view(np.float32).astype(np.float64)
        reached = np.rint(srgb_from_linear(value) * top) >= code
        high, low = np.where(reached, middle, high), np.where(reached, low, middle + 1)
    found = low.astype(np.uint32).view(np.float32)
    return np.concatenate([np.array([-np.inf], np.float32), found])


def tables(format: TexelFormat, *, writes: bool) -> list[NDArray[np.float32]]:
    """What a record's `table` points to."""
    return [(_thresholds if writes else _decoded)(size) for size in _sizes(format)]


# ---- addresses


def offsets(b: Body, kind: Texels, left: str, row: str, x: str, y: str, slice: str) -> str:
    """Bytes from the surface's base to the block of a texel in every lane."""
    across = kind.format.block[0]
    if across > 1:
        x = b.ints("lshr", x, b.k(across.bit_length() - 1))
    if not kind.tiles:
        place = b.ints("add", left, b.ints("mul", x, b.wide("step", 0)))
        if kind.rows:
            place = b.ints("add", place, b.ints("mul", y, b.wide("step", 1)))
        if kind.slices:
            place = b.ints("add", place, b.ints("mul", slice, b.wide("step", 2)))
        return place
    left = b.ints("add", left, b.ints("mul", x, b.k(kind.format.bytes)))
    row = b.ints("add", row, y)
    if kind.slices:
        row = b.ints("add", row, b.ints("mul", slice, b.wide("qpitch")))
    return _tiled(b, kind.tiles, left, row)


def _tiled(b: Body, mode: int, left: str, row: str) -> str:
    """Bytes from the base to byte `left` of a row; X tiles are 512 x 8, Y tiles 128 x 32."""
    wide, high = (9, 3) if mode == 2 else (7, 5)
    tile = b.ints("mul", b.ints("lshr", row, b.k(high)), b.wide("tiles"))
    tile = b.ints("add", tile, b.ints("lshr", left, b.k(wide)))
    start = b.ints("shl", tile, b.k(12))
    column = b.ints("and", left, b.k((1 << wide) - 1))
    line = b.ints("and", row, b.k((1 << high) - 1))
    if mode == 2:
        inside = b.ints("add", b.ints("shl", line, b.k(9)), column)
    else:
        sixteens = b.ints("shl", b.ints("lshr", column, b.k(4)), b.k(9))
        inside = b.ints("add", sixteens, b.ints("shl", line, b.k(4)))
        inside = b.ints("add", inside, b.ints("and", column, b.k(15)))
    return b.ints("add", start, inside)


# ---- reading


def texel_function(module: Module, kind: Texels, channels: tuple[int, ...]) -> None:
    """Add `@texel`, which gives these of red 0 to alpha 3; the format has them all."""
    b = Body(module)
    base = b.pointer("base")
    places = b.pointers(base, offsets(b, kind, "%left", "%row", "%x", "%y", "%slice"))
    match kind.format.encoding:
        case Encoding.PLAIN:
            found = _plain(b, kind.format, places, channels)
        case Encoding.PACKED_422:
            y0, y1, cb, cr = (8 * n for n in _PAIRS[kind.format.name])
            word = b.gather(places)
            odd = b.icmp("ne", b.ints("and", "%x", b.k(1)), "zeroinitializer")
            luma = b.choose(odd, b.i, b.ints("lshr", word, b.k(y1)), b.ints("lshr", word, b.k(y0)))
            all = (b.ints("lshr", word, b.k(cr)), luma, b.ints("lshr", word, b.k(cb)))
            found = [_unorm(b, b.ints("and", all[k], b.k(255)), 8) for k in channels]
        case _:
            all = _planes(b, kind, base, places)
            found = [_unorm(b, all[k], 8) for k in channels]
    b.do(f"ret {b.lanes(found, kind.type(b))}")
    vectors = ", ".join(f"{b.i} %{n}" for n in ("left", "row", "x", "y", "slice"))
    structure = "{" + ", ".join([kind.type(b)] * len(channels)) + "}"
    b.finish(f"internal {structure} @texel(ptr %rec, {vectors})")


def _planes(b: Body, kind: Texels, base: str, places: list[str]) -> tuple[str, str, str]:
    """Cr, luma and Cb."""
    half = [b.ints("lshr", v, b.k(1)) for v in ("%x", "%y")]
    left = b.ints("add", b.ints("shl", half[0], b.k(1)), b.wide("chrominance", 0))
    row = b.ints("add", half[1], b.wide("chrominance", 1))
    if kind.tiles:
        start = _tiled(b, kind.tiles, left, row)
    else:
        start = b.ints("add", left, b.ints("mul", row, b.wide("step", 1)))
    pair = b.gather(b.pointers(base, start), bits=16)
    luma = b.gather(places, bits=8)
    return b.ints("lshr", pair, b.k(8)), luma, b.ints("and", pair, b.k(255))


def _plain(b: Body, format: TexelFormat, places: list[str], channels: tuple[int, ...]) -> list[str]:
    """Values of some channels of texels at pointers."""
    known: dict[int, str] = {}
    words: dict[int, str] = {}

    def word(n: int) -> str:
        if n not in words:
            words[n] = b.gather(places, 4 * n, 8 * min(4, format.bytes - 4 * n))
        return words[n]

    for k in channels:
        n, channel = next((n, c) for n, c in enumerate(format.channels) if k in c.to)
        # A channel for several outputs is decoded once.
        if n not in known:
            raw = _bits(b, word(channel.shift // 32), channel)
            known[n] = _decoded_channel(b, format, channel, raw, word)
    index = {k: n for n, c in enumerate(format.channels) for k in c.to}
    return [known[index[k]] for k in channels]


def _bits(b: Body, word: str, channel: Channel) -> str:
    shift = channel.shift % 32
    if shift:
        word = b.ints("lshr", word, b.k(shift))
    if shift + channel.size < 32:
        word = b.ints("and", word, b.k((1 << channel.size) - 1))
    return word


def _unorm(b: Body, raw: str, size: int) -> str:
    top = (1 << size) - 1
    if size > 24:  # not exact as a float
        wide = b.cast("uitofp", raw, b.i, b.d)
        return b.cast("fptrunc", b.doubles("fdiv", wide, f"splat (double {top}.0)"), b.d, b.f)
    return b.floats("fdiv", b.cast("uitofp", raw, b.i, b.f), b.x(top))


def _signed(b: Body, raw: str, size: int) -> str:
    gap = b.k(32 - size)
    return b.ints("ashr", b.ints("shl", raw, gap), gap) if size < 32 else raw


def _snorm(b: Body, raw: str, size: int) -> str:
    top = (1 << size - 1) - 1
    signed = _signed(b, raw, size)
    if size > 24:
        wide = b.cast("sitofp", signed, b.i, b.d)
        value = b.doubles("fdiv", wide, f"splat (double {top}.0)")
        value = b.cast("fptrunc", value, b.d, b.f)
    else:
        value = b.floats("fdiv", b.cast("sitofp", signed, b.i, b.f), b.x(top))
    return b.most(b.vector("f", value), -1.0).name


def _decoded_channel(b: Body, format: TexelFormat, channel: Channel, raw: str, word: Any) -> str:
    match channel.numbers:
        case Numbers.UNORM if channel.srgb:
            table = b.pointer("table", _sizes(format).index(channel.size))
            bits = b.gather(b.pointers(table, b.ints("shl", raw, b.k(2))))
            return b.cast("bitcast", bits, b.i, b.f)
        case Numbers.UNORM:
            return _unorm(b, raw, channel.size)
        case Numbers.SNORM:
            return _snorm(b, raw, channel.size)
        case Numbers.UINT:
            return raw
        case Numbers.SINT:
            return _signed(b, raw, channel.size)
        case Numbers.USCALED:
            return b.cast("uitofp", raw, b.i, b.f)
        case Numbers.SSCALED:
            return b.cast("sitofp", _signed(b, raw, channel.size), b.i, b.f)
        case Numbers.FLOAT:
            return _float(b, raw, channel.size)
    # Nine bits times a power of two: the exponent is 2^(e - 24).
    exponent = b.ints("add", b.ints("lshr", word(0), b.k(27)), b.k(127 - 24))
    scale = b.cast("bitcast", b.ints("shl", exponent, b.k(23)), b.i, b.f)
    return b.floats("fmul", b.cast("uitofp", raw, b.i, b.f), scale)


def _float(b: Body, raw: str, size: int) -> str:
    """Floats of 16, 11 and 10 bits have five bits of exponent, the small ones no sign."""
    if size == 32:
        return b.cast("bitcast", raw, b.i, b.f)
    fraction = 10 if size == 16 else size - 5
    magnitude = b.ints("and", raw, b.k((32 << fraction) - 1)) if size == 16 else raw
    bits = b.ints("shl", magnitude, b.k(23 - fraction))
    value = b.cast("bitcast", bits, b.i, b.f)
    scaled = b.floats("fmul", value, f"splat (float {number(2.0**112)})")
    special = b.icmp("uge", magnitude, b.k(31 << fraction))
    bits = b.choose(
        special, b.i, b.ints("or", bits, b.k(0x7F800000)), b.cast("bitcast", scaled, b.f, b.i)
    )
    if size == 16:
        sign = b.ints("shl", b.ints("and", raw, b.k(0x8000)), b.k(16))
        bits = b.ints("or", bits, sign)
    return b.cast("bitcast", bits, b.i, b.f)


# ---- writing


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a texel: a vector of which the low `bits` go to a byte of it."""

    value: str
    byte: int
    bits: int


def encode_some(b: Body, format: TexelFormat, values: dict[int, str]) -> list[Piece]:
    """Texels of some channels, whose bits are whole bytes."""
    return [
        Piece(_encoded(b, format, c, values[c.to[0]]), c.shift // 8, c.size)
        for c in format.channels
        if c.to[0] in values
    ]


def encode(b: Body, format: TexelFormat, values: dict[int, str]) -> list[Piece]:
    """Whole texels; values by channel, floats or, of an integer format, integers."""
    words = ["zeroinitializer"] * -(-format.bytes // 4)
    for channel in format.channels:
        code = _encoded(b, format, channel, values[channel.to[0]])
        n, shift = divmod(channel.shift, 32)
        if shift:
            code = b.ints("shl", code, b.k(shift))
        words[n] = code if words[n] == "zeroinitializer" else b.ints("or", words[n], code)
    return [Piece(w, 4 * n, 8 * min(4, format.bytes - 4 * n)) for n, w in enumerate(words)]


def _encoded(b: Body, format: TexelFormat, channel: Channel, value: str) -> str:
    size, top = channel.size, (1 << channel.size) - 1
    match channel.numbers:
        case Numbers.UNORM if channel.srgb:
            return _from_table(b, _sizes(format).index(size), size, value)
        case Numbers.UNORM | Numbers.SNORM:
            return _scaled(b, value, size, channel.numbers is Numbers.SNORM)
        case Numbers.UINT:
            return value if size == 32 else b.call(b.i, "umin", value, b.k(top))
        case Numbers.SINT:
            half = top >> 1
            if size == 32:
                return value
            return b.ints("and", b.clamp(value, b.k(-half - 1), b.k(half)), b.k(top))
    return float_bits(b, value, size)


def _scaled(b: Body, value: str, size: int, signed: bool) -> str:
    """Normalized numbers: NaN is 0, to nearest even."""
    top = (1 << size - signed) - 1
    value = b.choose(b.fcmp("ord", value, value), b.f, value, "zeroinitializer")
    clamped = b.least(b.most(b.vector("f", value), -1.0 if signed else 0.0), 1.0)
    value = clamped.name
    exact = b.doubles("fmul", b.cast("fpext", value, b.f, b.d), f"splat (double {top}.0)")
    whole = b.call(b.d, "rint", exact)
    code = b.cast("fptoui" if size == 32 and not signed else "fptosi", whole, b.d, b.i)
    return b.ints("and", code, b.k((1 << size) - 1)) if signed and size < 32 else code


def _from_table(b: Body, index: int, size: int, value: str) -> str:
    """The greatest code whose threshold the value reaches."""
    table = b.pointer("table", index)
    code = "zeroinitializer"
    for bit in reversed(range(size)):
        higher = b.ints("add", code, b.k(1 << bit))
        found = b.gather(b.pointers(table, b.ints("shl", higher, b.k(2))))
        reached = b.fcmp("oge", value, b.cast("bitcast", found, b.i, b.f))
        code = b.choose(reached, b.i, higher, code)
    return code


def float_bits(b: Body, value: str, size: int) -> str:
    """The bits of a float of 32, 16, 11 or 10 bits, to nearest even."""
    bits = b.cast("bitcast", value, b.f, b.i)
    if size == 32:
        return bits
    fraction = 10 if size == 16 else size - 5
    gap = 23 - fraction
    magnitude = b.ints("and", bits, b.k(0x7FFFFFFF))
    odd = b.ints("and", b.ints("lshr", magnitude, b.k(gap)), b.k(1))
    rounding = b.ints("add", odd, b.k((1 << gap - 1) - 1 - (112 << 23)))
    normal = b.ints("lshr", b.ints("add", magnitude, rounding), b.k(gap))
    # Below 2^-14, a sum whose last place is that of the small float rounds.
    unit = float(2.0 ** (9 - fraction))
    sum = b.floats("fadd", b.cast("bitcast", magnitude, b.i, b.f), b.x(unit))
    least = int(np.float32(unit).view(np.uint32))
    tiny = b.ints("sub", b.cast("bitcast", sum, b.f, b.i), b.k(least))
    small = b.icmp("ult", magnitude, b.k(113 << 23))
    code = b.choose(small, b.i, tiny, normal)
    infinity = 31 << fraction
    code = b.call(b.i, "umin", code, b.k(infinity))
    # What is too large to add to without a carry is infinite too.
    code = b.choose(b.icmp("uge", magnitude, b.k(0x7F800000)), b.i, b.k(infinity), code)
    nan = b.k(infinity | 1 << fraction - 1)
    if size == 16:
        payload = b.ints("lshr", b.ints("and", magnitude, b.k(0x7FFFFF)), b.k(13))
        nothing = b.icmp("eq", payload, "zeroinitializer")
        nan = b.ints("or", b.choose(nothing, b.i, b.k(1), payload), b.k(infinity))
    unordered = b.icmp("ugt", magnitude, b.k(0x7F800000))
    code = b.choose(unordered, b.i, nan, code)
    if size == 16:
        sign = b.ints("and", b.ints("lshr", bits, b.k(16)), b.k(0x8000))
        return b.ints("or", code, sign)
    negative = b.both(b.icmp("slt", bits, "zeroinitializer"), b.negate(unordered))
    return b.choose(negative, b.i, "zeroinitializer", code)
