"""Double arithmetic on exact integers: slow, and right for every exponent.

For the lanes whose error terms NumPy cannot represent.  Arguments are finite floats (and a divisor
or radicand is not zero); a value is ``mantissa * 2**exponent``.
"""

from __future__ import annotations

import math
import sys

from eumu.ir import Rounding

_LEAST = -1074  # exponent of the least denormal double
_MAX = sys.float_info.max
_EXTRA = 130  # bits of a quotient or root beyond what rounding can need


def mul(x: float, y: float, rounding: Rounding) -> float:
    (mx, ex), (my, ey) = _parts(x), _parts(y)
    if mx * my == 0:
        return x * y
    return _rounded(mx * my, ex + ey, False, rounding)


def div(x: float, y: float, rounding: Rounding) -> float:
    (mx, ex), (my, ey) = _parts(x), _parts(y)
    if mx == 0:
        return x / y
    whole, rest = divmod(abs(mx) << _EXTRA, abs(my))
    signed = -whole if (mx < 0) != (my < 0) else whole
    return _rounded(signed, ex - ey - _EXTRA, rest != 0, rounding)


def sqrt(x: float, rounding: Rounding) -> float:
    mx, ex = _parts(x)
    if mx <= 0:
        return math.sqrt(x) if x == 0 else math.nan
    shift = _EXTRA + (ex & 1)
    scaled = mx << shift
    root = math.isqrt(scaled)
    return _rounded(root, (ex - shift) // 2, root * root != scaled, rounding)


def fma(x: float, y: float, z: float, rounding: Rounding) -> float:
    (mx, ex), (my, ey), (mz, ez) = _parts(x), _parts(y), _parts(z)
    product, exponent = mx * my, ex + ey
    least = min(exponent, ez)
    total = (product << (exponent - least)) + (mz << (ez - least))
    if total == 0:
        signs = {math.copysign(1, x) * math.copysign(1, y), math.copysign(1, z)}
        opposite = product != 0 or len(signs) == 2
        negative = rounding is Rounding.RD if opposite else signs == {-1.0}
        return -0.0 if negative else 0.0
    return _rounded(total, least, False, rounding)


def _parts(x: float) -> tuple[int, int]:
    fraction, exponent = math.frexp(x)
    return int(math.ldexp(fraction, 53)), exponent - 53


def _rounded(mantissa: int, exponent: int, sticky: bool, rounding: Rounding) -> float:
    """The double nearest to mantissa*2**exponent, plus a little more away from 0 if `sticky`."""
    sign = -1.0 if mantissa < 0 else 1.0
    size = abs(mantissa)
    shift = max(size.bit_length() - 53, _LEAST - exponent, 0)
    kept = size >> shift
    rest = size & ((1 << shift) - 1)
    if _away(kept, rest, shift, sticky, sign, rounding):
        kept += 1
    try:
        return sign * math.ldexp(kept, exponent + shift)
    except OverflowError:
        inward = rounding is Rounding.RTZ or rounding is _INWARD[sign]
        return sign * (_MAX if inward else math.inf)


_INWARD = {1.0: Rounding.RD, -1.0: Rounding.RU}


def _away(kept: int, rest: int, shift: int, sticky: bool, sign: float, rounding: Rounding) -> bool:
    if rest == 0 and not sticky:
        return False
    if rounding is Rounding.RNE:
        half = 1 << (shift - 1) if shift else 1
        return rest > half or (rest == half and (sticky or kept & 1 == 1))
    return rounding is (Rounding.RU if sign > 0 else Rounding.RD)
