"""Loads from global memory that may wait until their values are stored to local memory.

Where threads run side by side each operation of a block is done for all of them, one after the
other.  If all load before the first one stores, what they loaded is kept in as many registers, and
what a loop had in these is saved.  So what is only copied waits for its store, together with the
registers that it passes through.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from eumu.exec.jit.analysis.affine_forms import LANE_WISE
from eumu.exec.jit.llvm.layout import LOCAL
from eumu.ir import Block, Op, Space
from eumu.ir.operations.memory import Load, Store
from eumu.ir.operations.state import OnRoot, Read, Write

_PURE: Final = LANE_WISE | {"const", "exec_mask", "splat", "shuffle", "concat", "bitcast"}


def find(block: Block, memory: Collection[str]) -> Mapping[int, tuple[int, ...]]:
    """Places of stores, and those of the operations that may wait for each; `memory` are roots
    that addresses lead to."""
    found: dict[int, tuple[int, ...]] = {}
    for place, op in enumerate(block.ops):
        if isinstance(op, Load) and op.space is Space.FLAT and op.count == 1:
            copied = _copied(block, place, op, memory)
            if copied is not None and copied[-1] not in found:
                found[copied[-1]] = copied[:-1]
    return found


def _copied(block: Block, place: int, load: Op, memory: Collection[str]) -> tuple[int, ...] | None:
    """A load, what hands its value on, and the store that takes it; None if all may not wait."""
    places, values, roots = [place], {v.id for v in load.results}, dict[str, Op]()
    for n, op in enumerate(block.ops[place + 1 :], place + 1):
        uses = any(a.id in values for a in op.args)
        if isinstance(op, Store) and uses:
            is_last = op.space in LOCAL and not any(a.id in values for a in op.args[:2])
            return (*places, n) if is_last else None
        if isinstance(op, Write) and op.args[0].id in values:
            if op.root.name in memory or op.root.name in roots:
                return None
            roots[op.root.name] = op
            places.append(n)
        elif isinstance(op, Read) and op.root.name in roots:
            write = roots[op.root.name]
            if not isinstance(write, Write) or op.offsets != write.offsets:
                return None
            values |= {v.id for v in op.results}
            places.append(n)
        elif uses or (isinstance(op, OnRoot) and op.root.name in roots) or not _may_pass(op):
            return None
    return None


def _may_pass(op: Op) -> bool:
    """Whether a load may wait for what follows an operation."""
    if isinstance(op, Store):
        return op.space in LOCAL
    return isinstance(op, (Read, Write, Load)) or op.name in _PURE
