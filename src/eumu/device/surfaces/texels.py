"""Texels to numbers and back, for whole arrays at once.

A decoded texel is four lanes of 32 bits, red to alpha: floats, or integers of an integer format
(signed ones sign-extended).  Channels that the format lacks are 0, alpha is 1.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.lanes import ARRAYS
from eumu.device.surfaces.bc import decode_blocks
from eumu.device.surfaces.formats import Channel, Encoding, Numbers, TexelFormat
from eumu.device.surfaces.numbers import decoded, encoded, unorm
from eumu.errors import Unsupported

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
        out[:, k] = unorm(ARRAYS, value, 8)
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
    if channel.srgb:
        return srgb_table(channel.size)[raw]
    exponent = None
    if channel.numbers is Numbers.SHAREDEXP:
        exponent = (data[:, 3] >> 3).astype(np.uint32)
    return decoded(ARRAYS, channel, raw, exponent)


def _encode(channel: Channel, value: Lanes) -> NDArray[np.uint32]:
    if channel.srgb:
        top = (1 << channel.size) - 1
        x = np.nan_to_num(value.view(np.float32).astype(np.float64), nan=0.0, posinf=1.0)
        return np.rint(srgb_from_linear(np.clip(x, 0.0, 1.0)) * top).astype(np.uint32)
    kind = np.uint32 if channel.numbers.is_integer else np.float32
    return encoded(ARRAYS, channel, np.ascontiguousarray(value).view(kind))


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
def srgb_table(size: int) -> NDArray[np.float32]:
    """The linear value of every code of a channel."""
    codes = np.arange(1 << size)
    return linear_from_srgb(codes / np.float64((1 << size) - 1))
