"""Moves and selections."""

from __future__ import annotations

from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.compute import compare
from eumu.isa.gen9.kinds import (
    Cond,
    Dst,
    LaneMask,
    OnlySrc,
    Opts,
    PlainDst,
    PlainSrc0,
    PlainTernaryExec,
    TernaryDst,
    TernaryOpts,
    TernarySrc0,
    TernarySrc1,
    TernarySrc2,
    WideOnlySrc,
    WideSrc0,
    WideSrc1,
)
from eumu.isa.gen9.registry import one, opcode, three, two


@opcode(0x01, one("mov"), page="Move")
def mov(b: Gen9Builder, cond: Cond, dst: Dst, src0: WideOnlySrc, options: Opts) -> None:
    """dst[i] = src0[i], converted; bits are kept where both types are of one family."""
    b.finish(dst, src0, cond, options)


@opcode(0x02, two("sel"), page="Select")
def sel(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: WideSrc0, src1: WideSrc1, options: Opts
) -> None:
    """dst[i] = src0[i] where the predicate holds, else src1[i]; `ge`, `lt`: max, min."""
    mask = b.choose()
    if cond is None:
        x, y = b.alternatives(dst, src0, src1)
        b.finish(dst, x if mask is None else b.select(mask, x, y), None, options)
        return
    result = b.extreme(dst, src0, src1, least=cond.name in ("lt", "le"))
    b.finish(dst, result, None, options)


@opcode(0x03, one("movi", cond=False), page="Move Indexed")
def movi(b: Gen9Builder, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = an element of src0 whose place a0 says for each channel."""
    b.finish(dst, src0, None, options)


@opcode(0x0A, two("smov", cond=False), page="Scattered Move")
def smov(b: Gen9Builder, dst: PlainDst, src0: PlainSrc0, src1: LaneMask, options: Opts) -> None:
    """dst[i] = src0[i] in the channels whose bits src1 has."""
    b.write(dst, src0, b.and_(b.mask, src1))


@opcode(0x12, three("csel"), page="Conditional Select")
def csel(
    b: Gen9Builder,
    exec: PlainTernaryExec,
    cond: Cond,
    dst: TernaryDst,
    src0: TernarySrc0,
    src1: TernarySrc1,
    src2: TernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src0[i] where src2[i] compares with 0 as the condition says, else src1[i]."""
    zero = b.const(src2.type, 0, b.width)
    result = compare(b, cond, src2, zero, native=False)
    x, y = b.promote(src0, src1)
    b.finish(dst, b.select(result, x, y), None, options)
