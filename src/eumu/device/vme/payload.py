"""What motion estimation is asked, and what it answers, as named fields.

The first four registers are the same for all messages.  Sources: the field names and places of the
CM compiler's header for Gen9's motion estimation; the encoders' constant tables in Intel's media
driver, which name the same dwords; what Intel's OpenCL C compiler writes and reads.
"""

from __future__ import annotations

from typing import Annotated, Final

import numpy as np

from eumu.device.state.fields import State, bits
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class UniversalInput(State):
    """M0 to M3.  Places are in whole pixels, cost centres in quarters; costs are U4U4."""

    TITLE = "VME universal input"
    DWORDS = 32

    ref0_x: Annotated[int, bits(0, 15, 0, signed=True)] = 0
    ref0_y: Annotated[int, bits(0, 31, 16, signed=True)] = 0
    ref1_x: Annotated[int, bits(1, 15, 0, signed=True)] = 0
    ref1_y: Annotated[int, bits(1, 31, 16, signed=True)] = 0
    src_x: Annotated[int, bits(2, 15, 0)] = 0
    src_y: Annotated[int, bits(2, 31, 16)] = 0
    src_size: Annotated[int, bits(3, 1, 0)] = 0
    mb_type_remap: Annotated[int, bits(3, 5, 4)] = 0
    src_access: Annotated[bool, bits(3, 6)] = False
    ref_access: Annotated[bool, bits(3, 7)] = False
    search_ctrl: Annotated[int, bits(3, 10, 8)] = 0
    dual_search_path: Annotated[bool, bits(3, 11)] = False
    sub_pel_mode: Annotated[int, bits(3, 13, 12)] = 0
    skip_mode_type: Annotated[bool, bits(3, 14)] = False
    disable_field_cache_allocation: Annotated[bool, bits(3, 15)] = False
    inter_chroma_mode: Annotated[bool, bits(3, 16)] = False
    ft_enable: Annotated[bool, bits(3, 17)] = False
    bme_disable_fbr: Annotated[bool, bits(3, 18)] = False
    block_based_skip_enable: Annotated[bool, bits(3, 19)] = False
    inter_sad: Annotated[int, bits(3, 21, 20)] = 0
    intra_sad: Annotated[int, bits(3, 23, 22)] = 0
    sub_mb_part_mask: Annotated[int, bits(3, 30, 24)] = 0
    ref_width: Annotated[int, bits(5, 23, 16)] = 0
    ref_height: Annotated[int, bits(5, 31, 24)] = 0
    skip_mode_en: Annotated[bool, bits(8, 0)] = False
    adaptive_en: Annotated[bool, bits(8, 1)] = False
    bi_mix_dis: Annotated[bool, bits(8, 2)] = False
    early_ime_success_en: Annotated[bool, bits(8, 5)] = False
    t8x8_flag_for_inter_en: Annotated[bool, bits(8, 7)] = False
    ref_pixel_offset: Annotated[int, bits(8, 15, 8, signed=True)] = 0
    early_ime_stop: Annotated[int, bits(8, 31, 24)] = 0
    max_num_mvs: Annotated[int, bits(9, 5, 0)] = 0
    ref0_polarity: Annotated[int, bits(9, 11, 8)] = 0
    ref1_polarity: Annotated[int, bits(9, 15, 12)] = 0
    bi_weight: Annotated[int, bits(9, 21, 16)] = 0
    fixed_7x7_weights: Annotated[int, bits(9, 23, 22)] = 0
    ref_pixel_shift: Annotated[int, bits(9, 27, 24)] = 0
    uni_mix_disable: Annotated[bool, bits(9, 28)] = False
    idm_shape_mode_1: Annotated[bool, bits(9, 30)] = False
    idm_shape_mode_2: Annotated[bool, bits(9, 31)] = False
    len_sp: Annotated[int, bits(10, 7, 0)] = 0
    max_num_su: Annotated[int, bits(10, 15, 8)] = 0
    start_center0_x: Annotated[int, bits(10, 19, 16)] = 0
    start_center0_y: Annotated[int, bits(10, 23, 20)] = 0
    start_center1_x: Annotated[int, bits(10, 27, 24)] = 0
    start_center1_y: Annotated[int, bits(10, 31, 28)] = 0
    weighted_sad_ctrl: Annotated[int, bits(11, 31, 0)] = 0
    blk_ref_ids: Annotated[int, bits(14, 31, 0)] = 0
    intra_part_mask: Annotated[int, bits(15, 4, 0)] = 0
    non_skip_zmv_added: Annotated[bool, bits(15, 5)] = False
    non_skip_mode_added: Annotated[bool, bits(15, 6)] = False
    intra_corner_swap: Annotated[bool, bits(15, 7)] = False
    mb_intra_struct: Annotated[int, bits(15, 15, 8)] = 0
    mv_cost_scale_factor: Annotated[int, bits(15, 17, 16)] = 0
    bilinear_enable: Annotated[bool, bits(15, 18)] = False
    src_field_polarity: Annotated[bool, bits(15, 19)] = False
    weighted_sad_haar: Annotated[bool, bits(15, 20)] = False
    ac_only_haar: Annotated[bool, bits(15, 21)] = False
    ref_id_cost_mode: Annotated[bool, bits(15, 22)] = False
    idm_shape_mode: Annotated[bool, bits(15, 23)] = False
    skip_center_mask: Annotated[int, bits(15, 31, 24)] = 0
    mode_costs: Annotated[int, bits(16, 15, 0, last=18)] = 0
    ref_id_cost: Annotated[int, bits(18, 23, 16)] = 0
    chroma_intra_mode_cost: Annotated[int, bits(18, 31, 24)] = 0
    mv_costs: Annotated[int, bits(19, 31, 0, last=20)] = 0
    fbr_mb_mode: Annotated[int, bits(21, 1, 0)] = 0
    fbr_sub_mb_shape: Annotated[int, bits(21, 15, 8)] = 0
    fbr_sub_pred_mode: Annotated[int, bits(21, 23, 16)] = 0
    fwd_t_coeff_threshold_dc: Annotated[int, bits(22, 15, 0)] = 0
    fwd_t_coeff_threshold_1: Annotated[int, bits(22, 23, 16)] = 0
    fwd_t_coeff_threshold_2: Annotated[int, bits(22, 31, 24)] = 0
    fwd_t_coeff_threshold_3: Annotated[int, bits(23, 7, 0)] = 0
    fwd_t_coeff_threshold_4: Annotated[int, bits(23, 15, 8)] = 0
    fwd_t_coeff_threshold_5: Annotated[int, bits(23, 23, 16)] = 0
    fwd_t_coeff_threshold_6: Annotated[int, bits(23, 31, 24)] = 0
    cost_centers: Annotated[int, bits(24, 31, 0, last=31)] = 0


