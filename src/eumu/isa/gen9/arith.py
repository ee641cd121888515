"""Arithmetic."""

from __future__ import annotations

from eumu.ir import Rounding, Value
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.compute import all_ones, compare, dword, operands, total
from eumu.isa.gen9.kinds import (
    Cond,
    Dst,
    NeighbourSrc0,
    NeighbourSrc1,
    OnlySrc,
    Opts,
    PlainDst,
    PlainSrc0,
    PlainSrc1,
    Planes,
    Quad,
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
    WideSrc0,
    WideSrc1,
)
from eumu.isa.gen9.registry import one, opcode, three, two
from eumu.isa.mathlib.integers import average, fraction, one_where, pair_differences
from eumu.isa.spec import Fidelity
from eumu.types import UD, Q, W

FUSED = Fidelity("approximate", "the rounding of the intermediate results is not documented")
MACRO = Fidelity("approximate", "the extra bits of the special accumulators are not documented")


def _dot(b: Gen9Builder, x: Value, y: Value, count: int, *, homogeneous: bool) -> Value:
    """Products of the first `count` channels of each four, summed into all four."""
    x, y = b.floats(x, y)
    quads = [4 * (k // 4) for k in range(b.width)]
    lanes = [[min(q + j, b.width - 1) for q in quads] for j in range(4)]
    total = b.shuffle(y, lanes[3]) if homogeneous else None
    for j in range(count):
        left, right = b.shuffle(x, lanes[j]), b.shuffle(y, lanes[j])
        total = b.mul(left, right) if total is None else b.fma(left, right, total)
    assert total is not None
    return total


@opcode(0x10, two("cmp"), page="Compare")
def cmp(
    b: Gen9Builder, cond: Cond, dst: PlainDst, src0: WideSrc0, src1: WideSrc1, options: Opts
) -> None:
    """The flag and dst[i] (all ones or 0) say how src0[i] compares with src1[i]."""
    result = compare(b, cond, src0, src1, native=False)
    if cond is not None:
        b.write_condition(cond, result)
    b.put(dst, all_ones(b, result, dst.type), b.mask)


@opcode(0x11, two("cmpn"), page="Compare NaN")
def cmpn(
    b: Gen9Builder, cond: Cond, dst: PlainDst, src0: WideSrc0, src1: WideSrc1, options: Opts
) -> None:
    """As cmp; with `ge` or `lt` a NaN in src1 makes the comparison true."""
    result = compare(b, cond, src0, src1, native=True)
    if cond is not None:
        b.write_condition(cond, result)
    b.put(dst, all_ones(b, result, dst.type), b.mask)


@opcode(0x40, two("add"), page="Addition")
def add(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: WideSrc0, src1: WideSrc1, options: Opts
) -> None:
    """dst[i] = src0[i] + src1[i]."""
    x, y = operands(b, dst, cond, options, src0, src1)
    b.finish(dst, total(b, dst, x, y, (src0, src1)), cond, options)


@opcode(0x41, two("mul"), page="Multiply")
def mul(b: Gen9Builder, cond: Cond, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = src0[i] * src1[i]; an accumulator takes all 64 bits of dwords."""
    x, y = operands(b, dst, cond, options, src0, src1)
    b.finish(dst, b.mul(x, y), cond, options, product=True)


@opcode(0x42, two("avg"), page="Average")
def avg(b: Gen9Builder, cond: Cond, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = (src0[i] + src1[i] + 1) >> 1, without overflow."""
    b.integers(src0, src1)
    b.finish(dst, average(b, src0, src1), cond, options)


@opcode(0x43, one("frc"), page="Fraction")
def frc(b: Gen9Builder, cond: Cond, dst: PlainDst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = src0[i] - floor(src0[i])."""
    (x,) = b.floats(src0, to=dst.type)
    b.finish(dst, fraction(b, x), cond, options)


@opcode(0x44, one("rndu"), page="Round Up")
def rndu(b: Gen9Builder, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the least integer not less than src0[i]."""
    (x,) = b.floats(src0)
    b.finish(dst, b.round(x, Rounding.RU), cond, options)


@opcode(0x45, one("rndd"), page="Round Down")
def rndd(b: Gen9Builder, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the greatest integer not greater than src0[i]."""
    (x,) = b.floats(src0)
    b.finish(dst, b.round(x, Rounding.RD), cond, options)


@opcode(0x46, one("rnde"), page="Round to Nearest or Even")
def rnde(b: Gen9Builder, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the integer nearest to src0[i], of two the even one."""
    (x,) = b.floats(src0)
    b.finish(dst, b.round(x, Rounding.RNE), cond, options)


@opcode(0x47, one("rndz"), page="Round to Zero")
def rndz(b: Gen9Builder, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = src0[i] without its fraction."""
    (x,) = b.floats(src0)
    b.finish(dst, b.round(x, Rounding.RTZ), cond, options)


@opcode(0x48, two("mac"), page="Multiply Accumulate")
def mac(b: Gen9Builder, cond: Cond, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """dst[i] = src0[i] * src1[i] + acc[i]."""
    added = b.accumulator(src0.type)
    x, y, z = operands(b, dst, cond, options, src0, src1, added)
    result = b.fma(x, y, z) if x.type.is_float else b.add(b.mul(x, y), z)
    b.finish(dst, result, cond, options, product=True)


@opcode(0x49, two("mach", cond=False), page="Multiply Accumulate High")
def mach(b: Gen9Builder, dst: Dst, src0: Src0, src1: Src1, options: Opts) -> None:
    """The high half of a 32 by 32 bit product; acc0 holds the part of src1's low word."""
    b.integers(src0, src1)
    upper = b.shr(b.convert(src1, Q), b.const(Q, 16, b.width))
    product = b.shl(b.mul(b.convert(src0, Q), upper), b.const(Q, 16, b.width))
    whole = b.add(b.accumulator(dword(src0)), product)
    b.finish(dst, b.shr(whole, b.const(Q, 32, b.width)))
    if options.bit_28:
        b.write_accumulator(whole, product=True)


@opcode(0x4E, two("addc"), page="Addition with Carry")
def addc(
    b: Gen9Builder, cond: Cond, dst: PlainDst, src0: PlainSrc0, src1: PlainSrc1, options: Opts
) -> None:
    """dst[i] = src0[i] + src1[i]; acc[i] is the carry."""
    b.integers(src0, src1)
    x, y = (b.convert(v, UD) for v in (src0, src1))
    low = b.add(x, y)
    b.finish(dst, low, cond)
    b.write_accumulator(one_where(b, b.cmp("lt", low, x)))


@opcode(0x4F, two("subb"), page="Integer Subtraction with Borrow")
def subb(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: PlainSrc0, src1: PlainSrc1, options: Opts
) -> None:
    """dst[i] = src0[i] - src1[i]; acc[i] is the borrow."""
    b.integers(src0, src1)
    x, y = (b.convert(v, UD) for v in (src0, src1))
    b.finish(dst, b.sub(x, y), cond)
    b.write_accumulator(one_where(b, b.cmp("lt", x, y)))


@opcode(0x50, two("sad2"), page="Sum of Absolute Difference 2")
def sad2(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: NeighbourSrc0, src1: NeighbourSrc1, options: Opts
) -> None:
    """dst of even channels = the sum of |src0 - src1| over it and the next; odd ones stay."""
    b.integers(src0, src1)
    sums = pair_differences(b, src0, src1)
    b.restrict([1 - k % 2 for k in range(b.width)])
    b.finish(dst, sums, cond, options)


@opcode(0x51, two("sada2"), page="Sum of Absolute Difference Accumulate 2")
def sada2(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: NeighbourSrc0, src1: NeighbourSrc1, options: Opts
) -> None:
    """As sad2, plus acc."""
    b.integers(src0, src1)
    sums = b.add(b.convert(pair_differences(b, src0, src1), Q), b.accumulator(W))
    b.restrict([1 - k % 2 for k in range(b.width)])
    b.finish(dst, sums, cond, options)


@opcode(0x54, two("dp4"), fidelity=FUSED, page="Dot Product 4")
def dp4(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: NeighbourSrc0, src1: NeighbourSrc1, options: Opts
) -> None:
    """Of every four channels, the sum of src0[k] * src1[k]."""
    b.finish(dst, _dot(b, src0, src1, 4, homogeneous=False), cond, options)


@opcode(0x55, two("dph"), fidelity=FUSED, page="Dot Product Homogeneous")
def dph(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: NeighbourSrc0, src1: NeighbourSrc1, options: Opts
) -> None:
    """As dp3, plus the fourth element of src1."""
    b.finish(dst, _dot(b, src0, src1, 3, homogeneous=True), cond, options)


@opcode(0x56, two("dp3"), fidelity=FUSED, page="Dot Product 3")
def dp3(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: NeighbourSrc0, src1: NeighbourSrc1, options: Opts
) -> None:
    """As dp4 over three channels."""
    b.finish(dst, _dot(b, src0, src1, 3, homogeneous=False), cond, options)


@opcode(0x57, two("dp2"), fidelity=FUSED, page="Dot Product 2")
def dp2(
    b: Gen9Builder, cond: Cond, dst: Dst, src0: NeighbourSrc0, src1: NeighbourSrc1, options: Opts
) -> None:
    """As dp4 over two channels."""
    b.finish(dst, _dot(b, src0, src1, 2, homogeneous=False), cond, options)


@opcode(0x59, two("line"), fidelity=FUSED, page="Line")
def line(b: Gen9Builder, cond: Cond, dst: Dst, src0: Quad, src1: Src1, options: Opts) -> None:
    """dst[i] = src0.0 * src1[i] + src0.3."""
    p, q = (b.splat(b.slice(src0, k, 1), b.width) for k in (0, 3))
    p, x, q = b.floats(p, src1, q)
    b.finish(dst, b.fma(p, x, q), cond, options)


@opcode(0x5A, two("pln"), fidelity=FUSED, page="Plane")
def pln(b: Gen9Builder, cond: Cond, dst: Dst, src0: Quad, src1: Planes, options: Opts) -> None:
    """dst[i] = src0.0 * u[i] + src0.1 * v[i] + src0.3; of eight channels all u, then all v."""
    p, q, r = (b.splat(b.slice(src0, k, 1), b.width) for k in (0, 1, 3))
    lanes = [16 * (k // 8) + k % 8 for k in range(b.width)]
    u = b.shuffle(src1, lanes)
    v = b.shuffle(src1, [k + 8 for k in lanes])
    p, q, r, u, v = b.floats(p, q, r, u, v)
    b.finish(dst, b.fma(p, u, b.fma(q, v, r)), cond, options)


@opcode(0x5B, three("mad"), page="Multiply Add")
def mad(
    b: Gen9Builder,
    exec: TernaryExec,
    cond: Cond,
    dst: TernaryDst,
    src0: TernarySrc0,
    src1: TernarySrc1,
    src2: TernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src0[i] + src1[i] * src2[i]."""
    x, y, z = operands(b, dst, cond, options, src1, src2, src0)
    result = b.fma(x, y, z) if x.type.is_float else b.add(b.mul(x, y), z)
    b.finish(dst, result, cond, options, product=True)


@opcode(0x5C, three("lrp"), fidelity=FUSED, page="Linear Interpolation")
def lrp(
    b: Gen9Builder,
    exec: TernaryExec,
    cond: Cond,
    dst: TernaryDst,
    src0: TernarySrc0,
    src1: TernarySrc1,
    src2: TernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src0[i] * src1[i] + (1 - src0[i]) * src2[i]."""
    x, y, z = b.floats(src0, src1, src2)
    rest = b.fma(b.neg(x), z, z)
    b.finish(dst, b.fma(y, x, rest), cond, options)


@opcode(0x5D, three("madm"), fidelity=MACRO, page="Multiply Add for Macro")
def madm(
    b: Gen9Builder,
    exec: TernaryMacroExec,
    cond: Cond,
    dst: TernaryMacroDst,
    src0: TernaryMacroSrc0,
    src1: TernaryMacroSrc1,
    src2: TernaryMacroSrc2,
    options: TernaryOpts,
) -> None:
    """As mad, with the extra bits of the special accumulators; a step of a division."""
    x, y, z = b.floats(src1, src2, src0)
    result = b.fma(x, y, z)
    if cond is not None:
        b.write_condition(cond, b.holds(cond.name, result, result))
    b.write_macro(dst, result)
