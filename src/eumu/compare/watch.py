"""What the threads of one group do, instruction by instruction: what each read and wrote."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.compare.record import Recorder
from eumu.device.memory import Memory
from eumu.errors import Unsupported
from eumu.exec.grid import Grid
from eumu.exec.observe import Threads
from eumu.exec.state import DONE, ThreadState
from eumu.ir import Function, Op, RootKind, Terminator
from eumu.ir.operations.memory import Access
from eumu.ir.operations.state import (
    Partner,
    Read,
    ReadFlag,
    ReadIndirect,
    RootAddress,
    Write,
    WriteFlag,
    WriteIndirect,
)
from eumu.records import dataclass

MOST_EVENTS: Final = 1 << 18
Columns = NDArray[np.intp]
Where = tuple[str, int]  # what is accessed, and whose: a root of a thread, a group's memory, …


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements of a root: which bytes (of a flag: bits), and how many an element has."""

    root: str
    columns: Columns
    size: int
    whole: bool = True  # written in all lanes that execute


@dataclass(frozen=True, slots=True)
class BlockAccesses:
    """What an instruction of a block reads and writes, as far as its operations say.

    Where it reads registers at addresses, those are all that have one.  `data` are the reads that
    are not only for addresses of memory.
    """

    reads: tuple[Elements, ...]
    data: tuple[Elements, ...]
    writes: tuple[Elements, ...]
    writes_any: bool  # registers at addresses


@dataclass(slots=True)
class Event:
    """One thread ran one instruction; `values` are (bytes of an element, what was written).

    It is the `number`-th of its block, in the thread's `visit`-th time there.
    """

    thread: int
    block: int
    inst: int
    visit: int
    number: int
    access: BlockAccesses
    is_full: bool  # all lanes of the thread executed
    stores: range = range(0)  # of the run
    values: list[tuple[int, bytes]] = field(default_factory=list)
    changed: list[Elements] = field(default_factory=list)  # registers at addresses
    loaded: list[tuple[Where, int, int]] = field(default_factory=list)  # first byte, how many
    stored: list[tuple[Where, int, int]] = field(default_factory=list)
    way: bytes = b""  # where lanes wait after the end of a block

    @property
    def writes(self) -> Iterator[Elements]:
        yield from self.access.writes
        yield from self.changed

    @property
    def result(self) -> bytes:
        """All that was written, in one piece."""
        return b"".join(data for _, data in self.values)


