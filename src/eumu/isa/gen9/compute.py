"""What the bodies of arithmetic share."""

from __future__ import annotations

from collections.abc import Callable

from eumu.ir import Value
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.operands import Condition, InstructionOptions
from eumu.isa.gen9.results import Accumulator
from eumu.isa.kinds import WritePlace
from eumu.isa.kinds.builder import is_apart
from eumu.isa.mathlib.integers import clamped_sum, on_bits, saturating
from eumu.types import BOOL, UD, UQ, D, Q, Type, integer


def exact(dst: WritePlace, cond: Condition | None, options: InstructionOptions) -> bool:
    """Whether more than the low 32 bits of an integer result can be seen."""
    wide = dst.saturate or dst.type.size == 8 or isinstance(dst, Accumulator) or options.bit_28
    return wide or (cond is not None and cond.name == "ov")


def operands(
    b: Gen9Builder,
    dst: WritePlace,
    cond: Condition | None,
    options: InstructionOptions,
    *sources: Value,
) -> tuple[Value, ...]:
    """Sources in a type in which the result is right as far as it can be seen."""
    values = b.promote(*sources, to=dst.type)
    if values[0].type.is_int and values[0].type.size < 8 and exact(dst, cond, options):
        wide = UQ if all(not v.type.is_signed for v in sources) else Q
        return tuple(b.convert(v, wide) for v in sources)
    return values


def total(b: Gen9Builder, dst: WritePlace, x: Value, y: Value, sources: tuple[Value, ...]) -> Value:
    """x + y, clamped at 64 bits where the destination saturates and sources have as many."""
    if dst.saturate and is_apart(*sources):
        return clamped_sum(b, dst.type, *sources)
    partial = b.add(x, y)
    if dst.saturate and partial.type.is_int and max(v.type.size for v in sources) == 8:
        return saturating(b, x, y, partial)
    return partial


def compare(b: Gen9Builder, cond: Condition | None, x: Value, y: Value, *, native: bool) -> Value:
    """Where a comparison holds; a `native` one holds for `ge` and `lt` if y is NaN."""
    name = "ne" if cond is None else cond.name
    if name == "ov":
        return b.const(BOOL, 0, x.width)
    if name == "un":
        if not x.type.is_float:
            return b.const(BOOL, 0, x.width)
        return b.or_(b.cmp("ne", x, x), b.cmp("ne", y, y))
    result = b.relation(name, x, y)
    if native and name in ("ge", "lt") and y.type.is_float:
        return b.or_(result, b.cmp("ne", y, y))
    return result


def all_ones(b: Gen9Builder, where: Value, type: Type) -> Value:
    """All bits of the lanes of a mask, 0 elsewhere."""
    bits = integer(type.bits, signed=False)
    ones = b.select(where, b.const(bits, -1, where.width), b.const(bits, 0, where.width))
    return b.bitcast(ones, type)


def logic(
    b: Gen9Builder,
    dst: WritePlace,
    cond: Condition | None,
    options: InstructionOptions,
    apply: Callable[..., Value],
    *sources: Value,
) -> None:
    """A bitwise instruction."""
    b.finish(dst, on_bits(b, apply, dst.type, *sources), cond, options)


def shift_operands(
    b: Gen9Builder, dst: WritePlace, x: Value, count: Value, *, signed: bool
) -> tuple[Value, Value]:
    """The count has 6 bits where an operand has 64, else 5."""
    bits = 64 if 8 in (dst.type.size, x.type.size) else 32
    if x.type.is_signed is not signed and x.type.size < 8 * bits:
        x = b.convert(x, integer(x.type.bits, signed=signed))
    type = integer(bits, signed=signed)
    mask = b.const(type, bits - 1, x.width)
    return b.convert(x, type), b.and_(b.convert(count, type), mask)


def low_word(b: Gen9Builder, x: Value) -> Value:
    """The low 16 bits of a dword as :q."""
    return b.and_(b.convert(x, Q), b.const(Q, 0xFFFF, x.width))


def dword(x: Value) -> Type:
    """The dword type of a value's sign."""
    return D if x.type.is_signed else UD
