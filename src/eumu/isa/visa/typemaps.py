"""Which types, modifiers and execution sizes instructions take: what rows of the registry share.

64-bit integers and doubles are documented for platforms that have them; Intel's front end reads
them everywhere.  `v`, `uv` and `vf` are immediates that stand for `w`, `uw` and `f`.  A row `by=FE`
is what that front end reads beyond the documents, or (platforms) does not.
"""

from eumu.isa.limits import (
    EVERY_PLATFORM,
    SIZES,
    By,
    FrontEnd,
    Limits,
    before,
    fields,
    row,
    since,
    sizes,
)
from eumu.platforms import PLATFORMS
from eumu.types import BF, BOOL, DF, HF, INTEGERS, UB, UD, UQ, UV, UW, VF, B, D, F, Q, V, W

FE = By.FRONT_END
EMITTED = By.COMPILER

# ---- platforms

INT64 = frozenset(p.name for p in PLATFORMS.values() if p.has_int64)
DOUBLE = frozenset(p.name for p in PLATFORMS.values() if p.has_double)
# Those with the steps of correctly rounded division and square root (measured).
IEEE_STEPS = EVERY_PLATFORM - {"icllp", "tgllp", "dg2", "mtl", "arl"}
BFLOAT = since("xehp") - {"mtl"}
XEHP = since("xehp")
QUADS = since("xehp") - {"mtl"}
ROTATES = since("icllp")
LEGACY_FLOAT = before("icllp")
# Pairs of EUs share their control flow (measured): no jump through a table.
UNFUSED = EVERY_PLATFORM - {"tgllp", "xehp", "dg2", "mtl", "arl"}

# ---- types

NARROW = (UB, B, UW, W, UD, D)
ANY_NARROW = (*NARROW, V, UV)
ANY_INTEGER = (*INTEGERS, V, UV)
UNSIGNED = (UB, UW, UD)
SIGNED = (B, W, D)
GENERAL = (*INTEGERS, F, HF, DF)
ANYTHING = (*ANY_INTEGER, F, HF, DF, VF)

INTEGER = (
    row(NARROW, ANY_NARROW)
    + row(INTEGERS, ANY_INTEGER, only=INT64)
    + row(INTEGERS, ANY_INTEGER, by=FE)
)
FLOAT = row((F,), (F, HF, VF)) + row((HF,), (HF, F))
SINGLE = row((F,), (F, VF)) + row((F,), (F, HF, VF), by=FE)
DOUBLES = row((DF,), (DF,), only=DOUBLE) + row((DF,), (DF,), by=FE)
IEEE_DOUBLES = row((DF,), (DF,), only=IEEE_STEPS)
BFLOATS = row((F, BF), (F, BF), only=BFLOAT)
BFLOAT_MATH = row((BF,), (BF,), only=BFLOAT, by=EMITTED)
DWORDS = row((UD, D), (UD, D))
WORDS = row((UD, D, UW, W), (UD, D, UW, W))

# ---- arithmetic

# Stack pointers have 64 bits everywhere; what the device lacks, the finalizer makes of it.
ADD = INTEGER + FLOAT + DOUBLES + BFLOATS + row(INTEGERS, ANY_INTEGER, by=EMITTED)
MUL = (
    row(NARROW, ANY_NARROW, only=before("pvc"))
    + row(NARROW, (UW, W, UD, D, V, UV), only=since("pvc"))
    + row(NARROW, ANY_NARROW, by=EMITTED)
    + row((Q, UQ), (D, UD), only=INT64)
    + row(INTEGERS, ANY_NARROW, by=FE)
    + FLOAT
    + DOUBLES
    + BFLOATS
)
MAD = (
    row(NARROW, ANY_NARROW)
    + row(INTEGERS, ANY_INTEGER, by=FE)
    + FLOAT
    + DOUBLES
    + BFLOATS
    + row(INTEGERS, ANY_INTEGER, only=since("nvlp"), by=EMITTED)
)
AVG = row(NARROW, ANY_NARROW) + row(NARROW, ANY_INTEGER, by=FE)
DIV = (
    row(NARROW, ANY_NARROW, only=before("xehp"))
    + row(INTEGERS, ANY_NARROW, only=before("xehp"), by=FE)
    + FLOAT
    + IEEE_DOUBLES
)
MOD = row(NARROW, ANY_NARROW, only=before("xehp")) + row(
    NARROW, ANY_INTEGER, only=before("xehp"), by=FE
)
HIGH = row((D, UD), (D, UD, V, UV)) + row((D, UD), ANY_INTEGER, by=FE)
CARRY = row((UD,), (UD, UV)) + row(
    (UD,), (UD, UV), by=FE, carry=(*GENERAL, BF), borrow=(*GENERAL, BF)
)
SAD2 = row((W, UW), (B, UB), fitting=True, src2=(W, UW))
IEEE_FLOAT = row((F,), (F, VF), only=IEEE_STEPS) + IEEE_DOUBLES
FLOAT_OR_DOUBLE = FLOAT + IEEE_DOUBLES
SQRT = FLOAT + row((DF,), (DF,), only=IEEE_STEPS, by=FE)
LINE = SINGLE + row(INTEGERS, ANY_INTEGER, by=FE)
LZD = row((UD,), (UD, UV)) + row((UD,), ANY_INTEGER, by=FE)