class Watch(Recorder):
    """The events of the group of one thread, in the order in which they were."""

    each_instruction = True

    def __init__(self, memory: Memory, thread: int) -> None:
        super().__init__(memory, thread)
        self.events: list[Event] = []
        self._watched = range(0)
        self._running: list[Event] = []
        self._before: dict[int, dict[str, NDArray[Any]]] = {}
        self._first = 0
        self._state: ThreadState | None = None
        self._stored = 0
        self._visits: Counter[tuple[int, int]] = Counter()

    def start(self, grid: Grid) -> None:
        super().start(grid)
        assert self.thread is not None
        first = self.thread // grid.threads_per_group * grid.threads_per_group
        self._watched = range(first, first + grid.threads_per_group)

    def batch(self, first: int, state: ThreadState) -> None:
        self._first, self._state = first, state

    def block(self, block: int, threads: Threads, lanes: NDArray[Any]) -> None:
        super().block(block, threads, lanes)
        for thread in threads.tolist():
            if thread in self._watched:
                self._visits[thread, block] += 1

    def instruction(self, block: int, inst: int, threads: Threads) -> None:
        self._finish()
        here = [t for t in threads.tolist() if t in self._watched]
        if not here:
            return
        assert self._state is not None
        access, number = self.accesses[block, inst], self.order[block].index(inst)
        for thread in here:
            pc = self._state.pc[thread - self._first]
            is_full = bool(((pc == block) | (pc == DONE)).all())
            visit = self._visits[thread, block]
            self._running.append(Event(thread, block, inst, visit, number, access, is_full))
            if access.writes_any:
                self._before[thread] = dict(self._registers(thread))
        if len(self.events) > MOST_EVENTS:
            raise Unsupported(
                f"following a group of more than {MOST_EVENTS} instructions, all threads together"
            )

    def access(
        self, kind: str, space: str, threads: Threads, addresses: NDArray[Any], size: int
    ) -> None:
        super().access(kind, space, threads, addresses, size)
        by_thread = {event.thread: event for event in self._running}
        for thread, address in zip(threads.tolist(), addresses.tolist(), strict=True):
            event = by_thread.get(thread)
            if event is None:
                continue
            place = self._whose(space, thread), address, size
            if kind != "store":
                event.loaded.append(place)
            if kind != "load":
                event.stored.append(place)

    def ended(self, threads: Threads, used: NDArray[np.int64]) -> None:
        self._finish()
        super().ended(threads, used)

    @cached_property
    def accesses(self) -> dict[tuple[int, int], BlockAccesses]:
        """By block and instruction."""
        assert self.function is not None
        return _accesses(self.function)

    @cached_property
    def order(self) -> list[list[int]]:
        """The instructions of each block, as they run."""
        assert self.function is not None
        return [
            list(dict.fromkeys([*(op.inst for op in b.ops), *([b.end.inst] if b.end else [])]))
            for b in self.function.blocks
        ]

    # ---- what has been written

    def _whose(self, space: str, thread: int) -> Where:
        if space == "slm":
            return space, thread // len(self._watched)
        return (space, thread) if space == "scratch" else ("memory", 0)

    def _registers(self, thread: int) -> Iterator[tuple[str, NDArray[Any]]]:
        assert self._state is not None and self.function is not None
        for name, root in self.function.roots.items():
            if root.kind is RootKind.GRF:
                yield name, self._state.roots[name][thread - self._first].copy()

    def _finish(self) -> None:
        """Note what the instruction wrote that ran last."""
        self._flush()
        stores, self._stored = range(self._stored, len(self.stores)), len(self.stores)
        for event in self._running:
            self._note(event)
            event.stores = stores
        self.events += self._running
        self._running = []
        self._before.clear()

    def _note(self, event: Event) -> None:
        assert self._state is not None and self.function is not None
        row = event.thread - self._first
        before = self._before.get(event.thread, {})
        for name, now in self._registers(event.thread) if before else ():
            changed = np.flatnonzero(now != before[name])
            if len(changed):
                event.changed.append(Elements(name, changed, 1, whole=False))
        for part in event.writes:
            data = self._state.roots[part.root][row][part.columns]
            event.values.append((part.size, data.tobytes()))
        for where, at, size in event.stored:
            event.values.append((size, self._bytes(where, at, size)))
        end = self.function.blocks[event.block].end
        if end is not None and end.inst == event.inst:
            event.way = self._state.pc[row].tobytes()

    def _bytes(self, where: Where, at: int, size: int) -> bytes:
        assert self._state is not None
        if where[0] == "memory":
            start = at - self.memory.base
            return bytes(self.memory.arena[start : start + size])
        if where[0] == "slm":
            group = where[1] - self._first // len(self._watched)
            return bytes(self._state.slm[group][at : at + size])
        return bytes(self._state.scratch[where[1] - self._first][at : at + size])


def _accesses(function: Function) -> dict[tuple[int, int], BlockAccesses]:
    accesses: dict[tuple[int, int], BlockAccesses] = {}
    addressed = {
        op.root for block in function.blocks for op in block.ops if isinstance(op, RootAddress)
    }
    everywhere = tuple(Elements(root.name, np.arange(root.size), 1) for root in addressed)
    for number, block in enumerate(function.blocks):
        of_inst: defaultdict[int, list[Op | Terminator]] = defaultdict(list)
        plain = {op.results[0].id for op in block.ops if op.name in ("exec_mask", "const")}
        for op in block.ops:
            of_inst[op.inst].append(op)
        if block.end is not None:
            of_inst[block.end.inst].append(block.end)
        for inst, ops in of_inst.items():
            reads = [op for op in ops if isinstance(op, (Read, Partner, ReadFlag))]
            values = _values(ops)
            more = everywhere if any(isinstance(op, ReadIndirect) for op in ops) else ()
            accesses[number, inst] = BlockAccesses(
                (*map(_part, reads), *more),
                (*(_part(op) for op in reads if op.results[0].id in values), *more),
                tuple(_part(op, plain) for op in ops if isinstance(op, (Write, WriteFlag))),
                any(isinstance(op, WriteIndirect) for op in ops),
            )
    return accesses


def _values(ops: Sequence[Op | Terminator]) -> set[int]:
    """What becomes data, a mask or a way: all that is not only an address of memory."""
    wanted: set[int] = set()
    for op in reversed(ops):
        results = op.results if isinstance(op, Op) else ()
        if not results or not wanted.isdisjoint(value.id for value in results):
            args = (op.args[1], *op.data) if isinstance(op, Access) else op.args
            wanted.update(value.id for value in args)
    return wanted


def _part(op: Any, plain: set[int] | None = None) -> Elements:
    """The bytes or bits that an operation reads, or writes: `plain` masks have all lanes."""
    whole = plain is None or op.args[1].id in plain
    if isinstance(op, (ReadFlag, WriteFlag)):
        return Elements(op.root.name, np.array(op.bits), 1, whole)
    size = op.value.type.size
    columns = (np.array(op.offsets)[:, None] + np.arange(size)).reshape(-1)
    return Elements(op.root.name, columns, size, whole)
