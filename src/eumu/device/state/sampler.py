"""SAMPLER_STATE, border colours and binding-table entries of Gen9."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from eumu.device.state.fields import State, bits
from eumu.records import dataclass


class AddressMode(IntEnum):
    """What a coordinate outside the surface means."""

    WRAP = 0
    MIRROR = 1
    CLAMP = 2
    CUBE = 3
    CLAMP_BORDER = 4
    MIRROR_ONCE = 5
    HALF_BORDER = 6

    @property
    def has_border(self) -> bool:
        """Whether texels outside have the border colour."""
        return self in (AddressMode.CLAMP_BORDER, AddressMode.HALF_BORDER)


class Filter(IntEnum):
    NEAREST = 0
    LINEAR = 1
    ANISOTROPIC = 2
    MONO = 6


class MipFilter(IntEnum):
    NONE = 0
    NEAREST = 1
    LINEAR = 3


class PrefilterOp(IntEnum):
    """The comparison of sample_c: the result is 0 where `texel op reference` holds, else 1."""

    ALWAYS = 0
    NEVER = 1
    LESS = 2
    EQUAL = 3
    LEQUAL = 4
    GREATER = 5
    NOTEQUAL = 6
    GEQUAL = 7


class Reduction(IntEnum):
    """What becomes of the texels of a footprint."""

    STD_FILTER = 0
    COMPARISON = 1
    MINIMUM = 2
    MAXIMUM = 3


class BorderColorMode(IntEnum):
    DX10_OGL = 0
    DX9 = 1


class LodPreClamp(IntEnum):
    NONE = 0
    OGL = 2


class AnisotropicAlgorithm(IntEnum):
    LEGACY = 0
    EWA_APPROXIMATION = 1


class KeyMode(IntEnum):
    KILL_ON_ANY_MATCH = 0
    REPLACE_BLACK = 1


class CubeControl(IntEnum):
    PROGRAMMED = 0
    OVERRIDE = 1


class MagnificationClamp(IntEnum):
    MIPNONE = 0
    MIPFILTER = 1


class AnisotropyRatio(IntEnum):
    """The most samples of an anisotropic footprint: 2 * value + 2."""

    RATIO_2 = 0
    RATIO_4 = 1
    RATIO_6 = 2
    RATIO_8 = 3
    RATIO_10 = 4
    RATIO_12 = 5
    RATIO_14 = 6
    RATIO_16 = 7


class TrilinearQuality(IntEnum):
    FULL = 0
    HIGH = 1
    MED = 2
    LOW = 3


@dataclass(frozen=True, slots=True)
class SamplerState(State):
    """How a surface is sampled; 16 bytes, sixteen of them in a table."""

    TITLE = "SAMPLER_STATE"
    DWORDS = 4

    sampler_disable: Annotated[bool, bits(0, 31)] = False
    texture_border_color_mode: Annotated[BorderColorMode, bits(0, 29)] = BorderColorMode.DX10_OGL
    lod_preclamp_mode: Annotated[LodPreClamp, bits(0, 28, 27)] = LodPreClamp.NONE
    coarse_lod_quality_mode: Annotated[int, bits(0, 26, 22)] = 0
    mip_mode_filter: Annotated[MipFilter, bits(0, 21, 20)] = MipFilter.NONE
    mag_mode_filter: Annotated[Filter, bits(0, 19, 17)] = Filter.NEAREST
    min_mode_filter: Annotated[Filter, bits(0, 16, 14)] = Filter.NEAREST
    texture_lod_bias: Annotated[float, bits(0, 13, 1, fraction=8, signed=True)] = 0.0
    anisotropic_algorithm: Annotated[AnisotropicAlgorithm, bits(0, 0)] = AnisotropicAlgorithm.LEGACY
    min_lod: Annotated[float, bits(1, 31, 20, fraction=8)] = 0.0
    max_lod: Annotated[float, bits(1, 19, 8, fraction=8)] = 0.0
    chromakey_enable: Annotated[bool, bits(1, 7)] = False
    chromakey_index: Annotated[int, bits(1, 6, 5)] = 0
    chromakey_mode: Annotated[KeyMode, bits(1, 4)] = KeyMode.KILL_ON_ANY_MATCH
    shadow_function: Annotated[PrefilterOp, bits(1, 3, 1)] = PrefilterOp.ALWAYS
    cube_surface_control_mode: Annotated[CubeControl, bits(1, 0)] = CubeControl.PROGRAMMED
    border_color_pointer: Annotated[int, bits(2, 23, 6, address=True)] = 0
    lod_clamp_magnification_mode: Annotated[MagnificationClamp, bits(2, 0)] = (
        MagnificationClamp.MIPNONE
    )
    reduction_type: Annotated[Reduction, bits(3, 23, 22)] = Reduction.STD_FILTER
    maximum_anisotropy: Annotated[AnisotropyRatio, bits(3, 21, 19)] = AnisotropyRatio.RATIO_2
    u_address_mag_filter_rounding_enable: Annotated[bool, bits(3, 18)] = False
    u_address_min_filter_rounding_enable: Annotated[bool, bits(3, 17)] = False
    v_address_mag_filter_rounding_enable: Annotated[bool, bits(3, 16)] = False
    v_address_min_filter_rounding_enable: Annotated[bool, bits(3, 15)] = False
    r_address_mag_filter_rounding_enable: Annotated[bool, bits(3, 14)] = False
    r_address_min_filter_rounding_enable: Annotated[bool, bits(3, 13)] = False
    trilinear_filter_quality: Annotated[TrilinearQuality, bits(3, 12, 11)] = TrilinearQuality.FULL
    non_normalized_coordinate_enable: Annotated[bool, bits(3, 10)] = False
    reduction_type_enable: Annotated[bool, bits(3, 9)] = False
    tcx_address_control_mode: Annotated[AddressMode, bits(3, 8, 6)] = AddressMode.WRAP
    tcy_address_control_mode: Annotated[AddressMode, bits(3, 5, 3)] = AddressMode.WRAP
    tcz_address_control_mode: Annotated[AddressMode, bits(3, 2, 0)] = AddressMode.WRAP

    @property
    def address_modes(self) -> tuple[AddressMode, AddressMode, AddressMode]:
        """For u, v and r."""
        return (
            self.tcx_address_control_mode,
            self.tcy_address_control_mode,
            self.tcz_address_control_mode,
        )

    @property
    def extreme(self) -> Reduction | None:
        """Whether a sample is the least or the greatest texel, not their mean."""
        is_extreme = self.reduction_type in (Reduction.MINIMUM, Reduction.MAXIMUM)
        return self.reduction_type if self.reduction_type_enable and is_extreme else None

    @property
    def has_border(self) -> bool:
        """Whether the border colour may be seen."""
        return any(mode.has_border for mode in self.address_modes)

    @property
    def unmodelled(self) -> str:
        """The name of the first field that asks for what is not modelled, "" for none."""
        wanted = {
            "texture_border_color_mode": self.has_border and self.texture_border_color_mode,
            "coarse_lod_quality_mode": self.coarse_lod_quality_mode,
        }
        return next((name for name, value in wanted.items() if value), "")

    def rounding(self, magnified: bool) -> tuple[bool, bool, bool]:
        """Whether u, v and r are rounded, not truncated, to eight fractional bits."""
        if magnified:
            return (
                self.u_address_mag_filter_rounding_enable,
                self.v_address_mag_filter_rounding_enable,
                self.r_address_mag_filter_rounding_enable,
            )
        return (
            self.u_address_min_filter_rounding_enable,
            self.v_address_min_filter_rounding_enable,
            self.r_address_min_filter_rounding_enable,
        )


@dataclass(frozen=True, slots=True)
class BorderColor(State):
    """SAMPLER_BORDER_COLOR_STATE, as the bits of its channels: floats, or integers of 32 bits."""

    TITLE = "SAMPLER_BORDER_COLOR_STATE"
    DWORDS = 4

    border_color_red: Annotated[int, bits(0, 31, 0)] = 0
    border_color_green: Annotated[int, bits(1, 31, 0)] = 0
    border_color_blue: Annotated[int, bits(2, 31, 0)] = 0
    border_color_alpha: Annotated[int, bits(3, 31, 0)] = 0


@dataclass(frozen=True, slots=True)
class BindingTableState(State):
    """One entry of a binding table: where the surface's state is, from Surface State Base."""

    TITLE = "BINDING_TABLE_STATE"
    DWORDS = 1

    surface_state_pointer: Annotated[int, bits(0, 31, 6, address=True)] = 0
