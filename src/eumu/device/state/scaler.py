"""The state of the adaptive video scaler: taps, detail filters, and the tables of 32 phases.

Source: the state heaps of Intel's open media driver for Gen9 (SAMPLER_STATE_8x8_AVS).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final

from eumu.device.state.fields import State, bits
from eumu.device.state.media import Table
from eumu.records import dataclass

_PHASES: Final = 32
_FIRST_PHASES: Final = 17  # in front of AvsControl


class FilterTaps(IntEnum):
    """Enable 8 Tap Filter: how many pixels a line of each channel is filtered from."""

    FOUR = 0
    EIGHT_ADAPTIVE_GREEN = 1
    EIGHT = 2
    EIGHT_ADAPTIVE = 3


@dataclass(frozen=True, slots=True)
class AvsState(State):
    """The head of the scaler's state: taps, writeback, and the detail and skin filters."""

    TITLE = "SAMPLER_STATE_8x8_AVS"
    DWORDS = 16

    gain_factor: Annotated[int, bits(0, 5, 0)] = 0
    weak_edge_threshold: Annotated[int, bits(0, 11, 6)] = 0
    strong_edge_threshold: Annotated[int, bits(0, 17, 12)] = 0
    r3x_coefficient: Annotated[int, bits(0, 22, 18)] = 0
    r3c_coefficient: Annotated[int, bits(0, 27, 23)] = 0
    global_noise_estimation: Annotated[int, bits(2, 7, 0)] = 0
    non_edge_weight: Annotated[int, bits(2, 10, 8)] = 0
    regular_weight: Annotated[int, bits(2, 13, 11)] = 0
    strong_edge_weight: Annotated[int, bits(2, 16, 14)] = 0
    r5x_coefficient: Annotated[int, bits(2, 21, 17)] = 0
    r5cx_coefficient: Annotated[int, bits(2, 26, 22)] = 0
    r5c_coefficient: Annotated[int, bits(2, 31, 27)] = 0
    sin_alpha: Annotated[int, bits(3, 7, 0, signed=True)] = 0
    cos_alpha: Annotated[int, bits(3, 15, 8, signed=True)] = 0
    sat_max: Annotated[int, bits(3, 21, 16)] = 0
    hue_max: Annotated[int, bits(3, 27, 22)] = 0
    enable_8_tap_filter: Annotated[FilterTaps, bits(3, 29, 28)] = FilterTaps.FOUR
    ief4_smooth_enable: Annotated[bool, bits(3, 30)] = False
    skin_tone_tuned_ief_enable: Annotated[bool, bits(3, 31)] = False
    s3u: Annotated[int, bits(4, 10, 0, signed=True)] = 0
    shuffle_output_writeback: Annotated[bool, bits(4, 11)] = False
    diamond_margin: Annotated[int, bits(4, 14, 12)] = 0
    vy_std_enable: Annotated[bool, bits(4, 15)] = False
    u_mid: Annotated[int, bits(4, 23, 16)] = 0
    v_mid: Annotated[int, bits(4, 31, 24)] = 0
    diamond_dv: Annotated[int, bits(5, 6, 0, signed=True)] = 0
    diamond_th: Annotated[int, bits(5, 12, 7)] = 0
    diamond_alpha: Annotated[int, bits(5, 20, 13)] = 0
    hs_margin: Annotated[int, bits(5, 23, 21)] = 0
    diamond_du: Annotated[int, bits(5, 30, 24, signed=True)] = 0
    skin_detail_factor: Annotated[int, bits(5, 31)] = 0
    y_point_1: Annotated[int, bits(6, 7, 0)] = 0
    y_point_2: Annotated[int, bits(6, 15, 8)] = 0
    y_point_3: Annotated[int, bits(6, 23, 16)] = 0
    y_point_4: Annotated[int, bits(6, 31, 24)] = 0
    inv_margin_vyl: Annotated[int, bits(7, 15, 0)] = 0
    inv_margin_vyu: Annotated[int, bits(8, 15, 0)] = 0
    p0l: Annotated[int, bits(8, 23, 16)] = 0
    p1l: Annotated[int, bits(8, 31, 24)] = 0
    p2l: Annotated[int, bits(9, 7, 0)] = 0
    p3l: Annotated[int, bits(9, 15, 8)] = 0
    b0l: Annotated[int, bits(9, 23, 16)] = 0
    b1l: Annotated[int, bits(9, 31, 24)] = 0
    b2l: Annotated[int, bits(10, 7, 0)] = 0
    b3l: Annotated[int, bits(10, 15, 8)] = 0
    s0l: Annotated[int, bits(10, 26, 16, signed=True)] = 0
    y_slope_2: Annotated[int, bits(10, 31, 27)] = 0
    s1l: Annotated[int, bits(11, 10, 0, signed=True)] = 0
    s2l: Annotated[int, bits(11, 21, 11, signed=True)] = 0
    s3l: Annotated[int, bits(12, 10, 0, signed=True)] = 0
    p0u: Annotated[int, bits(12, 18, 11)] = 0
    p1u: Annotated[int, bits(12, 26, 19)] = 0
    y_slope_1: Annotated[int, bits(12, 31, 27)] = 0
    p2u: Annotated[int, bits(13, 7, 0)] = 0
    p3u: Annotated[int, bits(13, 15, 8)] = 0
    b0u: Annotated[int, bits(13, 23, 16)] = 0
    b1u: Annotated[int, bits(13, 31, 24)] = 0
    b2u: Annotated[int, bits(14, 7, 0)] = 0
    b3u: Annotated[int, bits(14, 15, 8)] = 0
    s0u: Annotated[int, bits(14, 26, 16, signed=True)] = 0
    s1u: Annotated[int, bits(15, 10, 0, signed=True)] = 0
    s2u: Annotated[int, bits(15, 21, 11, signed=True)] = 0


