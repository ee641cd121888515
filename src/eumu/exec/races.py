"""Races: accesses to the same byte by different work items that nothing orders.

Every access is noted, and what is a race follows from the notes alone, not from the order in which
threads happened to run.  A thread behind its n-th barrier is in the *epoch* n of its group; two
accesses of a group are ordered unless they share an epoch, and accesses of two groups never are.
Where there are named or split barriers, which order some threads only, `race_order` says what they
order.  Lanes of a thread are work items like others, where the program's language is known and has
no barrier of a sub-group.  Atomic operations do not race with each other.  A fence that belongs to
no barrier, in a kernel with atomic operations, publishes what was done before: what a thread does
after its first atomic operation is not followed there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import ArrayPlace, Finding, Severity, Unsupported
from eumu.exec import blame
from eumu.exec.grid import Grid
from eumu.exec.host import Host
from eumu.exec.race_order import Orders, Settled, Undetermined, meets_whole
from eumu.exec.race_rows import (
    ATOMIC_READ,
    ATOMIC_WRITE,
    NOTHING,
    READ,
    WRITE,
    Column,
    Rows,
    atomic,
    differ,
    each,
    firsts,
    segments,
    writes,
)
from eumu.findings import LOCAL_MEMORY, MEMORY
from eumu.ir import Function
from eumu.ir.operations.memory import Access, Atomic
from eumu.ir.operations.state import ExecMask
from eumu.settings import SHADOW_MB

LANES: Final = 64  # numbers of work items per thread
_FEW: Final = 8  # lanes
_SLM: Final = 1 << 40  # added to offsets in local memory
_INST, _EPOCH, _GROUP = 1 << 18, 1 << 20, 1 << 22  # of more no number is kept
_PENDING: Final = 1 << 20  # bytes noted until they are put together
_ROWS: Final = 1 << 24  # rows that are kept: 1.2 GB
_PAIRS: Final = 1 << 26  # pairs of accesses to one byte that are looked at
_FOUND: Final = 1 << 20  # racing pairs until one for each two instructions is kept
_NAMES: Final = {
    READ: "load",
    WRITE: "store",
    ATOMIC_WRITE: "atomic operation",
    ATOMIC_READ: "atomic load",
}
_WITH_ARTICLE: Final = {k: ("an " if n[0] == "a" else "a ") + n for k, n in _NAMES.items()}


def publishes(function: Function) -> bool:
    """Whether atomic operations may order what other threads do: there are fences beside."""
    blocks = function.blocks
    fences = any(
        op.name == "fence" and (block.end is None or block.end.name != "barrier")
        for block in blocks
        for op in block.ops
    )
    return fences and any(op.name == "atomic" for block in blocks for op in block.ops)


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


class Log:
    """The accesses of a launch; Unsupported for one of too many groups, instructions or waits.

    `orders` says what barriers order if they are not all of whole groups.  A launch of groups of
    several sizes has several parts, with a log each.
    """

    def __init__(self, grid: Grid, host: Host) -> None:
        _limited("groups", grid.groups, _GROUP)
        _limited("instructions of the kernel", len(grid.function.spans), _INST)
        self.grid, self.host = grid, host
        self._parts: list[Rows] = []  # as they were noted
        self._chunks: list[Rows] = []  # each put together
        self._pending = self._kept = 0
        function = grid.function
        whole = meets_whole(function)
        self.orders = None if whole else Orders(function, grid.threads_per_group)
        self._settled: Settled | None = None
        # What a compare-and-exchange makes of a value that was loaded before is checked by itself.
        self._exchanges = {
            op.inst
            for block in grid.function.blocks
            for op in block.ops
            if isinstance(op, Atomic) and op.operation == "cmpxchg"
        }
        if grid.parts is not None:
            grid.parts.logs.append(self)
        self.lockstep = grid.function.lockstep or grid.function.full_threads

    def note(
        self,
        kind: int,
        inst: int,
        group: Column,
        items: Column,
        epoch: Column,
        stretch: Column,
        places: Column,
        size: int,
        data: NDArray[np.uint64],
        *,
        local: bool,
        whole: bool,
    ) -> None:
        """Accesses of `size` bytes at `places`, with what they wrote; all arrays are as long."""
        _limited("waits of a thread at barriers", int(epoch.max()), _EPOCH)
        byte = (places[:, None] + np.arange(size)).reshape(-1) + (_SLM if local else 0)
        cell, stretch = np.repeat(group * _EPOCH + epoch, size), np.repeat(stretch, size)
        what = np.full(len(items) * size, inst << 3 | kind << 1 | int(whole), np.int64)
        item, wrote = np.repeat(items, size), np.repeat(data, size)
        row = Rows(byte, cell, stretch, what, item, item, wrote, wrote, wrote, wrote)
        self._parts.append(row)
        self._pending += len(items) * size
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
        return self._chunks[0] if self._chunks else NOTHING

    # ---- what is a race

    def findings(self) -> tuple[Finding, ...]:
        """One finding for each pair of lines, in program order, of all parts of the launch."""
        logs: list[Log] = self.grid.parts.logs if self.grid.parts is not None else [self]
        rows = [log._noted() for log in logs]
        found = [f for log, its in zip(logs, rows, strict=True) for f in log._inside(its)]
        if len(logs) > 1:
            found += self._between(logs, rows)
        by_lines: dict[tuple[object, object], tuple[Finding, int]] = {}
        for finding, inst in found:
            key = _line(finding), _line(finding.related[0])
            earlier = by_lines.get(key)
            worse = earlier is not None and (
                earlier[0].severity is Severity.NOTE and finding.severity is Severity.ERROR
            )
            if earlier is None or worse:
                by_lines[key] = finding, inst
        races = (f for f, _ in sorted(by_lines.values(), key=lambda item: item[1]))
        return (*self._by_chance(logs), *races)

    def _noted(self) -> Rows:
        """All accesses that may race; their stretches are ranked."""
        rows = self._without_private(self._gather())
        if self.orders is not None:
            self._settled = self.orders.settled()
            rows = replace(rows, stretch=self._settled.rank(rows.stretch)).together()
            rows = rows[~self._settled.published[rows.stretch]]
        return rows

    def _inside(self, rows: Rows) -> Iterator[tuple[Finding, int]]:
        """Races within groups of this part and between them, each with its first instruction."""
        pairs = [self._pairs(rows, across=False)]
        if self.grid.groups > 1:
            pairs.append(self._pairs(_of_any_group(rows, 0), across=True))
        for first, second in (pair for part in pairs for pair in each(part)):
            yield self._finding(first, second, self, self), int(min(first.inst[0], second.inst[0]))

    def _between(self, logs: list[Log], rows: list[Rows]) -> Iterator[tuple[Finding, int]]:
        """Races of groups of different parts."""
        every = Rows.joined([_of_any_group(its, k) for k, its in enumerate(rows)]).together()
        for a, b in each(self._pairs(every, across=True, parts=True)):
            of_a, of_b = (logs[int(row.stretch[0])] for row in (a, b))
            yield self._finding(a, b, of_a, of_b), int(min(a.inst[0], b.inst[0]))

    def _by_chance(self, logs: list[Log]) -> Iterator[Finding]:
        """A finding for each named barrier at which it is chance who meets."""
        seen = set()
        for log in logs:
            for of in log._settled.undetermined if log._settled else ():
                if of.barrier not in seen:
                    seen.add(of.barrier)
                    yield log._chance(of)

    def _without_private(self, rows: Rows) -> Rows:
        """Private memory is a thread's own: others get it when the thread has ended."""
        live = getattr(self.host, "live", ())
        for allocation in live:
            if allocation.name.startswith("private memory"):
                low = allocation.start - self.host.base
                rows = rows[(rows.byte < low) | (rows.byte >= low + allocation.size)]
        return rows

    def _pairs(self, rows: Rows, *, across: bool, parts: bool = False) -> tuple[Rows, Rows]:
        """Rows of one cell that race, one pair for each two instructions; `across` groups, or
        within one, or `parts`, which stretches say.

        A byte that one work item alone accesses is left out before rows are compared in pairs.
        """
        pairs = NOTHING, NOTHING
        if not parts:
            rows = self._shared(rows, across=across)
            many = self._several(rows, rows, across=across)
            alone = rows[many & (rows.kind == WRITE)]
            pairs = firsts(alone, alone)
        place = segments(rows)
        at, looked = np.arange(len(rows)), 0
        for distance in range(1, len(rows)):
            at = at[at + distance < len(rows)]
            at = at[place[at] == place[at + distance]]
            if not across:
                at = at[self._may_meet(rows, at, at + distance)]
            if not len(at):
                break
            looked += len(at)
            _limited("pairs of accesses to the same bytes", looked, _PAIRS)
            a, b = rows[at], rows[at + distance]
            race = (writes(a) | writes(b)) & ~(atomic(a) & atomic(b))
            race &= a.stretch != b.stretch if parts else self._several(a, b, across=across)
            if not across:
                race &= ~self._ordered(a, b)
            pairs = Rows.joined([pairs[0], a[race]]), Rows.joined([pairs[1], b[race]])
            if len(pairs[0]) > _FOUND:
                pairs = firsts(*pairs)
        return firsts(*pairs)

    def _shared(self, rows: Rows, *, across: bool) -> Rows:
        """Those of bytes that several work items access in a cell, one of them by a store."""
        if not len(rows):
            return rows
        size = LANES * (self.grid.threads_per_group if across else 1)
        size = size if across or self.lockstep else 1
        place = segments(rows)
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        least = np.minimum.reduceat(rows.first // size, starts)
        most = np.maximum.reduceat(rows.last // size, starts)
        written = np.logical_or.reduceat(writes(rows), starts)
        return rows[((least != most) & written)[place]]

    def _several(self, a: Rows, b: Rows, *, across: bool) -> NDArray[np.bool_]:
        """Whether two rows have accesses of different groups, threads or work items."""
        size = LANES * (self.grid.threads_per_group if across else 1)
        threads = differ(a, b, size)
        if across or self.lockstep:
            return threads
        return np.asarray(threads | (~(a.whole | b.whole) & differ(a, b, 1)))

    def _may_meet(self, rows: Rows, at: Column, other: Column) -> NDArray[np.bool_]:
        """Whether what comes behind the second of two rows may still race with the first."""
        if self._settled is None:
            return np.ones(len(at), bool)
        first, second = rows.stretch[at], rows.stretch[other]
        local, shared = self._settled.local.beyond[first], self._settled.shared.beyond[first]
        return np.asarray(second < np.where(rows.byte[at] >= _SLM, local, shared))

    def _ordered(self, a: Rows, b: Rows) -> NDArray[np.bool_]:
        """Whether named or split barriers order two rows of the same byte and group."""
        if self._settled is None:
            return np.zeros(len(a), bool)
        local = self._settled.local.orders(a.stretch, b.stretch)
        return np.where(a.byte >= _SLM, local, self._settled.shared.orders(a.stretch, b.stretch))

    # ---- in words

    def _chance(self, of: Undetermined) -> Finding:
        """The finding of a named barrier at which it is chance who meets."""
        reason = (
            f"which threads meet at named barrier {of.barrier} depends on the order in which they"
            " come; it is taken to order nothing"
        )
        return blame.record(
            *(self.grid, "named-barrier", reason, of.inst, of.group, of.member, (0,))
        )

    def _finding(self, a: Rows, b: Rows, of_a: Log, of_b: Log) -> Finding:
        """The finding of two rows, each of one element, of logs; a store is told first."""
        if not writes(a)[0]:
            a, b, of_a, of_b = b, a, of_b, of_a
        kinds = _NAMES[int(a.kind[0])], _NAMES[int(b.kind[0])]
        both = a.kind[0] == WRITE and b.kind[0] == WRITE
        equal = bool(both and a.low[0] == a.high[0] == b.low[0] == b.high[0])
        one = int(a.first[0])
        beside = of_a is not of_b
        other, wrote = (int(b.first[0]), int(b.wrote[0])) if beside else self._other(a, b)
        memory = self._memory(int(a.byte[0]))
        where = memory.title
        notes = [] if int(a.kind[0]) != WRITE else [f"the store writes {int(a.wrote[0]):#x}"]
        theirs = [f"the store writes {wrote:#x}"] if b.kind[0] == WRITE else []
        reason = f"race: {kinds[0]} and {kinds[1]} of different work items, byte {memory.offset}"
        reason += f" of {where}; nothing orders them" + ("; they store equal values" * equal)
        related = of_b._record(
            b, other, f"the other access, {_WITH_ARTICLE[int(b.kind[0])]}", theirs, memory
        )
        checked = bool(b.kind[0] == READ) and int(a.inst[0]) in self._exchanges
        reason += "; the exchange compares what was loaded" * checked
        severity = Severity.NOTE if equal or checked else Severity.ERROR
        finding = of_a._record(a, one, reason, notes, memory)
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
            return ArrayPlace(LOCAL_MEMORY, self.grid.slm_bytes, byte - _SLM)
        array = blame.array_at(self.host, byte + self.host.base)
        return array or ArrayPlace(MEMORY, len(self.host.arena), byte)


def _of_any_group(rows: Rows, part: int) -> Rows:
    """The accesses to global memory of all groups of a part, in one cell."""
    shared = rows[rows.byte < _SLM]
    nothing = np.zeros_like(shared.cell)
    return replace(shared, cell=nothing, stretch=nothing + part).together()


def _limited(what: str, count: int, most: int) -> None:
    if count >= most:
        raise Unsupported(f"looking for races with {count} {what}; fewer than {most} are followed")


def _line(finding: Finding) -> object:
    if finding.place is not None:
        return finding.place.file, finding.place.line
    return finding.span.line if finding.span else finding.instruction