# ---- comparison, moves

MINMAX = INTEGER + FLOAT + DOUBLES + row(GENERAL, ANYTHING, by=FE)
SELECT = MINMAX + BFLOATS
COMPARE = (
    row((BOOL, *NARROW, F), ANY_NARROW)
    + row((BOOL, *INTEGERS), ANY_INTEGER, only=INT64)
    + row((BOOL, F, HF), (F, HF, VF))
    + row((BOOL, DF), (DF,), only=DOUBLE)
    + row((BOOL, *GENERAL, BF), (F, BF), only=BFLOAT)
    + row((BOOL, *GENERAL), ANYTHING, by=FE)
)
MOVE = row(GENERAL, ANYTHING) + row(UNSIGNED, (BOOL,)) + row(NARROW, (BOOL,), by=FE) + BFLOATS
SET_PREDICATE = row((BOOL,), UNSIGNED) + row((BOOL,), ANYTHING, by=FE)
STATE = (
    row((UD,), (UD,)) + row((UD,), (D,), by=EMITTED) + row((*GENERAL, BF), (*ANYTHING, BF), by=FE)
)
ADDRESS = row((), (UW, W, UB, B), src0=(*GENERAL, BF))

# ---- logic

LOGIC = INTEGER + row((BOOL,), (BOOL,))
SHIFT = INTEGER
SHIFT_UNSIGNED = (
    row(UNSIGNED, (*UNSIGNED, UV), src1=ANY_NARROW)
    + row((*UNSIGNED, UQ), (*UNSIGNED, UQ, UV), only=INT64, src1=ANY_INTEGER)
    + row(NARROW, ANY_NARROW, by=EMITTED)
    + row(INTEGERS, ANY_INTEGER, only=INT64, by=EMITTED)
    + row(INTEGERS, ANY_INTEGER, by=FE)
)
SHIFT_SIGNED = (
    row(SIGNED, (*SIGNED, V), src1=ANY_NARROW)
    + row((*SIGNED, Q), (*SIGNED, Q, V), only=INT64, src1=ANY_INTEGER)
    + row(NARROW, ANY_NARROW, by=EMITTED)
    + row(INTEGERS, ANY_INTEGER, only=INT64, by=EMITTED)
    + row(INTEGERS, ANY_INTEGER, by=FE)
)
ROTATE = (
    WORDS
    + row((Q, UQ), (Q, UQ), only=since("pvc"), src1=(UW, W, UD, D, Q, UQ))
    + row((UW, W, UD, D), (UW, W, UD, D, V, UV), by=FE)
    + row((UW, W, UD, D, Q, UQ), (UW, W, UD, D, Q, UQ, V, UV), only=since("pvc"), by=FE)
)
COUNT = row((UD,), (UB, UW, UD, UV)) + row(NARROW, ANY_NARROW, by=FE)
FIRST_LOW = row((UD,), (UD, UV)) + row(NARROW, ANY_NARROW, by=FE)
FIRST_HIGH = row((UD,), (D, UD, V, UV)) + row(NARROW, ANY_NARROW, by=FE)
REVERSE = row((UD,), (UD, UV)) + row((D,), (D,), by=EMITTED) + row(INTEGERS, ANY_INTEGER, by=FE)
BIT_FIELD = DWORDS + row(INTEGERS, ANY_INTEGER, by=FE)
FUNCTION = WORDS + row(INTEGERS, ANY_INTEGER, by=FE)

# ---- limits

