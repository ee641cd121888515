"""Inline caches for the sampler's messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any, Final

import numpy as np

from eumu.device.compiled.coordinates import Choice
from eumu.device.compiled.known import VECTOR, KnownMessage, chosen, made, record_of, texels_of
from eumu.device.compiled.loads import LoadCoordinates, loading, sizing
from eumu.device.compiled.record import LIMITS
from eumu.device.compiled.samples import Sampling, sampling
from eumu.device.compiled.texels import can_read
from eumu.device.lanes import ARRAYS
from eumu.device.sampler.addressing import modes_on
from eumu.device.sampler.detail import levels_of, limits, mip_mode, scale, steps_of
from eumu.device.sampler.loads import level_sizes
from eumu.device.sampler.request import SamplerRequest
from eumu.device.sampler.unit import check_request
from eumu.device.state.sampler import Filter, MipFilter
from eumu.device.state.surface import ZERO, SurfaceType
from eumu.device.surfaces.formats import Numbers
from eumu.exec.host import InlineCache

_SAMPLES: Final = frozenset(
    {
        *("sample", "sample_b", "sample_l", "sample_lz", "sample_d"),
        *("sample_c", "sample_b_c", "sample_l_c", "sample_c_lz", "sample_d_c"),
        *("gather4", "gather4_c", "gather4_po", "gather4_po_c"),
    }
)


def sampler_message(asked: KnownMessage) -> InlineCache | None:
    message, header = asked.message, asked.header
    plain = (
        message.results <= len(header.channels)
        and not header.pixel_null_mask_enable
        and not header.simd_mode_extension
        and message.bits in (16, 32)
        and message.simd == asked.lanes
        and asked.lanes % VECTOR == 0
    )
    if not plain:
        return None
    check_request(
        SamplerRequest(
            message, header, asked.texture, asked.sampler, asked.border, np.ones((1, 1), bool), {}
        )
    )
    if message.operation in ("ld", "ld_lz"):
        return _load(asked)
    if message.operation == "resinfo":
        return _sizes(asked)
    return _sample(asked) if message.operation in _SAMPLES else None


def _is_modelled(asked: KnownMessage) -> bool:
    """Whether there is code for a sampler and its surface."""
    sampler, surface, operation = asked.sampler, asked.surface, asked.message.operation
    gathers = operation.startswith("gather4")
    filters = (sampler.mag_mode_filter, sampler.min_mode_filter)
    is_cube = surface.kind is SurfaceType.CUBE
    gradients = operation.removesuffix("_c") in ("sample", "sample_b", "sample_d")
    refused = (
        not can_read(surface.format),
        sampler.sampler_disable,
        sampler.chromakey_enable,
        bool(sampler.unmodelled),
        sampler.extreme is not None and not gathers and _has_odd_numbers(asked),
        not gathers and not set(filters) <= {Filter.NEAREST, Filter.LINEAR},
        is_cube and gradients,
        is_cube and surface.format.is_integer,
        is_cube and "_po" in operation,
        gathers and surface.kind is SurfaceType.S3D,
        "_c" in operation and (surface.format.is_integer or 0 not in surface.format.outputs),
    )
    return not any(refused)


def _has_odd_numbers(asked: KnownMessage) -> bool:
    """Whether NaN or a negative zero may be among texels, whose least one is not defined."""
    floats = any(c.numbers is Numbers.FLOAT for c in asked.surface.format.channels)
    return floats or asked.sampler.has_border


def _sample(asked: KnownMessage) -> InlineCache | None:
    if not _is_modelled(asked):
        return None
    mips, first, filters = _mips(asked)
    sampler = asked.sampler
    if mips is MipFilter.LINEAR and asked.surface.format.is_integer:
        return None
    enlarged, reduced = (sampler.rounding(name == "mag") for name in filters)
    linear = (getattr(sampler, f"{name}_mode_filter") is not Filter.NEAREST for name in filters)
    spec = replace(
        _plain(asked),
        linear=Choice(*linear),
        rounded=tuple(Choice(a, b) for a, b in zip(enlarged, reduced, strict=True)),
        mips=mips,
        clamp=sampler.lod_clamp_magnification_mode,
    )
    record = record_of(asked, first)
    _set_sampler(record, asked)
    return made(asked, record, sampling, spec)


def _plain(asked: KnownMessage) -> Sampling:
    """What code depends on, but for filters and levels."""
    message, surface, operation = asked.message, asked.surface, asked.message.operation
    channels = asked.header.channels[: message.results]
    if operation.startswith("gather4"):
        channels = (int(asked.header.gather4_source_channel_select),) * message.results
    moved = "header" if any(asked.header.offsets) else ""
    is_compared = "_c" in operation
    is_cube = surface.kind is SurfaceType.CUBE
    return Sampling(
        texels=texels_of(surface, slices=surface.slices > 1),
        operation=operation,
        parameters=message.names,
        first_parameter=1 + message.uses_sampler + message.has_header,
        results=chosen(surface, channels),
        bits=message.bits,
        coordinates=("u", "v", "r")[: surface.dimensions],
        element=surface.element,
        modes=modes_on(asked.sampler, surface)[: 2 if is_cube else surface.dimensions],
        normalized=not asked.sampler.non_normalized_coordinate_enable,
        moved="lanes" if "_po" in operation else moved,
        compare=asked.sampler.shadow_function if is_compared else None,
        clamps_reference=is_compared and surface.format.has_unorm_red,
        is_cube=is_cube,
        extreme=asked.sampler.extreme,
    )


def _mips(asked: KnownMessage) -> tuple[MipFilter | None, int, tuple[str, str]]:
    """How lanes choose levels, the only level if they do not, filters for large and small.

    No mip filter at all if all lanes have one level and one filter.
    """
    sampler, surface, operation = asked.sampler, asked.surface, asked.message.operation
    if operation.startswith("gather4"):
        return None, 0, ("mag", "mag")
    lods = [0] if operation.endswith("_lz") else [-np.inf, 0, np.inf]
    bounds = limits(sampler, surface)
    steps, is_magnified = steps_of(ARRAYS, np.array(lods, np.float32), bounds)
    how, levels = mip_mode(sampler), surface.levels
    detail = levels_of(ARRAYS, steps, is_magnified, how, bounds.only, levels)
    firsts = {bounds.only} if detail.first is None else {int(k) for k in detail.first}
    is_mixed = detail.weight is not None and bool(detail.weight.any())
    if len(firsts) > 1 or is_mixed or (steps[0] != steps[-1] and detail.first is not None):
        return sampler.mip_mode_filter, 0, ("mag", "min")
    names = "mag" if is_magnified[0] else "min", "mag" if is_magnified[-1] else "min"
    same = sampler.mag_mode_filter is sampler.min_mode_filter
    same = same and sampler.rounding(True) == sampler.rounding(False)
    mips = None if same or len({*names}) == 1 else MipFilter.NONE
    return mips, int(firsts.pop()), names


def _set_sampler(record: Any, asked: KnownMessage) -> None:
    """What a record has of the sampler, the header and the border."""
    sampler, surface = asked.sampler, asked.surface
    for name, value in zip(LIMITS, astuple(limits(sampler, surface)), strict=True):
        record[name] = value
    record["offset"] = asked.header.offsets
    record["border"] = np.ascontiguousarray(asked.border).view(np.uint32)
    record["scale"] = scale(sampler, surface)


def _arguments(asked: KnownMessage, names: Sequence[str]) -> tuple[int, ...]:
    """The arguments that parameters are, -1 for those that are not given."""
    message = asked.message
    first = 1 + message.uses_sampler + message.has_header
    numbers = {name: first + n for n, name in enumerate(message.names)}
    return tuple(numbers.get(name, -1) for name in names)


def _load(asked: KnownMessage) -> InlineCache | None:
    surface, header, message = asked.surface, asked.header, asked.message
    if not can_read(surface.format):
        return None
    u, v, r = _arguments(asked, ("u", "v", "r"))
    x, y, slice, lod = _arguments(asked, (*surface.coordinates, "lod"))
    moved = any(header.offsets)
    if u < 0 or (moved and min(u, v, r) < 0):
        return None
    results = chosen(surface, header.channels[: message.results])
    access = LoadCoordinates(
        texels_of(surface, slices=slice >= 0),
        (x, y, slice, lod),
        surface.kind is SurfaceType.S3D,
        surface.levels > 1 and lod >= 0,
        results=results,
        outside=tuple(k if k >= ZERO else ZERO for k in results),
        bits=message.bits,
        moved=moved,
    )
    record = record_of(asked)
    record["offset"] = header.offsets
    return made(asked, record, loading, access)


def _sizes(asked: KnownMessage) -> InlineCache | None:
    """resinfo: the record's levels are what it answers."""
    surface = asked.surface
    record = record_of(asked)
    for k in range(surface.levels):
        record["level"][0, k, :3] = level_sizes(surface, k)
    (lod,) = _arguments(asked, ("lod",))
    channels = asked.header.channels[: asked.message.results]
    return made(asked, record, sizing, lod, channels, asked.message.bits)
