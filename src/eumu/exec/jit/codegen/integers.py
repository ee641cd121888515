"""Lane-wise integer and bit operations: LLVM text for `width` lanes of the operation's type.

Every function here takes the emitter, the operation, the number of lanes to emit (the operation's
width, or 1 for a uniform value) and the LLVM names of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable

from eumu.exec.jit.llvm.emit import (
    Emitter,
    bit_width,
    int_type,
    vector_literal,
    vector_of,
)
from eumu.ir import Op
from eumu.ir.operations.arithmetic import Compare, Convert
from eumu.types import BOOL, Type


def constant(type: Type, width: int, value: int) -> str:
    """An integer constant in every lane."""
    return vector_literal(f"i{bit_width(type)}", [str(value)] * width)


def _simple(instruction: str, e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return e.op(f"{instruction} {int_type(op.result.type, width)} {x}, {y}")


def add(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _simple("add", e, op, width, x, y)


def sub(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _simple("sub", e, op, width, x, y)


def mul(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _simple("mul", e, op, width, x, y)


def _safe_divisor(e: Emitter, op: Op, width: int, x: str, y: str) -> tuple[str, str, str]:
    """A divisor for which LLVM defines the division, and masks of y == 0 and of MIN / -1."""
    type = op.result.type
    vector, mask = int_type(type, width), vector_of("i1", width)
    one = constant(type, width, 1)
    zero = e.op(f"icmp eq {vector} {y}, {constant(type, width, 0)}")
    bad, overflow = zero, "zeroinitializer"
    if type.is_signed:
        minus = e.op(f"icmp eq {vector} {y}, {constant(type, width, -1)}")
        least = e.op(f"icmp eq {vector} {x}, {constant(type, width, type.minimum)}")
        overflow = e.op(f"and {mask} {minus}, {least}")
        bad = e.op(f"or {mask} {zero}, {overflow}")
    return (
        e.op(f"select {mask} {bad}, {vector} {one}, {vector} {y}"),
        zero,
        overflow,
    )


def div(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    type = op.result.type
    vector, mask = int_type(type, width), vector_of("i1", width)
    divisor, zero, _ = _safe_divisor(e, op, width, x, y)  # MIN / 1 is MIN already
    name = "sdiv" if type.is_signed else "udiv"
    quotient = e.op(f"{name} {vector} {x}, {divisor}")
    ones = constant(type, width, -1)
    return e.op(f"select {mask} {zero}, {vector} {ones}, {vector} {quotient}")


def rem(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    type = op.result.type
    vector, mask = int_type(type, width), vector_of("i1", width)
    divisor, zero, _ = _safe_divisor(e, op, width, x, y)  # MIN % 1 is 0 already
    name = "srem" if type.is_signed else "urem"
    remainder = e.op(f"{name} {vector} {x}, {divisor}")
    return e.op(f"select {mask} {zero}, {vector} {x}, {vector} {remainder}")


def and_(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _simple("and", e, op, width, x, y)


def or_(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _simple("or", e, op, width, x, y)


def xor(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _simple("xor", e, op, width, x, y)


def not_(e: Emitter, op: Op, width: int, x: str) -> str:
    type = op.result.type
    ones = constant(type, width, -1) if type is not BOOL else vector_literal("i1", ["true"] * width)
    return e.op(f"xor {int_type(type, width)} {x}, {ones}")


def _count(e: Emitter, op: Op, width: int, y: str) -> str:
    type = op.result.type
    return e.op(f"and {int_type(type, width)} {y}, {constant(type, width, type.bits - 1)}")


def shl(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return _simple("shl", e, op, width, x, _count(e, op, width, y))


def shr(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    name = "ashr" if op.result.type.is_signed else "lshr"
    return _simple(name, e, op, width, x, _count(e, op, width, y))


def rotl(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    return e.intrinsic("fshl", int_type(op.result.type, width), x, x, y)


def popcount(e: Emitter, op: Op, width: int, x: str) -> str:
    return e.intrinsic("ctpop", int_type(op.result.type, width), x)


def clz(e: Emitter, op: Op, width: int, x: str) -> str:
    return e.intrinsic("ctlz", int_type(op.result.type, width), x, extra="i1 false")


def ctz(e: Emitter, op: Op, width: int, x: str) -> str:
    return e.intrinsic("cttz", int_type(op.result.type, width), x, extra="i1 false")


def bitreverse(e: Emitter, op: Op, width: int, x: str) -> str:
    return e.intrinsic("bitreverse", int_type(op.result.type, width), x)


def neg(e: Emitter, op: Op, width: int, x: str) -> str:
    type = op.result.type
    return e.op(f"sub {int_type(type, width)} {constant(type, width, 0)}, {x}")


def absolute(e: Emitter, op: Op, width: int, x: str) -> str:
    type = op.result.type
    if not type.is_signed:
        return x
    return e.intrinsic("abs", int_type(type, width), x, extra="i1 false")


def minimum(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    type = op.result.type
    return e.intrinsic("smin" if type.is_signed else "umin", int_type(type, width), x, y)


def maximum(e: Emitter, op: Op, width: int, x: str, y: str) -> str:
    type = op.result.type
    return e.intrinsic("smax" if type.is_signed else "umax", int_type(type, width), x, y)


def cmp(e: Emitter, op: Compare, width: int, x: str, y: str) -> str:
    type, rel = op.args[0].type, op.rel
    sign = "" if rel in ("eq", "ne") else "s" if type.is_signed else "u"
    return e.op(f"icmp {sign}{rel} {int_type(type, width)} {x}, {y}")


def convert(e: Emitter, op: Convert, width: int, x: str) -> str:
    """Integer to integer: truncate or extend, or clamp first if `saturate`."""
    source, target = op.args[0].type, op.result.type
    a, b = int_type(source, width), int_type(target, width)
    if op.saturate:
        x = _clamp(e, source, target, width, x)
    if source.bits == target.bits:
        return x
    if source.bits > target.bits:
        return e.op(f"trunc {a} {x} to {b}")
    return e.op(f"{'sext' if source.is_signed else 'zext'} {a} {x} to {b}")


def _clamp(e: Emitter, source: Type, target: Type, width: int, x: str) -> str:
    vector, prefix = int_type(source, width), "s" if source.is_signed else "u"
    if target.maximum < source.maximum:
        x = e.intrinsic(f"{prefix}min", vector, x, constant(source, width, target.maximum))
    if target.minimum > source.minimum:
        x = e.intrinsic(f"{prefix}max", vector, x, constant(source, width, target.minimum))
    return x


INTEGER_OPS: dict[str, Callable[..., str]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "rem": rem,
    "and": and_,
    "or": or_,
    "xor": xor,
    "not": not_,
    "shl": shl,
    "shr": shr,
    "rotl": rotl,
    "popcount": popcount,
    "clz": clz,
    "ctz": ctz,
    "bitreverse": bitreverse,
    "neg": neg,
    "abs": absolute,
    "min": minimum,
    "max": maximum,
    "cmp": cmp,
    "convert": convert,
}
