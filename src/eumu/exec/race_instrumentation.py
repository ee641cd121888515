"""Functions whose accesses the fast engine compares with shadow memory: a pass over the IR.

Shadow memory does not say which accesses race, but that none can.  If some may, the launch is
suspect, and the interpreter, whose log is the definition, runs it again and says what there is.
What is followed is what the log notes: `eumu.exec.races` says of both which work items access, and
which barriers order which memory.  What that does not cover (publishing by fences, split barriers,
messages that are composed at run time) is left to the log alone.

A launch without races gives the same results in any order, so that its accesses are the same in all
engines, for any seed and number of workers; hence a launch in which the log finds a race is suspect
in every order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from eumu.exec.race_order import unordered
from eumu.exec.race_rows import ATOMIC_READ, ATOMIC_WRITE, READ, WRITE
from eumu.exec.races import Accessors, accessors, first_lanes, publishes
from eumu.exec.unread import unread
from eumu.ir import Block, Builder, Function, Region, Root, RootKind, Space, Value
from eumu.ir.operations.ends import Barrier
from eumu.ir.operations.memory import Access, Atomic, Store, StoreBlock
from eumu.types import BOOL, UD

_SPACES: Final = (Space.FLAT, Space.SURFACE, Space.SLM)
_MOST: Final = 4  # bytes that share a record
_MASKS: Final = 32  # lanes that fit a dword
_EPOCHS: Final = tuple(
    Root(f"%epoch.{memory}", RootKind.ARF, UD.size) for memory in ("local", "global")
)


def followed(function: Function) -> Function | None:
    """A copy of `function` that follows its accesses; None if only the log can."""
    if publishes(function) or function.width > _MASKS or not _is_simple(function):
        return None
    used = [v.id for block in function.blocks for op in block.ops for v in op.results]
    roots = function.roots | {root.name: root for root in _EPOCHS}
    copy = replace(function, blocks=[], roots=roots)
    pass_ = _Following(function, Builder(copy, max(used, default=-1) + 1))
    copy.blocks.extend(pass_.block(block) for block in function.blocks)
    return copy


def _is_simple(function: Function) -> bool:
    """Whether threads meet at whole barriers only, and all accesses are operations of their own."""
    ends = (block.end for block in function.blocks)
    barriers = (end for end in ends if isinstance(end, Barrier))
    if any(end.kind != "sync" or end.args for end in barriers):
        return False
    return not any(op.name == "send" for block in function.blocks for op in block.ops)


def _accesses(function: Function) -> Iterator[Access]:
    for block in function.blocks:
        for op in block.ops:
            if isinstance(op, Access) and op.space in _SPACES:
                yield op


def _element(op: Access) -> int:
    return (op.results or op.data)[0].type.size


def _elements(op: Access) -> int:
    """How many elements an access has from each address on."""
    return op.size // _element(op)


def _kind(op: Access) -> int:
    if isinstance(op, Atomic):
        return ATOMIC_READ if op.operation == "load" else ATOMIC_WRITE
    return WRITE if isinstance(op, (Store, StoreBlock)) else READ


class _Following:
    """Rewrites the blocks of a function."""

    def __init__(self, function: Function, b: Builder) -> None:
        self.function, self.b = function, b
        self.idle, self.leaves = unread(function), unordered(function)
        self.first = first_lanes(function)
        self.lockstep = function.lockstep or function.full_threads
        self.granule = min([_MOST, *map(_element, _accesses(function))])

    def block(self, block: Block) -> Block:
        self.b.block = out = Block(block.label)
        for op in block.ops:
            self.b.inst = op.inst
            if isinstance(op, Access) and op.space in _SPACES:
                self._follow(op)
            out.ops.append(op)
        if isinstance(block.end, Barrier):
            self.b.inst = block.end.inst
            self._next_epoch(block.end)
        out.end = block.end
        return out

    def _next_epoch(self, end: Barrier) -> None:
        for root, leaves in zip(_EPOCHS, self.leaves.get(end.inst, (False, False)), strict=True):
            if not leaves:
                one = self.b.const(UD, 1, 1)
                more = self.b.add(self._epoch(root), one)
                self.b.write_root(root, Region.scalar(0), more, self.b.const(BOOL, 1, 1))

    def _epoch(self, root: Root) -> Value:
        return self.b.read(root, Region.scalar(0), UD, 1)

    def _follow(self, op: Access) -> None:
        address, mask = op.args[:2]
        whose = accessors(self.function, op, is_masked=op.inst in self.first)
        lane, items = -1, self._items(whose)
        if whose is Accessors.LANES and not self.lockstep:
            lane = self.first.get(op.inst, 0)
        epochs = [self._epoch(root) for root in _EPOCHS]
        surface = op.args[-1] if op.space is Space.SURFACE else None
        for start, size in self._stretches(op):
            self.b.follow(
                *(op.space, address, mask, epochs, items, surface),
                kind=_kind(op),
                start=start,
                size=size,
                lane=lane,
                granule=self.granule,
            )

    def _items(self, whose: Accessors) -> Value:
        """A bit for each lane that accesses, where the lanes of the operation do not say it."""
        if whose is Accessors.EVERY:
            return self.b.mask_bits(self.b.exec_mask(0, self.function.width))
        return self.b.const(UD, 1, 1)

    def _stretches(self, op: Access) -> Iterator[tuple[int, int]]:
        """Bytes beside each other that are accessed, as start and size."""
        idle, size = self.idle.get(id(op), frozenset()), _element(op)
        for is_idle, numbers in groupby(range(_elements(op)), lambda n: n in idle):
            if not is_idle:
                stretches = list(numbers)
                yield stretches[0] * size, len(stretches) * size
