"""Which family has which instruction: a file of this package each.

A family is declared when a word asks for it: most programs need a quarter of them.  A family may
declare what stands in its row and nothing else, which is checked when it is.
"""

from __future__ import annotations

from typing import Final

FAMILIES: Final = {
    "arith": "add add3 addc avg div divm mad max min mod mul mulh subb",
    "packed": "add3 dp4a madw sad2 sad2add",
    "logic": "and asr bfn not or rol ror shl shr xor",
    "bits": "bfe bfi bfrev cbit fbh fbl lzd",
    "compare": "cmp sel",
    "move": "addr_add mov movs setp",
    "formats": "fcvt srnd",
    "four_bits": "dnscl shfl_idx4",
    "mathematics": "cos exp frc inv log pow rndd rnde rndu rndz rsqrt sigm sin sqrt sqrtm tanh",
    "macros": "invm rsqtm",
    "graphics": "dp2 dp3 dp4 dph line lrp plane",
    "flow": "call goto jmp lifetime ret switchjmp",
    "calls": "faddr fcall fret ifcall",
    "surface": (
        "dword_atomic gather gather4_scaled gather_scaled oword_ld oword_ld_unaligned oword_st "
        "qw_gather qw_scatter scatter scatter4_scaled scatter_scaled"
    ),
    "svm": (
        "svm_atomic svm_block_ld svm_block_st svm_gather svm_gather4scaled svm_scatter "
        "svm_scatter4scaled"
    ),
    "lsc": (
        "lsc_atomic_and lsc_atomic_fadd lsc_atomic_fcas lsc_atomic_fmax lsc_atomic_fmin "
        "lsc_atomic_fsub lsc_atomic_iadd lsc_atomic_icas lsc_atomic_idec lsc_atomic_iinc "
        "lsc_atomic_isub lsc_atomic_load lsc_atomic_or lsc_atomic_smax lsc_atomic_smin "
        "lsc_atomic_store lsc_atomic_umax lsc_atomic_umin lsc_atomic_xor lsc_load lsc_load_quad "
        "lsc_load_status lsc_load_strided lsc_store lsc_store_quad lsc_store_strided "
        "lsc_store_uncompressed"
    ),
    "lsc_block2d": "lsc_load_block2d lsc_store_block2d",
    "lsc_counters": "lsc_apndctr_atomic_add lsc_apndctr_atomic_sub lsc_ccs_update",
    "images": (
        "gather4_typed lsc_atomic_and lsc_atomic_fadd lsc_atomic_fcas lsc_atomic_fmax "
        "lsc_atomic_fmin lsc_atomic_fsub lsc_atomic_iadd lsc_atomic_icas lsc_atomic_idec "
        "lsc_atomic_iinc lsc_atomic_isub lsc_atomic_load lsc_atomic_or lsc_atomic_smax "
        "lsc_atomic_smin lsc_atomic_store lsc_atomic_umax lsc_atomic_umin lsc_atomic_xor "
        "lsc_load_block2d lsc_load_quad lsc_load_status lsc_read_state_info lsc_store_block2d "
        "lsc_store_quad lsc_store_uncompressed media_ld media_st scatter4_typed typed_atomic"
    ),
    "sampler": (
        "load load_2dms_w load_3d load_lz load_mcs lod resinfo sample sample4 sample4_c "
        "sample4_po sample4_po_c sample_3d sample_b sample_b_c sample_c sample_c_lz sample_d "
        "sample_d_c sample_l sample_l_c sample_lz sample_unorm sampleinfo"
    ),
    "render": "rt_read rt_write_3d urb_write_3d",
    "scaling": "avs",
    "media": "vme_fbr vme_idm vme_ime vme_sic",
    "analytics": "va va_skl_plus",
    "sends": "raw_send raw_sendc raw_sends raw_sends_eot raw_sendsc raw_sendsc_eot",
    "fences": "fence_global fence_local fence_sw lsc_fence",
    "sync": "barrier nbarrier sampler_cache_flush sbarrier wait yield",
    "matrix": "dpas dpasw",
}
