"""The registry of vISA."""

from eumu.isa.spec import Registry

VISA = Registry("visa")
opcode = VISA.opcode

# What the specification or Intel's front end knows and this registry does not declare yet.
_NEWER = "it is newer than every platform here"
_LATER = "it belongs to a platform after pvc that no public page describes"
VISA.unmodelled.update(
    dict.fromkeys(("sample_po", "sample_po_l"), _NEWER)
    | dict.fromkeys(("bdpas", "tanh", "sigm", "shfl_idx4", "lfsr", "dnscl", "raw_sendg"), _LATER)
)

# Words of rows that Intel's front end does not know: variables may be called so.
# What the pages' own examples and tables write for other mnemonics.
VISA.spellings.update(
    {
        "lsc_read_surface_info": "lsc_read_state_info",
        "lsc_atomic_inc": "lsc_atomic_iinc",
        "lsc_atomic_dec": "lsc_atomic_idec",
    }
)
NO_TOKENS = frozenset({"lod", "rt_read", "vme_idm", "va", "va_skl_plus", "invm", "rsqtm"})
