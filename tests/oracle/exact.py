"""Correctly rounded float arithmetic on rational numbers: the oracle for every float type.

A float is its bit pattern.  Written from the definition of IEEE 754 formats, for any width.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt


@dataclass(frozen=True)
class Format:
    """An IEEE binary format: precision with the hidden bit, greatest exponent."""

    bits: int
    precision: int
    emax: int

    @property
    def emin(self) -> int:
        return 1 - self.emax

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        return ((2 * self.emax + 1) << (self.precision - 1)) & (self.sign - 1)

    @property
    def nan(self) -> int:
        return self.infinity | 1 << (self.precision - 2)

    def is_nan(self, x: int) -> bool:
        return x & (self.sign - 1) > self.infinity

    def is_inf(self, x: int) -> bool:
        return x & (self.sign - 1) == self.infinity

    def is_zero(self, x: int) -> bool:
        return x & (self.sign - 1) == 0

    def value(self, x: int) -> Fraction:
        """The number that a finite pattern stands for."""
        field = x & (self.sign - 1)
        exponent, mantissa = field >> (self.precision - 1), field & ((1 << self.precision - 1) - 1)
        if exponent:
            mantissa |= 1 << (self.precision - 1)
        scale = max(exponent, 1) - self.emax - (self.precision - 1)
        number = Fraction(mantissa) * Fraction(2) ** scale
        return -number if x & self.sign else number

    def round(self, exact: Fraction, mode: str = "rne", zero_sign: int = 0) -> int:
        """The pattern nearest to an exact number; `zero_sign` is the sign bit of an exact zero."""
        if exact == 0:
            return zero_sign
        sign = self.sign if exact < 0 else 0
        magnitude = abs(exact)
        exponent = max(_floor_log2(magnitude), self.emin)
        ulp = Fraction(2) ** (exponent - self.precision + 1)
        units, rest = divmod(magnitude, ulp)
        units = int(units) + _up(rest / ulp, int(units), mode, bool(sign))
        largest = (2**self.precision - 1) * Fraction(2) ** (self.emax - self.precision + 1)
        if units * ulp > largest:
            toward = mode == "rtz" or (mode == "ru" and sign) or (mode == "rd" and not sign)
            return sign | (self.infinity - 1 if toward else self.infinity)
        return sign | self._pattern(units, exponent)

    def _pattern(self, units: int, exponent: int) -> int:
        """units * 2**(exponent - precision + 1) as exponent and mantissa fields."""
        if units >= 1 << self.precision:
            units, exponent = units >> 1, exponent + 1
        if units < 1 << (self.precision - 1):
            return units
        return (
            ((exponent + self.emax) << (self.precision - 1)) + units - (1 << (self.precision - 1))
        )


def _floor_log2(x: Fraction) -> int:
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def _up(rest: Fraction, units: int, mode: str, negative: bool) -> int:
    """Whether the magnitude goes up by one unit."""
    if mode == "rne":
        return int(rest > Fraction(1, 2) or (rest == Fraction(1, 2) and units % 2 == 1))
    if mode == "rtz" or rest == 0:
        return 0
    return int(negative == (mode == "rd"))


FORMATS = {
    "hf": Format(16, 11, 15),
    "bf": Format(16, 8, 127),
    "f": Format(32, 24, 127),
    "df": Format(64, 53, 1023),
}


def add(f: Format, x: int, y: int, mode: str = "rne") -> int:
    """x + y."""
    if f.is_nan(x) or f.is_nan(y) or (f.is_inf(x) and f.is_inf(y) and x != y):
        return f.nan
    if f.is_inf(x) or f.is_inf(y):
        return x if f.is_inf(x) else y
    both = x & y & f.sign
    zero = both if f.is_zero(x) and f.is_zero(y) and x == y else (f.sign if mode == "rd" else 0)
    return f.round(f.value(x) + f.value(y), mode, zero)


def mul(f: Format, x: int, y: int, mode: str = "rne") -> int:
    """x * y."""
    sign = (x ^ y) & f.sign
    if (
        f.is_nan(x)
        or f.is_nan(y)
        or (f.is_inf(x) and f.is_zero(y))
        or (f.is_zero(x) and f.is_inf(y))
    ):
        return f.nan
    if f.is_inf(x) or f.is_inf(y):
        return sign | f.infinity
    return f.round(f.value(x) * f.value(y), mode, sign)


def fma(f: Format, x: int, y: int, z: int, mode: str = "rne") -> int:
    """x * y + z with one rounding."""
    product = mul(f, x, y)
    if f.is_nan(product) or f.is_nan(z):
        return f.nan
    sign = (x ^ y) & f.sign
    if f.is_inf(x) or f.is_inf(y):
        return f.nan if f.is_inf(z) and z & f.sign != sign else sign | f.infinity
    if f.is_inf(z):
        return z
    exact = f.value(x) * f.value(y) + f.value(z)
    zeros = (f.is_zero(x) or f.is_zero(y)) and f.is_zero(z) and sign == z & f.sign
    return f.round(exact, mode, sign if zeros else (f.sign if mode == "rd" else 0))


def div(f: Format, x: int, y: int, mode: str = "rne") -> int:
    """x / y."""
    sign = (x ^ y) & f.sign
    if f.is_nan(x) or f.is_nan(y):
        return f.nan
    if (f.is_inf(x) and f.is_inf(y)) or (f.is_zero(x) and f.is_zero(y)):
        return f.nan
    if f.is_inf(x) or f.is_zero(y):
        return sign | f.infinity
    if f.is_inf(y) or f.is_zero(x):
        return sign
    return f.round(f.value(x) / f.value(y), mode, sign)


def sqrt(f: Format, x: int, mode: str = "rne") -> int:
    """The square root, correctly rounded."""
    if f.is_nan(x) or (x & f.sign and not f.is_zero(x)):
        return f.nan
    if f.is_inf(x) or f.is_zero(x):
        return x
    exact = f.value(x)
    # A root with 80 bits more than needed, and a sticky bit below them, rounds as the exact one.
    shift = 2 * (f.precision + 80)
    scale = shift - _floor_log2(exact) // 2 * 2
    scaled = exact * Fraction(2) ** scale
    root = isqrt(int(scaled))
    sticky = Fraction(root) + (Fraction(1, 2) if Fraction(root) ** 2 != scaled else 0)
    return f.round(sticky / Fraction(2) ** (scale // 2), mode)


def convert(source: Format, target: Format, x: int, mode: str = "rne") -> int:
    """A float of one format in another."""
    sign = target.sign if x & source.sign else 0
    if source.is_nan(x):
        return target.nan
    if source.is_inf(x):
        return sign | target.infinity
    return target.round(source.value(x), mode, sign)


def same(f: Format, x: int, y: int) -> bool:
    """Equal patterns, or two NaNs."""
    return x == y or (f.is_nan(x) and f.is_nan(y))
