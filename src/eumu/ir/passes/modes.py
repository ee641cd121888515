"""Float modes: roundings of %cr0 become concrete ones, flushed denormals become operations.

%cr0 (vISA "Float control", PRM "Control register") has the rounding in bits 5:4 and keeps
denormals of `df`, `f` and `hf` with bits 6, 7 and 10; a thread starts with 0.  Where a type's bit
is clear, float operands and results of arithmetic get a `flush`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from eumu.errors import Unsupported
from eumu.ir.function import Block, Function, Op, Value
from eumu.ir.operations.arithmetic import Rounded, Rounding
from eumu.ir.passes.cr0 import START, Known, Tracker, entry_states, moves_cr0, stays_together
from eumu.ir.passes.versions import joined
from eumu.types import DF, HF, F, Type

KEEP_DENORMALS: dict[Type, int] = {DF: 1 << 6, F: 1 << 7, HF: 1 << 10}

# Operations that flush, and whether their result can be a denormal that an operand was not.
_FLUSHES = {
    "add": True,
    "sub": True,
    "mul": True,
    "div": True,
    "fma": True,
    "convert": True,
    "sqrt": False,
    "round": False,
    "min": False,
    "max": False,
    "cmp": False,
}


def fold_modes(function: Function) -> Function:
    """A copy of `function` without roundings of %cr0, that flushes denormals where it says so.

    Where %cr0 may be one of a few constants, there is a block for each.  Raises `Unsupported` for
    float arithmetic where it may be anything.
    """
    states, together = entry_states(function), stays_together(function)
    fresh, versions = _first_free(function), list[dict[Known, Block]]()
    for index, block in enumerate(function.blocks):
        made = {
            cr0: _Rewriter(function, fresh, Tracker.entering(state, together)).block(block)
            for cr0, state in states.get(index, {START.cr0: START}).items()
        }
        first = next(iter(made.values()))
        versions.append(made if any(b.ops != first.ops for b in made.values()) else {None: first})
    if all(len(made) == 1 for made in versions):
        return replace(function, blocks=[block for made in versions for block in made.values()])
    return replace(function, blocks=joined(function, versions, fresh))


def _first_free(function: Function) -> Iterator[int]:
    """Value numbers that the function does not use."""
    used = [v.id for b in function.blocks for op in b.ops for v in op.results]
    return iter(range(max(used, default=-1) + 1, 1 << 62))


class _Rewriter:
    """Rewrites one block, with %cr0 as it enters, which is followed where it changes."""

    def __init__(self, function: Function, fresh: Iterator[int], tracker: Tracker) -> None:
        self._function, self._fresh, self._tracker = function, fresh, tracker
        self._flushed: dict[int, Value] = {}
        self._ops: list[Op] = []

    def block(self, block: Block) -> Block:
        follows = any(moves_cr0(op) or _asks_for_kept(op) for op in block.ops)
        for op in block.ops:
            if op.name in _FLUSHES or isinstance(op, Rounded):
                self._rewrite(op)
            else:
                self._ops.append(op)
            if follows:
                self._tracker.step(op)
        return Block(block.label, self._ops, block.end)

    def _rewrite(self, op: Op) -> None:
        floats = {v.type for v in (*op.args, *op.results) if v.type in KEEP_DENORMALS}
        if isinstance(op, Rounded) and op.rounding in (Rounding.CR0, Rounding.KEPT):
            op = replace(op, rounding=self._rounding(op) if floats else Rounding.RNE)
        if op.name not in _FLUSHES or not any(self._flushes(op, t) for t in floats):
            self._ops.append(op)
            return
        op = replace(op, args=tuple(self._flush(op, x) for x in op.args))
        if not (_FLUSHES[op.name] and self._flushes(op, op.result.type)):
            self._ops.append(op)
            return
        result = op.result
        raw = Value(next(self._fresh), result.type, result.width)
        self._ops.append(replace(op, results=(raw,)))
        self._ops.append(Op("flush", (raw,), (result,), op.inst))
        self._flushed[result.id] = result

    def _flush(self, op: Op, x: Value) -> Value:
        """x with its denormals flushed, if %cr0 wants that."""
        if not self._flushes(op, x.type):
            return x
        if x.id not in self._flushed:
            flushed = Value(next(self._fresh), x.type, x.width)
            self._ops.append(Op("flush", (x,), (flushed,), op.inst))
            self._flushed[x.id] = flushed
        return self._flushed[x.id]

    def _flushes(self, op: Op, type: Type) -> bool:
        return type in KEEP_DENORMALS and not self._cr0(op) & KEEP_DENORMALS[type]

    def _rounding(self, op: Rounded) -> Rounding:
        kept = self._tracker.kept if op.rounding is Rounding.KEPT else None
        return Rounding((self._cr0(op) if kept is None else kept) >> 4 & 3)

    def _cr0(self, op: Op) -> int:
        cr0 = self._tracker.cr0
        if cr0 is None:
            spans = self._function.spans
            span = spans[op.inst] if 0 <= op.inst < len(spans) else None
            raise Unsupported("float arithmetic where %cr0 is not a known constant", span=span)
        return cr0


def _asks_for_kept(op: Op) -> bool:
    return isinstance(op, Rounded) and op.rounding is Rounding.KEPT
