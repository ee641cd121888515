"""Functions that read a texel in every lane, and its bits into numbers and back.

`@texel(record, left, row, x, y, slice)` gives the channels that were asked for, floats or integers.
All places must be inside the surface: what is not has been clamped or replaced by 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from eumu.device.compiled.writer import Body, Module
from eumu.device.sampler.mixing import without_denormals
from eumu.device.surfaces.formats import Encoding, Numbers, TexelFormat
from eumu.device.surfaces.layout import Layout
from eumu.device.surfaces.numbers import chrominance, code_of, pair, texel, words_of
from eumu.device.surfaces.texels import srgb_from_linear, srgb_table
from eumu.exec.jit.llvm.vectors import Kind, Vector
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Texels(Layout):
    """A kind of surface, and the vectors of its texels."""

    @property
    def kind(self) -> Kind:
        """What the vector of a channel is."""
        return "u" if self.format.is_integer else "f"

    def response(self, bits: int, count: int) -> list[tuple[Kind, int]]:
        """Kinds and bits of that many results."""
        return [("u" if bits == 16 else self.kind, bits)] * count


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


def can_keep(format: TexelFormat, written: frozenset[int]) -> bool:
    """Whether a write of some channels can leave the bits of the others alone: they are whole
    bytes, fill the texel, and what is decoded would become the same bits again.
    """
    exact = (Numbers.UINT, Numbers.SINT, Numbers.UNORM)
    for c in format.channels:
        kept = c.numbers in exact and c.size < 32
        kept = kept or (c.size == 32 and c.numbers is not Numbers.UNORM)
        if c.size % 8 or c.numbers is Numbers.SNORM or not (kept or c.to[0] in written):
            return False
    return 8 * format.bytes == sum(c.size for c in format.channels)


# ---- sRGB


def _sizes(format: TexelFormat) -> list[int]:
    """The different sizes of sRGB channels; their tables are in this order."""
    return sorted({c.size for c in format.channels if c.srgb})


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
    thresholds = low.astype(np.uint32).view(np.float32)
    return np.concatenate([np.array([-np.inf], np.float32), thresholds])


def tables(format: TexelFormat, *, writes: bool) -> list[NDArray[np.float32]]:
    """What a record's `table` points to."""
    return [(_thresholds if writes else srgb_table)(size) for size in _sizes(format)]


# ---- reading


def texel_function(
    module: Module, kind: Texels, channels: tuple[int, ...], *, flushes: bool = False
) -> None:
    """Add `@texel`, which gives these of red 0 to alpha 3; the format has them all.

    It may make zeros of denormal floats, as samples do.
    """
    b = Body(module)
    base, names = b.pointer("base"), ("left", "row", "x", "y", "slice")
    left, row, *at = (b.vector("i", f"%{n}") for n in names)
    places = b.pointers(base, kind.of_texel(b.every, left, row, at))
    match kind.format.encoding:
        case Encoding.PLAIN:
            values = _plain(b, kind.format, places, channels)
        case Encoding.PACKED_422:
            rgb = pair(b, kind.format, b.gather(places), at[0])
            values = [rgb[k] for k in channels]
        case _:
            second = b.pointers(base, kind.of_chrominance(b.every, at[0], at[1]))
            both = b.gather(second, bits=16)
            rgb = chrominance(b, b.gather(places, bits=8), both & 255, both >> 8)
            values = [rgb[k] for k in channels]
    if flushes and kind.format.has_wide_floats:
        values = [without_denormals(b, channel) for channel in values]
    b.give(values)
    b.finish_internal("texel", kind.kind, len(channels), names)


def _plain(
    b: Body, format: TexelFormat, places: list[str], channels: tuple[int, ...]
) -> list[Vector]:
    """Values of some channels of texels at pointers."""
    words: dict[int, Vector] = {}

    def word(n: int) -> Vector:
        if n not in words:
            words[n] = b.gather(places, 4 * n, 8 * min(4, format.bytes - 4 * n))
        return words[n]

    def linear(size: int, code: Vector) -> Vector:
        return _looked_up(b, _sizes(format).index(size), code)

    return texel(b, format, word, linear, channels)


def _looked_up(b: Body, index: int, code: Vector) -> Vector:
    """The float of a code in one of the record's tables."""
    table = b.pointer("table", index)
    return b.from_bits(b.gather(b.pointers(table, code << 2)))


# ---- writing


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a texel: a vector of which the low `bits` go to a byte of it."""

    value: Vector
    byte: int
    bits: int


def encode_some(b: Body, format: TexelFormat, values: dict[int, Vector]) -> list[Piece]:
    """Texels of some channels, whose bits are whole bytes."""
    coded = _coded(b, format)
    return [
        Piece(code_of(b, c, values, coded), c.shift // 8, c.size)
        for c in format.channels
        if c.to[0] in values
    ]


def encode(b: Body, format: TexelFormat, values: dict[int, Vector]) -> list[Piece]:
    """Whole texels; values by channel, floats or, of an integer format, integers."""
    words = words_of(b, format, values, _coded(b, format))
    zero = b.splatted("u", 0)
    return [
        Piece(words.get(n, zero), 4 * n, 8 * min(4, format.bytes - 4 * n))
        for n in range(-(-format.bytes // 4))
    ]


def _coded(b: Body, format: TexelFormat) -> Callable[[int, Vector], Vector]:
    def coded(size: int, value: Vector) -> Vector:
        """The greatest code whose threshold the value reaches."""
        index, code = _sizes(format).index(size), b.splatted("u", 0)
        for bit in reversed(range(size)):
            higher = code + (1 << bit)
            code = b.where(value >= _looked_up(b, index, higher), higher, code)
        return code

    return coded
