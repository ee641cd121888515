"""The states of sample_8x8: media surfaces, and the kernels of video analytics.

Sources: the state heaps of Intel's open media driver for Gen9 (MEDIA_SURFACE_STATE and the
SAMPLER_STATE_8x8 objects).  An object that has a table is a :class:`Table`: states behind each
other, so that `eumu state` prints all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Annotated, ClassVar, Final, Self

from eumu.device.state.fields import State, StateError, bits
from eumu.device.state.surface import CompressionMode, Rotation, TiledResourceMode, TileMode
from eumu.records import dataclass


class MediaFormat(IntEnum):
    """Formats of media surfaces; those with VA are for video analytics, not for the scaler."""

    YCRCB_NORMAL = 0
    YCRCB_SWAPUVY = 1
    YCRCB_SWAPUV = 2
    YCRCB_SWAPY = 3
    PLANAR_420_8 = 4
    Y8_UNORM_VA = 5
    Y16_SNORM = 6
    Y16_UNORM_VA = 7
    R10G10B10A2_UNORM = 8
    R8G8B8A8_UNORM = 9
    R8B8_UNORM_CRCB = 10
    R8_UNORM_CRCB = 11
    Y8_UNORM = 12
    A8Y8U8V8_UNORM = 13
    B8G8R8A8_UNORM = 14
    R16G16B16A16 = 15
    Y1_UNORM = 16
    Y32_UNORM = 17
    PLANAR_422_8 = 18


class PictureStructure(IntEnum):
    FRAME_PICTURE = 0
    TOP_FIELD_PICTURE = 1
    BOTTOM_FIELD_PICTURE = 2


class AddressControl(IntEnum):
    """What is outside the surface: its nearest pixel, or its mirror image."""

    CLAMP = 0
    MIRROR = 1


@dataclass(frozen=True, slots=True)
class MediaSurfaceState(State):
    """A surface of sample_8x8; width, height and pitch are stored less one."""

    TITLE = "MEDIA_SURFACE_STATE"
    DWORDS = 8

    rotation: Annotated[Rotation, bits(0, 31, 30)] = Rotation.DEG_0
    x_offset: Annotated[int, bits(0, 26, 20)] = 0
    y_offset: Annotated[int, bits(0, 19, 16)] = 0
    height: Annotated[int, bits(1, 31, 18)] = 0
    width: Annotated[int, bits(1, 17, 4)] = 0
    picture_structure: Annotated[PictureStructure, bits(1, 3, 2)] = PictureStructure.FRAME_PICTURE
    cr_vcb_u_pixel_offset_v_direction: Annotated[int, bits(1, 1, 0)] = 0
    surface_format: Annotated[MediaFormat, bits(2, 31, 27)] = MediaFormat.YCRCB_NORMAL
    interleave_chroma: Annotated[bool, bits(2, 26)] = False
    cr_vcb_u_pixel_offset_u_direction: Annotated[int, bits(2, 25)] = 0
    cr_vcb_u_pixel_offset_v_direction_msb: Annotated[int, bits(2, 24)] = 0
    memory_compression_mode: Annotated[CompressionMode, bits(2, 23)] = CompressionMode.HORIZONTAL
    memory_compression_enable: Annotated[bool, bits(2, 22)] = False
    address_control: Annotated[AddressControl, bits(2, 21)] = AddressControl.CLAMP
    surface_pitch: Annotated[int, bits(2, 20, 3)] = 0
    half_pitch_for_chroma: Annotated[bool, bits(2, 2)] = False
    tile_mode: Annotated[TileMode, bits(2, 1, 0)] = TileMode.LINEAR
    x_offset_for_u: Annotated[int, bits(3, 29, 16)] = 0
    y_offset_for_u: Annotated[int, bits(3, 13, 0)] = 0
    x_offset_for_v: Annotated[int, bits(4, 29, 16)] = 0
    y_offset_for_v: Annotated[int, bits(4, 14, 0)] = 0
    vertical_line_stride: Annotated[int, bits(5, 31)] = 0
    vertical_line_stride_offset: Annotated[int, bits(5, 30)] = 0
    tiled_resource_mode: Annotated[TiledResourceMode, bits(5, 19, 18)] = TiledResourceMode.NONE
    mocs: Annotated[int, bits(5, 6, 0)] = 0
    surface_base_address: Annotated[int, bits(6, 15, 0, last=7, address=True)] = 0

    @property
    def chroma_offset(self) -> tuple[int, int]:
        """How far Cr and Cb lie from the even luma pixel: the codes for u and v."""
        low, high = (
            self.cr_vcb_u_pixel_offset_v_direction,
            self.cr_vcb_u_pixel_offset_v_direction_msb,
        )
        return self.cr_vcb_u_pixel_offset_u_direction, high << 2 | low


# ---- kernels


@dataclass(frozen=True, slots=True)
class MorphologyState(State):
    """The kernel of erode, dilate and the minimum/maximum filter: a bit for each place."""

    TITLE = "SAMPLER_STATE_8x8_ERODE_DILATE_MINMAXFILTER"
    DWORDS = 8

    height_of_the_kernel: Annotated[int, bits(0, 3, 0)] = 0
    width_of_the_kernel: Annotated[int, bits(0, 7, 4)] = 0
    mask_for_row_0: Annotated[int, bits(0, 31, 16)] = 0
    mask_for_row_1: Annotated[int, bits(1, 15, 0)] = 0
    mask_for_row_2: Annotated[int, bits(1, 31, 16)] = 0
    mask_for_row_3: Annotated[int, bits(2, 15, 0)] = 0
    mask_for_row_4: Annotated[int, bits(2, 31, 16)] = 0
    mask_for_row_5: Annotated[int, bits(3, 15, 0)] = 0
    mask_for_row_6: Annotated[int, bits(3, 31, 16)] = 0
    mask_for_row_7: Annotated[int, bits(4, 15, 0)] = 0
    mask_for_row_8: Annotated[int, bits(4, 31, 16)] = 0
    mask_for_row_9: Annotated[int, bits(5, 15, 0)] = 0
    mask_for_row_10: Annotated[int, bits(5, 31, 16)] = 0
    mask_for_row_11: Annotated[int, bits(6, 15, 0)] = 0
    mask_for_row_12: Annotated[int, bits(6, 31, 16)] = 0
    mask_for_row_13: Annotated[int, bits(7, 15, 0)] = 0
    mask_for_row_14: Annotated[int, bits(7, 31, 16)] = 0

    @property
    def masks(self) -> tuple[int, ...]:
        """The masks of all rows; bit n is column n."""
        return tuple(getattr(self, f"mask_for_row_{k}") for k in range(15))


class CoefficientSize(IntEnum):
    """With 8 bits, the lower eight bits of a coefficient take no part."""

    BITS_8 = 0
    BITS_16 = 1


@dataclass(frozen=True, slots=True)
class ConvolveState(State):
    """The head of a convolution kernel; sizes have five bits, their highest apart."""

    TITLE = "SAMPLER_STATE_8x8_CONVOLVE"
    DWORDS = 16

    height: Annotated[int, bits(0, 3, 0)] = 0
    width: Annotated[int, bits(0, 7, 4)] = 0
    scale_down_value: Annotated[int, bits(0, 11, 8)] = 0
    size_of_the_coefficient: Annotated[CoefficientSize, bits(0, 12)] = CoefficientSize.BITS_8
    msb_height: Annotated[int, bits(0, 16)] = 0
    msb_width: Annotated[int, bits(0, 20)] = 0

    @property
    def size_in_pixels(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.msb_height << 4 | self.height, self.msb_width << 4 | self.width


@dataclass(frozen=True, slots=True)
class ConvolveCoefficients(State):
    """Sixteen coefficients of a row, numbers with twelve fractional bits."""

    TITLE = "SAMPLER_STATE_8x8_CONVOLVE_COEFFICIENTS"
    DWORDS = 8

    filter_coefficient_0: Annotated[float, bits(0, 15, 0, fraction=12, signed=True)] = 0.0
    filter_coefficient_1: Annotated[float, bits(0, 31, 16, fraction=12, signed=True)] = 0.0
    filter_coefficient_2: Annotated[float, bits(1, 15, 0, fraction=12, signed=True)] = 0.0
    filter_coefficient_3: Annotated[float, bits(1, 31, 16, fraction=12, signed=True)] = 0.0
    filter_coefficient_4: Annotated[float, bits(2, 15, 0, fraction=12, signed=True)] = 0.0
    filter_coefficient_5: Annotated[float, bits(2, 31, 16, fraction=12, signed=True)] = 0.0
    filter_coefficient_6: Annotated[float, bits(3, 15, 0, fraction=12, signed=True)] = 0.0
    filter_coefficient_7: Annotated[float, bits(3, 31, 16, fraction=12, signed=True)] = 0.0
    filter_coefficient_8: Annotated[float, bits(4, 15, 0, fraction=12, signed=True)] = 0.0
    filter_coefficient_9: Annotated[float, bits(4, 31, 16, fraction=12, signed=True)] = 0.0
    filter_coefficient_10: Annotated[float, bits(5, 15, 0, fraction=12, signed=True)] = 0.0
    filter_coefficient_11: Annotated[float, bits(5, 31, 16, fraction=12, signed=True)] = 0.0
    filter_coefficient_12: Annotated[float, bits(6, 15, 0, fraction=12, signed=True)] = 0.0
    filter_coefficient_13: Annotated[float, bits(6, 31, 16, fraction=12, signed=True)] = 0.0
    filter_coefficient_14: Annotated[float, bits(7, 15, 0, fraction=12, signed=True)] = 0.0
    filter_coefficient_15: Annotated[float, bits(7, 31, 16, fraction=12, signed=True)] = 0.0

    @property
    def row(self) -> tuple[float, ...]:
        return tuple(getattr(self, f"filter_coefficient_{k}") for k in range(16))


# ---- objects with tables


@dataclass(frozen=True, slots=True)
class Table:
    """States behind each other that are one object: KINDS says of which kind they are."""

    states: tuple[State, ...]

    TITLE: ClassVar[str] = ""
    KINDS: ClassVar[tuple[type[State], ...]] = ()

    def __post_init__(self) -> None:
        if tuple(type(s) for s in self.states) != self.KINDS:
            raise StateError(f"{self.TITLE} has {len(self.KINDS)} parts in their order", "length")

    @classmethod
    def size(cls) -> int:
        """Bytes."""
        return sum(kind.size() for kind in cls.KINDS)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The object in the first bytes of `data`."""
        if len(data) < cls.size():
            raise StateError(f"{cls.TITLE} has {cls.size()} bytes, not {len(data)}", "length")
        states, place = [], 0
        for kind in cls.KINDS:
            states.append(kind.decode(data[place:]))
            place += kind.size()
        return cls(tuple(states))

    def encode(self) -> bytes:
        """The object's bytes."""
        return b"".join(state.encode() for state in self.states)

    def titled(self) -> Iterator[tuple[str, State]]:
        """Each part with the dword that it begins at."""
        place = 0
        for state in self.states:
            yield f"{state.TITLE} (dword {place})", state
            place += state.DWORDS


_KERNEL_ROWS: Final = 31


class Convolve(Table):
    """A convolution kernel of up to 31 rows; a row's columns 16 to 31 lie 31 entries further."""

    __slots__ = ()

    TITLE = "SAMPLER_STATE_8x8_CONVOLVE"
    KINDS = (ConvolveState, *(ConvolveCoefficients,) * 2 * _KERNEL_ROWS)

    @property
    def head(self) -> ConvolveState:
        first = self.states[0]
        assert isinstance(first, ConvolveState)
        return first

    @property
    def coefficients(self) -> tuple[tuple[float, ...], ...]:
        """31 rows of 32 coefficients."""
        rows = [s.row for s in self.states if isinstance(s, ConvolveCoefficients)]
        pairs = zip(rows[:_KERNEL_ROWS], rows[_KERNEL_ROWS:], strict=True)
        return tuple(left + right for left, right in pairs)
