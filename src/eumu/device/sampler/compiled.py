"""Compiled answers to the commonest messages: 2D images of a few formats, one level, no arrays.

The code is specialised on formats, modes and filter; addresses and sizes are in a descriptor, so
that it serves every image of its kind.  It gives the bits of the NumPy model.  A message that the
descriptor was not made for goes to the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np

from eumu.device.sampler.code import Code, loads, samples, stores
from eumu.device.sampler.header import Header
from eumu.device.state.sampler import AddressMode, Filter, SamplerState
from eumu.device.state.surface import SurfaceType, TileMode
from eumu.device.surfaces.codes import SurfaceFormat
from eumu.device.surfaces.texture import Texture
from eumu.exec.host import Places, Shortcut
from eumu.messages import SamplerMessage, TypedWrite

__all__ = ["load_shortcut", "sample_shortcut", "write_shortcut"]

_FORMATS: Final = {
    SurfaceFormat.R8G8B8A8_UNORM: "rgba8",
    SurfaceFormat.B8G8R8A8_UNORM: "bgra8",
    SurfaceFormat.R32G32B32A32_FLOAT: "rgba32f",
    SurfaceFormat.R32_FLOAT: "r32f",
}
_MODES: Final = {
    AddressMode.WRAP: "wrap",
    AddressMode.MIRROR: "mirror",
    AddressMode.CLAMP: "clamp",
    AddressMode.CLAMP_BORDER: "border",
}
_DESCRIPTOR: Final = np.dtype(
    [
        ("key", "<u4", 4),  # surface, sampler, dwords 2 and 3 of the header
        ("base", "<u8"),
        ("pitch", "<i8"),
        ("size", "<i4", 2),
        ("sizes", "<f4", 2),
        ("border", "<f4", 4),
    ]
)


@dataclass(frozen=True, slots=True)
class _Known:
    """What a shortcut is made from."""

    texture: Texture
    key: tuple[int, int, int, int]
    host_address: int  # of byte 0 of the surface
    border: Any = field(default_factory=lambda: np.zeros(4, np.float32))


def _descriptor(known: _Known) -> Any:
    surface = known.texture.surface
    data = np.zeros(1, _DESCRIPTOR)
    data["key"] = known.key
    data["base"], data["pitch"] = known.host_address, surface.pitch
    data["size"] = data["sizes"] = (surface.width, surface.height)
    data["border"] = known.border
    return data


def _suits(texture: Texture) -> str:
    """The word for a surface's format, nothing if the surface is not of the simple kind."""
    surface, state = texture.surface, texture.surface.state
    plain = (
        surface.kind is SurfaceType.S2D
        and not surface.is_array
        and surface.slices == 1
        and surface.levels == 1
        and not (state.surface_min_lod or state.minimum_array_element)
        and not (state.x_offset or state.y_offset)
        and state.tile_mode is TileMode.LINEAR
        and state.channel_selects == (4, 5, 6, 7)
    )
    return _FORMATS.get(state.surface_format, "") if plain else ""


def _made(code: Any, known: _Known) -> Shortcut:
    descriptor = _descriptor(known)
    return Shortcut(code.run, int(descriptor.ctypes.data), (code, descriptor))


# Lanes, format, offsets of arguments and results, channels.
_Shape = tuple[int, str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@cache
def _compiled(make: Callable[..., str], shape: _Shape, *more: Any) -> Any:
    """The machine code of a function; the compiler is imported when it is needed."""
    from eumu.exec.jit.target import Loaded, compile_object, host

    return Loaded(compile_object(make(Code(*shape), *more), host()), host())


def sample_shortcut(
    message: SamplerMessage,
    header: Header,
    texture: Texture,
    sampler: SamplerState,
    border: Any,
    key: tuple[int, int, int, int],
    host_address: int,
    place: Places,
) -> Shortcut | None:
    """sample_lz at level 0 with two coordinates."""
    format = _suits(texture)
    modes = [_MODES.get(m) for m in sampler.address_modes[:2]]
    filter = sampler.mag_mode_filter
    if (
        not format
        or message.operation != "sample_lz"
        or message.parameters not in (2, 3, 4)
        or message.bits != 32
        or message.results != len(header.channels)
        or None in modes
        or filter not in (Filter.NEAREST, Filter.LINEAR)
        or sampler.min_mode_filter is not filter
        or sampler.rounding(True) != sampler.rounding(False)
        or sampler.reduction_type_enable
        or sampler.sampler_disable
        or any(header.offsets)
    ):
        return None
    shape = message.simd, format, place.arguments, place.results, header.channels
    code = _compiled(
        samples,
        shape,
        (str(modes[0]), str(modes[1])),
        sampler.rounding(True)[:2],
        filter is Filter.LINEAR,
        not sampler.non_normalized_coordinate_enable,
        message.has_header,
    )
    return _made(code, _Known(texture, key, host_address, border))


def load_shortcut(
    message: SamplerMessage,
    header: Header,
    texture: Texture,
    key: tuple[int, int, int, int],
    host_address: int,
    place: Places,
) -> Shortcut | None:
    """ld_lz with two coordinates."""
    format = _suits(texture)
    plain = message.operation == "ld_lz" and message.parameters in (2, 3) and message.bits == 32
    if not format or not plain or any(header.offsets):
        return None
    if message.results != len(header.channels):
        return None
    shape = message.simd, format, place.arguments, place.results, header.channels
    code = _compiled(loads, shape, message.has_header)
    return _made(code, _Known(texture, key, host_address))


def write_shortcut(
    message: TypedWrite, width: int, texture: Texture, key: int, host_address: int, place: Places
) -> Shortcut | None:
    """Whole texels at two coordinates."""
    format = _suits(texture)
    if format not in ("rgba8", "bgra8", "rgba32f") or message.channels != (0, 1, 2, 3):
        return None
    if message.coordinates != ("u", "v"):
        return None
    code = _compiled(stores, (width, format, place.arguments, (), message.channels))
    return _made(code, _Known(texture, (key, 0, 0, 0), host_address))
