"""Operations that compute lanes from lanes: one row each, chosen once per operation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from eumu.errors import InternalError
from eumu.exec.interp import floats, integers, products
from eumu.exec.interp.values import ALL, Lanes, Mask, wide
from eumu.ir import Op, Rounding
from eumu.ir.operations.arithmetic import Convert, Rounded
from eumu.ir.operations.lanes import Const, Shuffle
from eumu.types import BF, BOOL, F, Type

Compute = Callable[..., Lanes]


def compute(op: Op) -> Compute:
    """The function from the operation's arguments to its result."""
    return _CHOOSE[op.name](op)


def is_lanewise(name: str) -> bool:
    return name in _CHOOSE


def _rounding(op: Rounded) -> Rounding:
    rounding = op.rounding
    if rounding is Rounding.CR0:
        raise InternalError(f"IR {op.name} still rounds as %cr0 says: run the pass `modes` first")
    return rounding


def _plain(function: Compute) -> Callable[[Op], Compute]:
    return lambda op: function


def _by_kind(integer: Compute, floating: Callable[..., Lanes]) -> Callable[[Rounded], Compute]:
    """Integers as they are, floats with the operation's rounding."""

    def choose(op: Rounded) -> Compute:
        if not op.results[0].type.is_float:
            return integer
        if _rounding(op) is Rounding.RNE and op.name in _NEAREST:
            return _NEAREST[op.name]
        return partial(floating, rounding=_rounding(op))

    return choose


_NEAREST: dict[str, Compute] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
}


def _no_integer(*args: Lanes) -> Lanes:
    raise InternalError("IR float operation on integers")


def _and(x: Lanes, y: Lanes) -> Lanes:
    if x is ALL:
        return y
    return x if y is ALL else x & y


def _or(x: Lanes, y: Lanes) -> Lanes:
    return ALL if x is ALL or y is ALL else x | y


def _select(mask: Mask, x: Lanes, y: Lanes) -> Lanes:
    return x if mask is ALL else np.where(mask, x, y)


def _sign_bit(type: Type) -> Any:
    return np.dtype(f"u{type.size}").type(1 << (type.bits - 1))


def _neg(op: Op) -> Compute:
    type = op.results[0].type
    if not type.is_float:
        return np.negative
    sign, raw, dtype = _sign_bit(type), f"u{type.size}", type.dtype
    return lambda x: (x.view(raw) ^ sign).view(dtype)


def _abs(op: Op) -> Compute:
    type = op.results[0].type
    if not type.is_float:
        return np.abs
    rest, raw, dtype = np.invert(_sign_bit(type)), f"u{type.size}", type.dtype
    return lambda x: (x.view(raw) & rest).view(dtype)


def minimum(x: Lanes, y: Lanes) -> Lanes:
    """x where it is less or y is NaN, else y; integers never differ from themselves."""
    return np.where((x < y) | np.not_equal(y, y), x, y)


def maximum(x: Lanes, y: Lanes) -> Lanes:
    """x where it is not less or y is NaN, else y."""
    return np.where((x >= y) | np.not_equal(y, y), x, y)


def _min(op: Op) -> Compute:
    if not op.results[0].type.is_float:
        return np.minimum
    return minimum


def _max(op: Op) -> Compute:
    if not op.results[0].type.is_float:
        return np.maximum
    return maximum


