"""The registry of vISA."""

from eumu.isa.spec import Registry

VISA = Registry("visa")
opcode = VISA.opcode

# What the specification or Intel's front end knows and this registry does not declare yet.
_IMAGES = "images and samplers are not modelled"
_MATRIX = "matrix products over two fused threads, or of block scales, are not modelled"
_MOTION = "motion estimation and video analytics are not modelled"
_LATER = "it belongs to a platform that no public page describes"
VISA.unmodelled.update(
    dict.fromkeys(
        (*("sample_po", "sample_po_l", "avs"),),
        _IMAGES,
    )
    | dict.fromkeys(("dpasw", "bdpas"), _MATRIX)
    | dict.fromkeys(("vme_ime", "vme_sic", "vme_fbr", "vme_idm", "va"), _MOTION)
    | dict.fromkeys(
        ("invm", "rsqtm", "tanh", "sigm", "shfl_idx4", "lfsr", "dnscl", "raw_sendg"), _LATER
    )
)
