"""Correct rounding from exact rationals: what float arithmetic must give, said independently."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from eumu.ir import Rounding


@cache
def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


@dataclass(frozen=True)
class Format:
    """A binary float format: bits of precision, least and greatest exponent of a normal number."""

    precision: int
    least: int
    greatest: int

    @property
    def maximum(self) -> Fraction:
        return (2 - power(1 - self.precision)) * power(self.greatest)


HALF, SINGLE, DOUBLE = Format(11, -14, 15), Format(24, -126, 127), Format(53, -1022, 1023)


def _floor_exponent(x: Fraction) -> int:
    """The e with 2**e <= x < 2**(e+1)."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if power(e) <= x else e - 1


def rounded(x: Fraction, rounding: Rounding, form: Format) -> float:
    """x, not zero, as a number of the format (every one of which is a Python float)."""
    size, negative = abs(x), x < 0
    step = power(max(_floor_exponent(size), form.least) - form.precision + 1)
    below = math.floor(size / step)
    rest = size / step - below
    if rounding is Rounding.RNE:
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
    else:
        up = rest > 0 and rounding is (Rounding.RD if negative else Rounding.RU)
    result = (below + up) * step
    if result > form.maximum:
        inward = rounding in (Rounding.RTZ, Rounding.RU if negative else Rounding.RD)
        number = float(form.maximum) if inward else math.inf
    else:
        number = float(result)
    return -number if negative else number


def square_root(x: Fraction, rounding: Rounding, form: Format) -> float:
    """The rounded root of a positive x: a rational so near to it that no boundary lies between."""
    scale = 4 ** (form.precision + 700)
    root = math.isqrt(x.numerator * scale // x.denominator)
    exact = Fraction(root * root) * x.denominator == x.numerator * scale
    near = Fraction(root, 2 ** (form.precision + 700))
    if not exact:
        near += Fraction(1, 2 ** (form.precision + 702))
    return rounded(near, rounding, form)
