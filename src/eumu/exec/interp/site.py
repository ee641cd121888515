"""What turning an operation into a step needs to know, and how a step reports a fault."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eumu.errors import ArrayPlace, Fault, Finding, Span
from eumu.exec import blame, words
from eumu.exec.findings import Notebook
from eumu.exec.gate import Admitted
from eumu.exec.interp.fairness import LaneOrder
from eumu.exec.interp.labels import Labels
from eumu.exec.interp.races import AccessLog
from eumu.exec.interp.values import Lanes, Mask, Run, Step
from eumu.exec.state import ThreadState, instruction_span
from eumu.ir import Block, Op, Root, Value
from eumu.ir.operations.row import Table
from eumu.ir.operations.state import ExecMask, Read, ReadFlag, Write, WriteFlag, addressed

_ALIASES = frozenset({"splat", "bitcast", "shuffle", "and", "or", "select", "flush", "exec_mask"})


class BlockSite:
    """One block of one function on one machine: where its values live and its state lies."""

    def __init__(self, admitted: Admitted, state: ThreadState) -> None:
        self.admitted, self.state = admitted, state
        self.grid, self.host = admitted.grid, admitted.host
        self.function = self.grid.function
        self.first_group = 0
        self.notebook = Notebook()
        self.log: AccessLog | None = None
        self.order: LaneOrder | None = None
        self.labels: Labels | None = None
        self._slots: dict[int, int] = {}
        self._overwritten: frozenset[int] = frozenset()
        self._offsets: dict[int, int] = {}

    @cached_property
    def addressed(self) -> dict[str, Root]:
        """What a register-indirect access may reach."""
        return addressed(self.function)

    def enter(self, block: Block) -> int:
        """Get ready for the operations of `block`; the number of slots that it needs."""
        self._slots = allocate_slots(block)
        self._overwritten = _overwritten_reads(block)
        self.note_offsets(block)
        return 1 + max(self._slots.values(), default=-1)

    def note_offsets(self, block: Block) -> None:
        """Note the first lane of each instruction of a block, for faults."""
        for op in block.ops:
            if isinstance(op, ExecMask):
                self._offsets.setdefault(op.inst, op.offset)

    def slot(self, value: Value) -> int:
        return self._slots[value.id]

    def slots(self, values: Sequence[Value]) -> list[int]:
        return [self._slots[value.id] for value in values]

    def is_overwritten(self, op: Op) -> bool:
        """Whether the root that `op` reads is written while the value read is still needed."""
        return op.results[0].id in self._overwritten

    def numbers(self, threads: NDArray[np.intp]) -> NDArray[np.intp]:
        """Threads of the batch as threads of the grid."""
        return threads + self.first_group * self.state.threads_per_group

    def member(self, thread: int) -> tuple[int, int]:
        """A thread of the batch as a group of the launch and a thread of that."""
        group, member = divmod(int(thread), self.state.threads_per_group)
        return self.first_group + group, member

    # ---- faults

    def span(self, inst: int) -> Span | None:
        return instruction_span(self.function, inst)

    def where(self, inst: int) -> str:
        """An instruction in words: its place and how it reads."""
        return words.place(self.function, inst)

    def fault(
        self,
        reason: str,
        inst: int,
        thread: int,
        lanes: Sequence[int] = (),
        address: int | None = None,
        notes: Sequence[str] = (),
        *,
        code: str,
        memory: ArrayPlace | None = None,
        related: tuple[Finding, ...] = (),
    ) -> Fault:
        """A fault of a thread counted within the batch."""
        finding = blame.record(
            *(self.grid, code, reason, inst, *self.member(thread), lanes, address, notes),
            memory=memory,
            related=related,
        )
        return Fault.of(finding)

    def check_registers(self, op: Op, run: Run, bad: Mask, places: Lanes) -> None:
        """Raise for the first thread whose register address no variable has."""
        if not bad.any():
            return
        row = int(np.flatnonzero(bad.any(axis=1))[0])
        lanes = np.flatnonzero(bad[row])
        address = int(places[row, lanes[0]])
        raise self.fault(
            words.no_register(address),
            op.inst,
            int(run.threads[row]),
            self.lane_numbers(op, lanes),
            address,
            code="register-address",
        )

    def lane_numbers(self, op: Op, lanes: Lanes) -> tuple[int, ...]:
        """Lanes of an operation as lanes of the thread."""
        return tuple(int(lane) + self.first_lane(op) for lane in lanes)

    def is_masked(self, op: Op) -> bool:
        """Whether the instruction of an operation looks at the execution mask."""
        return op.inst in self._offsets

    def first_lane(self, op: Op) -> int:
        """The lane of the thread that an operation's first lane is."""
        return self._offsets.get(op.inst, 0)


# The step of an operation; the files that make them add themselves.
STEPS: Table[BlockSite, [], Step] = Table()


def allocate_slots(block: Block) -> dict[int, int]:
    """A slot for each value; a slot is used again when its value is dead."""
    last: dict[int, int] = {}
    for place, op in enumerate(block.ops):
        for value in (*op.args, *op.results):
            last[value.id] = place
    for value in block.end.args if block.end else ():
        last[value.id] = len(block.ops)
    slots: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for place, op in enumerate(block.ops):
        for id in {v.id for v in op.args if last[v.id] == place}:
            free.append(slots[id])
        for value in op.results:
            if not free:
                free.append(count)
                count += 1
            slots[value.id] = free.pop()
        free += [slots[v.id] for v in op.results if last[v.id] == place]
    return slots


def _overwritten_reads(block: Block) -> frozenset[int]:
    """Values read from a root that is written before their last use (or that of an alias)."""
    source: dict[int, set[int]] = {}
    last: dict[int, int] = {}
    reads: dict[int, tuple[int, str]] = {}
    for place, op in enumerate(block.ops):
        origins = {o for value in op.args for o in source.get(value.id, ())}
        for origin in origins:
            last[origin] = place
        if isinstance(op, (Read, ReadFlag)):
            id = op.results[0].id
            source[id], reads[id] = {id}, (place, op.root.name)
        elif op.name in _ALIASES and origins:
            source[op.results[0].id] = origins
    for value in block.end.args if block.end else ():
        for origin in source.get(value.id, ()):
            last[origin] = len(block.ops)
    # NumPy reads the data of one masked copy before it writes, but not the mask.
    writes: defaultdict[str, list[int]] = defaultdict(list)
    for place, op in enumerate(block.ops):
        writes[_written(op)].append(place - (op.name == "write_flag"))
    return frozenset(
        id
        for id, (place, root) in reads.items()
        if any(_is_between(place, writes.get(w, ()), last.get(id, place)) for w in (root, "*"))
    )


def _is_between(start: int, places: Sequence[int], end: int) -> bool:
    """Whether one of the places, which are in order, is from `start` on and before `end`."""
    k = bisect_left(places, start)
    return k < len(places) and places[k] < end


def _written(op: Op) -> str:
    """The root that an operation writes, `*` for any, or nothing."""
    if isinstance(op, (Write, WriteFlag)):
        return op.root.name
    return "*" if op.name == "write_indirect" else ""
