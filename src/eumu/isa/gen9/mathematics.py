"""The functions of the shared math unit, and the macros that begin a division or square root."""

from __future__ import annotations

from eumu.isa.gen9.kinds import (
    Dst,
    EarlyOut,
    Exec,
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
from eumu.isa.gen9.registry import NOT_RUN, opcode
from eumu.isa.kinds import Meaning

_ONE = "{exec.pred}math.%s {exec} {dst} {src0} {options}"
_TWO = "{exec.pred}math.%s {exec} {dst} {src0} {src1} {options}"


@opcode(0x38, _ONE % "inv", sub=1, fidelity=NOT_RUN)
def inv(b: Meaning, exec: Exec, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = 1 / src0[i]."""


@opcode(0x38, _ONE % "log", sub=2, fidelity=NOT_RUN)
def log(b: Meaning, exec: Exec, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the binary logarithm of src0[i]."""


@opcode(0x38, _ONE % "exp", sub=3, fidelity=NOT_RUN)
def exp(b: Meaning, exec: Exec, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = 2 ** src0[i]."""


@opcode(0x38, _ONE % "sqt", sub=4, fidelity=NOT_RUN)
def sqt(b: Meaning, exec: Exec, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the square root of src0[i]."""


@opcode(0x38, _ONE % "rsqt", sub=5, fidelity=NOT_RUN)
def rsqt(b: Meaning, exec: Exec, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = 1 / the square root of src0[i]."""


@opcode(0x38, _ONE % "sin", sub=6, fidelity=NOT_RUN)
def sin(b: Meaning, exec: Exec, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the sine of src0[i] in radians."""


@opcode(0x38, _ONE % "cos", sub=7, fidelity=NOT_RUN)
def cos(b: Meaning, exec: Exec, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the cosine of src0[i] in radians."""


@opcode(0x38, _TWO % "fdiv", sub=9, fidelity=NOT_RUN)
def fdiv(b: Meaning, exec: Exec, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = src0[i] / src1[i], floats."""


@opcode(0x38, _TWO % "pow", sub=10, fidelity=NOT_RUN)
def pow(b: Meaning, exec: Exec, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = |src0[i]| ** src1[i]."""


@opcode(0x38, _TWO % "idiv", sub=11, fidelity=NOT_RUN)
def idiv(b: Meaning, exec: Exec, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """Integer division: the quotient to dst, the remainder to the register after it."""


@opcode(0x38, _TWO % "iqot", sub=12, fidelity=NOT_RUN)
def iqot(b: Meaning, exec: Exec, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = the quotient of integers, cut off."""


@opcode(0x38, _TWO % "irem", sub=13, fidelity=NOT_RUN)
def irem(b: Meaning, exec: Exec, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = the remainder of integers, with the sign of src0[i]."""


@opcode(
    0x38,
    "{exec.pred}math.invm {exec} {early_out} {dst} {src0} {src1} {options}",
    sub=14,
    fidelity=NOT_RUN,
)
def invm(
    b: Meaning,
    exec: MacroExec,
    early_out: EarlyOut,
    dst: MacroDst,
    src0: MacroSrc0,
    src1: MacroSrc1,
    options: TernaryOpts,
) -> None:
    """An approximation of 1 / src1[i]; the flag is set where src0[i] / src1[i] is final."""


@opcode(
    0x38,
    "{exec.pred}math.rsqtm {exec} {early_out} {dst} {src0} {options}",
    sub=15,
    fidelity=NOT_RUN,
)
def rsqtm(
    b: Meaning,
    exec: MacroExec,
    early_out: EarlyOut,
    dst: MacroDst,
    src0: MacroSrc0,
    options: TernaryOpts,
) -> None:
    """An approximation of 1 / the square root of src0[i]; the flag is set where it is final."""
