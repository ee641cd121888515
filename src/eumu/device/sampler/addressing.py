"""From texture coordinates to texels: wrapping, clamping, and the two texels that a line mixes.

Coordinates are float32 and computed in float32 as the OpenCL specification writes them; then they
become fixed-point numbers of eight fractional bits, rounded or truncated as the state says.  NaN
is 0.  Arrays are [N]; sizes are those of each lane's mip level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.state.sampler import AddressMode

__all__ = ["FRACTION", "Taps", "layer", "taps"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

FRACTION: Final = 8  # bits
_ONE: Final = 1 << FRACTION
_FAR: Final = np.float32(1 << 30)  # beyond every surface; clamped, so that integers hold it


@dataclass(frozen=True, slots=True)
class Taps:
    """One or two texels of a dimension: indices, whether they exist, the second one's weight."""

    indices: tuple[Ints, ...]
    inside: tuple[Mask, ...]
    weight: Floats  # 0 … 255/256


def taps(
    coordinate: Floats,
    size: Ints,
    mode: AddressMode,
    *,
    normalized: bool,
    linear: bool,
    rounded: bool,
    offset: Ints | int = 0,
) -> Taps:
    """The texels of one dimension that a coordinate means."""
    place, direction = _scaled(coordinate, size, mode, normalized)
    fixed = np.floor(np.float64(place) * _ONE + (0.5 if rounded else 0.0)).astype(np.int64)
    if linear:
        fixed = fixed - _ONE // 2
    first = (fixed >> FRACTION) + offset * direction
    both = (first, first + 1) if linear else (first,)
    wrapped = [_index(k, size, mode) for k in both]
    weight = (fixed & _ONE - 1).astype(np.float32) / np.float32(_ONE)
    return Taps(
        tuple(k for k, _ in wrapped),
        tuple(inside for _, inside in wrapped),
        weight if linear else np.zeros_like(weight),
    )


def _scaled(
    coordinate: Floats, size: Ints, mode: AddressMode, normalized: bool
) -> tuple[Floats, Ints]:
    """A coordinate in texels, and the direction in which it counts texels."""
    c = np.where(np.isnan(coordinate), np.float32(0), coordinate)
    c = np.clip(c, -_FAR, _FAR)
    direction = np.ones(len(c), np.int64)
    if not normalized:
        return c, direction
    if mode is AddressMode.WRAP:
        c = c - np.floor(c)
    elif mode is AddressMode.MIRROR:
        whole = np.float32(2) * np.rint(np.float32(0.5) * c)
        direction = np.where(c < whole, -1, 1)
        c = np.abs(c - whole)
    elif mode is AddressMode.MIRROR_ONCE:
        direction = np.where(c < 0, -1, 1)
        c = np.abs(c)
    c = np.clip(c * size.astype(np.float32), -_FAR, _FAR)
    if mode is AddressMode.HALF_BORDER:
        c = np.clip(c, np.float32(0), size.astype(np.float32))
    return c, direction


def _index(k: Ints, size: Ints, mode: AddressMode) -> tuple[Ints, Mask]:
    """The texel that an index means, and whether it is one, not the border."""
    inside = np.ones(len(k), bool)
    match mode:
        case AddressMode.CUBE:
            return k, inside  # other faces go on there
        case AddressMode.WRAP:
            return k % size, inside
        case AddressMode.MIRROR:
            folded = k % (2 * size)
            return np.where(folded < size, folded, 2 * size - 1 - folded), inside
        case AddressMode.MIRROR_ONCE:
            k = np.where(k < 0, -1 - k, k)
            return np.minimum(k, size - 1), inside
        case AddressMode.CLAMP_BORDER | AddressMode.HALF_BORDER:
            inside = (k >= 0) & (k < size)
    return np.clip(k, 0, size - 1), inside


def layer(coordinate: Floats, layers: int) -> Ints:
    """The array element that a coordinate means: rounded to nearest even, clamped."""
    c = np.where(np.isnan(coordinate), np.float32(0), coordinate)
    rounded = np.rint(np.clip(c, -1, layers)).astype(np.int64)
    found: Ints = np.clip(rounded, 0, layers - 1)
    return found
