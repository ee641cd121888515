"""RENDER_SURFACE_STATE of Gen9: sixteen dwords, on a multiple of 64 bytes."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final

from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.fields import State, bits
from eumu.records import dataclass


class SurfaceType(IntEnum):
    S1D = 0
    S2D = 1
    S3D = 2
    CUBE = 3
    BUFFER = 4
    STRBUF = 5
    NULL = 7


class VerticalAlignment(IntEnum):
    VALIGN_4 = 1
    VALIGN_8 = 2
    VALIGN_16 = 3

    @property
    def rows(self) -> int:
        return 2 << self


class HorizontalAlignment(IntEnum):
    HALIGN_4 = 1
    HALIGN_8 = 2
    HALIGN_16 = 3

    @property
    def columns(self) -> int:
        return 2 << self


class TileMode(IntEnum):
    LINEAR = 0
    WMAJOR = 1
    XMAJOR = 2
    YMAJOR = 3


class CacheMode(IntEnum):
    WRITE_ONLY = 0
    READ_WRITE = 1


class BoundaryMode(IntEnum):
    NORMAL_MODE = 0
    PROGRESSIVE_FRAME = 2
    INTERLACED_FRAME = 3


class Rotation(IntEnum):
    DEG_0 = 0
    DEG_90 = 1
    DEG_180 = 2
    DEG_270 = 3


class SampleStorage(IntEnum):
    MSS = 0
    DEPTH_STENCIL = 1


class SampleCount(IntEnum):
    """Number of Multisamples: the logarithm."""

    COUNT_1 = 0
    COUNT_2 = 1
    COUNT_4 = 2
    COUNT_8 = 3
    COUNT_16 = 4


class TiledResourceMode(IntEnum):
    NONE = 0
    TILEYF = 1
    TILEYS = 2


class Coherency(IntEnum):
    GPU = 0
    IA = 1


class AuxiliaryMode(IntEnum):
    AUX_NONE = 0
    AUX_CCS_D = 1
    AUX_APPEND = 2
    AUX_HIZ = 3
    AUX_CCS_E = 5


class CompressionMode(IntEnum):
    HORIZONTAL = 0
    VERTICAL = 1


class ChannelSelect(IntEnum):
    """What a shader's channel is taken from."""

    ZERO = 0
    ONE = 1
    RED = 4
    GREEN = 5
    BLUE = 6
    ALPHA = 7


ZERO: Final = 4  # what no channel of a texel is: 0 and 1
ONE: Final = 5
_CONSTANTS: Final = {ChannelSelect.ZERO: ZERO, ChannelSelect.ONE: ONE}


_PLANAR = frozenset({SurfaceFormat.PLANAR_420_8, SurfaceFormat.PLANAR_420_16})


def _planar(s: SurfaceState) -> bool:
    return s.surface_format in _PLANAR


def _one_plane(s: SurfaceState) -> bool:
    return not _planar(s)


def _plain(s: SurfaceState) -> bool:
    return not _planar(s) and not s.memory_compression_enable


def _media_compressed(s: SurfaceState) -> bool:
    return not _planar(s) and s.memory_compression_enable


