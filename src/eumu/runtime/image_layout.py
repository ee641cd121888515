"""From a shape and a format to a surface state, and to the way NumPy sees its texels."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

import numpy as np

from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.surface import (
    ChannelSelect,
    HorizontalAlignment,
    SampleCount,
    SurfaceState,
    SurfaceType,
    TileMode,
    VerticalAlignment,
)
from eumu.device.surfaces.formats import Encoding, Numbers, TexelFormat
from eumu.device.surfaces.surface import align, minified
from eumu.errors import ArgumentError
from eumu.records import dataclass

_SHORT: Final = re.compile(r"([RGBALI]+)(\d+)_([A-Z0-9_]+)")
_TILINGS: Final = {"linear": TileMode.LINEAR, "x": TileMode.XMAJOR, "y": TileMode.YMAJOR}
KINDS: Final = {
    "1d": SurfaceType.S1D,
    "2d": SurfaceType.S2D,
    "3d": SurfaceType.S3D,
    "cube": SurfaceType.CUBE,
    "buffer": SurfaceType.BUFFER,
}
SPATIAL: Final = {"1d": 1, "2d": 2, "3d": 3, "cube": 2, "buffer": 1}
_TILE_BYTES: Final = {
    TileMode.LINEAR: (1, 1),
    TileMode.XMAJOR: (512, 8),
    TileMode.YMAJOR: (128, 32),
}


def surface_format(name: str) -> SurfaceFormat:
    """The format of a name: as the documents spell it, or short.

    >>> surface_format("RGBA8_UNORM").name
    'R8G8B8A8_UNORM'
    """
    match = _SHORT.fullmatch(name)
    long = "".join(f"{c}{match[2]}" for c in match[1]) + f"_{match[3]}" if match else name
    long = {"RGB10A2": "R10G10B10A2"}.get(long.partition("_")[0], long.partition("_")[0]) + (
        long[len(long.partition("_")[0]) :]
    )
    try:
        return SurfaceFormat[long]
    except KeyError:
        raise ArgumentError(
            f"format {name!r} is not known; names are like RGBA8_UNORM, R32_FLOAT, RG16_SINT,"
            " BGRA8_UNORM_SRGB, or as the documents spell them: R10G10B10A2_UNORM"
        ) from None


@dataclass(frozen=True, slots=True)
class Layout:
    """How NumPy sees the texels of a format: `dtype` items, `items` of them in a texel."""

    dtype: np.dtype[Any]
    items: int

    @classmethod
    def of(cls, format: TexelFormat) -> Layout:
        letters = {
            Numbers.UNORM: "u",
            Numbers.UINT: "u",
            Numbers.USCALED: "u",
            Numbers.SNORM: "i",
            Numbers.SINT: "i",
            Numbers.SSCALED: "i",
            Numbers.FLOAT: "f",
        }
        bits, kinds = format.element_bits, {c.numbers for c in format.channels}
        whole = bits in (8, 16, 32) and len(kinds) == 1 and not kinds & {Numbers.SHAREDEXP}
        if whole and bits * len(format.channels) == 8 * format.bytes:
            letter = letters[kinds.pop()]
            return cls(np.dtype(f"{letter}{bits // 8}"), len(format.channels))
        if format.bytes in (1, 2, 4, 8):
            return cls(np.dtype(f"u{format.bytes}"), 1)
        return cls(np.dtype("u1"), format.bytes)


def _tiling(word: str) -> TileMode:
    if word not in _TILINGS:
        raise ArgumentError(f"tiling {word!r} is none of {', '.join(_TILINGS)}")
    return _TILINGS[word]


def state_of(
    format: TexelFormat,
    kind: str,
    shape: tuple[int, ...],
    layers: int | None,
    levels: int,
    tiling: str,
    samples: int,
    swizzle: str,
) -> SurfaceState:
    """A surface state for a shape in blocks of texels, its base address still 0."""
    bw, bh = format.block
    spatial = shape[len(shape) - SPATIAL[kind] :]
    width = spatial[-1] * bw
    height = spatial[-2] * bh if len(spatial) > 1 else 1
    planes: dict[str, Any] = {}
    if format.encoding is Encoding.PLANAR:  # rows of luma, then half as many of chrominance
        if height % 3 or width % 2:
            raise ArgumentError(
                f"an image of {format.name} has an even width and rows of luma and half as many of"
                f" chrominance, not {height} rows of {width}"
            )
        height = height // 3 * 2
        planes = {"y_offset_for_u_or_uv_plane": height}
    depth = spatial[-3] if len(spatial) > 2 else 1
    slices = shape[0] if layers is not None or kind == "cube" else depth
    if min((*shape, 1)) < 1:
        raise ArgumentError(f"an image cannot have the shape {shape}")
    if layers is not None and layers != slices:
        raise ArgumentError(f"layers={layers}, and the first axis has {slices}")
    if kind == "buffer":
        return _buffer(format, width)
    if kind == "cube" and slices % 6:
        raise ArgumentError(f"a cube has six faces, the first axis has {slices}")
    limit = 1 << 14
    if max(width, height) > limit or slices > 1 << 11:
        raise ArgumentError(
            f"an image is at most {limit} x {limit} texels with 2048 slices, not"
            f" {width} x {height} with {slices}"
        )
    state = SurfaceState(
        surface_type=KINDS[kind],
        surface_array=layers is not None,
        surface_format=format.code,
        surface_vertical_alignment=VerticalAlignment.VALIGN_4,
        surface_horizontal_alignment=HorizontalAlignment.HALIGN_4,
        tile_mode=_tiling(tiling),
        width=width - 1,
        height=height - 1,
        depth=(slices // 6 if kind == "cube" else slices) - 1,
        mip_count_lod=levels - 1,
        number_of_multisamples=_sample_count(samples),
        **_faces(kind),
        **_selects(swizzle),
        **planes,
    )
    return _pitched(state, format)


def _buffer(format: TexelFormat, count: int) -> SurfaceState:
    last = count - 1
    return SurfaceState(
        surface_type=SurfaceType.BUFFER,
        surface_format=format.code,
        width=last & 0x7F,
        height=last >> 7 & 0x3FFF,
        depth=last >> 21,
        surface_pitch=format.bytes - 1,
    )


def _pitched(state: SurfaceState, format: TexelFormat) -> SurfaceState:
    """With the least pitches that hold all levels."""
    bw, bh = format.block
    columns = rows = 0
    x = y = 0
    one_row = state.surface_type is SurfaceType.S1D
    for k in range(state.mip_count_lod + 1):
        across = align(-(-minified(state.width + 1, k) // bw), 4)
        down = align(-(-minified(state.height + 1, k) // bh), 4)
        columns, rows = max(columns, x + across), max(rows, y + down)
        if one_row or k == 1:
            x += across
        else:
            y += down
    if state.mip_count_lod == 0:
        columns, rows = -(-(state.width + 1) // bw), -(-(state.height + 1) // bh)
    tile_width, _ = _TILE_BYTES[state.tile_mode]
    pitch = align(columns * format.bytes, tile_width)
    between = columns if one_row else rows * bh
    return replace(state, surface_pitch=pitch - 1, surface_qpitch=-(-align(between, 4 * bh) // 4))


def _sample_count(samples: int) -> SampleCount:
    if samples not in (1, 2, 4, 8, 16):
        raise ArgumentError(f"samples={samples} is none of 1, 2, 4, 8, 16")
    return SampleCount(samples.bit_length() - 1)


def _faces(kind: str) -> dict[str, Any]:
    sides = ("negative_x", "positive_x", "negative_y", "positive_y", "negative_z", "positive_z")
    return {f"cube_face_enable_{s}": True for s in sides} if kind == "cube" else {}


def _selects(swizzle: str) -> dict[str, Any]:
    letters = {"R": 4, "G": 5, "B": 6, "A": 7, "0": 0, "1": 1}
    if len(swizzle) != 4 or set(swizzle) - set(letters):
        raise ArgumentError(f"swizzle {swizzle!r} is not four of R, G, B, A, 0 and 1")
    names = ("red", "green", "blue", "alpha")
    return {
        f"shader_channel_select_{n}": ChannelSelect(letters[c])
        for n, c in zip(names, swizzle, strict=True)
    }
