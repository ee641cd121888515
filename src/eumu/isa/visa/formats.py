"""Conversions to and from float formats that no element type stands for.

`bf8` (5 bits of exponent, 2 of mantissa) lies in `ub` and is the upper half of an `hf`; `hf8` (4
and 3, no infinity) lies in `b`; `tf32` (8 and 10) lies in `ud` and is an `f` whose low 13 bits do
not count.
"""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.ir import Rounding, Value
from eumu.isa.kinds import Dst, InstBuilder, Src, WritePlace
from eumu.isa.limits import FrontEnd, Limits, row, since
from eumu.isa.spec import Fidelity
from eumu.isa.visa.matrix import from_hf8
from eumu.isa.visa.registry import opcode
from eumu.types import BF, HF, UB, UD, UQ, UW, B, F, Type

RNE = Rounding.RNE
PVC = since("pvc")
XE3 = since("ptl")
FCVT_TYPES = (
    *(row((UB,), (HF,)) + row((HF,), (UB,)) + row((UD,), (F,)) + row((F,), (UD,))),
    *(row((B,), (HF,), only=XE3) + row((HF,), (B,), only=XE3)),
)
SRND_TYPES = (
    *row((HF,), (F,), src1=(F, UW)),
    *row((UB,), (HF,), src1=(HF, UB)),
    *row((UB, B), (HF, BF), src1=(UB,), only=XE3),
)
REGISTERS = Limits(
    modifiers="none", saturation="no", operands={"dst": "g", "src0": "g", "src1": "g"}
)
SATURATES = FrontEnd(emits_saturation=True)  # to Xe3p
STOCHASTIC = Fidelity(
    "approximate",
    "the documents say where the random bits are added for normal results; for smaller ones they"
    " are added here to the highest bits that are discarded",
)
HF8_STEPS = "the page gives hf8 and sources of bf eight random bits, more than they discard"


@opcode(
    0x1D,
    "fcvt{dst.sat} {exec} {dst} {src0}",
    types=FCVT_TYPES,
    page="FCVT",
    platforms=PVC,
    limits=REGISTERS,
    front_end=SATURATES,
)
def fcvt(b: InstBuilder, dst: Dst, src0: Src) -> None:
    """dst[i] = src0[i]: bf8 (ub) or hf8 (b) and hf, tf32 (ud) and f; rounds to nearest even."""
    _unsaturated(dst, "fcvt")
    kinds = dst.type, src0.type
    if kinds == (HF, UB):
        result = b.bitcast(b.shl(b.convert(src0, UW), b.const(UW, 8, b.width)), HF)
    elif kinds == (UB, HF):
        result = b.convert(_rounded(b, b.bitcast(src0, UW), 8, 0x7C00), UB)
    elif kinds == (HF, B):
        result = b.convert(from_hf8(b, b.bitcast(src0, UB)), HF, rounding=RNE)
    elif kinds == (B, HF):
        result = b.bitcast(_to_hf8(b, b.bitcast(src0, UW)), B)
    elif kinds == (UD, F):
        kept = _rounded(b, b.bitcast(src0, UD), 13, 0x7F80_0000)
        result = b.shl(kept, b.const(UD, 13, b.width))
    elif kinds == (F, UD):
        result = b.bitcast(b.and_(src0, b.const(UD, 0xFFFF_E000, b.width)), F)
    else:
        raise Unsupported(f"a conversion from {src0.type} to {dst.type} by fcvt")
    b.put(dst, result, b.mask)


def _unsaturated(dst: WritePlace, word: str) -> None:
    if dst.saturate:
        raise Unsupported(f"{word}.sat: no page says to which number it saturates")


def _to_hf8(b: InstBuilder, bits: Value) -> Value:
    """The nearest hf8 of an hf, as ub; NaN where there is none (0x7f), as it has no infinity."""
    width = b.width

    def number(x: int) -> Value:
        return b.const(UD, x, width)

    wide = b.convert(bits, UD)
    size = b.and_(wide, number(0x7FFF))
    # A normal result: the bias is 7 instead of 15.  Below, steps of 2^-9: the addition rounds.
    rebiased = b.sub(b.max(size, number(9 << 10)), number(8 << 10), RNE)
    normal = _rounded(b, rebiased, 7, 0x7C00)
    step = b.const(F, 1.5 * 2.0**14, width)  # whose last bit is worth 2^-9
    total = b.add(b.convert(b.bitcast(b.convert(size, UW), HF), F), step, RNE)
    tiny = b.sub(b.bitcast(total, UD), b.bitcast(step, UD), RNE)
    result = b.select(b.cmp("lt", size, number(9 << 10)), tiny, normal)
    result = b.min(result, number(0x7F))
    result = b.select(b.cmp("gt", size, number(0x7C00)), number(0x7F), result)
    sign = b.shr(b.and_(wide, number(0x8000)), number(8))
    return b.convert(b.or_(result, sign), UB)


