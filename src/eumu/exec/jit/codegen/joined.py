"""Lanes of several values as one vector, and what an operation of other lanes makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from eumu.exec.jit.analysis.updates import Step
from eumu.exec.jit.codegen.elementwise import emitter_of
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.emit import int_type, lane_type, scalar_type, vector_literal, vector_of
from eumu.ir import Op, Value
from eumu.ir.operations.state import RootAddress
from eumu.types import Type


def joined(k: KernelLowering, makers: Mapping[int, Op], values: Sequence[Value]) -> str:
    """A vector of values of one lane.

    If all were made in the same way, as native addresses are, what they are made of is joined: in
    between it was a vector.
    """
    ops = [makers.get(value.id) for value in values]
    first, kinds = ops[0], {(type(op), op.name, op.attributes) if op else None for op in ops}
    if first is not None and len(kinds) == 1:
        if isinstance(first, RootAddress):
            return vector_literal("i32", [k.vector(values[0])] * len(values))
        if first.name in ("add", "convert") and first.result.type.is_int:
            inner = list(zip(*[op.args for op in ops if op is not None], strict=True))
            if all(a.type is x[0].type and a.type.is_int for x in inner for a in x):
                return wider(k, first, len(values), [joined(k, makers, x) for x in inner])
    return gathered(k, [(value, 0) for value in values])


def wider(k: KernelLowering, op: Op, width: int, args: Sequence[str]) -> str:
    """An operation on lanes of another number."""
    one = replace(
        op,
        args=tuple(replace(a, width=width) for a in op.args),
        results=tuple(replace(r, width=width) for r in op.results),
    )
    return emitter_of(one)(k.e, one, width, *args)


def gathered(k: KernelLowering, lanes: Sequence[tuple[Value, int]]) -> str:
    """A vector of lanes of values of one type."""
    value, count = lanes[0][0], len(lanes)
    if lanes == [(value, lane) for lane in range(value.width)]:
        return k.vector(value)
    scalar, result = scalar_type(value.type), "poison"
    for n, (x, lane) in enumerate(lanes):
        one = k.e.shuffle(k.vector(x), scalar, x.width, [lane])
        vector = vector_of(scalar, count)
        result = k.e.op(f"insertelement {vector} {result}, {scalar} {one}, i64 {n}")
    return result


def changed(
    k: KernelLowering, step: Step, was: Type, value: str, others: list[str], count: int = 1
) -> str:
    """What a step makes of the values of some elements, which were of a type."""
    e = k.e
    if step.op is None:
        bits, wanted = int_type(was, count), int_type(step.type, count)
        value = e.bitcast(value, lane_type(was, count), bits)
        if step.first:
            far = vector_literal(f"i{was.bits}", [str(8 * step.first)] * count)
            value = e.op(f"lshr {bits} {value}, {far}")
        if bits != wanted:
            value = e.op(f"trunc {bits} {value} to {wanted}")
        return e.bitcast(value, wanted, lane_type(step.type, count))
    args = [*others[: step.place], value, *others[step.place :]]
    return wider(k, step.op, count, args)
