"""sin and cos of radians, in F.

|x| <= 2**17 is reduced by a multiple of pi/2 in three parts.  The error of that multiple itself
grows with |x|, so that the quality fades out beyond (see `BOUNDS`), until the remainder exceeds
`_REACH`: then it counts as 0.  Results are always in [-1, 1].
"""

from __future__ import annotations

import math

from eumu.ir import Builder, Value
from eumu.isa.mathlib.coefficients import COS, HALF_PI, SIN
from eumu.isa.mathlib.nearest import Nearest, natively
from eumu.types import UD, D, F

_SIGN = 0x80000000
_ROUND = 1.5 * 2**23  # x + _ROUND is _ROUND + k for the integer k nearest to x
_REACH = 1.7  # a greater remainder comes from an argument too large for the reduction


@natively(F)
def sin(b: Builder, x: Value) -> Value:
    """sin(x): NaN for an infinity; keeps -0 and denormals."""
    n = Nearest(b, F, x.width)
    remainder, quadrant = _reduce(n, b.abs(x))  # of |x|, as the polynomial loses the sign of 0
    return _quarter_wave(n, remainder, quadrant, b.bitcast(x, UD))


@natively(F)
def cos(b: Builder, x: Value) -> Value:
    """cos(x) = sin(x + pi/2): NaN for an infinity."""
    n = Nearest(b, F, x.width)
    remainder, quadrant = _reduce(n, x)
    return _quarter_wave(n, remainder, b.add(quadrant, n.integer(UD, 1)), None)


def _reduce(n: Nearest, x: Value) -> tuple[Value, Value]:
    """(x - k*pi/2, an integer whose low two bits are k's), for the k that makes it small."""
    rounded = n.fma(x, 2 / math.pi, _ROUND)
    k = n.sub(rounded, _ROUND)
    r = x
    for part in HALF_PI:
        r = n.fma(k, -part, r)
    return n.select(n.cmp("gt", n.b.abs(r), _REACH), 0.0, r), n.b.bitcast(rounded, UD)


def _quarter_wave(n: Nearest, r: Value, quadrant: Value, signs: Value | None) -> Value:
    """sin(r + quadrant*pi/2), negated where the sign bit of `signs` is set."""
    b = n.b
    s = n.mul(r, r)
    sine = n.fma(r, n.mul(s, n.polynomial(s, SIN)), r)
    cosine = n.fma(s, n.polynomial(s, COS), 1.0)
    odd = b.bitcast(b.shl(quadrant, n.integer(UD, 31)), D)
    wave = b.select(b.cmp("lt", odd, n.integer(D, 0)), cosine, sine)
    negative = b.shl(quadrant, n.integer(UD, 30))
    if signs is not None:
        negative = b.xor(negative, signs)
    return b.bitcast(b.xor(b.bitcast(wave, UD), b.and_(negative, n.integer(UD, _SIGN))), F)
