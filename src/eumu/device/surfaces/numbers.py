"""Texels: their bits to numbers and back, rounded to nearest even and clamped.

Numbers are floats of 32 bits; of an integer format the bits of an integer, signed ones extended.
Channels are red 0 to alpha 3.  Those of sRGB go through tables, which functions ask for with the
size of a channel and its codes, or its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from eumu.device.lanes import LaneFunctions, V
from eumu.device.surfaces.formats import Channel, Numbers, TexelFormat
from eumu.errors import Unsupported

# Where luma and chroma of a pair lie in its four bytes: Y0, Y1, Cb, Cr.
BYTES_OF_PAIR: Final = {
    "YCRCB_NORMAL": (0, 2, 1, 3),
    "YCRCB_SWAPUVY": (1, 3, 2, 0),
    "YCRCB_SWAPUV": (0, 2, 3, 1),
    "YCRCB_SWAPY": (1, 3, 0, 2),
}
_INFINITY: Final = 0x7F80_0000  # as the bits of a float of 32

Table = Callable[[int, V], V]


def texel(
    lanes: LaneFunctions[V],
    format: TexelFormat,
    word: Callable[[int], V],
    linear: Table[V],
    channels: Sequence[int],
) -> list[V]:
    """Some channels that a format has, of texels whose 32-bit words `word` gives."""
    by_channel: dict[int, V] = {}
    for channel in format.channels:
        if not set(channels).isdisjoint(channel.to):
            raw = _code(word, channel)
            if channel.srgb:
                number = linear(channel.size, raw)
            else:
                exponent = word(0) >> 27 if channel.numbers is Numbers.SHAREDEXP else None
                number = decoded(lanes, channel, raw, exponent)
            by_channel |= dict.fromkeys(channel.to, number)
    return [by_channel[k] for k in channels]


def _code(word: Callable[[int], V], channel: Channel) -> V:
    n, shift = divmod(channel.shift, 32)
    end = shift + channel.size
    code = word(n) >> shift if shift else word(n)
    if end > 32:
        code = code | word(n + 1) << 32 - shift
    return code if end == 32 else code & (1 << channel.size) - 1


def pair(lanes: LaneFunctions[V], format: TexelFormat, word: V, x: V) -> list[V]:
    """Red, green and blue of a texel of two that share their chrominance."""
    y0, y1, cb, cr = (word >> 8 * n & 255 for n in BYTES_OF_PAIR[format.name])
    return chrominance(lanes, lanes.where(lanes.differ(x & 1, 0), y1, y0), cb, cr)


def chrominance(lanes: LaneFunctions[V], luma: V, cb: V, cr: V) -> list[V]:
    """Cr is red, luma green, Cb blue."""
    return [unorm(lanes, octet, 8) for octet in (cr, luma, cb)]


def words_of(
    lanes: LaneFunctions[V], format: TexelFormat, values: Mapping[int, V], coded: Table[V]
) -> dict[int, V]:
    """The 32-bit words of texels of these channels; what has no channel is not there."""
    words: dict[int, V] = {}
    for channel in format.channels:
        n, shift = divmod(channel.shift, 32)
        code = code_of(lanes, channel, values, coded)
        words[n] = words[n] | code << shift if n in words else code << shift
        if shift + channel.size > 32:
            words[n + 1] = code >> 32 - shift
    return words


def code_of(
    lanes: LaneFunctions[V], channel: Channel, values: Mapping[int, V], coded: Table[V]
) -> V:
    """The bits of one of a format's channels."""
    value = values[channel.to[0]]
    return coded(channel.size, value) if channel.srgb else encoded(lanes, channel, value)


# ---- one channel


def decoded(lanes: LaneFunctions[V], channel: Channel, raw: V, exponent: V | None) -> V:
    """The number of a channel's bits; `exponent` is the five bits that SHAREDEXP channels share."""
    size = channel.size
    match channel.numbers:
        case Numbers.UNORM:
            return unorm(lanes, raw, size)
        case Numbers.SNORM:
            top = (1 << size - 1) - 1
            return lanes.most(_ratio(lanes, _signed(lanes, raw, size), top), -1.0)
        case Numbers.UINT:
            return raw
        case Numbers.SINT:
            return lanes.unsigned(_signed(lanes, raw, size))
        case Numbers.USCALED:
            return lanes.single(raw)
        case Numbers.SSCALED:
            return lanes.single(_signed(lanes, raw, size))
        case Numbers.FLOAT:
            return _float(lanes, raw, size)
        case Numbers.SHAREDEXP if exponent is not None:
            # Nine bits times a power of two: the exponent is 2^(e - 24).
            return lanes.single(raw) * lanes.from_bits(exponent + (127 - 24) << 23)
    raise Unsupported(f"a channel of type {channel.numbers.value}")


