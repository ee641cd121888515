"""Conversions to and from float formats that no element type stands for.

`bf8` (5 bits of exponent, 2 of mantissa) lies in `ub` and is the upper half of an `hf`; `tf32` (8
bits of exponent, 10 of mantissa) lies in `ud` and is an `f` whose low 13 bits do not count.
"""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.ir import Rounding, Value
from eumu.isa.kinds import Dst, Meaning, Src
from eumu.isa.limits import Limits, row, since
from eumu.isa.spec import Fidelity
from eumu.isa.visa.registry import opcode
from eumu.types import HF, UB, UD, UQ, UW, F, Type

RNE = Rounding.RNE
PVC = since("pvc")
FCVT_TYPES = row((UB,), (HF,)) + row((HF,), (UB,)) + row((UD,), (F,)) + row((F,), (UD,))
SRND_TYPES = row((HF,), (F,)) + row((UB,), (HF,))
REGISTERS = Limits(
    modifiers="none", saturation="no", operands={"dst": "g", "src0": "g", "src1": "g"}
)
STOCHASTIC = Fidelity(
    "approximate",
    "the documents do not say where the random bits are added: here the low bits of src1, as many"
    " as a normal result discards, are added to the highest that are discarded",
)


@opcode(
    0x1D,
    "fcvt {exec} {dst} {src0}",
    types=FCVT_TYPES,
    page="FCVT",
    platforms=PVC,
    limits=REGISTERS,
)
def fcvt(b: Meaning, dst: Dst, src0: Src) -> None:
    """dst[i] = src0[i] between bf8 (ub) and hf, or tf32 (ud) and f; rounds to nearest even."""
    kinds = dst.type, src0.type
    if kinds == (HF, UB):
        result = b.bitcast(b.shl(b.convert(src0, UW), b.const(UW, 8, b.width)), HF)
    elif kinds == (UB, HF):
        result = b.convert(_rounded(b, b.bitcast(src0, UW), 8, 0x7C00), UB)
    elif kinds == (UD, F):
        kept = _rounded(b, b.bitcast(src0, UD), 13, 0x7F80_0000)
        result = b.shl(kept, b.const(UD, 13, b.width))
    elif kinds == (F, UD):
        result = b.bitcast(b.and_(src0, b.const(UD, 0xFFFF_E000, b.width)), F)
    else:
        raise Unsupported(f"a conversion from {src0.type} to {dst.type} by fcvt")
    b.put(dst, result, b.mask)


def _rounded(b: Meaning, bits: Value, count: int, infinity: int) -> Value:
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
    "srnd {exec} {dst} {src0} {src1}",
    types=SRND_TYPES,
    page="SRND",
    platforms=PVC,
    limits=REGISTERS,
    fidelity=STOCHASTIC,
)
def srnd(b: Meaning, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i], f as hf or hf as bf8 (ub), rounded up as often as src1[i] is random."""
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


def _stochastic(b: Meaning, src0: Value, src1: Value, format: _Narrowing) -> Value:
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
    b: Meaning, bits: Value, size: Value, infinity: Value, result: Value, format: _Narrowing
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
