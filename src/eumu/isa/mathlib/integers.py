"""Functions of integers and bits that several instruction sets have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from eumu.errors import InternalError
from eumu.ir import Builder, Rounding, Value
from eumu.isa.kinds import InstBuilder
from eumu.types import DF, HF, UD, UQ, D, F, Q, Type, integer


def one_where(b: Builder, mask: Value) -> Value:
    """1 in the lanes of a mask, 0 elsewhere, as ud."""
    return b.select(mask, b.const(UD, 1, mask.width), b.const(UD, 0, mask.width))


def average(b: Builder, x: Value, y: Value) -> Value:
    """(x + y + 1) >> 1 without overflow, as q."""
    x, y = b.convert(x, Q), b.convert(y, Q)
    one = b.const(Q, 1, x.width)
    return b.shr(b.add(b.add(x, y), one), one)


def bits_of(b: Builder, x: Value, type: Type) -> Value:
    """An element as an integer of `type`: floats by their bits, integers extended."""
    if x.type.is_float:
        x = b.bitcast(x, integer(x.type.bits, signed=False))
    return b.convert(x, type)


def on_bits(b: InstBuilder, apply: Callable[..., Value], into: Type, *sources: Value) -> Value:
    """A bitwise operation on the bits of elements, in the type that integers are computed in.

    What goes `into` 64 bits is computed in as many, to which each source comes by its own sign:
    Intel's finalizer gives an instruction the narrow source of a move that widens.
    """
    common = b.integer_type(*sources)
    if into.size == Q.size:
        common = integer(Q.bits, signed=common.is_signed)
    return apply(*(bits_of(b, x, common) for x in sources))


def saturating(b: Builder, x: Value, y: Value, total: Value, *, subtract: bool = False) -> Value:
    """`total` = x ± y, replaced by the limit of its type where it overflowed."""
    type = total.type
    if not type.is_signed:
        wrapped = b.cmp("lt", x, y) if subtract else b.cmp("lt", total, x)
        return b.select(wrapped, b.const(type, 0 if subtract else -1, x.width), total)
    differs = b.xor(x, y) if subtract else b.not_(b.xor(x, y))
    overflow = b.and_(differs, b.xor(x, total))
    zero = b.const(type, 0, x.width)
    limit = b.select(
        b.cmp("lt", x, zero),
        b.const(type, type.minimum, x.width),
        b.const(type, type.maximum, x.width),
    )
    return b.select(b.cmp("lt", overflow, zero), limit, total)


def clamped_sum(b: Builder, type: Type, x: Value, y: Value) -> Value:
    """x + y of an unsigned quadword and a number with a sign, clamped for a destination of `type`:
    as uq for such a one, else as q."""
    x, y = (x, y) if x.type is UQ else (y, x)
    total, zero = b.add(x, b.convert(y, UQ)), b.const(Q, 0, x.width)
    falls = b.cmp("lt", b.convert(y, Q), zero)
    below = b.and_(falls, b.cmp("gt", total, x))
    above = b.and_(b.not_(falls), b.cmp("lt", total, x))
    if type is UQ:
        rest = b.select(above, b.const(UQ, -1, x.width), total)
        return b.select(below, b.const(UQ, 0, x.width), rest)
    signed = b.bitcast(total, Q)
    above = b.or_(above, b.and_(b.not_(below), b.cmp("lt", signed, zero)))
    return b.select(above, b.const(Q, Q.maximum, x.width), signed)


def saturating_shift(b: Builder, x: Value, count: Value) -> Value:
    """x << count, replaced by the limit of its type where bits are lost."""
    shifted = b.shl(x, count)
    lost = b.cmp("ne", b.shr(shifted, count), x)
    limit = b.const(x.type, x.type.maximum, x.width)
    if x.type.is_signed:
        negative = b.cmp("lt", x, b.const(x.type, 0, x.width))
        limit = b.select(negative, b.const(x.type, x.type.minimum, x.width), limit)
    return b.select(lost, limit, shifted)


def field_mask(b: Builder, width: Value) -> Value:
    """(1 << width) - 1, of ud."""
    one = b.const(UD, 1, width.width)
    return b.sub(b.shl(one, width), one)


def bit_field(b: Builder, size: Value, offset: Value, x: Value, *, signed: bool) -> Value:
    """`size` bits of x from bit `offset` on (ud, both below 32); 0 for size 0."""
    field = b.and_(b.shr(x, offset), field_mask(b, size))
    if not signed:
        return field
    # Sign extension by shifting the field to the top and back; a field of size 0 stays 0.
    up = b.and_(b.neg(size), b.const(UD, 31, size.width))
    return b.shr(b.bitcast(b.shl(field, up), D), b.bitcast(up, D))


def first_high(b: Builder, x: Value, *, signed: bool) -> Value:
    """Zeros (signed: copies of the sign) above the first other bit of a ud; all ones if none."""
    if signed:
        x = b.xor(x, b.bitcast(b.shr(b.bitcast(x, D), b.const(D, 31, x.width)), UD))
    zero = b.cmp("eq", x, b.const(UD, 0, x.width))
    return b.select(zero, b.const(UD, -1, x.width), b.clz(x))


def first_low(b: Builder, x: Value) -> Value:
    """The number of the lowest one of a ud; all ones if there is none."""
    zero = b.cmp("eq", x, b.const(UD, 0, x.width))
    return b.select(zero, b.const(UD, -1, x.width), b.ctz(x))


def pair_differences(b: Builder, x: Value, y: Value) -> Value:
    """|x0-y0| + |x1-y1| of each pair of lanes, in both lanes of the pair, as d."""
    distance = b.abs(b.sub(b.convert(x, D), b.convert(y, D)))
    even = b.shuffle(distance, [k & ~1 for k in range(x.width)])
    odd = b.shuffle(distance, [min(k | 1, x.width - 1) for k in range(x.width)])
    return b.add(even, odd)


_BELOW_ONE: Final = {HF: 0x3BFF, F: 0x3F7F_FFFF, DF: 0x3FEF_FFFF_FFFF_FFFF}


def fraction(b: Builder, x: Value) -> Value:
    """x - floor(x), at most the float below 1; the sum must not round up to 1."""
    if x.type not in _BELOW_ONE:
        raise InternalError(f"IR fraction of {x.type}")
    rest = b.sub(x, b.round(x, Rounding.RD), Rounding.RNE)
    limit = b.const(x.type, (_BELOW_ONE[x.type],) * x.width, x.width)
    return b.select(b.cmp("gt", rest, limit), limit, rest)
