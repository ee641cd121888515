"""Texels to numbers and back, for whole arrays at once.

A decoded texel is four lanes of 32 bits, red to alpha: floats, or integers of an integer format
(signed ones sign-extended).  Channels that the format lacks are 0, alpha is 1.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.device.lanes import ARRAYS
from eumu.device.surfaces.bc import decode_blocks
from eumu.device.surfaces.formats import Encoding, Numbers, TexelFormat
from eumu.device.surfaces.numbers import chrominance, pair, texel, words_of
from eumu.errors import Unsupported

Bytes = NDArray[np.uint8]
Lanes = NDArray[Any]  # float32, or uint32 for integers


def missing(format: TexelFormat, count: int) -> Lanes:
    """Texels [count, 4] in which every channel is as if the format lacked it."""
    out: Lanes = np.zeros((count, 4), np.uint32 if format.is_integer else np.float32)
    out[:, 3] = 1
    return out


def decode(format: TexelFormat, data: Bytes, place: NDArray[np.intp] | None = None) -> Lanes:
    """Texels [N, 4] of blocks [N, format.bytes]; `place` is the texel's index in its block."""
    outputs = sorted(format.outputs)
    if format.encoding is Encoding.PLAIN:
        values = texel(ARRAYS, format, _words(data).__getitem__, _linear, outputs)
    elif format.encoding is Encoding.OTHER or place is None:
        raise Unsupported(f"texels of the format {format.name}")
    elif format.encoding is Encoding.BC:
        rgba = decode_blocks(format.name, data, place)
        if format.name.endswith("SRGB"):
            rgba[:, :3] = linear_from_srgb(rgba[:, :3].astype(np.float64))
        return rgba
    elif format.encoding is Encoding.PLANAR:  # luma, Cb and Cr, from their planes
        values = chrominance(ARRAYS, *data.T)
    else:
        values = pair(ARRAYS, format, _words(data)[0], place)
    out = missing(format, len(data))
    for k, channel in zip(outputs, values, strict=True):
        out[:, k] = channel
    return out


def _words(data: Bytes) -> NDArray[np.uint32]:
    """The words of blocks, [words, N]."""
    return np.pad(data, ((0, 0), (0, -data.shape[1] % 4))).view("<u4").T


def encode(format: TexelFormat, texels: Lanes) -> Bytes:
    """Blocks [N, format.bytes] of texels [N, 4]: rounded to nearest even, and clamped."""
    numbers = {c.numbers for c in format.channels}
    if format.encoding is not Encoding.PLAIN or Numbers.SHAREDEXP in numbers:
        raise Unsupported(f"writing texels of the format {format.name}")
    kind = np.uint32 if format.is_integer else np.float32
    values = {k: np.ascontiguousarray(texels[:, k]).view(kind) for k in range(4)}
    words = np.zeros((len(texels), -(-format.bytes // 4)), np.uint32)
    for n, word in words_of(ARRAYS, format, values, _coded).items():
        words[:, n] = word
    return words.astype("<u4").view(np.uint8).reshape(len(texels), -1)[:, : format.bytes]


def _linear(size: int, code: Lanes) -> Lanes:
    return srgb_table(size)[code]


def _coded(size: int, value: Lanes) -> Lanes:
    x = np.nan_to_num(value.astype(np.float64), nan=0.0, posinf=1.0)
    top = (1 << size) - 1
    return np.rint(srgb_from_linear(np.clip(x, 0.0, 1.0)) * top).astype(np.uint32)


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
