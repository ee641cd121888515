"""Follows the lanes of values through a block: where each keeps to its own, and where they meet."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from eumu.exec.jit.analysis.affine_forms import LANE_WISE
from eumu.ir import Block, Op
from eumu.ir.function import Terminator
from eumu.ir.operations.ends import Diverge, Ret
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import ExecMask, Read, ReadFlag, Write, WriteFlag

_MASKED = ("load", "store", "atomic")
Source = TypeVar("Source", bound=Hashable)


class Following(Generic[Source]):
    """One block; a source is what a value was read from, as those who follow have it."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.sources: dict[int, frozenset[Source]] = {}  # of a value whose lanes have kept apart
        self.executing: dict[int, int] = {}  # masks of executing lanes: the first lane
        self.whole: set[int] = set()  # masks of all of them
        self.full: set[int] = set()  # masks of every lane

    def read(self, place: int, op: Read | ReadFlag) -> Source | None:
        """A value is read; its source, None if nobody asks for it."""
        raise NotImplementedError

    def write(self, place: int, op: Write | WriteFlag, first: int | None) -> None:
        """A value is written under a mask of executing lanes from `first` on, or another mask."""
        raise NotImplementedError

    def pin(self, sources: frozenset[Source], lane: int) -> None:
        """Values from there meet a mask that starts at a lane of the thread."""
        raise NotImplementedError

    def cross(self, sources: frozenset[Source]) -> None:
        """Lanes of values from there meet each other."""
        raise NotImplementedError

    def follow(self, block: Block) -> None:
        for place, op in enumerate(block.ops):
            self._operation(place, op)
        if isinstance(block.end, (Diverge, Ret)):
            self.pin(self._of(block.end), block.end.offset)
        elif block.end is not None:
            self.cross(self._of(block.end))

    def _of(self, op: Op | Terminator) -> frozenset[Source]:
        nothing: frozenset[Source] = frozenset()
        return nothing.union(*[self.sources[a.id] for a in op.args if a.id in self.sources])

    def _operation(self, place: int, op: Op) -> None:
        if isinstance(op, ExecMask):
            if op.offset + op.result.width <= self.width:
                self.executing[op.result.id] = op.offset
                self.whole.add(op.result.id)
        elif isinstance(op, Const):
            if op.is_full:
                self.full.add(op.result.id)
        elif isinstance(op, (Read, ReadFlag)):
            source = self.read(place, op)
            if source is not None:
                self.sources[op.result.id] = frozenset((source,))
        elif isinstance(op, (Write, WriteFlag)):
            first = self.executing.get(op.args[1].id)
            self._meets(op, first)
            self.write(place, op, first)
        elif op.name in _MASKED and op.args[1].id in self.executing:
            self._meets(op, self.executing[op.args[1].id])
        else:
            self._compute(op)

    def _meets(self, op: Op, first: int | None) -> None:
        """Its values meet a mask; lanes that do not execute may get what is computed of theirs."""
        if first is None:
            self.cross(self._of(op))
        else:
            self.pin(self._of(op), first)

    def _compute(self, op: Op) -> None:
        if op.name == "and" and op.result.is_mask:
            starts = {self.executing[a.id] for a in op.args if a.id in self.executing}
            if len(starts) == 1:
                (self.executing[op.result.id],) = starts
                self._meets(op, self.executing[op.result.id])
                return
        sources = self._of(op)
        if not sources:
            return
        widths = {v.width for v in (*op.args, *op.results)}
        if (op.name in LANE_WISE or op.name == "bitcast") and len(widths) == 1:
            self.sources[op.result.id] = sources
        else:
            self.cross(sources)
