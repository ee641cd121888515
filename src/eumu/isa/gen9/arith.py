"""Arithmetic."""

from __future__ import annotations

from eumu.isa.gen9.kinds import (
    Cond,
    Dst,
    Exec,
    OnlySrc,
    Opts,
    PlainDst,
    PlainSrc0,
    PlainSrc1,
    Src0,
    Src1,
    TernaryDst,
    TernaryExec,
    TernaryMacroDst,
    TernaryMacroExec,
    TernaryMacroSrc0,
    TernaryMacroSrc1,
    TernaryMacroSrc2,
    TernaryOpts,
    TernarySrc0,
    TernarySrc1,
    TernarySrc2,
)
from eumu.isa.gen9.registry import NOT_RUN, one, opcode, three, two
from eumu.isa.kinds import Meaning


@opcode(0x10, two("cmp"), fidelity=NOT_RUN)
def cmp(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: PlainDst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """The flag and dst[i] (all ones or 0) say how src0[i] compares with src1[i]."""


@opcode(0x11, two("cmpn"), fidelity=NOT_RUN)
def cmpn(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: PlainDst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """As cmp; with `ge` or `lt` a NaN in src1 makes the comparison true."""


@opcode(0x40, two("add"), fidelity=NOT_RUN)
def add(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] + src1[i]."""


@opcode(0x41, two("mul"), fidelity=NOT_RUN)
def mul(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] * src1[i]."""


@opcode(0x42, two("avg"), fidelity=NOT_RUN)
def avg(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst[i] = (src0[i] + src1[i] + 1) >> 1, without overflow."""


@opcode(0x43, one("frc"), fidelity=NOT_RUN)
def frc(b: Meaning, exec: Exec, cond: Cond, dst: PlainDst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = src0[i] - floor(src0[i])."""


@opcode(0x44, one("rndu"), fidelity=NOT_RUN)
def rndu(b: Meaning, exec: Exec, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the least integer not less than src0[i]."""


@opcode(0x45, one("rndd"), fidelity=NOT_RUN)
def rndd(b: Meaning, exec: Exec, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the greatest integer not greater than src0[i]."""


@opcode(0x46, one("rnde"), fidelity=NOT_RUN)
def rnde(b: Meaning, exec: Exec, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the integer nearest to src0[i], of two the even one."""


@opcode(0x47, one("rndz"), fidelity=NOT_RUN)
def rndz(b: Meaning, exec: Exec, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = src0[i] without its fraction."""


@opcode(0x48, two("mac"), fidelity=NOT_RUN)
def mac(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] * src1[i] + acc[i]."""


@opcode(0x49, two("mach", cond=False), fidelity=NOT_RUN)
def mach(b: Meaning, exec: Exec, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """The high half of a 32 by 32 bit product; acc0 holds the part of src1's low word."""


@opcode(0x4E, two("addc"), fidelity=NOT_RUN)
def addc(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: PlainDst,
    src0: PlainSrc0,
    src1: PlainSrc1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] + src1[i]; acc[i] is the carry."""


@opcode(0x4F, two("subb"), fidelity=NOT_RUN)
def subb(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: PlainSrc0,
    src1: PlainSrc1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] - src1[i]; acc[i] is the borrow."""


@opcode(0x50, two("sad2"), fidelity=NOT_RUN)
def sad2(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst of a pair of channels = the sum of |src0 - src1| over both."""


@opcode(0x51, two("sada2"), fidelity=NOT_RUN)
def sada2(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """As sad2, plus acc."""


@opcode(0x54, two("dp4"), fidelity=NOT_RUN)
def dp4(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """Of every four channels, the sum of src0[k] * src1[k]."""


@opcode(0x55, two("dph"), fidelity=NOT_RUN)
def dph(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """As dp4 with 1 for the fourth element of src0."""


@opcode(0x56, two("dp3"), fidelity=NOT_RUN)
def dp3(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """As dp4 over three channels."""


@opcode(0x57, two("dp2"), fidelity=NOT_RUN)
def dp2(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """As dp4 over two channels."""


@opcode(0x59, two("line"), fidelity=NOT_RUN)
def line(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst[i] = src0.0 * src1[i] + src0.3."""


@opcode(0x5A, two("pln"), fidelity=NOT_RUN)
def pln(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: PlainSrc0,
    src1: PlainSrc1,
    options: Opts,
) -> None:
    """dst[i] = src0.0 * u[i] + src0.1 * v[i] + src0.3; u is in src1, v in the register after it."""


@opcode(0x5B, three("mad"), fidelity=NOT_RUN)
def mad(
    b: Meaning,
    exec: TernaryExec,
    cond: Cond,
    dst: TernaryDst,
    src0: TernarySrc0,
    src1: TernarySrc1,
    src2: TernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src0[i] + src1[i] * src2[i]."""


@opcode(0x5C, three("lrp"), fidelity=NOT_RUN)
def lrp(
    b: Meaning,
    exec: TernaryExec,
    cond: Cond,
    dst: TernaryDst,
    src0: TernarySrc0,
    src1: TernarySrc1,
    src2: TernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src0[i] * src1[i] + (1 - src0[i]) * src2[i]."""


@opcode(0x5D, three("madm"), fidelity=NOT_RUN)
def madm(
    b: Meaning,
    exec: TernaryMacroExec,
    cond: Cond,
    dst: TernaryMacroDst,
    src0: TernaryMacroSrc0,
    src1: TernaryMacroSrc1,
    src2: TernaryMacroSrc2,
    options: TernaryOpts,
) -> None:
    """As mad, with the extra bits of the special accumulators; a step of a division."""
