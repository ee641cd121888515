"""A surface as its state describes it: sizes, and the address of every texel.

Of an interlaced frame, a surface with Vertical Line Stride is one field: every other row from the
one that Vertical Line Stride Offset names; its height is that of the field.

Mip levels lie as on Gen9: level 1 below level 0, level 2 to the right of level 1, the others below
level 2; those of a 1D surface one after the other.  Slices (layers, faces, depth, samples) are
QPitch rows apart, in all levels alike.  Sources: RENDER_SURFACE_STATE in the PRM; Mesa's isl.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.state.fields import title
from eumu.device.state.surface import AuxiliaryMode, SurfaceState, SurfaceType, TileMode
from eumu.device.surfaces.formats import Encoding, TexelFormat, texel_format
from eumu.device.surfaces.layout import TILES, Layout
from eumu.errors import Unsupported
from eumu.records import dataclass

Ints = NDArray[np.int64]

MAX_LEVELS: Final = 15
_FACES: Final = tuple(
    f"cube_face_enable_{sign}_{axis}" for sign in ("negative", "positive") for axis in "xyz"
)


def align(n: int, unit: int) -> int:
    """n rounded up to a multiple."""
    return -(-n // unit) * unit


def minified(n: int, level: int) -> int:
    """The size of a mip level."""
    return max(1, n >> level)


@dataclass(frozen=True, slots=True)
class Level:
    """Sizes of a mip level in texels, and where it begins in blocks."""

    width: int
    height: int
    depth: int
    x: int
    y: int


@dataclass(frozen=True)
class Surface:
    """A checked surface.  `layers` counts array elements, faces of cubes one by one."""

    state: SurfaceState
    format: TexelFormat
    width: int
    height: int
    depth: int
    layers: int

    @classmethod
    def of(cls, state: SurfaceState) -> Surface:
        """StateError if the state is not one that the hardware takes."""
        kind = state.surface_type
        format = texel_format(state.surface_format)
        width, height, depth, layers = state.width + 1, state.height + 1, 1, 1
        if kind in (SurfaceType.BUFFER, SurfaceType.STRBUF):
            width = (state.width & 0x7F | state.height << 7 | state.depth << 21) + 1
            height = 1
        elif kind is SurfaceType.S1D:
            height, layers = 1, state.depth + 1
        elif kind is SurfaceType.S2D:
            layers = state.depth + 1
        elif kind is SurfaceType.S3D:
            depth = state.depth + 1
        elif kind is SurfaceType.CUBE:
            layers = 6 * (state.depth + 1)
        surface = cls(state, format, width, height, depth, layers)
        if kind is not SurfaceType.NULL:
            _check(surface)
        return surface

    # ---- sizes

    @property
    def kind(self) -> SurfaceType:
        return self.state.surface_type

    @property
    def is_null(self) -> bool:
        return self.kind is SurfaceType.NULL

    @property
    def is_buffer(self) -> bool:
        return self.kind in (SurfaceType.BUFFER, SurfaceType.STRBUF)

    @property
    def is_array(self) -> bool:
        return self.state.surface_array

    @property
    def samples(self) -> int:
        return 1 << self.state.number_of_multisamples

    @property
    def base(self) -> int:
        return self.state.surface_base_address

    @property
    def pitch(self) -> int:
        """Bytes between rows, or between the elements of a buffer."""
        return self.state.surface_pitch + 1

    @property
    def levels(self) -> int:
        """Mip levels that can be reached."""
        return 1 if self.is_buffer else self.state.mip_count_lod + 1

    @property
    def slices(self) -> int:
        """Planes that lie QPitch apart."""
        return self.depth * self.layers * self.samples

    @property
    def is_compressed(self) -> bool:
        """Whether a control surface says where its samples are."""
        return self.samples > 1 and self.state.auxiliary_surface_mode is AuxiliaryMode.AUX_CCS_D

    @property
    def counter(self) -> int:
        """The device address of the append counter; StateError if the surface has none."""
        mode = self.state.auxiliary_surface_mode
        if self.is_null:
            raise self.state.error("surface_type", "is NULL; there is no append counter")
        if mode is not AuxiliaryMode.AUX_APPEND:
            raise self.state.error(
                "auxiliary_surface_mode", f"is {mode.name}; an append counter needs AUX_APPEND"
            )
        return self.state.auxiliary_surface_base_address

    @property
    def first_slice(self) -> int:
        """Where the slices that can be reached begin."""
        return (
            0 if self.kind is SurfaceType.S3D else self.state.minimum_array_element * self.samples
        )

    @property
    def dimensions(self) -> int:
        """Coordinates besides the array index: 1 to 3."""
        if self.kind in (SurfaceType.S3D, SurfaceType.CUBE):
            return 3
        return 1 if self.is_buffer or self.kind is SurfaceType.S1D else 2

    @property
    def coordinates(self) -> tuple[str, str, str]:
        """The integer parameters that are x, y and slice; "" is 0, whatever is given."""
        if self.dimensions == 1:
            return "u", "", "v" if self.is_array else ""
        return "u", "v", "r" if self.dimensions == 3 or self.is_array else ""

    @property
    def element(self) -> str:
        """The float parameter that names an array's element, "" if there is one only."""
        if not self.is_array:
            return ""
        names = {SurfaceType.S1D: "v", SurfaceType.S2D: "r", SurfaceType.CUBE: "ai"}
        return names.get(self.kind, "")

    @cached_property
    def all_levels(self) -> tuple[Level, ...]:
        """Every level from 0 on that has a place, those under Surface Min LOD too."""
        state, (bw, bh) = self.state, self.format.block
        x, y = 4 * state.x_offset // bw, 4 * state.y_offset // bh
        levels = []
        for k in range(state.surface_min_lod + self.levels):
            width, height = minified(self.width, k), minified(self.height, k)
            levels.append(Level(width, height, minified(self.depth, k), x, y))
            across = align(-(-width // bw), state.surface_horizontal_alignment.columns)
            if self.kind is SurfaceType.S1D or k == 1:
                x += across
            else:
                y += align(-(-height // bh), state.surface_vertical_alignment.rows)
        return tuple(levels)

    def level(self, lod: int) -> Level:
        """The level that a message means by a level of detail."""
        return self.all_levels[lod + self.state.surface_min_lod]

    @property
    def qpitch(self) -> int:
        """Blocks from slice to slice: rows of them, in a 1D surface the blocks themselves."""
        block = self.format.block[self.kind is not SurfaceType.S1D]
        return 4 * self.state.surface_qpitch // block

    # ---- addresses

    @cached_property
    def layout(self) -> Layout:
        """What places of texels depend on, but for numbers."""
        block = (1, 1) if self.is_buffer else self.format.block
        rows, lines = self.dimensions > 1, 1 + self.state.vertical_line_stride
        return Layout(self.format, self.state.tile_mode, rows, True, lines, block)

    @cached_property
    def numbers(self) -> dict[str, tuple[int, ...]]:
        """What places of texels are computed with.

        `step`: bytes from block to block, row to row and slice to slice if linear; `tiles` in a
        row; `qpitch`: rows from slice to slice; `chrominance`: left and row of a second plane.
        """
        state, lines, size = self.state, self.layout.lines, self.format.bytes
        if self.is_buffer:
            step = self.pitch, 0, 0
        elif self.dimensions == 1:
            step = size, 0, self.qpitch * size
        else:
            step = size, lines * self.pitch, lines * self.qpitch * self.pitch
        width, _ = TILES.get(state.tile_mode, (self.pitch + 1, 1))
        second = state.x_offset_for_u_or_uv_plane, state.y_offset_for_u_or_uv_plane
        return {
            "step": step,
            "tiles": (self.pitch // width,),
            "qpitch": (lines * self.qpitch,),
            "chrominance": second,
        }

    @cached_property
    def starts(self) -> tuple[tuple[int, int], ...]:
        """Where each level begins in the first slice that can be reached, as a `Layout` says it."""
        state, size = self.state, self.format.bytes
        offsets = []
        for level in self.all_levels:
            if self.is_buffer:
                left, row = 0, 0
            elif self.dimensions == 1:
                left, row = (self.first_slice * self.qpitch + level.x) * size, 0
            else:
                row = self.layout.lines * (level.y + self.first_slice * self.qpitch)
                row += self.layout.lines // 2 * state.vertical_line_stride_offset
                left = level.x * size
                if state.tile_mode is TileMode.LINEAR:
                    left, row = left + row * self.pitch, 0
            offsets.append((left, row))
        return tuple(offsets)

    def _number(self, name: str, index: int = 0) -> Any:
        return self.numbers[name][index]

    def addresses(self, lod: Ints, x: Ints, y: Ints, slice: Ints) -> tuple[NDArray[Any], Ints]:
        """Device addresses [N] (uint64) of the blocks of texels that exist; their places in it."""
        left, row = np.array(self.starts)[lod + self.state.surface_min_lod].T
        bw, bh = self.layout.block
        offset = self.layout.of_texel(self._number, left, row, (x, y, slice))
        return (offset + self.base).astype(np.uint64), y % bh * bw + x % bw

    def chrominance(self, x: Ints, y: Ints) -> NDArray[Any]:
        """Device addresses [N] of the pair Cb, Cr of texels of a planar surface."""
        offset: NDArray[Any] = self.layout.of_chrominance(self._number, x, y)
        return (offset + self.base).astype(np.uint64)

    @cached_property
    def size(self) -> int:
        """Bytes from the base to the end of the last texel's tile or row."""
        if self.is_buffer:
            return (self.width - 1) * self.pitch + max(self.format.bytes, 1)
        bw, bh = self.format.block
        last = self.first_slice + self.slices - 1
        across = max(v.x + -(-v.width // bw) for v in self.all_levels)
        down = max(v.y + -(-v.height // bh) for v in self.all_levels)
        if self.kind is SurfaceType.S1D:
            return (last * self.qpitch + across) * self.format.bytes
        rows = last * self.qpitch + down
        if self.format.encoding is Encoding.PLANAR:
            rows = max(rows, self.state.y_offset_for_u_or_uv_plane + -(-self.height // 2))
        if self.state.vertical_line_stride:
            rows = 2 * rows - 1 + self.state.vertical_line_stride_offset
        if self.state.tile_mode is TileMode.LINEAR:
            return (rows - 1) * self.pitch + across * self.format.bytes
        return self.pitch * align(rows, TILES[self.state.tile_mode][1])


# ---- what the hardware takes


def _check(surface: Surface) -> None:
    for rule in _RULES:
        rule(surface)


def _check_planes(surface: Surface) -> None:
    state = surface.state
    if surface.format.encoding is not Encoding.PLANAR:
        return
    if state.separate_uv_plane_enable:
        raise Unsupported("planar surfaces with Separate UV Plane Enable")
    if surface.kind is not SurfaceType.S2D or surface.slices > 1 or surface.levels > 1:
        raise state.error(
            "surface_format", f"is {surface.format.name}, which only plain S2D surfaces have"
        )
    if state.y_offset_for_u_or_uv_plane < surface.height:
        raise state.error(
            "y_offset_for_u_or_uv_plane",
            f"is {state.y_offset_for_u_or_uv_plane}, inside the {surface.height} rows of luma",
        )
    last = state.x_offset_for_u_or_uv_plane + align(surface.width, 2)
    if last > surface.pitch:
        raise state.error("surface_pitch", f"is {surface.pitch} bytes; chrominance has {last}")


def _check_modelled(surface: Surface) -> None:
    state = surface.state
    if surface.format.encoding is Encoding.OTHER:
        raise Unsupported(f"surfaces of the format {surface.format.name}")
    if state.tile_mode is TileMode.WMAJOR:
        raise Unsupported("surfaces with Tile Mode WMAJOR (stencil)")
    if state.tiled_resource_mode:
        raise Unsupported(f"Tiled Resource Mode {state.tiled_resource_mode.name}")
    if state.memory_compression_enable:
        raise Unsupported("surfaces with Memory Compression Enable")
    mode = state.auxiliary_surface_mode
    if mode not in (AuxiliaryMode.AUX_NONE, AuxiliaryMode.AUX_APPEND) and not surface.is_compressed:
        raise Unsupported(f"surfaces with Auxiliary Surface Mode {mode.name}")
    if state.quilt_width or state.quilt_height:
        raise Unsupported("quilted surfaces")
    if state.render_target_and_sample_unorm_rotation:
        raise Unsupported("Render Target And Sample Unorm Rotation")
    if state.media_boundary_pixel_mode:
        raise Unsupported(f"Media Boundary Pixel Mode {state.media_boundary_pixel_mode.name}")
    if surface.samples > 1 and state.multisampled_surface_storage_format:
        raise Unsupported(
            "Multisampled Surface Storage Format DEPTH_STENCIL: samples that lie side by side"
        )
    if surface.kind is SurfaceType.CUBE and len({getattr(state, n) for n in _FACES}) > 1:
        missing = next(n for n in _FACES if not getattr(state, n))
        raise Unsupported(f"cubes without all of their faces: {title(missing)} is 0")


def _check_kind(surface: Surface) -> None:
    state, kind = surface.state, surface.kind
    linear_only = surface.is_buffer or kind is SurfaceType.S1D
    if linear_only and state.tile_mode is not TileMode.LINEAR:
        raise state.error("tile_mode", f"is {state.tile_mode.name}; {kind.name} must be LINEAR")
    if kind is SurfaceType.CUBE and state.width != state.height:
        raise state.error(
            "height", f"is {surface.height}; a cube as wide must have {surface.width}"
        )
    if surface.format.encoding is Encoding.RAW and not surface.is_buffer:
        raise state.error("surface_format", f"is RAW; only buffers may be raw, not {kind.name}")
    unit = surface.format.bytes if state.tile_mode is TileMode.LINEAR else 4096
    unit &= -unit  # a texel of 3, 6 or 12 bytes is aligned like its channels
    if surface.base % unit:
        raise state.error(
            "surface_base_address", f"is {surface.base:#x}; a multiple of {unit} is needed"
        )


def _check_pitch(surface: Surface) -> None:
    state, pitch = surface.state, surface.pitch
    if surface.kind is SurfaceType.S1D:
        return
    if surface.is_buffer:
        if surface.kind is SurfaceType.BUFFER and pitch < surface.format.bytes:
            raise state.error(
                "surface_pitch",
                f"is {pitch} bytes; {surface.format.name} needs {surface.format.bytes}",
            )
        return
    if state.tile_mode is not TileMode.LINEAR and pitch % TILES[state.tile_mode][0]:
        tile = TILES[state.tile_mode][0]
        raise state.error(
            "surface_pitch", f"is {pitch} bytes, not a multiple of the tile's width, {tile}"
        )
    across = max(v.x + -(-v.width // surface.format.block[0]) for v in surface.all_levels)
    if pitch < across * surface.format.bytes:
        raise state.error(
            "surface_pitch",
            f"is {pitch} bytes, too small; a row of the surface has"
            f" {across * surface.format.bytes}",
        )


def _check_slices(surface: Surface) -> None:
    state = surface.state
    if surface.first_slice + surface.slices < 2:
        return
    if state.depth and surface.kind in (SurfaceType.S1D, SurfaceType.S2D) and not surface.is_array:
        raise state.error("depth", f"is {state.depth + 1}; without Surface Array it must be 1")
    if surface.qpitch < 1:
        raise state.error("surface_qpitch", f"is 0 rows, and there are {surface.slices} slices")
    first = surface.all_levels
    end: Callable[[Level], int] = (
        (lambda v: v.x + -(-v.width // surface.format.block[0]))
        if surface.kind is SurfaceType.S1D
        else (lambda v: v.y + -(-v.height // surface.format.block[1]))
    )
    used = max(map(end, first)) - min(v.y for v in first)
    if surface.qpitch < used:
        raise state.error(
            "surface_qpitch", f"is {surface.qpitch} rows of texels; a slice has {used}"
        )


def _check_mips(surface: Surface) -> None:
    state = surface.state
    last = state.surface_min_lod + state.mip_count_lod
    if last >= MAX_LEVELS:
        raise state.error("mip_count_lod", f"ends at level {last}; the last level is 14")
    if surface.is_compressed:
        _check_control(surface)
    if surface.samples > 1 and (last or surface.kind is not SurfaceType.S2D):
        raise state.error(
            "number_of_multisamples", "is more than 1; such a surface is 2D and has one level"
        )


def _check_control(surface: Surface) -> None:
    """A control surface has elements of 1, 4 or 8 bytes."""
    state, size = surface.state, {8: 4, 16: 8}.get(surface.samples, 1)
    across = 128 * (state.auxiliary_surface_pitch + 1)
    if across < size * surface.width:
        raise state.error(
            "auxiliary_surface_pitch", f"is {across} bytes; a row has {size * surface.width}"
        )
    if surface.layers > 1 and 4 * state.auxiliary_surface_qpitch < surface.height:
        raise state.error(
            "auxiliary_surface_qpitch",
            f"is {4 * state.auxiliary_surface_qpitch} rows; a slice has {surface.height}",
        )


def _check_field(surface: Surface) -> None:
    state = surface.state
    if not state.vertical_line_stride:
        return
    if surface.kind is not SurfaceType.S2D or surface.slices > 1 or surface.levels > 1:
        raise state.error(
            "vertical_line_stride", "is 1; such a surface is S2D, with one level and one slice"
        )
    if surface.format.encoding is Encoding.PLANAR:
        raise Unsupported("planar surfaces with Vertical Line Stride")


_RULES: Final = (
    _check_modelled,
    _check_field,
    _check_kind,
    _check_mips,
    _check_pitch,
    _check_slices,
    _check_planes,
)
