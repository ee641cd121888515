"""Bits: logic, shifts, fields and counts."""

from __future__ import annotations

from eumu.ir import Value
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.compute import logic, shift_operands
from eumu.isa.gen9.kinds import (
    Cond,
    Dst,
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
    Src1,
    TernaryExec,
    TernaryOpts,
    WideSrc0,
)
from eumu.isa.gen9.registry import one, opcode, three, two
from eumu.isa.mathlib.integers import (
    bit_field,
    bits_of,
    field_mask,
    first_high,
    first_low,
    saturating_shift,
)
from eumu.types import UD, integer


def _zero_extended(b: Gen9Builder, x: Value) -> Value:
    """An element as ud, whatever its sign."""
    return b.convert(bits_of(b, x, integer(x.type.bits, signed=False)), UD)


@opcode(0x04, one("not"), page="Logic Not")
def not_(b: Gen9Builder, cond: Cond, dst: PlainDst, src0: OnlyLogicSrc, options: Opts) -> None:
    """dst[i] = ~src0[i]."""
    logic(b, dst, cond, options, b.not_, src0)


@opcode(0x05, two("and"), page="Logic And")
def and_(
    b: Gen9Builder, cond: Cond, dst: PlainDst, src0: LogicSrc0, src1: LogicSrc1, options: Opts
) -> None:
    """dst[i] = src0[i] & src1[i]."""
    logic(b, dst, cond, options, b.and_, src0, src1)


@opcode(0x06, two("or"), page="Logic Or")
def or_(
    b: Gen9Builder, cond: Cond, dst: PlainDst, src0: LogicSrc0, src1: LogicSrc1, options: Opts
) -> None:
    """dst[i] = src0[i] | src1[i]."""
    logic(b, dst, cond, options, b.or_, src0, src1)


@opcode(0x07, two("xor"), page="Logic Xor")
def xor(
    b: Gen9Builder, cond: Cond, dst: PlainDst, src0: LogicSrc0, src1: LogicSrc1, options: Opts
) -> None:
    """dst[i] = src0[i] ^ src1[i]."""
    logic(b, dst, cond, options, b.xor, src0, src1)


@opcode(0x08, two("shr"), page="Shift Right")
def shr(b: Gen9Builder, cond: Cond, dst: Dst, src0: WideSrc0, src1: Src1, options: Opts) -> None:
    """dst[i] = src0[i] >> src1[i], zeros come in; the count has 5 bits (of :q 6)."""
    b.integers(src0, src1)
    x, count = shift_operands(b, dst, src0, src1, signed=False)
    b.finish(dst, b.shr(x, count), cond, options)


@opcode(0x09, two("shl"), page="Shift Left")
def shl(b: Gen9Builder, cond: Cond, dst: Dst, src0: WideSrc0, src1: Src1, options: Opts) -> None:
    """dst[i] = src0[i] << src1[i]; the count has 5 bits (of :q 6)."""
    b.integers(src0, src1)
    x, count = shift_operands(b, dst, src0, src1, signed=src0.type.is_signed)
    shifted = saturating_shift(b, x, count) if dst.saturate else b.shl(x, count)
    b.finish(dst, shifted, cond, options, product=True)


@opcode(0x0C, two("asr"), page="Arithmetic Shift Right")
def asr(b: Gen9Builder, cond: Cond, dst: Dst, src0: WideSrc0, src1: Src1, options: Opts) -> None:
    """dst[i] = src0[i] >> src1[i], the sign comes in, zeros if it has none; the count as in shr."""
    b.integers(src0, src1)
    x, count = shift_operands(b, dst, src0, src1, signed=src0.type.is_signed)
    b.finish(dst, b.shr(x, count), cond, options)


@opcode(0x17, one("bfrev", cond=False), page="Bit Field Reverse")
def bfrev(b: Gen9Builder, dst: PlainDst, src0: PlainOnlySrc, options: Opts) -> None:
    """dst[i] = the bits of src0[i] in reverse order."""
    b.integers(src0)
    b.finish(dst, b.bitreverse(b.convert(src0, UD)), None, options)


@opcode(0x18, three("bfe", cond=False), page="Bit Field Extract")
def bfe(
    b: Gen9Builder,
    exec: TernaryExec,
    dst: PlainTernaryDst,
    src0: PlainTernarySrc0,
    src1: PlainTernarySrc1,
    src2: PlainTernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = src0[i] bits of src2[i] from bit src1[i] on, extended with the sign if signed."""
    b.integers(src0, src1, src2)
    five = b.const(UD, 31, b.width)
    size, offset = (b.and_(b.convert(v, UD), five) for v in (src0, src1))
    signed = src2.type.is_signed
    b.finish(dst, bit_field(b, size, offset, b.convert(src2, UD), signed=signed), None, options)


@opcode(0x19, two("bfi1", cond=False), page="Bit Field Insert 1")
def bfi1(b: Gen9Builder, dst: PlainDst, src0: PlainSrc0, src1: PlainSrc1, options: Opts) -> None:
    """dst[i] = a mask of src0[i] ones from bit src1[i] on."""
    b.integers(src0, src1)
    five = b.const(UD, 31, b.width)
    size, offset = (b.and_(b.convert(v, UD), five) for v in (src0, src1))
    b.finish(dst, b.shl(field_mask(b, size), offset), None, options)


@opcode(0x1A, three("bfi2", cond=False), page="Bit Field Insert 2")
def bfi2(
    b: Gen9Builder,
    exec: TernaryExec,
    dst: PlainTernaryDst,
    src0: PlainTernarySrc0,
    src1: PlainTernarySrc1,
    src2: PlainTernarySrc2,
    options: TernaryOpts,
) -> None:
    """dst[i] = the low bits of src1[i] where src0[i] has ones, else src2[i]."""
    b.integers(src0, src1, src2)
    mask, insert, base = (b.convert(v, UD) for v in (src0, src1, src2))
    inserted = b.and_(b.shl(insert, b.ctz(mask)), mask)
    b.finish(dst, b.or_(b.and_(base, b.not_(mask)), inserted), None, options)


@opcode(0x4A, one("lzd"), page="Leading Zero Detection")
def lzd(b: Gen9Builder, cond: Cond, dst: Dst, src0: OnlySrc, options: Opts) -> None:
    """dst[i] = the number of zeros above the highest one of src0[i]."""
    b.integers(src0)
    b.finish(dst, b.clz(b.convert(src0, UD)), cond, options)


@opcode(0x4B, one("fbh", cond=False), page="Find First Bit from MSB Side")
def fbh(b: Gen9Builder, dst: PlainDst, src0: PlainOnlySrc, options: Opts) -> None:
    """dst[i] = how far from the top the first bit unlike the sign (unsigned: one) is."""
    b.integers(src0)
    signed = src0.type.is_signed
    b.finish(dst, first_high(b, b.convert(src0, UD), signed=signed), None, options)


@opcode(0x4C, one("fbl", cond=False), page="Find First Bit from LSB Side")
def fbl(b: Gen9Builder, dst: PlainDst, src0: PlainOnlySrc, options: Opts) -> None:
    """dst[i] = the number of the lowest one of src0[i], all ones if there is none."""
    b.finish(dst, first_low(b, _zero_extended(b, src0)), None, options)


@opcode(0x4D, one("cbit", cond=False), page="Count Bits Set")
def cbit(b: Gen9Builder, dst: PlainDst, src0: PlainOnlySrc, options: Opts) -> None:
    """dst[i] = how many ones src0[i] has."""
    b.finish(dst, b.popcount(_zero_extended(b, src0)), None, options)
