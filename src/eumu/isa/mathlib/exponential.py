"""exp2, log2, pow, tanh and sigmoid.

NaN operands reach the result through float arithmetic or a select; integer operations on their
bits, whose payload is not specified, never decide anything.
"""

from __future__ import annotations

from eumu.ir import Builder, Value
from eumu.isa.mathlib.coefficients import (
    EXP2,
    EXP2_DF,
    EXPM1_TWICE,
    HALF_LN2,
    LOG2,
    LOG2_DF,
    LOG2E,
)
from eumu.isa.mathlib.nearest import Nearest, natively
from eumu.types import DF, UD, UQ, D, F

_INF, _NAN = float("inf"), float("nan")
_SIGN = 0x80000000
_MANTISSA = 0x007FFFFF
_SQRT_HALF_BITS = 0x3F3504F3
_LEAST_NORMAL = 2.0**-126
_DENORMAL_SCALE = 24  # a power of two that makes every denormal normal
# x + _ROUND is _ROUND + k for the integer k nearest to x; its low nine bits are k + 254.
_ROUND = 1.5 * 2**23 + 254


@natively(F)
def exp2(b: Builder, x: Value) -> Value:
    """2**x; +0 for -inf, denormals below -126, +inf from 128 on."""
    n = Nearest(b, F, x.width)
    x = n.at_least(n.at_most(x, 128.0), -151.0)
    rounded = n.add(x, _ROUND)
    return _two_to(n, n.sub(x, n.sub(rounded, _ROUND)), rounded)


def _two_to(n: Nearest, fraction: Value, rounded: Value) -> Value:
    """2**(k + fraction), with `rounded` = _ROUND + k, -151 <= k <= 128, |fraction| <= 1/2.

    The scale is two factors, about 2**(k/2) each: the first product is exact and normal, so that
    the second one is the only rounding of a denormal result.
    """
    b = n.b
    bits = b.bitcast(rounded, UD)
    half = b.shr(bits, n.integer(UD, 1))
    low = b.bitcast(b.shl(half, n.integer(UD, 23)), F)
    high = b.bitcast(b.shl(b.sub(bits, half), n.integer(UD, 23)), F)
    power = n.fma(fraction, n.polynomial(fraction, EXP2), 1.0)
    return n.mul(n.mul(power, low), high)


def _split(n: Nearest, x: Value) -> tuple[Value, Value]:
    """(e, f) with x = 2**e * (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), for positive finite x."""
    b = n.b
    small = n.cmp("lt", x, _LEAST_NORMAL)
    bits = b.bitcast(n.select(small, n.mul(x, 2.0**_DENORMAL_SCALE), x), D)
    base = b.select(
        small,
        n.integer(D, _SQRT_HALF_BITS + (_DENORMAL_SCALE << 23)),
        n.integer(D, _SQRT_HALF_BITS),
    )
    above = b.sub(bits, base)
    mantissa = b.add(b.and_(above, n.integer(D, _MANTISSA)), n.integer(D, _SQRT_HALF_BITS))
    exponent = n.convert(b.shr(above, n.integer(D, 23)))
    return exponent, n.sub(b.bitcast(mantissa, F), 1.0)


@natively(F)
def log2(b: Builder, x: Value) -> Value:
    """log2(x); -inf for a zero of either sign, NaN below zero."""
    n = Nearest(b, F, x.width)
    exponent, f = _split(n, x)
    result = n.fma(f, n.polynomial(f, LOG2), exponent)
    finite = n.select(n.cmp("lt", x, _INF), result, x)
    other = n.select(n.cmp("eq", x, 0.0), -_INF, _NAN)
    return n.select(n.cmp("gt", x, 0.0), finite, other)


@natively(F)
def pow(b: Builder, x: Value, y: Value) -> Value:
    """x**y as 2**(y * log2(x)), in DF: the product may be 150 and must be right to 2**-25.

    NaN if an operand is NaN, if x is below zero (whatever y is), and for 1**inf; x**0 is 1 for
    every other x, zero and inf among them.  -0 counts as +0.
    """
    f, df = Nearest(b, F, x.width), Nearest(b, DF, x.width)
    exponent, fraction = _split(f, x)
    exponent = f.select(f.cmp("ge", x, 0.0), exponent, _NAN)
    wide = df.convert(fraction)
    log = df.fma(wide, df.polynomial(wide, LOG2_DF), df.convert(exponent))
    # Finite stand-ins for infinities: times 0 they give 0, times the least denormal still a lot.
    log = df.select(f.cmp("eq", x, 0.0), -(2.0**1000), log)
    log = df.select(f.cmp("eq", x, _INF), 2.0**1000, log)
    product = df.mul(df.convert(y), log)
    product = df.at_least(df.at_most(product, 200.0), -200.0)
    return f.convert(_two_to_wide(df, product))


def _two_to_wide(n: Nearest, x: Value) -> Value:
    """2**x for |x| <= 200, in DF and good to F's precision."""
    rounding = 1.5 * 2**52 + 1023  # makes the low bits of `rounded` 2**k's exponent field
    rounded = n.add(x, rounding)
    fraction = n.sub(x, n.sub(rounded, rounding))
    power = n.fma(fraction, n.polynomial(fraction, EXP2_DF), 1.0)
    scale = n.b.shl(n.b.bitcast(rounded, UQ), n.integer(UQ, 52))
    return n.mul(power, n.b.bitcast(scale, DF))


@natively(F)
def tanh(b: Builder, x: Value) -> Value:
    """tanh(x) = E/(E+2) with E = exp(2|x|)-1, and x's sign; keeps -0 and denormals."""
    n = Nearest(b, F, x.width)
    a = n.at_most(b.abs(x), 10.0)  # tanh(10) is 1 to F's precision
    rounding = 1.5 * 2**23 + 127
    rounded = n.fma(a, 2 * LOG2E[0], rounding)
    k = n.sub(rounded, rounding)
    r = n.fma(k, -HALF_LN2[1], n.fma(k, -HALF_LN2[0], a))
    scale = b.bitcast(b.shl(b.bitcast(rounded, UD), n.integer(UD, 23)), F)
    power = n.fma(n.mul(r, r), n.polynomial(r, EXPM1_TWICE), n.add(r, r))
    power = n.fma(power, scale, n.sub(scale, 1.0))
    quotient = b.bitcast(n.div(power, n.add(power, 2.0)), UD)
    return b.bitcast(b.or_(quotient, b.and_(b.bitcast(x, UD), n.integer(UD, _SIGN))), F)


@natively(F)
def sigmoid(b: Builder, x: Value) -> Value:
    """1/(1 + exp(-x)), computed from exp(-|x|), so that it falls to denormals for x below -87."""
    n = Nearest(b, F, x.width)
    a = b.neg(n.at_most(b.abs(x), 105.0))
    rounded = n.fma(a, LOG2E[0], _ROUND)
    k = n.sub(rounded, _ROUND)
    fraction = n.fma(a, LOG2E[1], n.fma(a, LOG2E[0], b.neg(k)))
    e = _two_to(n, fraction, rounded)
    return n.div(n.select(n.cmp("lt", x, 0.0), e, 1.0), n.add(e, 1.0))