@dataclass(frozen=True, slots=True)
class SurfaceState(State):
    """A surface; width, height, depth and pitches are stored less one, as the hardware has them.

    A field that shares its bits with others exists only where its condition holds (planar formats,
    compressed media surfaces), and is 0 elsewhere.
    """

    TITLE = "RENDER_SURFACE_STATE"
    DWORDS = 16

    surface_type: Annotated[SurfaceType, bits(0, 31, 29)] = SurfaceType.S2D
    surface_array: Annotated[bool, bits(0, 28)] = False
    surface_format: Annotated[SurfaceFormat, bits(0, 27, 18)] = SurfaceFormat.R8G8B8A8_UNORM
    surface_vertical_alignment: Annotated[VerticalAlignment, bits(0, 17, 16)] = (
        VerticalAlignment.VALIGN_4
    )
    surface_horizontal_alignment: Annotated[HorizontalAlignment, bits(0, 15, 14)] = (
        HorizontalAlignment.HALIGN_4
    )
    tile_mode: Annotated[TileMode, bits(0, 13, 12)] = TileMode.LINEAR
    vertical_line_stride: Annotated[int, bits(0, 11)] = 0
    vertical_line_stride_offset: Annotated[int, bits(0, 10)] = 0
    sampler_l2_bypass_mode_disable: Annotated[bool, bits(0, 9)] = False
    render_cache_read_write_mode: Annotated[CacheMode, bits(0, 8)] = CacheMode.WRITE_ONLY
    media_boundary_pixel_mode: Annotated[BoundaryMode, bits(0, 7, 6)] = BoundaryMode.NORMAL_MODE
    cube_face_enable_negative_x: Annotated[bool, bits(0, 5)] = False
    cube_face_enable_positive_x: Annotated[bool, bits(0, 4)] = False
    cube_face_enable_negative_y: Annotated[bool, bits(0, 3)] = False
    cube_face_enable_positive_y: Annotated[bool, bits(0, 2)] = False
    cube_face_enable_negative_z: Annotated[bool, bits(0, 1)] = False
    cube_face_enable_positive_z: Annotated[bool, bits(0, 0)] = False
    mocs: Annotated[int, bits(1, 30, 24)] = 0
    base_mip_level: Annotated[float, bits(1, 23, 19, fraction=1)] = 0.0
    surface_qpitch: Annotated[int, bits(1, 14, 0)] = 0
    height: Annotated[int, bits(2, 29, 16)] = 0
    width: Annotated[int, bits(2, 13, 0)] = 0
    depth: Annotated[int, bits(3, 31, 21)] = 0
    surface_pitch: Annotated[int, bits(3, 17, 0)] = 0
    render_target_and_sample_unorm_rotation: Annotated[Rotation, bits(4, 30, 29)] = Rotation.DEG_0
    minimum_array_element: Annotated[int, bits(4, 28, 18)] = 0
    render_target_view_extent: Annotated[int, bits(4, 17, 7)] = 0
    multisampled_surface_storage_format: Annotated[SampleStorage, bits(4, 6)] = SampleStorage.MSS
    number_of_multisamples: Annotated[SampleCount, bits(4, 5, 3)] = SampleCount.COUNT_1
    multisample_position_palette_index: Annotated[int, bits(4, 2, 0)] = 0
    x_offset: Annotated[int, bits(5, 31, 25)] = 0
    y_offset: Annotated[int, bits(5, 23, 21)] = 0
    ewa_disable_for_cube: Annotated[bool, bits(5, 20)] = False
    tiled_resource_mode: Annotated[TiledResourceMode, bits(5, 19, 18)] = TiledResourceMode.NONE
    coherency_type: Annotated[Coherency, bits(5, 14)] = Coherency.GPU
    mip_tail_start_lod: Annotated[int, bits(5, 11, 8)] = 0
    surface_min_lod: Annotated[int, bits(5, 7, 4)] = 0
    mip_count_lod: Annotated[int, bits(5, 3, 0)] = 0
    separate_uv_plane_enable: Annotated[bool, bits(6, 31, when=_planar)] = False
    x_offset_for_u_or_uv_plane: Annotated[int, bits(6, 29, 16, when=_planar)] = 0
    y_offset_for_u_or_uv_plane: Annotated[int, bits(6, 13, 0, when=_planar)] = 0
    auxiliary_surface_qpitch: Annotated[int, bits(6, 30, 16, when=_one_plane)] = 0
    auxiliary_surface_pitch: Annotated[int, bits(6, 11, 3, when=_one_plane)] = 0
    auxiliary_surface_mode: Annotated[AuxiliaryMode, bits(6, 2, 0, when=_one_plane)] = (
        AuxiliaryMode.AUX_NONE
    )
    memory_compression_mode: Annotated[CompressionMode, bits(7, 31)] = CompressionMode.HORIZONTAL
    memory_compression_enable: Annotated[bool, bits(7, 30)] = False
    shader_channel_select_red: Annotated[ChannelSelect, bits(7, 27, 25)] = ChannelSelect.RED
    shader_channel_select_green: Annotated[ChannelSelect, bits(7, 24, 22)] = ChannelSelect.GREEN
    shader_channel_select_blue: Annotated[ChannelSelect, bits(7, 21, 19)] = ChannelSelect.BLUE
    shader_channel_select_alpha: Annotated[ChannelSelect, bits(7, 18, 16)] = ChannelSelect.ALPHA
    resource_min_lod: Annotated[float, bits(7, 11, 0, fraction=8)] = 0.0
    surface_base_address: Annotated[int, bits(8, 31, 0, last=9, address=True)] = 0
    auxiliary_surface_base_address: Annotated[
        int, bits(10, 31, 12, last=11, address=True, when=_plain)
    ] = 0
    auxiliary_table_index_for_media_compressed_surface: Annotated[
        int, bits(10, 31, 21, when=_media_compressed)
    ] = 0
    quilt_height: Annotated[int, bits(10, 9, 5)] = 0
    quilt_width: Annotated[int, bits(10, 4, 0)] = 0
    x_offset_for_v_plane: Annotated[int, bits(11, 29, 16, when=_planar)] = 0
    y_offset_for_v_plane: Annotated[int, bits(11, 13, 0, when=_planar)] = 0
    red_clear_color: Annotated[int, bits(12, 31, 0)] = 0
    green_clear_color: Annotated[int, bits(13, 31, 0)] = 0
    blue_clear_color: Annotated[int, bits(14, 31, 0)] = 0
    alpha_clear_color: Annotated[int, bits(15, 31, 0)] = 0

    @property
    def channel_sources(self) -> tuple[int, ...]:
        """What the shader's red, green, blue and alpha are: a channel from 0 on, ZERO or ONE."""
        selects = (
            self.shader_channel_select_red,
            self.shader_channel_select_green,
            self.shader_channel_select_blue,
            self.shader_channel_select_alpha,
        )
        return tuple(_CONSTANTS.get(s, s - ChannelSelect.RED) for s in selects)

    @property
    def hierarchical_depth_clear_value(self) -> int:
        """The bits of the float that shares dword 12 with Red Clear Color."""
        return self.red_clear_color
