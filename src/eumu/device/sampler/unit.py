"""The sampler's messages: parameters in, written channels out.

Arrays are [threads, lanes]; only lanes in the mask are sampled, the others get 0.  An error of the
message, or of the states that it uses, is a StateError that names the field.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.lanes import ARRAYS
from eumu.device.sampler import cube, loads
from eumu.device.sampler.addressing import FRACTION, layer, six_bits
from eumu.device.sampler.detail import (
    Detail,
    Footprint,
    footprint,
    levels_of,
    limits,
    mip_mode,
    quad_gradients,
    steps_of,
)
from eumu.device.sampler.filtering import Points
from eumu.device.sampler.header import OutputControl, SimdExtension, check
from eumu.device.sampler.keys import key_of
from eumu.device.sampler.mixing import gathered
from eumu.device.sampler.request import SamplerRequest
from eumu.device.state.fields import StateError, title
from eumu.device.state.sampler import AddressMode, Filter, MipFilter, SamplerState
from eumu.device.state.surface import SurfaceType
from eumu.device.surfaces.formats import Encoding
from eumu.device.surfaces.surface import Surface
from eumu.device.surfaces.texture import bits_of
from eumu.errors import Unsupported
from eumu.messages import SamplerMessage

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Lanes = NDArray[Any]

_GRADIENTS: Final = (("dudx", "dudy"), ("dvdx", "dvdy"), ("drdx", "drdy"))


def execute(request: SamplerRequest) -> list[Lanes]:
    """The response: uint32 [threads, lanes] for each written channel, then the null mask."""
    message, header = request.message, request.header
    check_request(request)
    channels = header.channels
    if message.operation == "sample_unorm":
        return [_unorm(request)[:, :, k] for k in channels]
    values = _values(request)
    out = []
    for k in range(4) if message.is_4x2 else channels:
        full = np.zeros(request.mask.shape, np.uint32)
        full[request.mask] = values[:, k]
        out.append(full)
    if message.is_4x2:
        written = np.full((len(request.mask), 1), sum(1 << k for k in channels), np.uint32)
        return [*out, written]
    if header.pixel_null_mask_enable:
        out.append(_null_mask(request))
    return out


def check_request(request: SamplerRequest) -> None:
    """StateError or Unsupported if the message is not one for its surface and sampler."""
    normalized = not request.sampler.non_normalized_coordinate_enable
    kind = request.texture.surface.kind
    check(request.header, request.message, kind, normalized=normalized)
    if request.message.is_4x2:
        if request.header.simd_mode_extension is not SimdExtension.SIMD4X2:
            raise Unsupported("SIMD8D messages")
        if request.header.pixel_null_mask_enable:
            raise Unsupported("the pixel null mask of SIMD4x2 messages")
    if request.message.uses_sampler:
        _check_sampler(request)


def _values(request: SamplerRequest) -> NDArray[np.uint32]:
    """What the active lanes get, four channels [N, 4] as bits."""
    operation = request.message.operation
    if operation in ("ld", "ld_lz", "ld2dms", "ld2dms_w", "ld2dss"):
        return bits_of(request.texture.selected(loads.texels(request)))
    if operation == "resinfo":
        return loads.resource(request)
    if operation == "sampleinfo":
        return loads.samples(request)
    if operation == "ld_mcs":
        return loads.control(request)
    if request.sampler.sampler_disable:
        return np.zeros((int(request.mask.sum()), 4), np.uint32)
    if operation.startswith("gather4"):
        return bits_of(_gather(request))
    return bits_of(_sample(request))


def _null_mask(request: SamplerRequest) -> NDArray[np.uint32]:
    """Bit n is 0 if lane n used a texel that has no memory."""
    lanes = 1 << np.arange(request.mask.shape[1], dtype=np.uint64)
    every = np.uint64((1 << request.mask.shape[1]) - 1)
    null = (request.mask * lanes).sum(1) if request.texture.surface.is_null else np.uint64(0)
    full = np.broadcast_to(every & ~np.uint64(null), (request.mask.shape[0],))
    return full.astype(np.uint32)[:, None]


# ---- what a sampler may be


def _check_sampler(request: SamplerRequest) -> None:
    sampler, surface = request.sampler, request.texture.surface
    key_of(sampler, surface.format, request.key)
    if name := sampler.unmodelled:
        raise Unsupported(
            f"a sampler with {title(name)} {int(getattr(sampler, name))}: what it changes is not"
            " public"
        )
    filters = {
        "mag_mode_filter": sampler.mag_mode_filter,
        "min_mode_filter": sampler.min_mode_filter,
    }
    for name, filter in filters.items():
        if filter is Filter.MONO:
            raise Unsupported("a sampler's MONO filter")
        wide = filter is not Filter.NEAREST and not request.message.operation.startswith("gather4")
        if wide and surface.format.is_integer:
            raise sampler.error(
                name, f"is {filter.name}; {surface.format.name} can only be sampled with NEAREST"
            )
    if sampler.non_normalized_coordinate_enable:
        _check_unnormalized(sampler, surface)
    if surface.is_buffer or surface.format.encoding is Encoding.RAW:
        raise surface.state.error("surface_type", "is a buffer, which only `ld` reads")
    if surface.samples > 1:
        raise surface.state.error(
            "number_of_multisamples", "is more than 1; ld2dms reads such a surface"
        )
    modes = sampler.address_modes[: surface.dimensions]
    if AddressMode.CUBE in modes and surface.kind is not SurfaceType.CUBE:
        raise sampler.error(
            "tcx_address_control_mode", f"is CUBE; the surface is {surface.kind.name}"
        )


def _check_unnormalized(sampler: SamplerState, surface: Surface) -> None:
    """A mip filter chooses nothing on a surface with one level, where Intel's driver sets one."""
    rows = ("tcx_address_control_mode", "tcy_address_control_mode", "tcz_address_control_mode")
    for name, mode in zip(rows, sampler.address_modes, strict=True):
        if mode is not AddressMode.CLAMP and not mode.has_border:
            raise sampler.error(name, f"is {mode.name}; unnormalized coordinates only clamp")
    if sampler.mip_mode_filter is not MipFilter.NONE and surface.levels > 1:
        raise sampler.error("mip_mode_filter", "must be NONE with unnormalized coordinates")
    if surface.kind is SurfaceType.CUBE:
        raise sampler.error("non_normalized_coordinate_enable", "is set, and the surface is a CUBE")


