"""Messages without a sampler: plain reads at integer coordinates, and facts about a surface."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.device.sampler.request import SamplerRequest
from eumu.device.state.surface import SurfaceType
from eumu.device.surfaces.mcs import is_clear, slices_of
from eumu.device.surfaces.places import places
from eumu.device.surfaces.surface import Surface
from eumu.device.surfaces.texels import missing

Lanes = NDArray[Any]


def texels(request: SamplerRequest) -> Lanes:
    """Texels at integer coordinates; what lies outside is 0."""
    surface, header = request.texture.surface, request.header
    at = {name: request.integers(name) for name in ("u", "v", "r", "lod")}
    for name, offset in zip(("u", "v", "r")[: surface.dimensions], header.offsets, strict=False):
        at[name] = at[name] + offset
    (level, x, y, slice), inside = places(surface, at)
    clear = np.zeros(len(x), bool)
    operation = request.message.operation
    if "2dms" in operation or operation == "ld2dss":
        sample = np.clip(request.integers("si"), 0, surface.samples - 1)
        if surface.is_compressed and operation != "ld2dss":  # which reads the samples as they lie
            control = _given_control(request)
            clear = is_clear(surface.samples, control)
            sample = slices_of(surface.samples, control, sample)
        slice = slice * surface.samples + sample
    elif surface.samples > 1:
        raise surface.state.error("number_of_multisamples", "is more than 1; use ld2dms")
    out = missing(surface.format, len(x))
    out[:, sorted(surface.format.outputs)] = 0
    k = np.flatnonzero(inside)
    out[k] = request.texture.read(level[k], x[k], y[k], slice[k])
    kept = sorted(surface.format.outputs)
    out[np.flatnonzero(inside & clear)[:, None], kept] = _clear_colour(surface, out.dtype)[kept]
    return out


def _clear_colour(surface: Surface, dtype: np.dtype[Any]) -> Lanes:
    state = surface.state
    red, green = state.red_clear_color, state.green_clear_color
    words = np.array([red, green, state.blue_clear_color, state.alpha_clear_color], np.uint32)
    colour: Lanes = words.view(dtype)
    return colour


def _given_control(request: SamplerRequest) -> NDArray[np.uint64]:
    """The control element that each lane brings with it, of as many bits as its samples need."""
    if request.message.operation == "ld2dms":
        if request.texture.surface.samples > 8:
            raise request.texture.surface.state.error(
                "number_of_multisamples", "is 16, whose control elements only ld2dms_w takes"
            )
        return request.parameter("mcs", np.uint32)[request.mask].astype(np.uint64)
    low, high = (request.parameter(n, np.uint32)[request.mask] for n in ("mcsl", "mcsh"))
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def control(request: SamplerRequest) -> NDArray[np.uint32]:
    """ld_mcs: red and green are the control element; 0 without one, and outside the surface."""
    surface, header = request.texture.surface, request.header
    x, y, r = (request.integers(n) for n in ("u", "v", "r"))
    out = np.zeros((len(x), 4), np.uint32)
    if surface.is_null or not surface.is_compressed:
        return out
    x, y = x + header.u_offset, y + header.v_offset
    slice = r if surface.is_array else np.zeros_like(r)
    inside = (x >= 0) & (x < surface.width) & (y >= 0) & (y < surface.height)
    k = np.flatnonzero(inside & (slice >= 0) & (slice < surface.layers))
    values = request.texture.control(x[k], y[k], slice[k])
    out[k, 0], out[k, 1] = values & np.uint64(0xFFFF_FFFF), values >> np.uint64(32)
    return out


def resource(request: SamplerRequest) -> NDArray[np.uint32]:
    """Sizes of a level and the number of levels; 0 for a level that there is not."""
    surface = request.texture.surface
    lod = request.integers("lod")
    out = np.zeros((len(lod), 4), np.uint32)
    if surface.is_null:
        return out
    level = np.clip(lod, 0, surface.levels - 1)
    rows = np.array([level_sizes(surface, k) for k in range(surface.levels)])
    out[:, :3] = np.where((lod == level)[:, None], rows[level], 0)
    out[:, 3] = surface.levels
    return out


def level_sizes(surface: Surface, lod: int) -> tuple[int, int, int]:
    """What resinfo says of a level that there is: its sizes, and the elements of an array."""
    v, depth = surface.level(lod), surface.state.depth + 1
    match surface.kind:
        case SurfaceType.BUFFER | SurfaceType.STRBUF:
            return surface.width, 0, 0
        case SurfaceType.S1D:
            return v.width, depth if surface.is_array else 0, 0
        case SurfaceType.S3D:
            return v.width, v.height, v.depth
        case SurfaceType.CUBE:
            return v.width, v.height, depth
    return v.width, v.height, depth if surface.is_array else 0


def samples(request: SamplerRequest) -> NDArray[np.uint32]:
    state = request.texture.surface.state
    out = np.zeros((int(request.mask.sum()), 4), np.uint32)
    out[:, 0] = 0 if request.texture.surface.is_null else request.texture.surface.samples
    out[:, 3] = state.multisample_position_palette_index
    return out