ONLY_FLOAT = Limits(saturation="float")
UNSATURATED = Limits(saturation="no")
BITWISE = Limits(
    modifiers="logic", saturation="no", operands={"dst": "grp", "src0": "grip", "src1": "grip"}
)
# The operands that must be aligned to 16 bytes.
OWORD = dict.fromkeys(("dst", "src0", "src1", "src2", "size", "offset", "src", "base"), 16)
PLAIN = Limits(modifiers="none", saturation="no")
BITS = FrontEnd(modifiers="logic")
ON_ALL = FrontEnd(platforms=EVERY_PLATFORM)
ANY_MODIFIER = FrontEnd(modifiers="any")
ARITHMETIC_MODIFIER = FrontEnd(modifiers="arithmetic")
SATURATES = FrontEnd(saturation="yes")
OF_ANY_SIZE = FrontEnd(sizes=sizes(*SIZES))
OF_ANY_SIZE_ON_ALL = FrontEnd(platforms=EVERY_PLATFORM, sizes=sizes(*SIZES))
OWORDS = Limits(aligned=OWORD)
PLANES = Limits(sizes=sizes(8, 16), aligned={"src0": 16, "src1": 32})
BITS_OF_ANY_SIZE = FrontEnd(modifiers="logic", sizes=sizes(*SIZES))
FIELDS = Limits(modifiers="none", saturation="no", sizes=sizes(1, 4, 8, 16, 32), aligned=OWORD)
MADW_SIZES = sizes(1, 2, 4, 8, wide=(1, 2, 4, 8, 16))
UP_TO_SIXTEEN = Limits(sizes=sizes(1, 2, 4, 8, 16))
UP_TO_EIGHT = Limits(sizes=sizes(1, 2, 4, 8))
EIGHT_OR_SIXTEEN = Limits(sizes=sizes(8, 16))
SCALAR = Limits(sizes=sizes(1))
# LSC messages have as many lanes as fit a register of dwords, twice; those on images half as many.
LSC = Limits(sizes=sizes(1, 2, 4, 8, 16, wide=SIZES))
# Since Xe2 messages on texels have 32 lanes, too (its compiler's; no page says it).
_XE2 = since("bmg")
LSC_TEXELS = Limits(
    sizes={**sizes(1, 2, 4, 8, wide=(1, 2, 4, 8, 16)), **dict.fromkeys(_XE2, frozenset(SIZES))}
)

# ---- messages: what their registers hold

DOCUMENTED = By.DOCUMENTS
_DATA = (UD, D, F)
SURFACE_DATA = fields(DOCUMENTED, offsets=(UD,), dst=_DATA, src=_DATA)
ELEMENT_DATA = fields(dst=_DATA, src=_DATA) + fields(DOCUMENTED, offsets=(UD,))
QUAD_DATA = fields(DOCUMENTED, offsets=(UD,), dst=(Q, UQ, DF), src=(Q, UQ, DF))
ATOMIC_OFFSETS = fields(offsets=(UD,))
ADDRESSES = fields(DOCUMENTED, addresses=(UQ,))
ADDRESS_OFFSETS = fields(DOCUMENTED, offsets=(UQ,), dst=_DATA, src=_DATA)
TEXELS = fields(DOCUMENTED, u=(UD,), v=(UD,), r=(UD,), lod=(UD,), dst=_DATA, src=_DATA)

SLM_BLOCKS = Limits(slm=since("icllp"))
NO_SLM = Limits(slm=frozenset())
IMAGES = Limits(sizes=sizes(8, wide=(8, 16)), slm=frozenset(), texels=True)
IMAGE_ATOMICS = Limits(sizes=sizes(8, wide=(8, 16)), slm=frozenset())
IMAGE_ATOMICS_READ = FrontEnd(sizes=sizes(*SIZES), slm=EVERY_PLATFORM, emitted=frozenset({1}))

# ---- messages to the sampler

_SAMPLES = (HF, F, W, UW, D, UD)
SAMPLED = fields(DOCUMENTED, dst=_SAMPLES)
INFO = fields(DOCUMENTED, lod=(UD,), dst=(UD,)) + fields(EMITTED, lod=(F,))
_COORDINATES = dict.fromkeys(("u", "v", "delta_u", "delta_v"), (F,))
UNORM = fields(DOCUMENTED, **_COORDINATES, dst=(UW,))
LEGACY_SAMPLED = fields(DOCUMENTED, u=(F,), v=(F,), r=(F,), dst=(F, D, UD))
LEGACY_LOADED = fields(DOCUMENTED, u=(UD, D), v=(UD, D), r=(UD, D), dst=(F, D, UD))
SAMPLER = Limits(
    sizes={**sizes(8, 16), **dict.fromkeys(_XE2, frozenset((8, 16, 32)))},
    slm=frozenset(),
    texels=True,
)
SAMPLER_READ = FrontEnd(sizes=sizes(*SIZES), slm=EVERY_PLATFORM)
