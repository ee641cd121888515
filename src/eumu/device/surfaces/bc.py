"""Texels of block-compressed formats BC1 … BC7, as their published layouts say.

A block of 4 x 4 texels is 8 or 16 bytes.  Functions take blocks [N, bytes] and the number of a
texel in its block (0 … 15, row by row) and give [N, 4] floats.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.surfaces.bptc import decode_bc6, decode_bc7

Blocks = NDArray[np.uint8]
Places = NDArray[np.intp]
Texels = NDArray[np.float32]


def decode_blocks(name: str, data: Blocks, place: Places) -> Texels:
    """The texel at `place` of each block."""
    out = np.zeros((len(data), 4), np.float64)
    out[:, 3] = 1
    signed = name.endswith(("SNORM", "SF16"))
    match name[:3]:
        case "BC1":
            out = _colour(data, place, punch_through=True)
        case "BC2":
            out = _colour(data[:, 8:], place, punch_through=False)
            out[:, 3] = (_word(data, 0, 8) >> (4 * place).astype(np.uint64) & np.uint64(15)) / 15
        case "BC3":
            out = _colour(data[:, 8:], place, punch_through=False)
            out[:, 3] = _ramp(data, place, signed=False)
        case "BC4" | "BC5":
            out[:, 0] = _ramp(data, place, signed=signed)
            if name[:3] == "BC5":
                out[:, 1] = _ramp(data[:, 8:], place, signed=signed)
        case "BC6":
            out[:, :3] = decode_bc6(data, place, signed=signed)
        case _:
            out = decode_bc7(data, place)
    return out.astype(np.float32)


def _word(data: Blocks, first: int, count: int) -> NDArray[np.uint64]:
    """`count` bytes as one number."""
    word = np.zeros(len(data), np.uint64)
    for k in range(count):
        word |= data[:, first + k].astype(np.uint64) << np.uint64(8 * k)
    return word


def _565(code: NDArray[np.uint64]) -> NDArray[np.float64]:
    parts = [code >> np.uint64(11) & np.uint64(31), code >> np.uint64(5) & np.uint64(63)]
    parts.append(code & np.uint64(31))
    tops = np.array([31.0, 63.0, 31.0])
    out: NDArray[np.float64] = np.stack(parts, 1) / tops
    return out


# Weights of the second end of a BC1 block, by index: four colours, or three and black.
_FOUR: Final = np.array([0, 1, 1 / 3, 2 / 3])
_THREE: Final = np.array([0, 1, 1 / 2, 0])


def _colour(data: Blocks, place: Places, *, punch_through: bool) -> NDArray[np.float64]:
    low, high = _word(data, 0, 2), _word(data, 2, 2)
    index = (_word(data, 4, 4) >> (2 * place).astype(np.uint64) & np.uint64(3)).astype(np.intp)
    four = (low > high) if punch_through else np.ones(len(data), bool)
    weight = np.where(four, _FOUR[index], _THREE[index])[:, None]
    out = np.ones((len(data), 4))
    out[:, :3] = _565(low) * (1 - weight) + _565(high) * weight
    out[~four & (index == 3)] = 0
    return out


def _ramp(data: Blocks, place: Places, *, signed: bool) -> NDArray[np.float64]:
    """A channel of eight or six values between two ends, with the extremes in the latter."""
    ends: list[NDArray[Any]] = [data[:, k].astype(np.int64) for k in (0, 1)]
    if signed:
        ends = [np.maximum(e - (e >> 7 << 8), -127) for e in ends]
    first, last = ends
    index = (_word(data, 2, 6) >> (3 * place).astype(np.uint64) & np.uint64(7)).astype(np.int64)
    eight = first > last
    steps = np.where(eight, 7, 5)
    weight = np.where(index == 0, 0, np.where(index == 1, steps, index - 1))
    value = (first * (steps - weight) + last * weight) / steps
    top = 127.0 if signed else 255.0
    value = np.where(~eight & (index == 6), -top if signed else 0.0, value)
    return np.where(~eight & (index == 7), top, value) / top
