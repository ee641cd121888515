"""The level of detail: from gradients, from the message, with bias and clamps.

A level of detail is a number of eight fractional bits.  Gradients are those of coordinates in
texels of the first level.  Source: SAMPLER_STATE; the Vulkan specification for the equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.device.sampler.addressing import FRACTION
from eumu.device.state.sampler import Filter, MipFilter, SamplerState
from eumu.device.surfaces.surface import Surface

__all__ = ["Detail", "Footprint", "clamped", "footprint", "levels", "quad_gradients"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_ONE = 1 << FRACTION


@dataclass(frozen=True, slots=True)
class Footprint:
    """What gradients say: level of detail [N], and for anisotropic filters more.

    `count` samples lie along `axis`, a step [N, dimensions] in normalized coordinates from the
    first sample to the last.
    """

    lod: Floats
    count: Ints
    axis: Floats


@dataclass(frozen=True, slots=True)
class Detail:
    """Two mip levels and the second one's weight."""

    first: Ints
    second: Ints
    weight: Floats
    is_magnified: NDArray[np.bool_]


def quad_gradients(c: Floats) -> tuple[Floats, Floats]:
    """Differences to the right and down in coordinates [threads, lanes].

    Four lanes are a 2 x 2 square of pixels: left, right, and the two below.
    """
    quads = c.reshape(len(c), -1, 4)
    across = np.repeat(quads[:, :, 1:2] - quads[:, :, 0:1], 4, axis=2)
    down = np.repeat(quads[:, :, 2:3] - quads[:, :, 0:1], 4, axis=2)
    return across.reshape(c.shape), down.reshape(c.shape)


def footprint(
    across: list[Floats], down: list[Floats], sizes: list[int], sampler: SamplerState
) -> Footprint:
    """Level of detail of gradients, a list of arrays [N] for the coordinates."""
    scale = np.array(sizes, np.float64)[:, None]
    dx, dy = np.array(across, np.float64) * scale, np.array(down, np.float64) * scale
    long_x, long_y = np.sqrt((dx * dx).sum(0)), np.sqrt((dy * dy).sum(0))
    long, short = np.maximum(long_x, long_y), np.minimum(long_x, long_y)
    count = np.ones(long.shape, np.int64)
    if Filter.ANISOTROPIC in (sampler.min_mode_filter, sampler.mag_mode_filter):
        ratio = np.where(
            short > 0, long / np.where(short > 0, short, 1), np.where(long > 0, 1e9, 1)
        )
        most = 2 * int(sampler.maximum_anisotropy) + 2
        count = np.minimum(2 * np.ceil(ratio / 2), most).astype(np.int64)
        count = np.where(ratio <= 1, 1, count)
    with np.errstate(divide="ignore"):
        lod = np.log2(long / count)
    first = np.array(across, np.float32), np.array(down, np.float32)
    axis = np.where((long_x >= long_y)[None, :], *first).T
    return Footprint(np.nan_to_num(lod, nan=0.0).astype(np.float32), count, axis)


def clamped(lod: Floats, sampler: SamplerState, surface: Surface) -> Floats:
    """A level of detail with the sampler's bias, within all limits, in steps of 1/256."""
    low = max(sampler.min_lod, surface.state.resource_min_lod)
    high = max(min(sampler.max_lod, surface.levels - 1), low)
    biased = np.float64(lod) + sampler.texture_lod_bias
    steps = np.rint(np.clip(np.nan_to_num(biased, nan=0.0), low, high) * _ONE)
    found: Floats = (steps / _ONE).astype(np.float32)
    return found


def levels(lod: Floats, sampler: SamplerState, surface: Surface) -> Detail:
    """The mip levels that a clamped level of detail means."""
    is_magnified = lod <= np.float32(surface.state.base_mip_level)
    last = surface.levels - 1
    zero: Any = np.zeros(len(lod), np.int64)
    none = np.zeros(len(lod), np.float32)
    if sampler.mip_mode_filter is MipFilter.NONE:
        base = np.minimum(zero + int(surface.state.base_mip_level), last)
        return Detail(base, base, none, is_magnified)
    if sampler.mip_mode_filter is MipFilter.NEAREST:
        nearest = np.clip(np.floor(lod + np.float32(0.5)).astype(np.int64), 0, last)
        return Detail(nearest, nearest, none, is_magnified)
    first = np.clip(np.floor(lod).astype(np.int64), 0, last)
    weight = np.where(first < last, lod - first.astype(np.float32), np.float32(0))
    return Detail(first, np.minimum(first + 1, last), weight.astype(np.float32), is_magnified)
