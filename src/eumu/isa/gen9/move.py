"""Moves and selections."""

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
    PlainTernaryExec,
    Src0,
    Src1,
    TernaryDst,
    TernaryOpts,
    TernarySrc0,
    TernarySrc1,
    TernarySrc2,
)
from eumu.isa.gen9.registry import NOT_RUN, one, opcode, three, two
from eumu.isa.kinds import Meaning


@opcode(0x01, one("mov"), fidelity=NOT_RUN)
def mov(b: Meaning, exec: Exec, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = src0[i], converted; bits are kept where both types are of one family."""


@opcode(0x02, two("sel"), fidelity=NOT_RUN)
def sel(
    b: Meaning, exec: Exec, cond: Cond, dst: Dst, src0: Src0, src1: Src1, options: Opts
) -> None:
    """dst[i] = src0[i] where the predicate holds, else src1[i]; `ge`, `lt`: max, min."""


@opcode(0x03, one("movi", cond=False), fidelity=NOT_RUN)
def movi(b: Meaning, exec: Exec, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = an element of src0 whose place a0 says for each channel."""


@opcode(0x0A, two("smov", cond=False), fidelity=NOT_RUN)
def smov(
    b: Meaning, exec: Exec, dst: PlainDst, src0: PlainSrc0, src1: PlainSrc1, options: Opts
) -> None:
    """Scatter: the bits of src1 say which channels of dst get an element of src0."""


@opcode(0x12, three("csel"), fidelity=NOT_RUN)
def csel(
    b: Meaning,
    exec: PlainTernaryExec,
    cond: Cond,
    dst: TernaryDst,
    src0: TernarySrc0,
    src1: TernarySrc1,
    src2: TernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src0[i] where src2[i] compares with 0 as the condition says, else src1[i]."""
