"""Inline caches for the sampler's messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any, Final

import numpy as np

from eumu.device.compiled.coordinates import Choice
from eumu.device.compiled.known import VECTOR, Known, chosen, made, record_of, texels_of
from eumu.device.compiled.loads import Access, loading, sizing
from eumu.device.compiled.record import LIMITS
from eumu.device.compiled.samples import Sampling, sampling
from eumu.device.compiled.texels import can_read
from eumu.device.lanes import ARRAYS
from eumu.device.sampler.addressing import modes_on
from eumu.device.sampler.detail import levels_of, limits, mip_mode, scale, steps_of
from eumu.device.sampler.loads import level_sizes
from eumu.device.sampler.request import Request
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


def sampler_message(known: Known) -> InlineCache | None:
    message, header = known.message, known.header
    plain = (
        message.results <= len(header.channels)
        and not header.pixel_null_mask_enable
        and not header.simd_mode_extension
        and message.bits in (16, 32)
        and message.simd == known.lanes
        and known.lanes % VECTOR == 0
    )
    if not plain:
        return None
    check_request(
        Request(
            message, header, known.texture, known.sampler, known.border, np.ones((1, 1), bool), {}
        )
    )
    if message.operation in ("ld", "ld_lz"):
        return _load(known)
    if message.operation == "resinfo":
        return _sizes(known)
    return _sample(known) if message.operation in _SAMPLES else None


def _is_modelled(known: Known) -> bool:
    """Whether there is code for a sampler and its surface."""
    sampler, surface, operation = known.sampler, known.surface, known.message.operation
    gathers = operation.startswith("gather4")
    filters = (sampler.mag_mode_filter, sampler.min_mode_filter)
    is_cube = surface.kind is SurfaceType.CUBE
    gradients = operation.removesuffix("_c") in ("sample", "sample_b", "sample_d")
    refused = (
        not can_read(surface.format),
        sampler.sampler_disable,
        sampler.chromakey_enable,
        bool(sampler.unmodelled),
        sampler.extreme is not None and not gathers and _has_odd_numbers(known),
        not gathers and not set(filters) <= {Filter.NEAREST, Filter.LINEAR},
        is_cube and gradients,
        is_cube and surface.format.is_integer,
        is_cube and "_po" in operation,
        gathers and surface.kind is SurfaceType.S3D,
        "_c" in operation and (surface.format.is_integer or 0 not in surface.format.outputs),
    )
    return not any(refused)


def _has_odd_numbers(known: Known) -> bool:
    """Whether NaN or a negative zero may be among texels, whose least one is not defined."""
    floats = any(c.numbers is Numbers.FLOAT for c in known.surface.format.channels)
    return floats or known.sampler.has_border


def _sample(known: Known) -> InlineCache | None:
    if not _is_modelled(known):
        return None
    mips, first, filters = _mips(known)
    sampler = known.sampler
    if mips is MipFilter.LINEAR and known.surface.format.is_integer:
        return None
    enlarged, reduced = (sampler.rounding(name == "mag") for name in filters)
    linear = (getattr(sampler, f"{name}_mode_filter") is not Filter.NEAREST for name in filters)
    spec = replace(
        _plain(known),
        linear=Choice(*linear),
        rounded=tuple(Choice(a, b) for a, b in zip(enlarged, reduced, strict=True)),
        mips=mips,
        clamp=sampler.lod_clamp_magnification_mode,
    )
    record = record_of(known, first)
    _set_sampler(record, known)
    return made(known, record, sampling, spec)


def _plain(known: Known) -> Sampling:
    """What code depends on, but for filters and levels."""
    message, surface, operation = known.message, known.surface, known.message.operation
    channels = known.header.channels[: message.results]
    if operation.startswith("gather4"):
        channels = (int(known.header.gather4_source_channel_select),) * message.results
    moved = "header" if any(known.header.offsets) else ""
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
        modes=modes_on(known.sampler, surface)[: 2 if is_cube else surface.dimensions],
        normalized=not known.sampler.non_normalized_coordinate_enable,
        moved="lanes" if "_po" in operation else moved,
        compare=known.sampler.shadow_function if is_compared else None,
        clamps_reference=is_compared and surface.format.has_unorm_red,
        is_cube=is_cube,
        extreme=known.sampler.extreme,
    )


def _mips(known: Known) -> tuple[MipFilter | None, int, tuple[str, str]]:
    """How lanes choose levels, the only level if they do not, filters for large and small.

    No mip filter at all if all lanes have one level and one filter.
    """
    sampler, surface, operation = known.sampler, known.surface, known.message.operation
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


def _set_sampler(record: Any, known: Known) -> None:
    """What a record has of the sampler, the header and the border."""
    sampler, surface = known.sampler, known.surface
    for name, value in zip(LIMITS, astuple(limits(sampler, surface)), strict=True):
        record[name] = value
    record["offset"] = known.header.offsets
    record["border"] = np.ascontiguousarray(known.border).view(np.uint32)
    record["scale"] = scale(sampler, surface)


def _arguments(known: Known, names: Sequence[str]) -> tuple[int, ...]:
    """The arguments that parameters are, -1 for those that are not given."""
    message = known.message
    first = 1 + message.uses_sampler + message.has_header
    given = {name: first + n for n, name in enumerate(message.names)}
    return tuple(given.get(name, -1) for name in names)


def _load(known: Known) -> InlineCache | None:
    surface, header, message = known.surface, known.header, known.message
    if not can_read(surface.format):
        return None
    u, v, r = _arguments(known, ("u", "v", "r"))
    x, y, slice, lod = _arguments(known, (*surface.coordinates, "lod"))
    moved = any(header.offsets)
    if u < 0 or (moved and min(u, v, r) < 0):
        return None
    results = chosen(surface, header.channels[: message.results])
    access = Access(
        texels_of(surface, slices=slice >= 0),
        (x, y, slice, lod),
        surface.kind is SurfaceType.S3D,
        surface.levels > 1 and lod >= 0,
        results=results,
        outside=tuple(k if k >= ZERO else ZERO for k in results),
        bits=message.bits,
        moved=moved,
    )
    record = record_of(known)
    record["offset"] = header.offsets
    return made(known, record, loading, access)


def _sizes(known: Known) -> InlineCache | None:
    """resinfo: the record's levels are what it answers."""
    surface = known.surface
    record = record_of(known)
    for k in range(surface.levels):
        record["level"][0, k, :3] = level_sizes(surface, k)
    (lod,) = _arguments(known, ("lod",))
    channels = known.header.channels[: known.message.results]
    return made(known, record, sizing, lod, channels, known.message.bits)
