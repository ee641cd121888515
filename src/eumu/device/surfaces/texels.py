"""Texels to numbers and back, for whole arrays at once.

A decoded texel is four lanes of 32 bits, red to alpha: floats, or integers of an integer format
(signed ones sign-extended).  Channels that the format lacks are 0, alpha is 1.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.surfaces.bc import decode_blocks
from eumu.device.surfaces.formats import Channel, Encoding, Numbers, TexelFormat
from eumu.errors import Unsupported

__all__ = ["BYTES_OF_PAIR", "decode", "encode", "linear_from_srgb", "missing", "srgb_from_linear"]

Bytes = NDArray[np.uint8]
Lanes = NDArray[Any]  # float32, or uint32 for integers

# Where luma and chroma of a pair lie in its four bytes: Y0, Y1, Cb, Cr.
BYTES_OF_PAIR: Final = {
    "YCRCB_NORMAL": (0, 2, 1, 3),
    "YCRCB_SWAPUVY": (1, 3, 2, 0),
    "YCRCB_SWAPUV": (0, 2, 3, 1),
    "YCRCB_SWAPY": (1, 3, 0, 2),
}


def missing(format: TexelFormat, count: int) -> Lanes:
    """Texels [count, 4] in which every channel is as if the format lacked it."""
    out: Lanes = np.zeros((count, 4), np.uint32 if format.is_integer else np.float32)
    out[:, 3] = 1
    return out


def decode(format: TexelFormat, data: Bytes, place: NDArray[np.intp] | None = None) -> Lanes:
    """Texels [N, 4] of blocks [N, format.bytes]; `place` is the texel's index in its block."""
    if format.encoding is Encoding.PLAIN:
        out = missing(format, len(data))
        for channel in format.channels:
            value = _decode(channel, _field(data, channel), data)
            for k in channel.to:
                out[:, k] = value
        return out
    if format.encoding is Encoding.OTHER or place is None:
        raise Unsupported(f"texels of the format {format.name}")
    if format.encoding is Encoding.BC:
        rgba = decode_blocks(format.name, data, place)
        if format.name.endswith("SRGB"):
            rgba[:, :3] = linear_from_srgb(rgba[:, :3].astype(np.float64))
        return rgba
    if format.encoding is Encoding.PLANAR:  # luma, Cb and Cr, from their planes
        return _chrominance(format, data[:, 0], data[:, 1], data[:, 2])
    y0, y1, cb, cr = BYTES_OF_PAIR[format.name]
    luma = np.where(place & 1, data[:, y1], data[:, y0])
    return _chrominance(format, luma, data[:, cb], data[:, cr])


def _chrominance(format: TexelFormat, luma: Lanes, cb: Lanes, cr: Lanes) -> Lanes:
    """Cr is red, luma green, Cb blue."""
    out = missing(format, len(luma))
    for k, value in enumerate((cr, luma, cb)):
        out[:, k] = value / np.float64(255)
    return out