def encoded(lanes: LaneFunctions[V], channel: Channel, value: V) -> V:
    """The bits of a channel; NaN is 0 in normalized numbers."""
    size, top = channel.size, (1 << channel.size) - 1
    match channel.numbers:
        case Numbers.UNORM | Numbers.SNORM:
            return _scaled(lanes, value, size, is_signed=channel.numbers is Numbers.SNORM)
        case Numbers.UINT:
            return value if size == 32 else lanes.least(value, top)
        case Numbers.SINT:
            half = top >> 1
            clamped = lanes.least(lanes.most(lanes.integer(value), -half - 1), half)
            return value if size == 32 else lanes.unsigned(clamped) & top
        case Numbers.FLOAT:
            return float_bits(lanes, value, size)
    raise Unsupported(f"writing a channel of type {channel.numbers.value}")


# ---- integers


def unorm(lanes: LaneFunctions[V], raw: V, size: int) -> V:
    """0 to 1."""
    return _ratio(lanes, raw, (1 << size) - 1)


def _ratio(lanes: LaneFunctions[V], code: V, top: int) -> V:
    """A float, rounded once."""
    if top < 1 << 24:
        return lanes.single(code) / float(top)
    return lanes.single(lanes.double(code) / float(top))


def _signed(lanes: LaneFunctions[V], raw: V, size: int) -> V:
    gap = 32 - size
    return lanes.integer(raw << gap) >> gap if gap else lanes.integer(raw)


def _scaled(lanes: LaneFunctions[V], value: V, size: int, *, is_signed: bool) -> V:
    top = (1 << size - is_signed) - 1
    value = lanes.where(lanes.equal(value, value), value, 0.0)
    value = lanes.least(lanes.most(value, -1.0 if is_signed else 0.0), 1.0)
    whole = lanes.rint(lanes.double(value) * float(top))
    if top > 0x7FFF_FFFF:
        return lanes.unsigned(whole)
    code = lanes.unsigned(lanes.integer(whole))
    return code & (1 << size) - 1 if is_signed else code


# ---- floats of 32, 16, 11 and 10 bits: small ones have five bits of exponent, 11 and 10 no sign


def _fraction(size: int) -> int:
    """Bits of the fraction."""
    return 10 if size == 16 else size - 5


def _float(lanes: LaneFunctions[V], raw: V, size: int) -> V:
    if size == 32:
        return lanes.from_bits(raw)
    fraction = _fraction(size)
    magnitude = raw & 0x7FFF if size == 16 else raw
    bits = magnitude << 23 - fraction
    scaled = lanes.bits(lanes.from_bits(bits) * 2.0**112)
    bits = lanes.where(magnitude >= 31 << fraction, bits | _INFINITY, scaled)
    if size == 16:
        bits = bits | (raw & 0x8000) << 16
    return lanes.from_bits(bits)


def float_bits(lanes: LaneFunctions[V], value: V, size: int) -> V:
    """Negative floats of 11 and 10 bits are 0; a NaN of 16 bits keeps the top of its payload."""
    bits = lanes.bits(value)
    if size == 32:
        return bits
    infinity = 31 << _fraction(size)
    magnitude = bits & 0x7FFF_FFFF
    is_nan = magnitude > _INFINITY
    code = lanes.where(magnitude >= _INFINITY, infinity, _rounded(lanes, magnitude, size))
    if size == 16:
        payload = (magnitude & 0x7F_FFFF) >> 13
        payload = lanes.where(lanes.equal(payload, 0), 1, payload)
        return lanes.where(is_nan, payload | infinity, code) | bits >> 16 & 0x8000
    code = lanes.where(bits > 0x7FFF_FFFF, 0, code)
    return lanes.where(is_nan, infinity | 1 << _fraction(size) - 1, code)


def _rounded(lanes: LaneFunctions[V], magnitude: V, size: int) -> V:
    """Of the bits of a float without sign: to nearest even, infinity at most."""
    fraction = _fraction(size)
    gap = 23 - fraction
    odd = magnitude >> gap & 1
    half = (1 << gap - 1) - 1 - (112 << 23) & 0xFFFF_FFFF
    normal = magnitude + (odd + half) >> gap
    # Below 2^-14, a sum whose last place is that of the small float rounds.
    unit = 2.0 ** (9 - fraction)
    unit_bits = 127 + 9 - fraction << 23
    tiny = lanes.bits(lanes.from_bits(magnitude) + unit) - unit_bits
    code = lanes.where(magnitude < 113 << 23, tiny, normal)
    return lanes.least(code, 31 << fraction)
