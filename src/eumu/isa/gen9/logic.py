"""Bits: logic, shifts, fields and counts."""

from __future__ import annotations

from eumu.isa.gen9.kinds import (
    Cond,
    Dst,
    Exec,
    LogicSrc0,
    LogicSrc1,
    OnlyLogicSrc,
    OnlySrc,
    Opts,
    PlainDst,
    PlainOnlySrc,
    PlainSrc0,
    PlainSrc1,
    PlainTernaryDst,
    PlainTernarySrc0,
    PlainTernarySrc1,
    PlainTernarySrc2,
    Src0,
    Src1,
    TernaryExec,
    TernaryOpts,
)
from eumu.isa.gen9.registry import NOT_RUN, one, opcode, three, two
from eumu.isa.kinds import Meaning


@opcode(0x04, one("not"), fidelity=NOT_RUN)
def not_(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: PlainDst,
    src0: OnlyLogicSrc,
    options: Opts,
) -> None:
    """dst[i] = ~src0[i]."""


@opcode(0x05, two("and"), fidelity=NOT_RUN)
def and_(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: PlainDst,
    src0: LogicSrc0,
    src1: LogicSrc1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] & src1[i]."""


@opcode(0x06, two("or"), fidelity=NOT_RUN)
def or_(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: PlainDst,
    src0: LogicSrc0,
    src1: LogicSrc1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] | src1[i]."""


@opcode(0x07, two("xor"), fidelity=NOT_RUN)
def xor(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: PlainDst,
    src0: LogicSrc0,
    src1: LogicSrc1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] ^ src1[i]."""


@opcode(0x08, two("shr"), fidelity=NOT_RUN)
def shr(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] >> src1[i], zeros come in; the count has 5 bits (of :q 6)."""


@opcode(0x09, two("shl"), fidelity=NOT_RUN)
def shl(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] << src1[i]; the count has 5 bits (of :q 6)."""


@opcode(0x0C, two("asr"), fidelity=NOT_RUN)
def asr(
    b: Meaning,
    exec: Exec,
    cond: Cond,
    dst: Dst,
    src0: Src0,
    src1: Src1,
    options: Opts,
) -> None:
    """dst[i] = src0[i] >> src1[i], the sign comes in; the count as in shr."""


@opcode(0x17, one("bfrev", cond=False), fidelity=NOT_RUN)
def bfrev(b: Meaning, exec: Exec, dst: PlainDst, src0: PlainOnlySrc, options: Opts) -> None:
    """dst[i] = the bits of src0[i] in reverse order."""


@opcode(0x18, three("bfe", cond=False), fidelity=NOT_RUN)
def bfe(
    b: Meaning,
    exec: TernaryExec,
    dst: PlainTernaryDst,
    src0: PlainTernarySrc0,
    src1: PlainTernarySrc1,
    src2: PlainTernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src0[i] bits of src2[i] from bit src1[i] on, extended with the sign if signed."""


@opcode(0x19, two("bfi1", cond=False), fidelity=NOT_RUN)
def bfi1(
    b: Meaning,
    exec: Exec,
    dst: PlainDst,
    src0: PlainSrc0,
    src1: PlainSrc1,
    options: Opts,
) -> None:
    """dst[i] = a mask of src0[i] ones from bit src1[i] on."""


@opcode(0x1A, three("bfi2", cond=False), fidelity=NOT_RUN)
def bfi2(
    b: Meaning,
    exec: TernaryExec,
    dst: PlainTernaryDst,
    src0: PlainTernarySrc0,
    src1: PlainTernarySrc1,
    src2: PlainTernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src1[i] where src0[i] has ones, else src2[i]."""


@opcode(0x4A, one("lzd"), fidelity=NOT_RUN)
def lzd(b: Meaning, exec: Exec, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the number of zeros above the highest one of src0[i]."""


@opcode(0x4B, one("fbh", cond=False), fidelity=NOT_RUN)
def fbh(b: Meaning, exec: Exec, dst: PlainDst, src0: PlainOnlySrc, options: Opts) -> None:
    """dst[i] = how far from the top the first bit unlike the sign (unsigned: one) is."""


@opcode(0x4C, one("fbl", cond=False), fidelity=NOT_RUN)
def fbl(b: Meaning, exec: Exec, dst: PlainDst, src0: PlainOnlySrc, options: Opts) -> None:
    """dst[i] = the number of the lowest one of src0[i], all ones if there is none."""


@opcode(0x4D, one("cbit", cond=False), fidelity=NOT_RUN)
def cbit(b: Meaning, exec: Exec, dst: PlainDst, src0: PlainOnlySrc, options: Opts) -> None:
    """dst[i] = how many ones src0[i] has."""