def encode(format: TexelFormat, texels: Lanes) -> Bytes:
    """Blocks [N, format.bytes] of texels [N, 4]: rounded to nearest even, and clamped."""
    if format.encoding is not Encoding.PLAIN:
        raise Unsupported(f"writing texels of the format {format.name}")
    words = np.zeros((len(texels), -(-format.bytes // 4)), np.uint32)
    for channel in format.channels:
        if channel.numbers is Numbers.SHAREDEXP:
            raise Unsupported(f"writing texels of the format {format.name}")
        code = _encode(channel, texels[:, channel.to[0]]).astype(np.uint64)
        word, shift = divmod(channel.shift, 32)
        words[:, word] |= (code << np.uint64(shift)).astype(np.uint32)
        if shift + channel.size > 32:
            words[:, word + 1] |= (code >> np.uint64(32 - shift)).astype(np.uint32)
    return words.astype("<u4").view(np.uint8).reshape(len(texels), -1)[:, : format.bytes]


def _field(data: Bytes, channel: Channel) -> NDArray[np.uint32]:
    """The bits of a channel of every texel."""
    first, shift = divmod(channel.shift, 8)
    last = (channel.shift + channel.size + 7) // 8
    word = np.zeros(len(data), np.uint64)
    for k in range(first, last):
        word |= data[:, k].astype(np.uint64) << np.uint64(8 * (k - first))
    return (word >> np.uint64(shift) & np.uint64((1 << channel.size) - 1)).astype(np.uint32)


# ---- one channel


def _decode(channel: Channel, raw: NDArray[np.uint32], data: Bytes) -> Lanes:
    match channel.numbers:
        case Numbers.UNORM:
            if channel.srgb:
                return _srgb_table(channel.size)[raw]
            return (raw / np.float64((1 << channel.size) - 1)).astype(np.float32)
        case Numbers.SNORM:
            top = (1 << channel.size - 1) - 1
            return np.maximum(_signed(raw, channel.size) / np.float64(top), -1).astype(np.float32)
        case Numbers.UINT:
            return raw
        case Numbers.SINT:
            return _signed(raw, channel.size).astype(np.int32).view(np.uint32)
        case Numbers.USCALED:
            return raw.astype(np.float32)
        case Numbers.SSCALED:
            return _signed(raw, channel.size).astype(np.float32)
        case Numbers.FLOAT:
            return _float(raw, channel.size)
        case Numbers.SHAREDEXP:
            exponent = (data[:, 3] >> 3).astype(np.int32)
            return np.ldexp(raw.astype(np.float32), exponent - 15 - 9).astype(np.float32)
    raise Unsupported(f"a channel of type {channel.numbers.value}")


def _encode(channel: Channel, value: Lanes) -> NDArray[np.uint32]:
    top = (1 << channel.size) - 1
    match channel.numbers:
        case Numbers.UNORM:
            x = np.nan_to_num(value.view(np.float32).astype(np.float64), nan=0.0, posinf=1.0)
            x = np.clip(x, 0.0, 1.0)
            return np.rint((srgb_from_linear(x) if channel.srgb else x) * top).astype(np.uint32)
        case Numbers.SNORM:
            half = top >> 1
            x = np.nan_to_num(value.view(np.float32).astype(np.float64), nan=0.0, posinf=1.0)
            code = np.rint(np.clip(x, -1.0, 1.0) * half).astype(np.int64)
            return (code & top).astype(np.uint32)
        case Numbers.UINT:
            return np.minimum(value.view(np.uint32), np.uint32(top))
        case Numbers.SINT:
            half = top >> 1
            clamped = np.clip(value.view(np.int32).astype(np.int64), -half - 1, half)
            return (clamped & top).astype(np.uint32)
        case Numbers.FLOAT:
            return _float_bits(value.view(np.float32), channel.size)
    raise Unsupported(f"writing a channel of type {channel.numbers.value}")


def _signed(raw: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    wide = raw.astype(np.int64)
    return wide - ((wide >> size - 1) << size)


def _float(raw: NDArray[np.uint32], size: int) -> NDArray[np.float32]:
    """Floats of 32, 16, 11 and 10 bits; the last two have no sign and five bits of exponent."""
    if size == 32:
        return raw.view(np.float32)
    half = raw << np.uint32(15 - size) if size < 16 else raw
    return half.astype(np.uint16).view(np.float16).astype(np.float32)


def _float_bits(value: NDArray[np.float32], size: int) -> NDArray[np.uint32]:
    if size == 32:
        return value.view(np.uint32)
    if size == 16:
        with np.errstate(over="ignore"):
            return value.astype(np.float16).view(np.uint16).astype(np.uint32)
    return _small_float_bits(value.astype(np.float64), size)


def _small_float_bits(value: NDArray[np.float64], size: int) -> NDArray[np.uint32]:
    """Unsigned floats of 11 or 10 bits: to nearest even; negative ones are 0."""
    fraction = size - 5
    finite = np.where(np.isfinite(value) & (value > 0), value, 0.0)
    exponent = np.where(finite > 0, np.clip(np.frexp(finite)[1] - 1, -14, 15), -14)
    # Far above the largest code: infinity, and no overflow of the integer.
    scaled = np.rint(np.minimum(np.ldexp(finite, fraction - exponent), 2.0**40)).astype(np.int64)
    # A carry out of the fraction goes on into the exponent, as the codes are consecutive.
    code = scaled + ((exponent.astype(np.int64) + 14) << fraction)
    infinity = 31 << fraction
    code = np.minimum(code, infinity)
    code = np.where(np.isposinf(value), infinity, code)
    return np.where(np.isnan(value), infinity | 1 << fraction - 1, code).astype(np.uint32)


# ---- sRGB


def linear_from_srgb(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """The linear value of an sRGB one in 0 … 1 (IEC 61966-2-1)."""
    high = ((x + 0.055) / 1.055) ** 2.4
    return np.where(x <= 0.04045, x / 12.92, high).astype(np.float32)


def srgb_from_linear(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sRGB value of a linear one in 0 … 1."""
    high = 1.055 * np.maximum(x, 1e-12) ** (1 / 2.4) - 0.055
    return np.where(x <= 0.0031308, 12.92 * x, high)


@cache
def _srgb_table(size: int) -> NDArray[np.float32]:
    codes = np.arange(1 << size)
    return linear_from_srgb(codes / np.float64((1 << size) - 1))
