"""Division, reciprocal and roots: the IR has them correctly rounded, in F and DF.

HF is computed as F: with more than twice its digits, the second rounding cannot hurt a quotient
or a root; nor does it hurt any `rsqrt`, as a sweep over every HF shows.
"""

from __future__ import annotations

from eumu.ir import Builder, Value
from eumu.isa.mathlib.nearest import Nearest, natively
from eumu.types import DF, F


@natively(F, DF)
def divide(b: Builder, x: Value, y: Value) -> Value:
    """x/y correctly rounded."""
    return Nearest(b, x.type, x.width).div(x, y)


@natively(F, DF)
def inv(b: Builder, x: Value) -> Value:
    """1/x correctly rounded; an infinity of x's sign for a zero."""
    return Nearest(b, x.type, x.width).div(1.0, x)


@natively(F, DF)
def sqrt(b: Builder, x: Value) -> Value:
    """The square root, correctly rounded; -0 for -0, NaN below."""
    return Nearest(b, x.type, x.width).sqrt(x)


@natively(F, DF)
def rsqrt(b: Builder, x: Value) -> Value:
    """1/sqrt(x), rounded twice; an infinity of x's sign for a zero, NaN below."""
    n = Nearest(b, x.type, x.width)
    return n.div(1.0, n.sqrt(x))