# ---- filtered samples


def _sample(request: SamplerRequest) -> Lanes:
    operation, sampler = request.message.operation, request.sampler
    surface = request.texture.surface
    if surface.is_null:
        return np.zeros((int(request.mask.sum()), 4), np.float32)
    points, level_of_detail = _points(request)
    bounds = limits(sampler, surface)
    steps, is_magnified = steps_of(ARRAYS, level_of_detail.lod, bounds)
    if operation == "lod":
        lod = (steps / (1 << FRACTION)).astype(np.float32)
        zero = np.zeros_like(lod)
        return np.stack([lod, level_of_detail.lod, zero, zero], 1)
    how, levels = mip_mode(sampler), surface.levels
    detail = levels_of(ARRAYS, steps, is_magnified, how, bounds.only, levels)
    return request.texture.selected(request.filtering().sample(points, detail))


def _points(request: SamplerRequest) -> tuple[Points, Footprint]:
    """Where to sample, and how large the footprint is there."""
    request_surface = request.texture.surface
    names = ("u", "v", "r")[: request_surface.dimensions]
    wide = [np.asarray(request.parameter(n)) for n in names]
    mask = request.mask
    coordinates = tuple(c[mask] for c in wide)
    slice = _slice(request)
    detail = _detail(request, wide)
    if request_surface.kind is SurfaceType.CUBE:
        face = cube.face_of(ARRAYS, coordinates)
        coordinates = cube.on_face(ARRAYS, coordinates, face)
        slice = 6 * slice + face
    reference = None
    if request.message.operation.startswith(("sample_c", "gather4_c")) or (
        request.message.operation.endswith("_c")
    ):
        reference = request.parameter("ref")[mask]
    points = Points(
        coordinates, slice, request.header.offsets, detail.count, detail.axis, reference
    )
    return points, detail


def _slice(request: SamplerRequest) -> Ints:
    """The array element of the active lanes."""
    surface, mask = request.texture.surface, request.mask
    if not surface.element:
        return np.zeros(int(mask.sum()), np.int64)
    elements = surface.layers // (6 if surface.kind is SurfaceType.CUBE else 1)
    return layer(ARRAYS, request.parameter(surface.element)[mask], ARRAYS.constant(elements))


def _detail(request: SamplerRequest, wide: list[Lanes]) -> Footprint:
    """The level of detail before bias and clamps of the sampler, [N]."""
    operation, mask = request.message.operation, request.mask
    count = int(mask.sum())
    one = np.ones(count, np.int64)
    flat = np.zeros((count, len(wide)), np.float32)
    if operation in ("sample_l", "sample_l_c"):
        return Footprint(request.parameter("lod")[mask], one, flat)
    if operation in ("sample_lz", "sample_c_lz"):
        return Footprint(np.zeros(count, np.float32), one, flat)
    pairs = _gradients(request, wide)
    across, down = [x for x, _ in pairs], [y for _, y in pairs]
    covered = footprint(across, down, request.sampler, request.texture.surface)
    if operation.startswith("sample_b"):
        return Footprint(covered.lod + request.parameter("bias")[mask], covered.count, covered.axis)
    return covered


