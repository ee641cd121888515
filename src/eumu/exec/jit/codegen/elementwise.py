"""Lane-wise operations, and those that only move lanes: from their arguments' LLVM values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eumu.errors import Unsupported
from eumu.exec.jit.codegen.floats import FLOAT_OPS
from eumu.exec.jit.codegen.integers import INTEGER_OPS
from eumu.exec.jit.llvm.emit import Emitter, lane_type, scalar_type, vector_of
from eumu.ir import Op
from eumu.ir.operations.lanes import Shuffle

Emit = Callable[..., str]


def emitter_of(op: Op) -> Emit:
    """The function that emits a lane-wise operation on `width` lanes."""
    if op.name in SHAPE_OPS:
        return SHAPE_OPS[op.name]
    if op.name == "select":
        return _select
    table: Mapping[str, Emit] = INTEGER_OPS
    for value in (*op.args, *op.results):
        if value.type.is_float:
            table = FLOAT_OPS
    if op.name not in table:
        kind = (*op.args, *op.results)[0].type
        raise Unsupported(f"IR operation {op.name} on {kind} in the fast engine")
    return table[op.name]


def _select(e: Emitter, op: Op, width: int, m: str, x: str, y: str) -> str:
    vector, mask = lane_type(op.result.type, width), vector_of("i1", width)
    return e.op(f"select {mask} {m}, {vector} {x}, {vector} {y}")


def _shuffle(e: Emitter, op: Shuffle, width: int, x: str) -> str:
    return e.shuffle(x, scalar_type(op.result.type), op.args[0].width, op.lanes)


def _concat(e: Emitter, op: Op, width: int, *parts: str) -> str:
    scalar = scalar_type(op.result.type)
    widths = [a.width for a in op.args]
    joined, have = parts[0], widths[0]
    for part, more in zip(parts[1:], widths[1:], strict=True):
        joined = _append(e, scalar, joined, have, part, more)
        have += more
    return joined


def _append(e: Emitter, scalar: str, a: str, have: int, b: str, more: int) -> str:
    if more == 1 or have == 1:
        total = vector_of(scalar, have + more)
        wide = (
            e.shuffle(a, scalar, have, [*range(have), *([-1] * more)])
            if have > 1
            else e.op(f"insertelement {total} poison, {scalar} {a}, i64 0")
        )
        for k in range(more):
            lane = b if more == 1 else e.shuffle(b, scalar, more, [k])
            wide = e.op(f"insertelement {total} {wide}, {scalar} {lane}, i64 {have + k}")
        return wide
    size = max(have, more)
    wide_a = e.shuffle(a, scalar, have, [*range(have), *([-1] * (size - have))])
    wide_b = e.shuffle(b, scalar, more, [*range(more), *([-1] * (size - more))])
    return e.blend(wide_a, wide_b, scalar, size, [*range(have), *range(size, size + more)])


def _splat(e: Emitter, op: Op, width: int, x: str) -> str:
    return e.splat(x, scalar_type(op.result.type), width)


def _bitcast(e: Emitter, op: Op, width: int, x: str) -> str:
    (source,), target = op.args, op.result
    if source.type.size == target.type.size:
        return e.bitcast(x, lane_type(source.type, width), lane_type(target.type, width))
    return e.bitcast(x, lane_type(source.type, source.width), lane_type(target.type, width))


SHAPE_OPS: dict[str, Emit] = {
    "shuffle": _shuffle,
    "concat": _concat,
    "splat": _splat,
    "bitcast": _bitcast,
}
