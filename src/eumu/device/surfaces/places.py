"""Which texels integer coordinates mean, and whether there are such texels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eumu.device.lanes import ARRAYS, LaneFunctions, V
from eumu.device.state.surface import SurfaceType
from eumu.device.surfaces.surface import Surface

Ints = NDArray[np.int64]


def exist(lanes: LaneFunctions[V], coordinates: Sequence[V], sizes: Sequence[V]) -> V:
    """Whether all integers are from 0 on and less than their sizes."""
    first, *others = (
        lanes.unsigned(k) < lanes.unsigned(size) for k, size in zip(coordinates, sizes, strict=True)
    )
    for inside in others:
        first = first & inside
    return first


def places(
    surface: Surface, at: Mapping[str, Ints]
) -> tuple[tuple[Ints, Ints, Ints, Ints], NDArray[np.bool_]]:
    """Level, x, y and slice of coordinates [N] (u, v, r, lod), and which of them exist.

    Levels are those of the surface for all.
    """
    lod, zero = at["lod"], np.zeros_like(at["u"])
    if surface.is_null:
        return (zero, zero, zero, zero), np.zeros(len(zero), bool)
    level = np.clip(lod, 0, surface.levels - 1)
    levels = [surface.level(k) for k in range(surface.levels)]
    width, height, depth = np.array([(v.width, v.height, v.depth) for v in levels])[level].T
    x, y, slice = (at[name] if name else zero for name in surface.coordinates)
    last = depth if surface.kind is SurfaceType.S3D else zero + surface.layers
    sizes = (zero + surface.levels, width, height, last)
    return (level, x, y, slice), exist(ARRAYS, (lod, x, y, slice), sizes)
