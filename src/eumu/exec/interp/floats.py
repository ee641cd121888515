"""Float arithmetic in all four roundings: correctly rounded, from NumPy's round-to-nearest.

`hf` and `f` are computed in float64, whose result is exact or *rounded to odd* (truncated, with
the last bit set if inexact; Boldo and Melquiond 2008), and then narrowed once.  `df` uses
error-free transforms where their intermediate results cannot overflow or underflow, and exact
integers (:mod:`eumu.exec.interp.exact`) for the other lanes.  The arrays of an operation have one
dtype and shapes that broadcast.  Callers silence NumPy's floating-point warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.exec.interp import exact
from eumu.ir import Rounding

Floats = NDArray[Any]
Doubles = NDArray[np.float64]
RNE, RU, RD, RTZ = Rounding.RNE, Rounding.RU, Rounding.RD, Rounding.RTZ

_TOWARD = {RU: np.inf, RD: -np.inf, RTZ: 0.0}
_SPLITTER = float(2**27 + 1)
# Exponents between which no product, error term or residual of doubles leaves the normal range.
_SMALL, _LARGE = 2.0**-480, 2.0**480


def add(x: Floats, y: Floats, rounding: Rounding) -> Floats:
    if rounding is RNE:
        return x + y
    if x.dtype == np.float64:
        return _settle(*_two_sum(x, y), rounding, x, y)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    return narrow(_zero_sign(_add_odd(wide_x, wide_y), rounding, x, y), x.dtype, rounding)


def sub(x: Floats, y: Floats, rounding: Rounding) -> Floats:
    return x - y if rounding is RNE else add(x, np.negative(y), rounding)


def mul(x: Floats, y: Floats, rounding: Rounding) -> Floats:
    if rounding is RNE:
        return x * y
    if x.dtype == np.float64:
        return _directed(x * y, _two_product(x, y)[1], exact.mul, rounding, x, y)
    return narrow(x.astype(np.float64) * y.astype(np.float64), x.dtype, rounding)


def div(x: Floats, y: Floats, rounding: Rounding) -> Floats:
    if rounding is RNE:
        return x / y
    if x.dtype == np.float64:
        quotient = x / y
        error = _residual(x, quotient, y) * np.sign(y)
        return _directed(quotient, error, exact.div, rounding, x, y)
    # A quotient of two 24-bit numbers is a 25-bit number or at least 2**-49 from every one, so its
    # float64 lies on the same side of it.  Square roots likewise.
    return narrow(x.astype(np.float64) / y.astype(np.float64), x.dtype, rounding)


def sqrt(x: Floats, rounding: Rounding) -> Floats:
    if rounding is RNE:
        return np.asarray(np.sqrt(x))
    if x.dtype == np.float64:
        root = np.sqrt(x)
        return _directed(root, _residual(x, root, root), exact.sqrt, rounding, x)
    return narrow(np.sqrt(x.astype(np.float64)), x.dtype, rounding)


def fma(x: Floats, y: Floats, z: Floats, rounding: Rounding) -> Floats:
    """x*y+z rounded once."""
    if x.dtype == np.float64:
        return _fma_double(x, y, z, rounding)
    product = np.multiply(x, y, dtype=np.float64)
    wide_z = z.astype(np.float64)
    if rounding is RNE and x.dtype == np.float32:
        total = product + wide_z
        near = total.astype(np.float32)
        if _rounds_once(total, near):
            return near
    total = _zero_sign(_add_odd(product, wide_z), rounding, product, wide_z)
    return narrow(total, x.dtype, rounding)


def _rounds_once(total: Doubles, near: Floats) -> bool:
    """Whether float32 `near` is right although it comes from a rounded double.

    Rounding twice is wrong only where the first result is a tie of the second rounding.
    """
    ties = (total.view(np.uint64) & np.uint64(0x1FFF_FFFF)) == np.uint64(0x1000_0000)
    if ties.any():
        return False
    tiny = np.abs(near) <= np.float32(2.0**-126)
    return not (tiny.any() and (tiny & (total != 0)).any())


def round_integral(x: Floats, rounding: Rounding) -> Floats:
    return _INTEGRAL[rounding](x)


_INTEGRAL: dict[Rounding, Callable[[Floats], Floats]] = {
    RNE: np.rint,
    RU: np.ceil,
    RD: np.floor,
    RTZ: np.trunc,
}


def flush(x: Floats) -> Floats:
    """Denormals become zeros of their sign."""
    tiny = np.finfo(x.dtype).smallest_normal
    denormal = (np.abs(x) < tiny) & (x != 0)
    return np.where(denormal, np.copysign(x.dtype.type(0), x), x) if denormal.any() else x


def narrow(x: Doubles, dtype: np.dtype[Any], rounding: Rounding) -> Floats:
    """Exact or rounded-to-odd doubles as float16, float32 or float64."""
    near = x.astype(dtype)
    if rounding is RNE or dtype == np.float64:
        return near
    back = near.astype(np.float64)
    if rounding is RTZ:
        wrong = np.abs(back) > np.abs(x)
    else:
        wrong = back < x if rounding is RU else back > x
    return np.where(wrong, np.nextafter(near, dtype.type(_TOWARD[rounding])), near)


# ---- conversions


def from_int(x: NDArray[Any], dtype: np.dtype[Any], rounding: Rounding) -> Floats:
    """Integers of any width as floats."""
    if x.dtype.itemsize < 8:
        return narrow(x.astype(np.float64), dtype, rounding)
    if dtype == np.float64 and rounding is RNE:
        return x.astype(dtype)
    high = (x >> x.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (x & x.dtype.type(0xFFFF_FFFF)).astype(np.float64)
    if dtype == np.float64:
        return add(high, low, rounding)
    return narrow(_add_odd(high, low), dtype, rounding)


def to_int(x: Floats, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Toward zero, clamped to the integer type; NaN is 0."""
    limits = np.iinfo(dtype)
    wide = x.astype(np.float64)
    above, below = wide >= float(limits.max), wide <= float(limits.min)
    whole = np.where(above | below | np.isnan(wide), 0.0, wide).astype(dtype)
    clamped = np.where(above, dtype.type(limits.max), whole)
    return np.where(below, dtype.type(limits.min), clamped)