_RELATIONS: dict[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _convert(op: Convert) -> Compute:
    source, target = op.args[0].type, op.results[0].type
    dtype = target.dtype
    if source.is_int and target.is_int:
        return partial(integers.convert, dtype=dtype, saturate=op.saturate)
    if target.is_int:
        return partial(floats.to_int, dtype=dtype)
    rounding = _rounding(op)
    if source is BF and target is F:
        return floats.from_bf16
    if source is F and target is BF:
        return partial(floats.to_bf16, rounding=rounding)
    if BF in (source, target):
        raise InternalError(f"IR convert from {source} to {target}")
    convert = floats.from_int if source.is_int else floats.to_float
    return partial(convert, dtype=dtype, rounding=rounding)


def _shuffle(op: Shuffle) -> Compute:
    lanes, width = op.lanes, op.args[0].width
    steps = {b - a for a, b in pairwise(lanes)}
    if len(steps) == 1 and min(steps) > 0:
        columns: Any = slice(lanes[0], lanes[-1] + 1, min(steps))
    else:
        columns = list(lanes)
    return lambda x: x if x.shape[1] == 1 else wide(x, width)[:, columns]


def _concat(op: Op) -> Compute:
    widths = [value.width for value in op.args]

    def concat(*parts: Lanes) -> Lanes:
        threads = max(part.shape[0] for part in parts)
        return np.concatenate(
            [np.broadcast_to(p, (threads, w)) for p, w in zip(parts, widths, strict=True)], axis=1
        )

    return concat


def _bitcast(op: Op) -> Compute:
    (source,), dtype = op.args, op.results[0].type.dtype
    if source.type.size == op.results[0].type.size:
        return lambda x: x.view(dtype)
    return lambda x: np.ascontiguousarray(wide(x, source.width)).view(dtype)


def _mask_bits(op: Op) -> Compute:
    width = op.args[0].width

    def mask_bits(mask: Mask) -> Lanes:
        packed = np.packbits(wide(mask, width), axis=1, bitorder="little")
        dwords = np.zeros((packed.shape[0], 4), np.uint8)
        dwords[:, : packed.shape[1]] = packed
        return dwords.view(np.uint32)

    return mask_bits


def _bits_mask(op: Op) -> Compute:
    width = op.results[0].width

    def bits_mask(x: Lanes) -> Mask:
        octets = np.ascontiguousarray(x).view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little")[:, :width].astype(bool)

    return bits_mask


def constant(op: Const) -> Lanes:
    """The lanes of a `const`, [1, 1] if they are all the same."""
    type, lanes = op.results[0].type, op.lanes
    if len(set(lanes)) == 1:
        lanes = lanes[:1]
    if type is BOOL:
        mask = np.array(lanes, bool)[None, :]
        return ALL if mask.all() else mask
    return np.array(lanes, f"u{type.size}").view(type.dtype)[None, :]


_CHOOSE: dict[str, Callable[..., Compute]] = {
    "splat": _plain(lambda x: x),
    "shuffle": _shuffle,
    "concat": _concat,
    "bitcast": _bitcast,
    "add": _by_kind(np.add, floats.add),
    "sub": _by_kind(np.subtract, floats.sub),
    "mul": _by_kind(np.multiply, floats.mul),
    "div": _by_kind(integers.div, floats.div),
    "fma": _by_kind(_no_integer, floats.fma),
    "sqrt": _by_kind(_no_integer, floats.sqrt),
    "round": _by_kind(_no_integer, floats.round_integral),
    "rem": _plain(integers.rem),
    "and": _plain(_and),
    "or": _plain(_or),
    "xor": _plain(np.bitwise_xor),
    "not": _plain(np.invert),
    "shl": _plain(integers.shl),
    "shr": _plain(integers.shr),
    "rotl": _plain(integers.rotl),
    "popcount": _plain(integers.popcount),
    "clz": _plain(integers.clz),
    "ctz": _plain(integers.ctz),
    "bitreverse": _plain(integers.bitreverse),
    "neg": _neg,
    "abs": _abs,
    "min": _min,
    "max": _max,
    "cmp": lambda op: _RELATIONS[op.rel],
    "select": _plain(_select),
    "convert": _convert,
    "flush": _plain(floats.flush),
    "dot": products.dot,
    "any": _plain(lambda mask: mask.any(axis=1, keepdims=True)),
    "all": _plain(lambda mask: mask.all(axis=1, keepdims=True)),
    "mask_bits": _mask_bits,
    "bits_mask": _bits_mask,
}