@dataclass(frozen=True, slots=True)
class ResultHeader(State):
    """The first register of the answer."""

    TITLE = "VME result"
    DWORDS = 8

    inter_mb_mode: Annotated[int, bits(0, 1, 0)] = 0
    intra_mb_mode: Annotated[int, bits(0, 5, 4)] = 0
    field_mb_polarity_flag: Annotated[bool, bits(0, 7)] = False
    inter_mb_type: Annotated[int, bits(0, 12, 8)] = 0
    field_mb_flag: Annotated[bool, bits(0, 14)] = False
    mv_quantity: Annotated[int, bits(0, 28, 24)] = 0
    ref0_border_reached: Annotated[int, bits(1, 3, 0)] = 0
    ref1_border_reached: Annotated[int, bits(1, 7, 4)] = 0
    best_inter_distortion: Annotated[int, bits(2, 15, 0)] = 0
    skip_raw_distortion: Annotated[int, bits(2, 31, 16)] = 0
    best_intra_distortion: Annotated[int, bits(3, 15, 0)] = 0
    best_chroma_intra_distortion: Annotated[int, bits(3, 31, 16)] = 0
    luma_intra_pred_modes: Annotated[int, bits(4, 31, 0, last=5)] = 0
    mb_intra_struct: Annotated[int, bits(6, 7, 0)] = 0
    sub_mb_shape: Annotated[int, bits(6, 15, 8)] = 0
    sub_mb_pred_mode: Annotated[int, bits(6, 23, 16)] = 0
    early_ime_stopped: Annotated[bool, bits(6, 24)] = False
    max_num_mvs_truncated: Annotated[bool, bits(6, 25)] = False


# Registers 1 to 6 of the answer: in sixteen places the vectors for the two references and the
# distortion (`shapes.SLOTS` says whose); then what belongs to the four 8x8 blocks.
VECTORS: Final = np.dtype(
    [
        ("mv", "<i2", (16, 2, 2)),
        ("inter_distortion", "<u2", 16),
        ("blk_ref_ids", "<u4"),
        ("luma_nzc", "u1", 4),
        ("luma_coefficient_sum", "<u2", 4),
        ("other", "u1", 16),
    ]
)

# The search path: a byte for each step, in search units: X in bits 3:0, Y in bits 7:4, both signed.
SEARCH: Final = np.dtype([("path", "u1", 56), ("reserved", "u1", 8)])

# What is streamed in and out: 16x8 twice, 8x16 twice, 8x8 four times, and 16x16.
RECORD: Final = np.dtype(
    [
        ("distortion", "<u2", 8),
        ("distortion_16x16", "<u2"),
        ("ref_id_16x16", "u1"),
        ("reserved", "u1"),
        ("mv_16x16", "<i2", 2),
        ("ref_ids", "u1", 4),
        ("reserved_2", "u1", 4),
        ("mv", "<i2", (8, 2)),
    ]
)

SKIP_AND_INTRA: Final = np.dtype(
    [
        ("skip_center", "<i2", (4, 2, 2)),
        ("intra_4x4_mode_mask", "<u2"),
        ("intra_8x8_mode_mask", "<u2"),
        ("intra_16x16_and_chroma_mode_mask", "u1"),
        ("intra_compute_type", "u1"),
        ("reserved", "u1"),
        ("corner_luma", "u1"),
        ("top_luma", "u1", 24),
        ("left_luma", "u1", 16),
        ("intra_mxm_pred_mode", "u1", 4),
        ("corner_chroma", "u1", 2),
        ("reserved_2", "u1", 6),
        ("non_dc_penalty", "u1", 4),
        ("left_chroma", "u1", (8, 2)),
        ("top_chroma", "u1", (8, 2)),
    ]
)

# Fields of what is given that do nothing here, each with the reason; every other one acts.
_MESH: Final = "it belongs to the distortion mesh (VME_IDM), which is refused"
_WEIGHTS: Final = "weights belong to WeightedSADHAAR and Fixed7x7Weights, which are refused"
_RESERVED: Final = "the sources name nothing there"
UNHEEDED: Final = {
    "disable_field_cache_allocation": "it says how memory is cached, and memory is coherent here",
    "idm_shape_mode": _MESH,
    "idm_shape_mode_1": _MESH,
    "idm_shape_mode_2": _MESH,
    "weighted_sad_ctrl": _WEIGHTS,
    "search.reserved": _RESERVED,
    "record.reserved": _RESERVED,
    "record.reserved_2": _RESERVED,
    "skip and intra.reserved": _RESERVED,
    "skip and intra.reserved_2": _RESERVED,
}
