"""Races: accesses to the same byte by different work items that nothing orders.

Every access is noted, and what is a race follows from the notes alone, not from the order in which
threads happened to run.  A thread between its n-th wait and its m-th signal is in the *epochs* n to
m of its group (n = m but for split barriers); two accesses of a group are ordered unless they share
an epoch, and accesses of two groups never are.  Lanes of a thread are work items like others, where
the program's language is known and has no barrier of a sub-group.  Atomic operations do not race
with each other.  A fence that belongs to no barrier, in a kernel with atomic operations, publishes
what was done before: what a thread does after its first atomic operation is not followed there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import ArrayPlace, Finding, Severity, Unsupported
from eumu.exec import blame
from eumu.exec.grid import Grid
from eumu.exec.host import Host
from eumu.ir import Function
from eumu.ir.operations.ends import Barrier
from eumu.ir.operations.memory import Access, Atomic, Fence
from eumu.ir.operations.state import ExecMask
from eumu.settings import SHADOW_MB

READ, WRITE, ATOMIC_WRITE, ATOMIC_READ = range(4)
LANES: Final = 64  # numbers of work items per thread
_FEW: Final = 8  # lanes
_SLM: Final = 1 << 40  # added to offsets in local memory
_INST, _EPOCH, _GROUP = 1 << 18, 1 << 20, 1 << 22  # of more no number is kept
_PENDING: Final = 1 << 20  # bytes noted until they are put together
_ROWS: Final = 1 << 24  # rows that are kept: 1.2 GB
_PAIRS: Final = 1 << 26  # pairs of accesses to one byte that are looked at
_FOUND: Final = 1 << 20  # racing pairs until one for each two instructions is kept
_NAMES: Final = {READ: "load", WRITE: "store", ATOMIC_WRITE: "atomic", ATOMIC_READ: "atomic load"}

Column = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Accesses put together: one row for each byte, epoch and instruction; sorted.

    `cell` is group and epoch, `what` instruction, kind, and whether lanes are known; `first` and
    `last` are the least and greatest work items, with what they wrote; `low` and `high` of all.
    """

    byte: Column
    cell: Column
    what: Column
    first: Column
    last: Column
    wrote: NDArray[np.uint64]
    wrote_last: NDArray[np.uint64]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.byte)

    def __getitem__(self, at: Any) -> Rows:
        return Rows(*(getattr(self, name)[at] for name in self.__slots__))

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in cls.__slots__))

    def together(self) -> Rows:
        """One row for what has the same byte, cell and instruction."""
        if not len(self):
            return self
        rows = self[np.lexsort((self.first, self.what, self.cell, self.byte))]
        changes = (
            (rows.byte[1:] != rows.byte[:-1])
            | (rows.cell[1:] != rows.cell[:-1])
            | (rows.what[1:] != rows.what[:-1])
        )
        starts = np.flatnonzero(np.concatenate([[True], changes]))
        # The greatest work item's row: they are sorted by the least one, so look for it.
        last = np.maximum.reduceat(rows.last, starts)
        segment = np.repeat(np.arange(len(starts)), np.diff([*starts, len(rows)]))
        ends = np.zeros(len(starts), np.int64)
        ends[segment[rows.last == last[segment]]] = np.flatnonzero(rows.last == last[segment])
        return Rows(
            rows.byte[starts],
            rows.cell[starts],
            rows.what[starts],
            rows.first[starts],
            last,
            rows.wrote[starts],
            rows.wrote_last[ends],
            np.minimum.reduceat(rows.low, starts),
            np.maximum.reduceat(rows.high, starts),
        )

    @property
    def kind(self) -> Column:
        return self.what >> 1 & 3

    @property
    def inst(self) -> Column:
        return self.what >> 3

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Whether it is the thread that accesses, not a lane of it."""
        return (self.what & 1).astype(bool)


def publishes(function: Function) -> bool:
    """Whether atomic operations may order what other threads do: there are fences beside."""
    blocks = function.blocks
    fences = any(
        op.name == "fence" and (block.end is None or block.end.name != "barrier")
        for block in blocks
        for op in block.ops
    )
    return fences and any(op.name == "atomic" for block in blocks for op in block.ops)


def unordered(function: Function) -> dict[int, tuple[bool, bool]]:
    """By the instruction of a barrier: whether it leaves local, and global memory unordered.

    The compiler puts a fence of each memory that it is to order in front of a barrier.  One without
    any fence is somebody's own, and orders everything, as do split barriers.
    """
    by_barrier = {}
    for block in function.blocks:
        scopes = {op.scope for op in block.ops if isinstance(op, Fence)}
        end = block.end
        if scopes and isinstance(end, Barrier) and end.kind == "sync":
            by_barrier[end.inst] = not scopes & {"local", "sw"}, "global" not in scopes
    return by_barrier


class Accessors(Enum):
    """Whose accesses those of an operation are."""

    LANES = "each lane's"
    EVERY = "of every lane that executes: the compiler does once what all would do in the same way"
    THREAD = "the thread's"


def accessors(function: Function, op: Access, *, is_masked: bool) -> Accessors:
    """Whose the accesses of an operation are; `is_masked` says that it looks at the execution mask.

    A few lanes that no mask of the thread reaches are places, not work items.
    """
    width = op.args[0].width
    few = width <= _FEW and width < function.width
    if width > 1 and not (few and not is_masked):
        return Accessors.LANES
    value = (op.results or op.data)[0]
    elements = max(value.width, len(op.results or op.data)) if width == 1 else 1
    # A block may have a part for each lane.
    masks_known = not (function.lockstep or function.full_threads)
    return Accessors.EVERY if masks_known and elements < function.width else Accessors.THREAD


def first_lanes(function: Function) -> dict[int, int]:
    """The lane of the thread that the first lane of an instruction is, of those with a mask."""
    lanes: dict[int, int] = {}
    for block in function.blocks:
        for op in block.ops:
            if isinstance(op, ExecMask):
                lanes.setdefault(op.inst, op.offset)
    return lanes


def check_memory(what: str, needed: int) -> None:
    """Unsupported if looking for races on the fast engine takes more than EUMU_SHADOW_MB of it.

    The interpreter is not tried instead: launches of such arrays would take it hours.
    """
    most = SHADOW_MB.get() << 20
    if needed > most:
        error = Unsupported(
            f"looking for races takes {needed >> 20} MiB of {what} here;"
            f" EUMU_SHADOW_MB={most >> 20} is the limit"
        )
        error.is_late = True
        raise error


def has_named_barriers(function: Function) -> bool:
    """Whether some barrier of a function is of some threads only."""
    ends = (block.end for block in function.blocks)
    return any(end is not None and end.name == "barrier" and bool(end.args) for end in ends)


class Log:
    """The accesses of a launch; Unsupported for one of too many groups, instructions or waits."""

    def __init__(self, grid: Grid, host: Host) -> None:
        _limited("groups", grid.groups, _GROUP)
        _limited("instructions of the kernel", len(grid.function.spans), _INST)
        self.grid, self.host = grid, host
        self._parts: list[Rows] = []  # as they were noted
        self._chunks: list[Rows] = []  # each put together
        self._pending = self._kept = 0
        # What a compare-and-exchange makes of a value that was loaded before is checked by itself.
        self._exchanges = {
            op.inst
            for block in grid.function.blocks
            for op in block.ops
            if isinstance(op, Atomic) and op.operation == "cmpxchg"
        }
        self.lockstep = grid.function.lockstep or grid.function.full_threads

    def note(
        self,
        kind: int,
        inst: int,
        group: Column,
        items: Column,
        epochs: tuple[Column, Column],
        places: Column,
        size: int,
        data: NDArray[np.uint64],
        *,
        local: bool,
        whole: bool,
    ) -> None:
        """Accesses of `size` bytes at `places`, with what they wrote; all arrays are as long."""
        from_epoch, to_epoch = epochs
        _limited("waits of a thread at barriers", int(to_epoch.max()), _EPOCH)
        what = np.full(len(items) * size, inst << 3 | kind << 1 | int(whole), np.int64)
        byte = (places[:, None] + np.arange(size)).reshape(-1) + (_SLM if local else 0)
        for epoch in (from_epoch, to_epoch):
            cell = np.repeat(group * _EPOCH + epoch, size)
            values = np.repeat(data, size)
            number = np.repeat(items, size)
            rows = Rows(byte, cell, what, number, number, values, values, values, values)
            if epoch is to_epoch and epoch is not from_epoch:
                rows = rows[np.repeat(to_epoch > from_epoch, size)]
            if len(rows):
                self._parts.append(rows)
                self._pending += len(rows)
            if np.array_equal(from_epoch, to_epoch):
                break
        if self._pending > _PENDING:
            self._put_together()
            if self._kept > _ROWS:
                _limited("bytes, waits and instructions apart", len(self._gather()), _ROWS // 4 * 3)

    def _put_together(self) -> None:
        """Make a chunk of what was noted; chunks are joined when there is too much of them."""
        if self._parts:
            self._chunks.append(Rows.joined(self._parts).together())
            self._kept += len(self._chunks[-1])
        self._parts, self._pending = [], 0

    def _gather(self) -> Rows:
        self._put_together()
        if len(self._chunks) > 1:
            self._chunks = [Rows.joined(self._chunks).together()]
            self._kept = len(self._chunks[0])
        return self._chunks[0] if self._chunks else _NOTHING

    # ---- what is a race

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each pair of lines, in program order."""
        rows = self._without_private(self._gather())
        by_lines: dict[tuple[object, object], tuple[Finding, int]] = {}
        pairs = [self._pairs(rows, across=False)]
        if self.grid.groups > 1:
            shared = rows[rows.byte < _SLM]
            shared = replace(shared, cell=np.zeros_like(shared.cell)).together()
            pairs.append(self._pairs(shared, across=True))
        for first, second in (pair for part in pairs for pair in _each(part)):
            finding = self._finding(first, second)
            key = _line(finding), _line(finding.related[0])
            earlier = by_lines.get(key)
            worse = earlier is not None and (
                earlier[0].severity is Severity.NOTE and finding.severity is Severity.ERROR
            )
            if earlier is None or worse:
                by_lines[key] = finding, int(min(first.inst[0], second.inst[0]))
        return tuple(f for f, _ in sorted(by_lines.values(), key=lambda item: item[1]))

    def _without_private(self, rows: Rows) -> Rows:
        """Private memory is a thread's own: others get it when the thread has ended."""
        live = getattr(self.host, "live", ())
        for allocation in live:
            if allocation.name.startswith("private memory"):
                low = allocation.start - self.host.base
                rows = rows[(rows.byte < low) | (rows.byte >= low + allocation.size)]
        return rows

    def _pairs(self, rows: Rows, *, across: bool) -> tuple[Rows, Rows]:
        """Rows of one cell that race, one pair for each two instructions; `across` groups, or
        within one.

        A byte that one work item alone accesses is left out before rows are compared in pairs.
        """
        rows = self._shared(rows, across=across)
        many = self._several(rows, rows, across=across)
        alone = rows[many & (rows.kind == WRITE)]
        pairs, place = _firsts(alone, alone), _segments(rows)
        at, looked = np.arange(len(rows)), 0
        for distance in range(1, len(rows)):
            at = at[at + distance < len(rows)]
            at = at[place[at] == place[at + distance]]
            if not len(at):
                break
            looked += len(at)
            _limited("pairs of accesses to the same bytes", looked, _PAIRS)
            a, b = rows[at], rows[at + distance]
            writes = _writes(a) | _writes(b)
            plain = ~(_atomic(a) & _atomic(b))
            race = writes & plain & self._several(a, b, across=across)
            pairs = Rows.joined([pairs[0], a[race]]), Rows.joined([pairs[1], b[race]])
            if len(pairs[0]) > _FOUND:
                pairs = _firsts(*pairs)
        return _firsts(*pairs)

    def _shared(self, rows: Rows, *, across: bool) -> Rows:
        """Those of bytes that several work items access in a cell, one of them by a store."""
        if not len(rows):
            return rows
        size = LANES * (self.grid.threads_per_group if across else 1)
        size = size if across or self.lockstep else 1
        place = _segments(rows)
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        least = np.minimum.reduceat(rows.first // size, starts)
        most = np.maximum.reduceat(rows.last // size, starts)
        written = np.logical_or.reduceat(_writes(rows), starts)
        return rows[((least != most) & written)[place]]

    def _several(self, a: Rows, b: Rows, *, across: bool) -> NDArray[np.bool_]:
        """Whether two rows have accesses of different groups, threads or work items."""
        size = LANES * (self.grid.threads_per_group if across else 1)
        threads = _differ(a, b, size)
        if across or self.lockstep:
            return threads
        return np.asarray(threads | (~(a.whole | b.whole) & _differ(a, b, 1)))

    # ---- in words

    def _finding(self, a: Rows, b: Rows) -> Finding:
        """The finding of two rows, each of one element; a store is told first."""
        if not _writes(a)[0]:
            a, b = b, a
        kinds = _NAMES[int(a.kind[0])], _NAMES[int(b.kind[0])]
        both = a.kind[0] == WRITE and b.kind[0] == WRITE
        equal = bool(both and a.low[0] == a.high[0] == b.low[0] == b.high[0])
        one, (other, wrote) = int(a.first[0]), self._other(a, b)
        memory = self._memory(int(a.byte[0]))
        where = memory.array if int(a.byte[0]) >= _SLM else f"array '{memory.array}'"
        notes = [] if int(a.kind[0]) != WRITE else [f"the store writes {int(a.wrote[0]):#x}"]
        theirs = [f"the store writes {wrote:#x}"] if b.kind[0] == WRITE else []
        reason = f"race: {kinds[0]} and {kinds[1]} of different work items, byte {memory.offset}"
        reason += f" of {where}; nothing orders them" + ("; they store equal values" * equal)
        related = self._record(b, other, f"the other access, a {kinds[1]}", theirs, memory)
        checked = bool(b.kind[0] == READ) and int(a.inst[0]) in self._exchanges
        reason += "; the exchange compares what was loaded" * checked
        severity = Severity.NOTE if equal or checked else Severity.ERROR
        finding = self._record(a, one, reason, notes, memory)
        return replace(finding, severity=severity, related=(related,))

    def _other(self, a: Rows, b: Rows) -> tuple[int, int]:
        """A work item of the second row that is not that of the first, and what it wrote."""
        size = LANES if self.lockstep or a.whole[0] or b.whole[0] else 1
        far = LANES * self.grid.threads_per_group
        one, first, last = int(a.first[0]), int(b.first[0]), int(b.last[0])
        if first // size == one // size or (first // far == one // far != last // far):
            return last, int(b.wrote_last[0])
        return first, int(b.wrote[0])

    def _record(
        self, row: Rows, item: int, reason: str, notes: list[str], memory: ArrayPlace
    ) -> Finding:
        group, member = divmod(item // LANES, self.grid.threads_per_group)
        return blame.record(
            *(self.grid, "race", reason, int(row.inst[0]), group, member, (item % LANES,)),
            notes=notes,
            memory=memory,
        )

    def _memory(self, byte: int) -> ArrayPlace:
        if byte >= _SLM:
            return ArrayPlace("shared local memory", self.grid.slm_bytes, byte - _SLM)
        array = blame.array_at(self.host, byte + self.host.base)
        return array or ArrayPlace("memory", len(self.host.arena), byte)


def _limited(what: str, count: int, most: int) -> None:
    if count >= most:
        raise Unsupported(f"looking for races with {count} {what}; fewer than {most} are followed")


def _writes(rows: Rows) -> NDArray[np.bool_]:
    return np.asarray((rows.kind == WRITE) | (rows.kind == ATOMIC_WRITE))


def _atomic(rows: Rows) -> NDArray[np.bool_]:
    return np.asarray(rows.kind >= ATOMIC_WRITE)


def _differ(a: Rows, b: Rows, size: int) -> NDArray[np.bool_]:
    """Whether two rows have work items of different threads (of `size` numbers), or groups."""
    numbers = [x // size for x in (a.first, a.last, b.first, b.last)]
    least, most = np.minimum.reduce(numbers), np.maximum.reduce(numbers)
    return np.asarray(least != most)


def _segments(rows: Rows) -> Column:
    """The number of each row's byte and cell; rows are sorted by them."""
    if not len(rows):
        return _EMPTY
    new = (rows.byte[1:] != rows.byte[:-1]) | (rows.cell[1:] != rows.cell[:-1])
    return np.concatenate([[0], np.cumsum(new)])


def _firsts(a: Rows, b: Rows) -> tuple[Rows, Rows]:
    """The first pair of rows of each two instructions, an equal value only if there is no other."""
    if not len(a):
        return a, b
    equal = (a.kind == WRITE) & (b.kind == WRITE)
    equal &= (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
    order = np.lexsort((a.byte, a.cell, equal, b.what, a.what))
    key = np.stack([a.what[order], b.what[order]])
    new = np.concatenate([[True], np.any(key[:, 1:] != key[:, :-1], axis=0)])
    return a[order[new]], b[order[new]]


def _each(pair: tuple[Rows, Rows]) -> Iterator[tuple[Rows, Rows]]:
    """Pairs of rows, each of one element."""
    a, b = pair
    for k in range(len(a)):
        yield a[k : k + 1], b[k : k + 1]


def _line(finding: Finding) -> object:
    if finding.place is not None:
        return finding.place.file, finding.place.line
    return finding.span.line if finding.span else finding.instruction


_EMPTY: Final = np.zeros(0, np.int64)
_NONE: Final = np.zeros(0, np.uint64)
_NOTHING: Final = Rows(_EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY, _NONE, _NONE, _NONE, _NONE)
