"""The registry of vISA."""

from eumu.isa.spec import Registry

VISA = Registry("visa")
opcode = VISA.opcode

# What the specification or Intel's front end knows and this registry does not declare yet.
_IMAGES = "images and samplers are not modelled"
_MATRIX = "matrix products over two fused threads, or of block scales, are not modelled"
_MOTION = "motion estimation and video analytics are not modelled"
_RENDER = "render targets and the URB are not modelled"
_LATER = "it belongs to a platform that no public page describes"
VISA.unmodelled.update(
    dict.fromkeys(
        (
            *("sample_3d", "sample_b", "sample_l", "sample_c", "sample_d", "sample_b_c"),
            *("sample_l_c", "sample_d_c", "sample_lz", "sample_c_lz", "sample_po", "sample_po_l"),
            *("sample", "sample4", "sample4_c", "sample4_po", "sample4_po_c", "sample_unorm"),
            *("load", "load_3d", "load_lz", "load_mcs", "load_2dms_w", "lod", "avs"),
            *("resinfo", "sampleinfo"),
        ),
        _IMAGES,
    )
    | dict.fromkeys(("dpasw", "bdpas"), _MATRIX)
    | dict.fromkeys(("vme_ime", "vme_sic", "vme_fbr", "vme_idm", "va"), _MOTION)
    | dict.fromkeys(("rt_write_3d", "rt_read", "urb_write_3d"), _RENDER)
    | dict.fromkeys(
        ("invm", "rsqtm", "tanh", "sigm", "shfl_idx4", "lfsr", "dnscl", "raw_sendg"), _LATER
    )
)