def _rounded(b: InstBuilder, bits: Value, count: int, infinity: int) -> Value:
    """Float bits without the low `count`, to nearest even; a NaN stays one."""
    type, width = bits.type, bits.width

    def number(x: int) -> Value:
        return b.const(type, x, width)

    odd = b.and_(b.shr(bits, number(count)), number(1))
    carry = b.add(odd, number((1 << count - 1) - 1), RNE)
    near = b.shr(b.add(bits, carry, RNE), number(count))
    size = b.and_(bits, number((1 << type.bits - 1) - 1))
    quiet_bit = (infinity & -infinity) >> 1 + count  # the highest of the mantissa
    quiet = b.or_(b.shr(bits, number(count)), number(quiet_bit))
    return b.select(b.cmp("gt", size, number(infinity)), quiet, near)


@opcode(
    0x1E,
    "srnd{dst.sat} {exec} {dst} {src0} {src1}",
    types=SRND_TYPES,
    page="SRND",
    platforms=PVC,
    limits=REGISTERS,
    front_end=SATURATES,
    fidelity=STOCHASTIC,
)
def srnd(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i], f to hf or hf to bf8 (ub), rounded stochastically by src1[i]."""
    _unsaturated(dst, "srnd")
    if dst.type is B or src0.type is BF:
        raise Unsupported(f"srnd of {src0.type} to {dst.type}: {HF8_STEPS}")
    if (dst.type, src0.type) == (HF, F):
        bits = _stochastic(b, src0, src1, _F_TO_HF)
        b.put(dst, b.bitcast(b.convert(bits, UW), HF), b.mask)
    elif (dst.type, src0.type) == (UB, HF):
        b.put(dst, b.convert(_stochastic(b, src0, src1, _HF_TO_BF8), UB), b.mask)
    else:
        raise Unsupported(f"a conversion from {src0.type} to {dst.type} by srnd")


class _Narrowing:
    """Bits of mantissa and exponent bias of two formats; `top` is the target's sign bit."""

    def __init__(self, source: tuple[int, int], target: tuple[int, int], top: int) -> None:
        (self.mantissa, self.bias), (self.kept, self.target_bias) = source, target
        self.discarded, self.top = self.mantissa - self.kept, top


_F_TO_HF = _Narrowing((23, 127), (10, 15), 15)
_HF_TO_BF8 = _Narrowing((10, 15), (2, 15), 7)


def _stochastic(b: InstBuilder, src0: Value, src1: Value, format: _Narrowing) -> Value:
    """The target's bits, as ud."""
    width, raw = b.width, _bits_type(src0.type)

    def number(x: int) -> Value:
        return b.const(UQ, x, width)

    bits, noise = (b.convert(b.bitcast(x, _bits_type(x.type)), UQ) for x in (src0, src1))
    size = b.and_(bits, number((1 << raw.bits - 1) - 1))
    infinity = number(((1 << raw.bits - 1 - format.mantissa) - 1) << format.mantissa)
    # The sum of the exponent field's distance and the mantissa, as in a normal number ...
    least = (format.bias - format.target_bias + 1) << format.mantissa
    normal = b.sub(size, number(least - (1 << format.mantissa)), RNE)
    # ... and, below the least normal number, the mantissa shifted to its place.
    exponent = b.shr(size, number(format.mantissa))
    hidden = b.or_(b.and_(size, number((1 << format.mantissa) - 1)), number(1 << format.mantissa))
    is_tiny = b.cmp("lt", exponent, number(1))
    subnormal = b.select(is_tiny, b.and_(size, number((1 << format.mantissa) - 1)), hidden)
    place = b.max(exponent, number(1))
    shift = b.min(b.sub(number(least >> format.mantissa), place, RNE), number(40))
    small = b.cmp("lt", size, number(least))
    mantissa = b.select(small, subnormal, normal)
    shift = b.select(small, shift, number(0))
    low = b.and_(noise, number((1 << format.discarded) - 1))
    total = b.add(mantissa, b.shl(low, shift), RNE)
    result = b.shr(total, b.add(shift, number(format.discarded), RNE))
    return b.convert(_specials(b, bits, size, infinity, result, format), UD)


def _specials(
    b: InstBuilder, bits: Value, size: Value, infinity: Value, result: Value, format: _Narrowing
) -> Value:
    """Infinities and NaNs stay, numbers past the greatest become infinite; the sign is kept."""
    width = b.width
    top = b.const(UQ, ((1 << format.top - format.kept) - 1) << format.kept, width)
    result = b.min(result, top)
    nan = b.or_(top, b.const(UQ, 1 << format.kept - 1, width))
    special = b.select(b.cmp("gt", size, infinity), nan, top)
    result = b.select(b.cmp("ge", size, infinity), special, result)
    negative = b.cmp("ne", size, bits)
    sign = b.select(negative, b.const(UQ, 1 << format.top, width), b.const(UQ, 0, width))
    return b.or_(result, sign)


def _bits_type(type: Type) -> Type:
    """The unsigned integer of a type's size."""
    return {1: UB, 2: UW, 4: UD}[type.size]
