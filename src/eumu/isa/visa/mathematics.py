"""Functions of float elements: roots, powers, trigonometry, rounding to integral values.

Their IR comes from :mod:`eumu.isa.mathlib`, so that every engine gives the same bits; the measured
error bounds stand there.  The hardware's own results differ within the bounds of the PRM.
"""

from __future__ import annotations

from collections.abc import Callable

from eumu.ir import Rounding, Value
from eumu.isa import mathlib
from eumu.isa.kinds import Dst, Exec, InstBuilder, Pred, Src
from eumu.isa.limits import since
from eumu.isa.mathlib.bounds import fidelity
from eumu.isa.mathlib.integers import fraction
from eumu.isa.spec import EXACT
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import DF

XE3P = since("nvlp")
_MATH = maps.FLOAT + maps.BFLOAT_MATH


def _unary(
    number: int, name: str, function: Callable[[InstBuilder, Value], Value], doc: str, **row: object
) -> None:
    def body(b: InstBuilder, exec: Exec, pred: Pred, dst: Dst, src0: Src) -> None:
        b.write(dst, function(b, src0))

    body.__name__ = name
    template = f"{{pred}}{name}{{dst.sat}} {{exec}} {{dst}} {{src0}}"
    opcode(number, template, page=name.upper(), doc=doc, **row)(body)  # type: ignore[arg-type]


def _root(b: InstBuilder, x: Value) -> Value:
    """A root that rounds as %cr0 says: the last step of a sequence of instructions does."""
    return b.sqrt(x)


def _inverse_of_any(b: InstBuilder, x: Value) -> Value:
    """Of a :df such a sequence; the math unit rounds to nearest."""
    return b.div(b.const(DF, 1.0, x.width), x) if x.type is DF else mathlib.inv(b, x)


def _root_of_any(b: InstBuilder, x: Value) -> Value:
    return _root(b, x) if x.type is DF else mathlib.sqrt(b, x)


def _integral(rounding: Rounding) -> Callable[[InstBuilder, Value], Value]:
    return lambda b, x: b.round(x, rounding)


_unary(0x08, "exp", mathlib.exp2, "dst[i] = 2 to the power src0[i].",
       types=_MATH, fidelity=fidelity("exp2"))  # fmt: skip
_unary(0x0B, "log", mathlib.log2, "dst[i] = binary logarithm of src0[i].",
       types=_MATH, fidelity=fidelity("log2"))  # fmt: skip
_unary(0x17, "sin", mathlib.sin, "dst[i] = sine of src0[i] radians.",
       types=_MATH, fidelity=fidelity("sin"))  # fmt: skip
_unary(0x18, "cos", mathlib.cos, "dst[i] = cosine of src0[i] radians.",
       types=_MATH, fidelity=fidelity("cos"))  # fmt: skip
_unary(0x19, "sqrt", _root_of_any, "dst[i] = square root of src0[i], correctly rounded.",
       types=maps.SQRT + maps.BFLOAT_MATH, fidelity=fidelity("sqrt"))  # fmt: skip
_unary(0x1A, "rsqrt", mathlib.rsqrt, "dst[i] = 1 / square root of src0[i].",
       types=_MATH, fidelity=fidelity("rsqrt"))  # fmt: skip
_unary(0x1B, "inv", _inverse_of_any, "dst[i] = 1 / src0[i], correctly rounded.",
       types=maps.FLOAT_OR_DOUBLE + maps.BFLOAT_MATH, fidelity=fidelity("inv"))  # fmt: skip
_unary(0x7E, "sqrtm", _root, "dst[i] = square root of src0[i], correctly rounded.",
       types=maps.IEEE_FLOAT, fidelity=EXACT)  # fmt: skip
_unary(0x96, "tanh", mathlib.tanh, "dst[i] = hyperbolic tangent of src0[i].",
       types=_MATH, platforms=XE3P, fidelity=fidelity("tanh"))  # fmt: skip
_unary(0x97, "sigm", mathlib.sigmoid, "dst[i] = 1 / (1 + exp(-src0[i])).",
       types=_MATH, platforms=XE3P, fidelity=fidelity("sigmoid"))  # fmt: skip
_unary(0x09, "frc", fraction, "dst[i] = src0[i] - floor(src0[i]), always below 1.",
       types=maps.SINGLE, limits=maps.UNSATURATED)  # fmt: skip
_unary(0x12, "rndd", _integral(Rounding.RD), "dst[i] = src0[i] rounded down.",
       types=maps.SINGLE)  # fmt: skip
_unary(0x13, "rndu", _integral(Rounding.RU), "dst[i] = src0[i] rounded up.",
       types=maps.SINGLE)  # fmt: skip
_unary(0x14, "rnde", _integral(Rounding.RNE), "dst[i] = src0[i] rounded to the nearest even.",
       types=maps.SINGLE)  # fmt: skip
_unary(0x15, "rndz", _integral(Rounding.RTZ), "dst[i] = src0[i] rounded toward zero.",
       types=maps.SINGLE)  # fmt: skip


@opcode(
    0x11,
    "{pred}pow{dst.sat} {exec} {dst} {src0} {src1}",
    types=maps.FLOAT,
    page="POW",
    fidelity=fidelity("pow"),
)
def pow(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] to the power src1[i]; NaN for a negative base, 1 for an exponent 0."""
    x, y = b.promote(src0, src1)
    b.write(dst, mathlib.pow(b, x, y))