def to_float(x: Floats, dtype: np.dtype[Any], rounding: Rounding) -> Floats:
    """Between float16, float32 and float64."""
    if dtype.itemsize >= x.dtype.itemsize or rounding is RNE:
        return x.astype(dtype)
    return narrow(x.astype(np.float64), dtype, rounding)


def to_bf16(x: NDArray[np.float32], rounding: Rounding) -> NDArray[np.uint16]:
    """float32 to the bits of bfloat16, which is the upper half of float32."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    kept, rest = bits >> np.uint32(16), bits & np.uint32(0xFFFF)
    if rounding is RNE:
        up = (rest > 0x8000) | ((rest == 0x8000) & ((kept & np.uint32(1)) == 1))
    elif rounding is RTZ:
        up = np.zeros(bits.shape, bool)
    else:
        up = (rest != 0) & (np.signbit(x) == (rounding is RD))
    rounded = np.where(np.isnan(x), kept | np.uint32(0x40), kept + up.astype(np.uint32))
    return rounded.astype(np.uint16)


def from_bf16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


# ---- doubles: error-free transforms, and exact integers outside their range


def _two_sum(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """The rounded sum and its exact error; no step overflows unless the sum does."""
    total = x + y
    swap = np.abs(x) < np.abs(y)
    large, small = np.where(swap, y, x), np.where(swap, x, y)
    return total, small - (total - large)


def _two_product(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """The rounded product and its exact error, for factors in the safe range (Dekker)."""
    product = x * y
    (xh, xl), (yh, yl) = _split(x), _split(y)
    return product, ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def _split(x: Doubles) -> tuple[Doubles, Doubles]:
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _residual(x: Doubles, y: Doubles, z: Doubles) -> Doubles:
    """x - y*z, which is a double if y is a rounded quotient or square root of x."""
    product, error = _two_product(y, z)
    return (x - product) - error


def _add_odd(x: Doubles, y: Doubles) -> Doubles:
    """x+y rounded to odd."""
    total, error = _two_sum(x, y)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    fix = even & (error != 0) & np.isfinite(total)
    if not fix.any():
        return total
    return np.where(fix, np.nextafter(total, np.copysign(np.inf, error)), total)


def _zero_sign(total: Doubles, rounding: Rounding, x: Floats, y: Floats) -> Doubles:
    """Toward -infinity the zero sum of anything but two +0 is -0."""
    if rounding is not RD:
        return total
    return np.where((total == 0) & (np.signbit(x) | np.signbit(y)), -0.0, total)


def _settle(near: Doubles, error: Doubles, rounding: Rounding, x: Doubles, y: Doubles) -> Doubles:
    """The sum of x and y from its nearest value and exact error."""
    return _corrected(_zero_sign(near, rounding, x, y), error, rounding)


def _corrected(near: Doubles, error: Doubles, rounding: Rounding) -> Doubles:
    """A nearest result moved to its neighbour where its exact error says so."""
    if rounding is RNE:
        return near
    if rounding is RTZ:
        wrong = ((error < 0) & (near > 0)) | ((error > 0) & (near < 0))
    else:
        wrong = error > 0 if rounding is RU else error < 0
    return np.where(wrong, np.nextafter(near, _TOWARD[rounding]), near)


def _directed(
    near: Doubles,
    error: Doubles,
    scalar: Callable[..., float],
    rounding: Rounding,
    *args: Doubles,
) -> Doubles:
    result = _corrected(near, error, rounding)
    return _with_exact(result, np.isinf(near), scalar, rounding, *args)


def _with_exact(
    result: Doubles,
    suspect: NDArray[np.bool_],
    scalar: Callable[..., float],
    rounding: Rounding,
    *args: Doubles,
) -> Doubles:
    """`result`, with the lanes that are `suspect` or out of the safe range done in integers."""
    hard, finite = suspect, np.ones((), bool)
    for x in args:
        size = np.abs(x)
        hard = hard | ((size < _SMALL) & (size > 0)) | (size > _LARGE)
        finite = finite & np.isfinite(x)
    hard = hard & finite
    if scalar is exact.div:
        hard = hard & (args[1] != 0)
    if not hard.any():
        return result
    result = np.array(result)
    lanes = np.broadcast_arrays(*args)
    for index in zip(*np.nonzero(hard), strict=True):
        result[index] = scalar(*(float(x[index]) for x in lanes), rounding)
    return result


def _fma_double(x: Doubles, y: Doubles, z: Doubles, rounding: Rounding) -> Doubles:
    product, low = _two_product(x, y)
    high, low_error = _two_sum(z, low)
    total, total_error = _two_sum(product, high)
    near, error = _two_sum(total, _add_odd(low_error, total_error))
    plain = product + z
    simple = (near == 0) | ~(np.isfinite(x) & np.isfinite(y))
    result = _corrected(near, error, rounding)
    result = np.where(simple, _zero_sign(plain, rounding, product, z), result)
    result = np.where(np.isfinite(z) | simple, result, z)
    return _with_exact(result, np.zeros((), bool), exact.fma, rounding, x, y, z)
