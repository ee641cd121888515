"""Integer and bit operations on lane arrays of one dtype; everything wraps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]

_BYTES = np.arange(256, dtype=np.uint8)
_BYTE_ONES = np.unpackbits(_BYTES[:, None], axis=1).sum(axis=1, dtype=np.uint8)
_BYTE_REVERSED = np.packbits(np.unpackbits(_BYTES[:, None], axis=1)[:, ::-1], axis=1)[:, 0]


def _unsigned(x: Ints) -> Ints:
    return np.asarray(x.view(f"u{x.dtype.itemsize}"))


def _bits(x: Ints) -> int:
    return x.dtype.itemsize * 8


def _count(x: Ints, y: Ints) -> Ints:
    return np.asarray(y & y.dtype.type(_bits(x) - 1))


def div(x: Ints, y: Ints) -> Ints:
    """Truncated quotient; x/0 is all ones, MIN/-1 is MIN."""
    one = x.dtype.type(1)
    if x.dtype.kind == "u":
        return np.where(y == 0, np.invert(x.dtype.type(0)), x // np.where(y == 0, one, y))
    special = (y == 0) | (y == -1)
    safe = np.where(special, one, y)
    floor = x // safe
    truncated = floor + ((floor * safe != x) & ((x < 0) != (safe < 0)))
    return np.where(y == 0, x.dtype.type(-1), np.where(y == -1, -x, truncated))


def rem(x: Ints, y: Ints) -> Ints:
    """Remainder with the sign of x; x%0 is x, MIN%-1 is 0."""
    special = (y == 0) | (y == y.dtype.type(-1)) if x.dtype.kind == "i" else y == 0
    inside = np.fmod(x, np.where(special, x.dtype.type(1), y))
    return np.where(y == 0, x, inside)


def shl(x: Ints, y: Ints) -> Ints:
    return x << _count(x, y)


def shr(x: Ints, y: Ints) -> Ints:
    return x >> _count(x, y)


def rotl(x: Ints, y: Ints) -> Ints:
    ux, count = _unsigned(x), _unsigned(_count(x, y))
    back = (ux.dtype.type(_bits(x)) - count) & ux.dtype.type(_bits(x) - 1)
    return np.asarray(((ux << count) | (ux >> back)).view(x.dtype))


def _bytes(x: Ints) -> NDArray[np.uint8]:
    return np.ascontiguousarray(x).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)


def popcount(x: Ints) -> Ints:
    return np.asarray(_BYTE_ONES[_bytes(x)].sum(axis=-1, dtype=x.dtype))


def clz(x: Ints) -> Ints:
    smeared = _unsigned(x)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < _bits(x):
            smeared = smeared | (smeared >> smeared.dtype.type(shift))
    return popcount(np.invert(smeared)).astype(x.dtype)


def ctz(x: Ints) -> Ints:
    ux = _unsigned(x)
    lowest = ux & (np.invert(ux) + ux.dtype.type(1))
    return popcount(lowest - ux.dtype.type(1)).astype(x.dtype)


def bitreverse(x: Ints) -> Ints:
    reversed_bytes = np.ascontiguousarray(_BYTE_REVERSED[_bytes(x)][..., ::-1])
    return reversed_bytes.view(x.dtype)[..., 0]


def convert(x: Ints, dtype: np.dtype[Any], saturate: bool) -> Ints:
    """To another integer type: truncated, or clamped to its range."""
    if saturate:
        source, target = np.iinfo(x.dtype), np.iinfo(dtype)
        low, high = max(source.min, target.min), min(source.max, target.max)
        x = np.clip(x, x.dtype.type(low), x.dtype.type(high))
    return x.astype(dtype)
