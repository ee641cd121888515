"""What the interpreter notes of accesses, for races."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Finding
from eumu.exec.interp.steps import Steps
from eumu.exec.interp.values import Lanes, Placed, Run, full
from eumu.exec.race_order import number
from eumu.exec.race_rows import ATOMIC_WRITE
from eumu.exec.races import LANES, Accessors, Log, accessors, publishes
from eumu.exec.state import ThreadState
from eumu.exec.unread import unread
from eumu.ir import Op
from eumu.ir.operations.memory import Access as Operation


class _Barriers(Protocol):
    """How often threads have signalled and passed the barrier of their group."""

    arrived: NDArray[np.int32]
    passed: NDArray[np.int32]
    left: NDArray[np.int32]
    steps: Steps | None


class _Site(Protocol):
    """Where the groups of the batch are, and which lane an operation begins with."""

    state: ThreadState
    first_group: int

    def first_lane(self, op: Op) -> int: ...
    def is_masked(self, op: Op) -> bool: ...


class _Request(Protocol):
    """Which lanes of which threads."""

    run: Run
    size: int
    width: int

    @property
    def op(self) -> Operation: ...
    @property
    def row(self) -> Lanes: ...
    @property
    def lane(self) -> Lanes: ...


class AccessLog:
    """The accesses of a launch, as the groups of a batch make them."""

    def __init__(self, log: Log) -> None:
        self.log, self.grid = log, log.grid
        self.barriers: _Barriers | None = None
        self.publishes = publishes(self.grid.function)
        self.unread = unread(self.grid.function)
        # Of the batch: threads that have done an atomic operation, and the least epoch in which
        # one of a group did: its other threads come after it from the next barrier on.
        self._after: set[int] = set()
        self._since: dict[int, int] = {}
        self._first = self._groups = 0

    def follow(self, barriers: _Barriers, groups: int) -> None:
        """Look at the barriers of a batch of so many groups."""
        self.barriers = barriers
        if self.log.orders is not None:
            barriers.steps = Steps(groups, self.grid.threads_per_group)

    def start(self, first_group: int, groups: int) -> None:
        """Groups `first_group` ... begin, and those before have ended."""
        self.end()
        self._first, self._groups = first_group, groups
        self._after.clear()
        self._since.clear()

    def end(self) -> None:
        """The groups that have begun last have ended; their barriers are known."""
        if self.log.orders is None or self.barriers is None or self.barriers.steps is None:
            return
        for k in range(self._groups):
            self.log.orders.add(self._first + k, self.barriers.steps.events[k])
        self._groups = 0

    def note(
        self,
        site: _Site,
        request: _Request,
        access: Placed,
        kind: int,
        data: Lanes | None,
        *,
        local: bool,
    ) -> None:
        """An access of some lanes, before it is done."""
        barriers = self.barriers
        if barriers is None:
            return
        row, lane = request.row[access.lanes], request.lane[access.lanes]
        threads = request.run.threads[row]
        valid = np.ones(access.offset.shape, bool) if access.valid is None else access.valid
        if self.publishes:
            valid = valid & self._not_after(site, threads, atomic=kind >= ATOMIC_WRITE)[:, None]
        if idle := self.unread.get(id(request.op)):
            valid = valid & ~np.isin(np.arange(valid.shape[1]), list(idle))
        at, element = np.nonzero(valid)
        if not len(at):
            return
        threads = threads[at].astype(np.int64)
        groups, members = np.divmod(threads, site.state.threads_per_group)
        places = access.offset[at, element].astype(np.int64)
        if local:
            places -= groups * site.state.slm.shape[1]
        groups += site.first_group
        op = request.op
        whose = accessors(self.grid.function, op, is_masked=site.is_masked(op))
        first = (groups * site.state.threads_per_group + members) * LANES
        each = [first + lane[at] + (site.first_lane(op) if whose is Accessors.LANES else 0)]
        if whose is Accessors.EVERY:
            active = full(request.run.active, request.run, site.state.width)[row[at]]
            last = active.shape[1] - 1 - active[:, ::-1].argmax(axis=1)
            each = [first + active.argmax(axis=1), first + last]
        whole = whose is Accessors.THREAD or self.grid.function.full_threads
        epoch, stretch = np.zeros((2, len(at)), np.int64)
        if barriers.steps is None:
            left = barriers.left[0 if local else 1]  # those that do not order this memory
            epoch = (barriers.passed - left)[threads].astype(np.int64)
        else:
            stretch = number(first // LANES, barriers.steps.stretch[threads])
        wrote = np.zeros(len(at), np.uint64) if data is None else _bits(data[at, element])
        for items in each:
            self.log.note(
                *(kind, op.inst, groups, items, epoch, stretch, places, request.size, wrote),
                local=local,
                whole=whole,
            )

    def _not_after(self, site: _Site, threads: Lanes, *, atomic: bool) -> Lanes:
        """Which accesses come before what atomic operations of their groups may have ordered."""
        assert self.barriers is not None
        passed, arrived = self.barriers.passed, self.barriers.arrived
        per_group, latest = site.state.threads_per_group, {}
        for thread in np.unique(threads).tolist():
            since = self._since.get(thread // per_group)
            latest[thread] = thread not in self._after and (
                since is None or passed[thread] <= since
            )
            if atomic:
                self._publishes(site, thread)
                self._after.add(thread)
                arrived_at = self._since.setdefault(thread // per_group, int(arrived[thread]))
                self._since[thread // per_group] = min(arrived_at, int(arrived[thread]))
        return np.array([latest[int(thread)] for thread in threads], bool)

    def _publishes(self, site: _Site, thread: int) -> None:
        assert self.barriers is not None
        if self.log.orders is not None and self.barriers.steps is not None:
            group, member = divmod(thread, site.state.threads_per_group)
            stretch = int(self.barriers.steps.stretch[thread])
            self.log.orders.publishes(site.first_group + group, member, stretch)

    def findings(self) -> tuple[Finding, ...]:
        self.end()
        return self.log.findings()


def _bits(data: Lanes) -> Lanes:
    """The bytes of elements as numbers."""
    plain = np.ascontiguousarray(data)
    return plain.view(f"u{plain.dtype.itemsize}").astype(np.uint64)
