"""Conversions between float formats, in every rounding mode, exactly.

Half and bfloat lanes are 16-bit integers.  A double goes to a narrow format through a float rounded
to odd, which keeps enough bits for the second rounding to be right in every mode.
"""

from __future__ import annotations

from eumu.exec.jit.llvm.emit import Emitter, signed, vector_literal, vector_of
from eumu.ir import Rounding
from eumu.types import BF, HF, Type


class Words:
    """Emits expressions on `width` lanes of one integer type."""

    def __init__(self, e: Emitter, bits: int, width: int) -> None:
        self.e, self.width, self.bits, self.scalar = e, width, bits, f"i{bits}"
        self.type, self.mask = vector_of(self.scalar, width), vector_of("i1", width)

    def c(self, value: int) -> str:
        return vector_literal(self.scalar, [str(signed(value, self.bits))] * self.width)

    def op(self, name: str, x: str, y: str | int) -> str:
        return self.e.op(f"{name} {self.type} {x}, {y if isinstance(y, str) else self.c(y)}")

    def cmp(self, relation: str, x: str, y: str | int) -> str:
        return self.op(f"icmp {relation}", x, y)

    def both(self, name: str, m: str, n: str) -> str:
        return self.e.op(f"{name} {self.mask} {m}, {n}")

    def select(self, m: str, x: str | int, y: str | int) -> str:
        a, b = (v if isinstance(v, str) else self.c(v) for v in (x, y))
        return self.e.op(f"select {self.mask} {m}, {self.type} {a}, {self.type} {b}")


def widen(e: Emitter, type: Type, width: int, x: str) -> str:
    """Half or bfloat lanes as floats, exactly."""
    narrow, words = vector_of("i16", width), Words(e, 32, width)
    target = vector_of("float", width)
    if type is BF:
        bits = words.op("shl", e.op(f"zext {narrow} {x} to {words.type}"), 16)
        return e.op(f"bitcast {words.type} {bits} to {target}")
    if e.half_conversions:
        half = vector_of("half", width)
        return e.op(f"fpext {half} {e.op(f'bitcast {narrow} {x} to {half}')} to {target}")
    return _widen_half(e, words, e.op(f"zext {narrow} {x} to {words.type}"), target)


def _widen_half(e: Emitter, w: Words, h: str, target: str) -> str:
    size = w.op("and", h, 0x7FFF)
    shifted = w.op("shl", size, 13)
    normal = w.op("add", shifted, 112 << 23)
    special = w.select(w.cmp("uge", size, 0x7C00), w.op("add", shifted, 224 << 23), normal)
    scale = vector_literal("float", ["0x3E70000000000000"] * w.width)  # 2**-24
    count = e.op(f"uitofp {w.type} {size} to {target}")
    tiny = e.bitcast(e.op(f"fmul {target} {count}, {scale}"), target, w.type)
    bits = w.select(w.cmp("ult", size, 0x400), tiny, special)
    sign = w.op("shl", w.op("and", h, 0x8000), 16)
    return e.bitcast(w.op("or", bits, sign), w.type, target)


def narrow(e: Emitter, type: Type, width: int, x: str, rounding: Rounding) -> str:
    """Float lanes rounded to half or bfloat."""
    nearest = rounding is Rounding.RNE or rounding is Rounding.CR0
    source, target = vector_of("float", width), vector_of("i16", width)
    if type is HF and nearest and e.half_conversions:
        half = vector_of("half", width)
        return e.bitcast(e.op(f"fptrunc {source} {x} to {half}"), half, target)
    words = Words(e, 32, width)
    bits = e.bitcast(x, source, words.type)
    result = (_narrow_half if type is HF else _narrow_bfloat)(words, bits, rounding)
    return e.op(f"trunc {words.type} {result} to {target}")


def _round_up(w: Words, negative: str, q: str, rest: str, half: str | int, r: Rounding) -> str:
    """1 in the lanes where the quotient is to be increased."""
    if r is Rounding.RTZ:
        return w.c(0)
    if r in (Rounding.RU, Rounding.RD):
        inexact = w.cmp("ne", rest, 0)
        wanted = negative if r is Rounding.RD else w.both("xor", negative, _ones(w))
        return w.select(w.both("and", inexact, wanted), 1, 0)
    odd = w.cmp("ne", w.op("and", q, 1), 0)
    tie = w.both("and", w.cmp("eq", rest, half), odd)
    return w.select(w.both("or", w.cmp("ugt", rest, half), tie), 1, 0)


