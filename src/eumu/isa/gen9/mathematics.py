"""The functions of the shared math unit, and the macros that begin a division or square root."""

from __future__ import annotations

from dataclasses import replace

from eumu.ir import Rounding, Value
from eumu.isa import mathlib
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.kinds import (
    Dst,
    EarlyOut,
    MacroDst,
    MacroExec,
    MacroSrc0,
    MacroSrc1,
    OnlySrc,
    Opts,
    Src0,
    Src1,
    TernaryOpts,
)
from eumu.isa.gen9.registry import opcode
from eumu.isa.kinds import WritePlace
from eumu.isa.mathlib.bounds import fidelity
from eumu.isa.spec import Fidelity
from eumu.types import BOOL, DF

_ONE = "{exec.pred}math.%s {exec} {dst} {src0} {options}"
_TWO = "{exec.pred}math.%s {exec} {dst} {src0} {src1} {options}"


MACRO = Fidelity("approximate", "the first step gives the final result")
# Code sets the mode to nearest for the steps, and puts back what it was for the last one.
_LAST_STEP = Rounding.KEPT


def _singles(b: Gen9Builder, dst: WritePlace, *sources: Value) -> tuple[Value, ...]:
    """Sources in their common type, :f or :hf."""
    values = b.floats(*sources, to=dst.type)
    if values[0].type is DF:
        raise b.wrong("type", "this function of the math unit takes :f and :hf, not :df")
    return values


@opcode(0x38, _ONE % "inv", sub=1, fidelity=fidelity("inv"), page="Extended Math Function")
def inv(b: Gen9Builder, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = 1 / src0[i]."""
    (x,) = _singles(b, dst, src0)
    b.finish(dst, mathlib.inv(b, x), None, options)


@opcode(0x38, _ONE % "log", sub=2, fidelity=fidelity("log2"), page="Extended Math Function")
def log(b: Gen9Builder, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the binary logarithm of src0[i]."""
    (x,) = _singles(b, dst, src0)
    b.finish(dst, mathlib.log2(b, x), None, options)


@opcode(0x38, _ONE % "exp", sub=3, fidelity=fidelity("exp2"), page="Extended Math Function")
def exp(b: Gen9Builder, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = 2 ** src0[i]."""
    (x,) = _singles(b, dst, src0)
    b.finish(dst, mathlib.exp2(b, x), None, options)


@opcode(0x38, _ONE % "sqt", sub=4, fidelity=fidelity("sqrt"), page="Extended Math Function")
def sqt(b: Gen9Builder, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the square root of src0[i]."""
    (x,) = _singles(b, dst, src0)
    b.finish(dst, mathlib.sqrt(b, x), None, options)


@opcode(0x38, _ONE % "rsqt", sub=5, fidelity=fidelity("rsqrt"), page="Extended Math Function")
def rsqt(b: Gen9Builder, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = 1 / the square root of src0[i]."""
    (x,) = _singles(b, dst, src0)
    b.finish(dst, mathlib.rsqrt(b, x), None, options)


@opcode(0x38, _ONE % "sin", sub=6, fidelity=fidelity("sin"), page="Extended Math Function")
def sin(b: Gen9Builder, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the sine of src0[i] in radians."""
    (x,) = _singles(b, dst, src0)
    b.finish(dst, mathlib.sin(b, x), None, options)


@opcode(0x38, _ONE % "cos", sub=7, fidelity=fidelity("cos"), page="Extended Math Function")
def cos(b: Gen9Builder, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the cosine of src0[i] in radians."""
    (x,) = _singles(b, dst, src0)
    b.finish(dst, mathlib.cos(b, x), None, options)


@opcode(0x38, _TWO % "fdiv", sub=9, fidelity=fidelity("divide"), page="Extended Math Function")
def fdiv(b: Gen9Builder, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = src0[i] / src1[i], floats."""
    x, y = _singles(b, dst, src0, src1)
    b.finish(dst, b.div(x, y), None, options)


@opcode(0x38, _TWO % "pow", sub=10, fidelity=fidelity("pow"), page="Extended Math Function")
def pow(b: Gen9Builder, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = src0[i] ** src1[i]; NaN for a negative base, 1 for an exponent 0."""
    x, y = _singles(b, dst, src0, src1)
    b.finish(dst, mathlib.pow(b, x, y), None, options)


@opcode(0x38, _TWO % "idiv", sub=11, page="Extended Math Function")
def idiv(b: Gen9Builder, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """Integer division: the quotient to dst, the remainder to the register after it."""
    b.integers(src0, src1)
    x, y = b.promote(src0, src1)
    quotient, remainder = b.div(x, y), b.rem(x, y)
    b.finish(dst, quotient, None, options)
    b.write(replace(dst, offset=dst.offset + b.registers(b.width * dst.stride)), remainder)


@opcode(0x38, _TWO % "iqot", sub=12, page="Extended Math Function")
def iqot(b: Gen9Builder, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = the quotient of integers, cut off."""
    b.integers(src0, src1)
    x, y = b.promote(src0, src1)
    b.finish(dst, b.div(x, y), None, options)


@opcode(0x38, _TWO % "irem", sub=13, page="Extended Math Function")
def irem(b: Gen9Builder, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = the remainder of integers, with the sign of src0[i]."""
    b.integers(src0, src1)
    x, y = b.promote(src0, src1)
    b.finish(dst, b.rem(x, y), None, options)


@opcode(
    0x38,
    "{exec.pred}math.invm {exec} {early_out} {dst} {src0} {src1} {options}",
    sub=14,
    fidelity=MACRO,
    page="Extended Math Function",
)
def invm(
    b: Gen9Builder,
    exec: MacroExec,
    early_out: EarlyOut,
    dst: MacroDst,
    src0: MacroSrc0,
    src1: MacroSrc1,
    options: TernaryOpts,
) -> None:
    """src0[i] / src1[i], correctly rounded; the flag says everywhere that it is final.

    On hardware this is an approximation of 1 / src1[i] that `madm` refines, and the flag is set
    where nothing is left to do.
    """
    x, y = b.floats(src0, src1)
    b.write_macro(dst, b.div(x, y, _LAST_STEP))
    b.write_condition(early_out, b.const(BOOL, 1, b.width))


@opcode(
    0x38,
    "{exec.pred}math.rsqtm {exec} {early_out} {dst} {src0} {options}",
    sub=15,
    fidelity=MACRO,
    page="Extended Math Function",
)
def rsqtm(
    b: Gen9Builder,
    exec: MacroExec,
    early_out: EarlyOut,
    dst: MacroDst,
    src0: MacroSrc0,
    options: TernaryOpts,
) -> None:
    """The square root of src0[i], correctly rounded; the flag says everywhere that it is final.

    On hardware this is an approximation of its inverse that `madm` refines, and the flag is set
    where nothing is left to do.
    """
    (x,) = b.floats(src0)
    b.write_macro(dst, b.sqrt(x, _LAST_STEP))
    b.write_condition(early_out, b.const(BOOL, 1, b.width))
