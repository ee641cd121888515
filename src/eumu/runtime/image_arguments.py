"""Images and samplers as arguments: the tables of a launch, and the facts a kernel asks for."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from eumu.device.state.sampler import BorderColor, SamplerState
from eumu.device.state.surface import SurfaceState
from eumu.device.surfaces.formats import Numbers, TexelFormat
from eumu.errors import Unsupported
from eumu.runtime.array import Array
from eumu.runtime.board import Board
from eumu.runtime.heaps import HeapSlot, buffer_state
from eumu.runtime.image import Image as Variables
from eumu.runtime.image_needs import SECTIONS, each, entries, needs_tables
from eumu.runtime.images import Image
from eumu.runtime.media import MediaSampler
from eumu.runtime.parameters import Parameter, Passing
from eumu.runtime.samplers import Sampler, make_sampler
from eumu.runtime.tables import BindlessBuffer, Tables
from eumu.zebin.ze_info import InlineSampler, KernelInfo, PayloadArgument

# Image types of OpenCL C and `.ze_info`, and what an image must be for them.
_TYPES: Final[dict[str, tuple[str, bool]]] = {
    "image1d_t": ("1d", False),
    "image1d_buffer_t": ("buffer", False),
    "image1d_array_t": ("1d", True),
    "image2d_t": ("2d", False),
    "image2d_array_t": ("2d", True),
    "image2d_depth_t": ("2d", False),
    "image2d_array_depth_t": ("2d", True),
    "image2d_msaa_t": ("2d", False),
    "image2d_array_msaa_t": ("2d", True),
    "image2d_msaa_depth_t": ("2d", False),
    "image2d_array_msaa_depth_t": ("2d", True),
    "image3d_t": ("3d", False),
}


def check_image_argument(parameter: Parameter, value: Any) -> None:
    """Raises unless the value is an image of the right kind, or a sampler."""
    if parameter.passing is Passing.SAMPLER:
        if not isinstance(value, (Sampler, MediaSampler)):
            raise parameter.error(
                f"a sampler is needed, from Device.sampler(...), not {type(value).__name__}"
            )
        return
    if not isinstance(value, Image):
        raise parameter.error(
            f"an image is needed, from Device.image(...), not {type(value).__name__}"
        )
    kind, is_array = _TYPES.get(parameter.type_name, (value.kind, value.is_array))
    if (value.kind, value.is_array) != (kind, is_array):
        passed = f"{value.kind}{' array' if value.is_array else ''}"
        raise parameter.error(
            f"a {kind}{' array' if is_array else ''} image is needed, not {passed}"
        )
    samples = value.surface.samples
    if ("msaa" in parameter.type_name) != (samples > 1) and parameter.type_name in _TYPES:
        raise parameter.error(f"the image has {samples} samples in a pixel")


# ---- tables


def image_tables(
    device: Board, info: KernelInfo, values: Sequence[Any], variables: Variables | None = None
) -> Tables | None:
    """The tables of a launch; None for a kernel that uses neither images nor samplers.

    `variables` are those of the program, which may have a surface, too.
    """
    if not needs_tables(info, values):
        return None
    images = [v for v in each(values) if isinstance(v, Image)]
    heaps = device.heaps
    surfaces: dict[int, HeapSlot] = {}
    for first, _, image in entries(info, values):
        for entry, value in enumerate(each([image]), first):
            if isinstance(value, Image):
                surfaces[entry] = value.slot
            elif isinstance(value, Array):
                surfaces[entry] = _buffer(device, value)
    samplers: dict[int, tuple[SamplerState, BorderColor]] = {}
    media: dict[int, MediaSampler] = {}
    for inline in info.inline_samplers:
        states = _inline(info, inline)
        samplers[inline.sampler_index] = states.state, states.border
    for argument in info.payload_arguments:
        if argument.addrspace == "sampler" and argument.arg_type == "arg_bypointer":
            sampler = values[argument.arg_index]
            if isinstance(sampler, Sampler):
                samplers[argument.sampler_index] = sampler.state, sampler.border
            elif isinstance(sampler, MediaSampler):
                media[argument.sampler_index] = sampler
    bindless: dict[int | str, BindlessBuffer] = {}
    for argument in info.payload_arguments:
        if argument.addrmode == "bindless":
            name = SECTIONS.get(argument.arg_type)
            key = name or argument.arg_index
            if name is not None:
                array = variables.section(name) if variables else None
            else:
                array = values[argument.arg_index] if argument.arg_index >= 0 else None
            if isinstance(array, Array) and key not in bindless:
                bindless[key] = BindlessBuffer(_buffer(device, array), array)
    handles = {
        argument.sampler_index
        for argument in info.payload_arguments
        if argument.addrspace == "sampler" and argument.addrmode == "bindless"
    }
    return Tables(heaps, surfaces, samplers, images, media, bindless, handles)


def _buffer(device: Board, array: Array) -> HeapSlot:
    """The state of an array as a surface."""
    slot = device.heaps.surfaces.take(SurfaceState.size())
    slot.write(buffer_state(array.address, array.nbytes).encode())
    return slot


_INLINE_MODES: Final = {
    "none": "none",
    "clamp_edge": "clamp_to_edge",
    "clamp_border": "clamp_to_border",
    "repeat": "repeat",
    "mirror": "mirrored_repeat",
}


def _inline(info: KernelInfo, inline: InlineSampler) -> Sampler:
    """A sampler that the source declares."""
    if inline.addrmode not in _INLINE_MODES or inline.filtermode not in ("nearest", "linear"):
        raise Unsupported(
            f"kernel {info.name} declares a sampler {inline.addrmode} {inline.filtermode}"
        )
    address = _INLINE_MODES[inline.addrmode]
    return make_sampler(normalized=inline.normalized, address=address, filter=inline.filtermode)


# ---- facts

# Numbers of OpenCL: cl_channel_order by the channels from the lowest address on, and types.
_ORDERS: Final = {
    "R": 0x10B0,
    "A": 0x10B1,
    "RG": 0x10B2,
    "RGB": 0x10B4,
    "RGBA": 0x10B5,
    "BGRA": 0x10B6,
    "I": 0x10B8,
    "L": 0x10B9,
}
_SRGB_ORDERS: Final = {"RGBA": 0x10C1, "BGRA": 0x10C2}
_CHANNEL_TYPES: Final = {
    (Numbers.SNORM, 8): 0x10D0,
    (Numbers.SNORM, 16): 0x10D1,
    (Numbers.UNORM, 8): 0x10D2,
    (Numbers.UNORM, 16): 0x10D3,
    (Numbers.SINT, 8): 0x10D7,
    (Numbers.SINT, 16): 0x10D8,
    (Numbers.SINT, 32): 0x10D9,
    (Numbers.UINT, 8): 0x10DA,
    (Numbers.UINT, 16): 0x10DB,
    (Numbers.UINT, 32): 0x10DC,
    (Numbers.FLOAT, 16): 0x10DD,
    (Numbers.FLOAT, 32): 0x10DE,
    (Numbers.UNORM, 24): 0x10DF,
}
_PACKED_TYPES: Final = {
    "B5G6R5_UNORM": 0x10D4,
    "B5G5R5X1_UNORM": 0x10D5,
    "B10G10R10X2_UNORM": 0x10D6,
    "R10G10B10A2_UNORM": 0x10E0,
}


def _order(image: Image) -> int:
    format = image.format
    letters = "".join(c.name for c in format.channels)
    orders = _SRGB_ORDERS if format.name.endswith("_SRGB") else _ORDERS
    usual = {"BGR": "RGB", "RGBX": "RGB"}.get(letters, letters)
    return orders.get(usual, 0)


def _channel_type(image: Image) -> int:
    format: TexelFormat = image.format
    if format.name in _PACKED_TYPES:
        return _PACKED_TYPES[format.name]
    kinds = {(c.numbers, c.size) for c in format.channels}
    return _CHANNEL_TYPES.get(kinds.pop(), 0) if len(kinds) == 1 else 0


# The compiler's numbers, those of sampler constants in OpenCL C.
_ADDRESSING: Final = {
    "none": 0,
    "clamp_to_border": 1,
    "clamp_to_edge": 2,
    "repeat": 3,
    "mirrored_repeat": 4,
}
_NORMALIZED: Final = 8


def _flat(image: Image) -> tuple[int, int, int]:
    """Bytes of a row, rows, and the pitch, each less 1."""
    width = image.surface.width * image.format.bytes
    return width - 1, image.surface.height - 1, image.surface.pitch - 1


IMAGE_FACTS: Final[dict[str, Callable[[Any], int]]] = {
    "image_width": lambda i: i.surface.width,
    "image_height": lambda i: i.surface.height,
    "image_depth": lambda i: i.surface.depth,
    "image_array_size": lambda i: i.surface.layers,
    "image_num_mip_levels": lambda i: i.surface.levels,
    "image_num_samples": lambda i: i.surface.samples,
    "image_channel_order": _order,
    "image_srgb_channel_order": _order,
    "image_channel_data_type": _channel_type,
    "flat_image_baseoffset": lambda i: i.address,
    "flat_image_width": lambda i: _flat(i)[0],
    "flat_image_height": lambda i: _flat(i)[1],
    "flat_image_pitch": lambda i: _flat(i)[2],
    "sampler_address": lambda s: _ADDRESSING.get(s.address, 0),
    "sampler_normalized": lambda s: _NORMALIZED * s.is_normalized,
    # Truncated coordinates need no help from the kernel.
    "sampler_snap_wa": lambda s: 0,
}


def image_fact(slot: PayloadArgument, value: Any) -> bytes:
    """What a kernel wants to know of an image or a sampler."""
    wanted = Sampler if slot.arg_type.startswith("sampler") else Image
    if not isinstance(value, wanted):
        return bytes(slot.size)
    number = IMAGE_FACTS[slot.arg_type](value)
    return struct.pack("<Q", number)[: slot.size]