def _ones(w: Words) -> str:
    return vector_literal("i1", ["true"] * w.width)


def _narrow_half(w: Words, f: str, rounding: Rounding) -> str:
    size, negative = w.op("and", f, 0x7FFFFFFF), w.cmp("slt", f, 0)
    exponent = w.op("lshr", size, 23)
    normal = w.cmp("uge", size, 113 << 23)
    implicit = w.select(w.cmp("ne", exponent, 0), 0x800000, 0)
    fraction = w.op("or", w.op("and", size, 0x7FFFFF), implicit)
    distance = w.op("sub", w.c(126), exponent)
    capped = w.select(w.cmp("ugt", distance, 31), 31, distance)
    m = w.select(normal, w.op("sub", size, 112 << 23), fraction)
    shift = w.select(normal, 13, capped)
    unit = w.op("shl", w.c(1), shift)
    q, rest = w.op("lshr", m, shift), w.op("and", m, w.op("sub", unit, 1))
    half = w.op("lshr", unit, 1)
    rounded = w.op("add", q, _round_up(w, negative, q, rest, half, rounding))
    too_large = w.cmp("uge", size, 143 << 23)
    if rounding is Rounding.RTZ:
        overflow: str = w.c(0x7BFF)
    elif rounding in (Rounding.RU, Rounding.RD):
        up = rounding is Rounding.RU
        overflow = w.select(negative, 0x7BFF if up else 0x7C00, 0x7C00 if up else 0x7BFF)
    else:
        overflow = w.c(0x7C00)
    result = w.select(too_large, overflow, rounded)
    result = w.select(w.cmp("eq", size, 255 << 23), 0x7C00, result)
    result = w.select(w.cmp("ugt", size, 255 << 23), 0x7E00, result)
    return w.op("or", result, w.select(negative, 0x8000, 0))


def _narrow_bfloat(w: Words, f: str, rounding: Rounding) -> str:
    negative = w.cmp("slt", f, 0)
    q, rest = w.op("lshr", f, 16), w.op("and", f, 0xFFFF)
    rounded = w.op("add", q, _round_up(w, negative, q, rest, 0x8000, rounding))
    nan = w.cmp("ugt", w.op("and", f, 0x7FFFFFFF), 255 << 23)
    return w.select(nan, w.op("or", q, 0x40), rounded)


def float_to_odd(e: Emitter, width: int, x: str) -> str:
    """Double lanes as floats, rounded to odd."""
    double, single = vector_of("double", width), vector_of("float", width)
    near = e.op(f"fptrunc {double} {x} to {single}")
    back = e.op(f"fpext {single} {near} to {double}")
    return to_odd(e, width, near, "double", e.op(f"fsub {double} {x}, {back}"))


def to_odd(e: Emitter, width: int, near: str, scalar: str, lost: str) -> str:
    """Float lanes rounded to nearest, rounded to odd: the sticky bit lands in the last place.

    `lost` is what the rounding took away, of an LLVM type; its size is of no interest.
    """
    vector, single, w = vector_of(scalar, width), vector_of("float", width), Words(e, 32, width)
    inexact = e.op(f"fcmp one {vector} {lost}, zeroinitializer")
    bits = e.bitcast(near, single, w.type)
    even = w.cmp("eq", w.op("and", bits, 1), 0)
    below = e.op(f"fcmp olt {vector} {lost}, zeroinitializer")
    beyond = w.both("xor", below, w.cmp("slt", bits, 0))
    moved = w.select(beyond, w.op("sub", bits, 1), w.op("add", bits, 1))
    odd = w.select(w.both("and", inexact, even), moved, bits)
    return e.bitcast(odd, w.type, single)


def narrow_double(e: Emitter, type: Type, width: int, x: str, rounding: Rounding) -> str:
    """Double lanes rounded once to half or bfloat."""
    return narrow(e, type, width, float_to_odd(e, width, x), rounding)