@dataclass(frozen=True, slots=True)
class AvsControl(State):
    """Dwords 152 to 159 of the scaler's state: how it chooses between sharp and smooth."""

    TITLE = "SAMPLER_STATE_8x8_AVS, dwords 152 to 159"
    DWORDS = 8

    transition_area_with_8_pixels: Annotated[int, bits(0, 2, 0)] = 0
    transition_area_with_4_pixels: Annotated[int, bits(0, 6, 4)] = 0
    max_derivative_8_pixels: Annotated[int, bits(0, 15, 8)] = 0
    max_derivative_4_pixels: Annotated[int, bits(0, 23, 16)] = 0
    default_sharpness_level: Annotated[int, bits(0, 31, 24)] = 0
    rgb_adaptive: Annotated[bool, bits(1, 0)] = False
    adaptive_filter_for_all_channels: Annotated[bool, bits(1, 1)] = False
    bypass_y_adaptive_filtering: Annotated[bool, bits(1, 21)] = False
    bypass_x_adaptive_filtering: Annotated[bool, bits(1, 22)] = False


@dataclass(frozen=True, slots=True)
class AvsCoefficients(State):
    """The coefficients of one phase, with six fractional bits; table 1 has the middle four."""

    TITLE = "SAMPLER_STATE_8x8_AVS_COEFFICIENTS"
    DWORDS = 8

    table_0x_filter_coefficient_0: Annotated[float, bits(0, 7, 0, fraction=6, signed=True)] = 0.0
    table_0y_filter_coefficient_0: Annotated[float, bits(0, 15, 8, fraction=6, signed=True)] = 0.0
    table_0x_filter_coefficient_1: Annotated[float, bits(0, 23, 16, fraction=6, signed=True)] = 0.0
    table_0y_filter_coefficient_1: Annotated[float, bits(0, 31, 24, fraction=6, signed=True)] = 0.0
    table_0x_filter_coefficient_2: Annotated[float, bits(1, 7, 0, fraction=6, signed=True)] = 0.0
    table_0y_filter_coefficient_2: Annotated[float, bits(1, 15, 8, fraction=6, signed=True)] = 0.0
    table_0x_filter_coefficient_3: Annotated[float, bits(1, 23, 16, fraction=6, signed=True)] = 0.0
    table_0y_filter_coefficient_3: Annotated[float, bits(1, 31, 24, fraction=6, signed=True)] = 0.0
    table_0x_filter_coefficient_4: Annotated[float, bits(2, 7, 0, fraction=6, signed=True)] = 0.0
    table_0y_filter_coefficient_4: Annotated[float, bits(2, 15, 8, fraction=6, signed=True)] = 0.0
    table_0x_filter_coefficient_5: Annotated[float, bits(2, 23, 16, fraction=6, signed=True)] = 0.0
    table_0y_filter_coefficient_5: Annotated[float, bits(2, 31, 24, fraction=6, signed=True)] = 0.0
    table_0x_filter_coefficient_6: Annotated[float, bits(3, 7, 0, fraction=6, signed=True)] = 0.0
    table_0y_filter_coefficient_6: Annotated[float, bits(3, 15, 8, fraction=6, signed=True)] = 0.0
    table_0x_filter_coefficient_7: Annotated[float, bits(3, 23, 16, fraction=6, signed=True)] = 0.0
    table_0y_filter_coefficient_7: Annotated[float, bits(3, 31, 24, fraction=6, signed=True)] = 0.0
    table_1x_filter_coefficient_2: Annotated[float, bits(4, 23, 16, fraction=6, signed=True)] = 0.0
    table_1x_filter_coefficient_3: Annotated[float, bits(4, 31, 24, fraction=6, signed=True)] = 0.0
    table_1x_filter_coefficient_4: Annotated[float, bits(5, 7, 0, fraction=6, signed=True)] = 0.0
    table_1x_filter_coefficient_5: Annotated[float, bits(5, 15, 8, fraction=6, signed=True)] = 0.0
    table_1y_filter_coefficient_2: Annotated[float, bits(6, 23, 16, fraction=6, signed=True)] = 0.0
    table_1y_filter_coefficient_3: Annotated[float, bits(6, 31, 24, fraction=6, signed=True)] = 0.0
    table_1y_filter_coefficient_4: Annotated[float, bits(7, 7, 0, fraction=6, signed=True)] = 0.0
    table_1y_filter_coefficient_5: Annotated[float, bits(7, 15, 8, fraction=6, signed=True)] = 0.0

    def taps(self, table: str) -> tuple[float, ...]:
        """The eight coefficients of table "0x", "0y", "1x" or "1y"."""
        names = (f"table_{table}_filter_coefficient_{k}" for k in range(8))
        return tuple(getattr(self, n, 0.0) for n in names)


class Avs(Table):
    """The state of the scaler: head, phases 0 to 16, control, phases 17 to 31."""

    __slots__ = ()

    TITLE = "SAMPLER_STATE_8x8_AVS"
    KINDS = (
        AvsState,
        *(AvsCoefficients,) * _FIRST_PHASES,
        AvsControl,
        *(AvsCoefficients,) * (_PHASES - _FIRST_PHASES),
    )

    @property
    def head(self) -> AvsState:
        first = self.states[0]
        assert isinstance(first, AvsState)
        return first

    @property
    def control(self) -> AvsControl:
        control = self.states[1 + _FIRST_PHASES]
        assert isinstance(control, AvsControl)
        return control

    @property
    def phases(self) -> tuple[AvsCoefficients, ...]:
        """The coefficients of all 32 phases."""
        return tuple(s for s in self.states if isinstance(s, AvsCoefficients))
