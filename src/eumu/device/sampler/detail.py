"""The level of detail: from gradients, from the message, with bias and clamps.

A level of detail is a number of eight fractional bits.  Gradients are those of coordinates in
texels of the first level.  Source: SAMPLER_STATE; the Vulkan specification for the equations, and
OpenGL's for the clamp after which an image counts as magnified: the sampler's own limits, not
those that levels of the surface set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from eumu.device.lanes import ARRAYS, Array, LaneFunctions, V
from eumu.device.sampler.addressing import FRACTION
from eumu.device.state.sampler import (
    Filter,
    LodPreClamp,
    MagnificationClamp,
    MipFilter,
    SamplerState,
)
from eumu.device.surfaces.surface import Surface
from eumu.records import dataclass

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_ONE = 1 << FRACTION
_TERMS = 13  # of a series: 54 bits


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
class Limits(Generic[V]):
    """What a level of detail is changed by, and what it is compared with.

    After the sampler's bias it is clamped to `low` and `high` before it is decided whether the
    image is magnified: where it is `base` (in steps) or less.  The level that is read is from
    `least` to `greatest`; `only` is the one of samples that choose none.
    """

    bias: V | float
    low: V | float
    high: V | float
    least: V | float
    greatest: V | float
    base: V | float
    only: V | int


@dataclass(frozen=True, slots=True)
class Detail(Generic[V]):
    """Mip levels: None is the only one; no second one and no weight if they are not mixed."""

    first: V | None
    second: V | None
    weight: V | None
    is_magnified: V


def footprint(
    across: Sequence[Floats], down: Sequence[Floats], sampler: SamplerState, surface: Surface
) -> Footprint:
    """Level of detail of gradients, a list of arrays [N] for the coordinates."""
    sizes: list[Any] = scale(sampler, surface)
    long_x, long_y = (length(ARRAYS, some, sizes) for some in (across, down))
    axis = np.where((long_x >= long_y)[None, :], across, down).T
    if Filter.ANISOTROPIC not in (sampler.min_mode_filter, sampler.mag_mode_filter):
        one = np.ones(long_x.shape, np.int64)
        return Footprint(gradient_lod(ARRAYS, long_x, long_y), one, axis)
    count = _anisotropy(long_x, long_y, 2 * int(sampler.maximum_anisotropy) + 2)
    lod = gradient_lod(ARRAYS, long_x, long_y, count)
    return Footprint(np.where(np.isnan(lod), np.float32(0), lod), count, axis)


def _anisotropy(long_x: Array, long_y: Array, most: int) -> Ints:
    """How many samples lie along the longer gradient."""
    long, short = np.maximum(long_x, long_y), np.minimum(long_x, long_y)
    ratio = np.where(short > 0, long / np.where(short > 0, short, 1), np.where(long > 0, 1e9, 1))
    count = np.minimum(2 * np.ceil(ratio / 2), most).astype(np.int64)
    return np.where(ratio <= 1, 1, count)


# ---- equations


def gradient_lod(lanes: LaneFunctions[V], long_x: V, long_y: V, count: V | None = None) -> V:
    """The logarithm of the longer length, both doubles; `count` samples share it.  0 with NaN."""
    long = lanes.most(long_x, long_y)
    if count is not None:
        long = long / count
    is_number = lanes.equal(long_x, long_x) & lanes.equal(long_y, long_y)
    return lanes.single(lanes.where(is_number, _log2(lanes, long), 0.0))


def _log2(lanes: LaneFunctions[V], x: V) -> V:
    """Of doubles from 0 on: the exponent, and a series in (m - 1) / (m + 1)."""
    exponent, m = lanes.split(x)
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    total = lanes.double(lanes.constant(0.0))
    for k in reversed(range(_TERMS)):
        total = total * square + 2 / math.log(2) / (2 * k + 1)
    log = lanes.where(lanes.equal(x, math.inf), x, exponent + total * s)
    return lanes.where(lanes.equal(x, 0.0), -math.inf, log)


def quad_gradients(lanes: LaneFunctions[V], c: V) -> tuple[V, V]:
    """Differences to the right and down: four lanes are a square of pixels, row by row."""
    return lanes.quad_step(c, 1), lanes.quad_step(c, 2)


def length(lanes: LaneFunctions[V], gradient: Sequence[V], sizes: Sequence[V]) -> V:
    """Of gradients in texels, as a double."""
    parts = [lanes.double(c) * size for c, size in zip(gradient, sizes, strict=False)]
    total = parts[0] * parts[0]
    for part in parts[1:]:
        total = total + part * part
    return lanes.sqrt(total)


def steps_of(lanes: LaneFunctions[V], lod: V, limits: Limits[V]) -> tuple[V, V]:
    """A level of detail within all limits, in steps of 1/256, and whether that magnifies."""
    biased = lanes.double(lod) + limits.bias
    biased = lanes.where(lanes.equal(biased, biased), biased, 0.0)
    biased = lanes.most(lanes.least(biased, limits.high), limits.low)
    is_magnified = lanes.rint(biased * float(_ONE)) <= limits.base
    kept = lanes.least(lanes.most(biased, limits.least), limits.greatest)
    return lanes.integer(lanes.rint(kept * float(_ONE))), is_magnified


def levels_of(
    lanes: LaneFunctions[V],
    steps: V,
    is_magnified: V,
    how: tuple[MipFilter, MagnificationClamp],
    only: V | int,
    levels: V | int,
) -> Detail[V]:
    """The mip levels that a level of detail in steps means; `only` is that of no mip filter."""
    (filter, clamp), last = how, levels - 1
    if filter is MipFilter.NONE:
        return Detail(None, None, None, is_magnified)
    weight = None
    if filter is MipFilter.NEAREST:
        first = lanes.least(steps + _ONE // 2 >> FRACTION, last)
    else:
        first = lanes.least(steps >> FRACTION, last)
        low = lanes.single(steps & _ONE - 1) * (1 / _ONE)
        weight = lanes.where(first < last, low, 0.0)
    if clamp is MagnificationClamp.MIPNONE:
        first = lanes.where(is_magnified, only, first)
        weight = None if weight is None else lanes.where(is_magnified, 0.0, weight)
    if weight is None:
        return Detail(first, None, None, is_magnified)
    return Detail(first, lanes.least(first + 1, last), weight, is_magnified)


# ---- the states that they take


def limits(sampler: SamplerState, surface: Surface) -> Limits[Array]:
    """The sampler's and the surface's."""
    least = max(sampler.min_lod, surface.state.resource_min_lod)
    greatest = max(min(sampler.max_lod, surface.levels - 1), least)
    clamps = sampler.lod_preclamp_mode is LodPreClamp.OGL
    low, high = (sampler.min_lod, sampler.max_lod) if clamps else (-math.inf, math.inf)
    base = float(_ONE * surface.state.base_mip_level)
    only = only_level(sampler, surface)
    return Limits(sampler.texture_lod_bias, low, high, least, greatest, base, only)


def mip_mode(sampler: SamplerState) -> tuple[MipFilter, MagnificationClamp]:
    """How levels are chosen."""
    return sampler.mip_mode_filter, sampler.lod_clamp_magnification_mode


def scale(sampler: SamplerState, surface: Surface) -> list[int]:
    """What gradients are multiplied with, so that they are in texels."""
    if sampler.non_normalized_coordinate_enable:
        return [1, 1, 1]
    return [surface.width, surface.height, surface.depth]


def only_level(sampler: SamplerState, surface: Surface) -> int:
    """The mip level of samples that choose none: the base level, or Min LOD's if that is higher."""
    state = surface.state
    least = int(max(sampler.min_lod, state.resource_min_lod))
    greatest = max(math.ceil(sampler.max_lod), least)
    return min(max(int(state.base_mip_level), least), greatest, surface.levels - 1)
