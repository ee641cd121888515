"""Images for the driver: OpenCL's formats and shapes as eumu has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from eumu.device.surfaces.formats import texel_format
from eumu.device.surfaces.texels import encode
from eumu.errors import Unsupported
from eumu.runtime import Array, Device, Image, Sampler
from eumu.runtime.image_layout import state_of, surface_format

_ORDERS: Final = {
    **{0x10B0: "R", 0x10B1: "A", 0x10B2: "RG", 0x10B5: "RGBA", 0x10B6: "BGRA", 0x10B8: "I"},
    **{0x10B9: "L", 0x10BD: "R", 0x10C1: "RGBA", 0x10C2: "BGRA"},
}
_SRGB: Final = (0x10C1, 0x10C2)
_TYPES: Final = {
    **{0x10D0: "8_SNORM", 0x10D1: "16_SNORM", 0x10D2: "8_UNORM", 0x10D3: "16_UNORM"},
    **{0x10D7: "8_SINT", 0x10D8: "16_SINT", 0x10D9: "32_SINT", 0x10DA: "8_UINT"},
    **{0x10DB: "16_UINT", 0x10DC: "32_UINT", 0x10DD: "16_FLOAT", 0x10DE: "32_FLOAT"},
}
# Kinds of images, from CL_MEM_OBJECT_IMAGE2D on.
_2D, _3D, _2D_ARRAY, _1D, _1D_ARRAY, _1D_BUFFER = range(6)
_ADDRESSES: Final = ("none", "clamp_to_edge", "clamp_to_border", "repeat", "mirrored_repeat")
_ALL: Final = "RGBA"
_FILTERS: Final = ("nearest", "linear")


def format_name(order: int, type: int) -> str:
    """The name of a format; Unsupported for those that there are not.

    >>> format_name(0x10B5, 0x10D2)
    'RGBA8_UNORM'
    """
    if order not in _ORDERS or type not in _TYPES:
        raise Unsupported(f"an image of channel order {order:#x} and type {type:#x}")
    return _ORDERS[order] + _TYPES[type] + ("_SRGB" if order in _SRGB else "")


def channels(order: int) -> int:
    """How many channels a texel has.

    >>> channels(0x10B2)
    2
    """
    return len(_ORDERS[order])


def made(
    device: Device,
    name: str,
    format: str,
    kind: int,
    sizes: tuple[int, int, int, int],
    channels: int,
) -> Image:
    """An image of zeros; sizes are width, height, depth and layers."""
    named, shape, is_array = _shape(kind, sizes)
    if channels > 1:
        shape = (*shape, channels)
    layers = sizes[3] if is_array else None
    return device.image(shape, format=format, kind=named, layers=layers, name=name)


def of_memory(
    device: Device,
    memory: Array,
    format: str,
    kind: int,
    sizes: tuple[int, int, int, int],
    pitch: int,
) -> Image:
    """An image whose texels are in a buffer; `pitch` bytes from a row to the next.

    ArgumentError if the buffer is too small, Unsupported for other kinds.
    """
    if kind not in (_2D, _1D_BUFFER):
        raise Unsupported(f"an image of kind {kind} in a buffer")
    named, shape, _ = _shape(kind, sizes)
    state = state_of(texel_format(surface_format(format)), named, shape, None, 1, "linear", 1, _ALL)
    if kind == _2D:
        state = replace(state, surface_pitch=pitch - 1)
    name = f"the image in {memory.name}"
    return Image(device, state, named, is_array=False, name=name, is_named=True, memory=memory)


def _shape(kind: int, sizes: tuple[int, int, int, int]) -> tuple[str, tuple[int, ...], bool]:
    """What eumu calls a kind, its shape, and whether it is an array."""
    width, height, depth, layers = sizes
    shapes = {
        _1D: (width,),
        _1D_BUFFER: (width,),
        _1D_ARRAY: (layers, width),
        _2D: (height, width),
        _2D_ARRAY: (layers, height, width),
        _3D: (depth, height, width),
    }
    if kind not in shapes:
        raise Unsupported(f"an image of kind {kind}")
    named = {_1D: "1d", _1D_ARRAY: "1d", _1D_BUFFER: "buffer", _3D: "3d"}.get(kind, "2d")
    return named, shapes[kind], kind in (_1D_ARRAY, _2D_ARRAY)


def distances(image: Image) -> tuple[int, int]:
    """Bytes from one row of an image to the next, and from one slice to the next."""
    surface = image.surface
    if surface.is_buffer:
        return image.nbytes, image.nbytes
    zero = np.zeros(2, np.int64)
    slices = np.array([0, min(1, surface.slices - 1)], np.int64)
    first, second = (int(a) for a in surface.addresses(zero, zero, zero, slices)[0])
    return surface.pitch, second - first


def texel(order: int, type: int, color: bytes) -> bytes:
    """The bytes of a texel of four floats."""
    format = texel_format(surface_format(format_name(order, type)))
    values = np.frombuffer(color, np.float32).reshape(1, 4)
    return bytes(encode(format, values.view(np.uint32))[0].tobytes())


def sampler(device: Device, normalized: int, addressing: int, filter: int) -> Sampler:
    """A sampler of OpenCL's numbers, counted from those of `none` and `nearest`."""
    if addressing >= len(_ADDRESSES) or filter >= len(_FILTERS):
        raise Unsupported(f"a sampler of addressing mode {addressing} and filter {filter}")
    return device.sampler(
        normalized=bool(normalized), address=_ADDRESSES[addressing], filter=_FILTERS[filter]
    )
