"""Counting, finding, reversing and inserting bits."""

from __future__ import annotations

from functools import partial

from eumu.ir import Value
from eumu.isa.kinds import Dst, InstBuilder, Src
from eumu.isa.mathlib.integers import bit_field, field_mask, first_high, first_low
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import UD, integer

counting = partial(opcode, limits=maps.PLAIN, front_end=maps.BITS)
field = partial(opcode, types=maps.BIT_FIELD, limits=maps.FIELDS, front_end=maps.BITS_OF_ANY_SIZE)


def _unsigned(b: InstBuilder, x: Value) -> Value:
    """The bits of an element, zero-extended to ud."""
    return b.convert(b.convert(x, integer(x.type.bits, signed=False)), UD)


@opcode(
    0x1F, "{pred}lzd{dst.sat} {exec} {dst} {src0}", types=maps.LZD, page="LZD",
    limits=maps.PLAIN, front_end=maps.ARITHMETIC_MODIFIER,
)  # fmt: skip
def lzd(b: InstBuilder, dst: Dst, src0: Src) -> None:
    """dst[i] = leading zeros of src0[i], 32 for zero."""
    b.write(dst, b.clz(b.convert(src0, UD)))


@counting(0x27, "{pred}cbit{dst.sat} {exec} {dst} {src0}", types=maps.COUNT, page="CBIT")
def cbit(b: InstBuilder, dst: Dst, src0: Src) -> None:
    """dst[i] = number of ones in src0[i] at its own width."""
    b.write(dst, b.popcount(_unsigned(b, src0)))


@counting(0x2E, "{pred}fbl{dst.sat} {exec} {dst} {src0}", types=maps.FIRST_LOW, page="FBL")
def fbl(b: InstBuilder, dst: Dst, src0: Src) -> None:
    """dst[i] = index of the lowest one in src0[i], all ones for zero."""
    b.write(dst, first_low(b, _unsigned(b, src0)))


@counting(0x2F, "{pred}fbh{dst.sat} {exec} {dst} {src0}", types=maps.FIRST_HIGH, page="FBH")
def fbh(b: InstBuilder, dst: Dst, src0: Src) -> None:
    """dst[i] = zeros above the highest one; for d, copies of the sign bit; all ones if none."""
    b.write(dst, first_high(b, b.convert(src0, UD), signed=src0.type.is_signed))


@counting(0x48, "{pred}bfrev{dst.sat} {exec} {dst} {src0}", types=maps.REVERSE, page="BFREV")
def bfrev(b: InstBuilder, dst: Dst, src0: Src) -> None:
    """dst[i] = the 32 bits of src0[i] in reverse order."""
    b.write(dst, b.bitreverse(b.convert(src0, UD)))


@field(0x46, "{pred}bfe{dst.sat} {exec} {dst} {size} {offset} {src}", page="BFE")
def bfe(b: InstBuilder, dst: Dst, size: Src, offset: Src, src: Src) -> None:
    """dst[i] = `size` bits of src[i] from bit `offset`, sign-extended for d; zero for size 0."""
    five = b.const(UD, 31, b.width)
    w, o = (b.and_(b.convert(v, UD), five) for v in (size, offset))
    b.write(dst, bit_field(b, w, o, b.convert(src, UD), signed=src.type.is_signed))


@field(0x47, "{pred}bfi{dst.sat} {exec} {dst} {size} {offset} {src} {base}", page="BFI")
def bfi(b: InstBuilder, dst: Dst, size: Src, offset: Src, src: Src, base: Src) -> None:
    """dst[i] = base[i] with `size` bits from bit `offset` on replaced by the low bits of src[i]."""
    five = b.const(UD, 31, b.width)
    w, o = (b.and_(b.convert(v, UD), five) for v in (size, offset))
    mask = b.shl(field_mask(b, w), o)
    inserted = b.and_(b.shl(b.convert(src, UD), o), mask)
    b.write(dst, b.or_(b.and_(b.convert(base, UD), b.not_(mask)), inserted))
