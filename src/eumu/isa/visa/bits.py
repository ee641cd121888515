"""Counting, finding, reversing and inserting bits."""

from __future__ import annotations

from eumu.ir import Value
from eumu.isa.kinds import Dst, Exec, Meaning, Pred, Src
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import UD, D, integer


def _unsigned(b: Meaning, x: Value) -> Value:
    """The bits of an element, zero-extended to ud."""
    return b.convert(b.convert(x, integer(x.type.bits, signed=False)), UD)


@opcode(
    0x1F, "{pred}lzd{dst.sat} {exec} {dst} {src0}", types=maps.LZD, page="LZD",
    limits=maps.PLAIN, front_end=maps.ARITHMETIC_MODIFIER,
)  # fmt: skip
def lzd(b: Meaning, exec: Exec, pred: Pred, dst: Dst, src0: Src) -> None:
    """dst[i] = leading zeros of src0[i], 32 for zero."""
    b.write(dst, b.clz(b.convert(src0, UD)))


@opcode(
    0x27, "{pred}cbit{dst.sat} {exec} {dst} {src0}", types=maps.COUNT, page="CBIT",
    limits=maps.PLAIN, front_end=maps.BITS,
)  # fmt: skip
def cbit(b: Meaning, exec: Exec, pred: Pred, dst: Dst, src0: Src) -> None:
    """dst[i] = number of ones in src0[i] at its own width."""
    b.write(dst, b.popcount(_unsigned(b, src0)))


@opcode(
    0x2E, "{pred}fbl{dst.sat} {exec} {dst} {src0}", types=maps.FIRST_LOW, page="FBL",
    limits=maps.PLAIN, front_end=maps.BITS,
)  # fmt: skip
def fbl(b: Meaning, exec: Exec, pred: Pred, dst: Dst, src0: Src) -> None:
    """dst[i] = index of the lowest one in src0[i], all ones for zero."""
    x = _unsigned(b, src0)
    zero = b.cmp("eq", x, b.const(UD, 0, x.width))
    b.write(dst, b.select(zero, b.const(UD, -1, x.width), b.ctz(x)))


@opcode(
    0x2F, "{pred}fbh{dst.sat} {exec} {dst} {src0}", types=maps.FIRST_HIGH, page="FBH",
    limits=maps.PLAIN, front_end=maps.BITS,
)  # fmt: skip
def fbh(b: Meaning, exec: Exec, pred: Pred, dst: Dst, src0: Src) -> None:
    """dst[i] = zeros above the highest one; for d, copies of the sign bit; all ones if none."""
    signed = src0.type.is_signed
    x = b.convert(src0, UD)
    if signed:
        sign = b.bitcast(b.shr(b.bitcast(x, D), b.const(D, 31, x.width)), UD)
        x = b.xor(x, sign)
    zero = b.cmp("eq", x, b.const(UD, 0, x.width))
    b.write(dst, b.select(zero, b.const(UD, -1, x.width), b.clz(x)))


@opcode(
    0x48, "{pred}bfrev{dst.sat} {exec} {dst} {src0}", types=maps.REVERSE, page="BFREV",
    limits=maps.PLAIN, front_end=maps.BITS,
)  # fmt: skip
def bfrev(b: Meaning, exec: Exec, pred: Pred, dst: Dst, src0: Src) -> None:
    """dst[i] = the 32 bits of src0[i] in reverse order."""
    b.write(dst, b.bitreverse(b.convert(src0, UD)))


def _field_mask(b: Meaning, width: Value) -> Value:
    """(1 << width) - 1."""
    one = b.const(UD, 1, width.width)
    return b.sub(b.shl(one, width), one)


@opcode(
    0x46,
    "{pred}bfe{dst.sat} {exec} {dst} {size} {offset} {src}",
    types=maps.BIT_FIELD,
    page="BFE",
    limits=maps.FIELDS,
    front_end=maps.BITS_OF_ANY_SIZE,
)
def bfe(b: Meaning, exec: Exec, pred: Pred, dst: Dst, size: Src, offset: Src, src: Src) -> None:
    """dst[i] = `size` bits of src[i] from bit `offset`, sign-extended for d; zero for size 0."""
    five = b.const(UD, 31, b.width)
    w, o = (b.and_(b.convert(v, UD), five) for v in (size, offset))
    field = b.and_(b.shr(b.convert(src, UD), o), _field_mask(b, w))
    if src.type.is_signed:
        # Sign extension by shifting the field to the top and back; a field of size 0 stays 0.
        up = b.and_(b.neg(w), five)
        signed = b.shr(b.bitcast(b.shl(field, up), D), b.bitcast(up, D))
        b.write(dst, signed)
        return
    b.write(dst, field)


@opcode(
    0x47,
    "{pred}bfi{dst.sat} {exec} {dst} {size} {offset} {src} {base}",
    types=maps.BIT_FIELD,
    page="BFI",
    limits=maps.FIELDS,
    front_end=maps.BITS_OF_ANY_SIZE,
)
def bfi(
    b: Meaning, exec: Exec, pred: Pred, dst: Dst, size: Src, offset: Src, src: Src, base: Src
) -> None:
    """dst[i] = base[i] with `size` bits from bit `offset` on replaced by the low bits of src[i]."""
    five = b.const(UD, 31, b.width)
    w, o = (b.and_(b.convert(v, UD), five) for v in (size, offset))
    mask = b.shl(_field_mask(b, w), o)
    inserted = b.and_(b.shl(b.convert(src, UD), o), mask)
    b.write(dst, b.or_(b.and_(b.convert(base, UD), b.not_(mask)), inserted))
