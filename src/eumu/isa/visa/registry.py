"""The registry of vISA."""

from eumu.isa.kinds import Exec, Pred
from eumu.isa.spec import Registry
from eumu.isa.visa.contents import FAMILIES

VISA = Registry(
    "visa",
    "vISA",
    implied={"exec": Exec, "pred": Pred},
    families={f"{__package__}.{name}": words.split() for name, words in FAMILIES.items()},
)
opcode = VISA.opcode

# What the specification or Intel's front end (up to IGC 2.40) knows and this registry does not
# declare, and why.
_LFSR = (
    "no public page says how it steps: the polynomials that compilers use run through all numbers"
    " both as a Galois register's feedback and as a Fibonacci register's taps"
)
_BDPAS = "no public page says in which order its products are scaled, added and rounded"
_SENDG = "no public page describes the messages of sendg, whose descriptors are another format"
_CACHE = "it came with Xe3p, and no public page lists its operations"
_SAMPLER = "it came after Gen12, and no public page says what its message holds"
_SAMPLES = "surfaces with several samples are not modelled"
_BF_SUM = "it came after pvc, and no public page says how the result is rounded"
_BF_CHOICE = "it came after pvc, and no public page says what becomes of NaN, zeros and denormals"
_ARC = "Intel's front end has the word; no page describes it, and no platform has the function"
_FCCALL = "it calls another kernel, which a linker of graphics drivers puts into the program"
_COUNTER = "no public page says what it stores"
_UNMODELLED = {
    _LFSR: "lfsr",
    _BDPAS: "bdpas",
    _SENDG: "raw_sendg raw_sendg_eot raw_sendgc raw_sendgc_eot",
    _CACHE: "lsc_extended_cache_ctrl",
    _SAMPLER: "sample_po sample_po_b sample_po_c sample_po_d sample_po_l sample_po_l_c sample_po_lz"
    " sample_po_c_lz sample_po_b_c sample_po_d_c sample_mlod sample_c_mlod sample_d_c_mlod"
    " sample4_b sample4_i sample4_i_c sample4_l sample4_l_c"
    " sample4_po_b sample4_po_i sample4_po_i_c sample4_po_l sample4_po_l_c load_l",
    _SAMPLES: "lsc_load_quad_msrt lsc_store_quad_msrt lsc_load_quad_status",
    _BF_SUM: "lsc_atomic_bfadd lsc_atomic_bfsub",
    _BF_CHOICE: "lsc_atomic_bfmin lsc_atomic_bfmax lsc_atomic_bfcas",
    _ARC: "asin acos atan",
    _FCCALL: "fccall",
    _COUNTER: "lsc_apndctr_atomic_store",
    "it stops a thread for a debugger's routine, which is not modelled": "breakpoint",
}
VISA.unmodelled.update({w: why for why, words in _UNMODELLED.items() for w in words.split()})

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