def _gradients(request: SamplerRequest, wide: list[Lanes]) -> list[tuple[Floats, Floats]]:
    """Gradients [N] of each coordinate; of a cube, those of the two coordinates on its face."""
    mask = request.mask
    if request.message.operation.startswith("sample_d"):
        pairs = [
            tuple(request.parameter(n)[mask] for n in names) for names in _GRADIENTS[: len(wide)]
        ]
    elif mask.shape[1] % 4:
        raise StateError(
            f"{request.message.operation} of {mask.shape[1]} lanes has no squares of four",
            "SIMD Mode",
        )
    else:
        pairs = [tuple(g[mask] for g in quad_gradients(ARRAYS, c)) for c in wide]
    if request.texture.surface.kind is not SurfaceType.CUBE:
        return [(x, y) for x, y in pairs]
    here = [c[mask] for c in wide]
    face = cube.face_of(ARRAYS, here)
    moved = [
        cube.on_face(ARRAYS, [c + p[k] for c, p in zip(here, pairs, strict=True)], face)
        for k in (0, 1)
    ]
    centre = cube.on_face(ARRAYS, here, face)
    return [(moved[0][k] - c, moved[1][k] - c) for k, c in enumerate(centre)]


def _gather(request: SamplerRequest) -> Lanes:
    """One channel of the four texels that a linear filter of level 0 would take."""
    surface, mask = request.texture.surface, request.mask
    points, _ = _points_of_gather(request)
    count = int(mask.sum())
    if surface.is_null:
        return np.zeros((count, 4), np.float32)
    filtering = request.filtering()
    level = np.zeros(count, np.int64)
    taps = filtering.footprint(points, level, True, True)[:2]
    if surface.dimensions == 3 and surface.kind is SurfaceType.S3D:
        raise surface.state.error("surface_type", "is S3D, which gather4 does not read")
    corners = [request.texture.selected(c) for c in filtering.corners(points, level, taps)]
    channel = int(request.header.gather4_source_channel_select)
    return np.stack([c[:, channel] for c in gathered(corners)], 1)


def _points_of_gather(request: SamplerRequest) -> tuple[Points, Footprint]:
    plain = SamplerMessage("sample_c_lz", request.message.simd, 0, True, 4)
    if not request.message.operation.endswith("_c"):
        plain = SamplerMessage("sample_lz", request.message.simd, 0, True, 4)
    same = SamplerRequest(
        plain,
        request.header,
        request.texture,
        request.sampler,
        request.border,
        request.mask,
        request.parameters,
    )
    points, detail = _points(same)
    if "_po" in request.message.operation:
        moved = tuple(six_bits(ARRAYS, request.integers(n)) for n in ("offu", "offv"))
        points = Points(points.coordinates, points.slice, (*moved, 0), None, None, points.reference)
    return points, detail


# ---- blocks of 8 x 4 pixels


def _unorm(request: SamplerRequest) -> NDArray[np.uint16]:
    """sample_unorm: 32 pixels, eight in a row, as unsigned numbers of sixteen bits."""
    surface = request.texture.surface
    if any(c.numbers.value != "UNORM" for c in surface.format.channels):
        raise surface.state.error(
            "surface_format", f"is {surface.format.name}; sample_unorm reads UNORM formats"
        )
    if request.header.output_format_control is not OutputControl.FULL_16:
        raise Unsupported(
            "sample_unorm with another output format than 16-bit full: no public page says where"
            " the pixels of a channel lie"
        )
    if surface.kind is not SurfaceType.S2D:
        raise surface.state.error("surface_type", f"is {surface.kind.name}; sample_unorm needs S2D")
    threads = len(request.mask)
    pixel = np.arange(32)
    start = [request.parameter(n)[:, :1] for n in ("u", "v")]
    step = [request.parameter(n)[:, :1] for n in ("deltau", "deltav")]
    u = (start[0] + step[0] * (pixel % 8).astype(np.float32)).reshape(-1)
    v = (start[1] + step[1] * (pixel // 8).astype(np.float32)).reshape(-1)
    zero = np.zeros(threads * 32, np.int64)
    detail = Detail(zero, None, None, np.ones(threads * 32, bool))
    filtering = request.filtering()
    values = request.texture.selected(filtering.sample(Points((u, v), zero), detail))
    codes = np.rint(np.clip(values, 0, 1).astype(np.float64) * 65535).astype(np.uint16)
    return codes.reshape(threads, 32, 4)
