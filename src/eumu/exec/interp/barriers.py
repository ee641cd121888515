"""Barriers of thread groups: who arrived, who waits, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Fault, Finding, ranges
from eumu.exec import barrier_sides, words
from eumu.exec.interp.named import NamedBarriers
from eumu.exec.interp.site import BlockSite
from eumu.exec.interp.steps import Steps
from eumu.exec.interp.values import ALL, Lanes, Run
from eumu.exec.named import MOST, Signal
from eumu.exec.race_order import GROUP
from eumu.exec.state import BLOCKED, DONE

_DIVERGENT = "barrier in divergent control flow"
NONE: Final = GROUP


class Barriers:
    """Arrivals counted per thread: a thread may pass its n-th wait when all have signalled n times.

    `sync` is a signal and a wait at once.  Per thread of the batch, `arrived` and `passed` count
    both, and a blocked thread waits at instruction `place` to go on with block `resume`.  `name` is
    the named barrier that it waits at, NONE for the one without a name.
    """

    def __init__(self, site: BlockSite, next_block: NDArray[np.int32]) -> None:
        threads = site.state.threads
        self.site, self.next_block = site, next_block
        self.arrived = np.zeros(threads, np.int32)
        self.passed = np.zeros(threads, np.int32)
        self.place = np.zeros(threads, np.int32)
        self.sync = np.zeros(threads, bool)
        self.resume = np.zeros(threads, np.int32)
        self.name = np.full(threads, NONE, np.int32)
        # By instruction: barriers that leave local, and global memory unordered, and how many of
        # each a thread has met; for the log of races.
        self.leaves: dict[int, tuple[bool, bool]] = {}
        self.left = np.zeros((2, threads), np.int32)
        self.named = NamedBarriers(site.state.threads_per_group)
        self.steps: Steps | None = None  # for the log of races, where counting does not order

    def start(self) -> None:
        """Forget the groups that ran before."""
        self.arrived[...] = 0
        self.passed[...] = 0
        self.left[...] = 0
        self.named.start()
        if self.steps is not None:
            self.steps.start()

    def signal_named(self, run: Run, inst: int, names: Lanes, signals: Sequence[Lanes]) -> None:
        """The running threads signal named barriers; all operands are [threads, 1]."""
        self._check_lanes(run, inst)
        for k, thread in enumerate(run.threads.tolist()):
            role, producers, consumers = (int(x[k, 0]) for x in signals)
            wrong = self.named.signal(thread, int(names[k, 0]), Signal(role, producers, consumers))
            if wrong:
                raise self.site.fault(wrong, inst, thread, code="named-barrier")
            if self.steps is not None:
                self.steps.signals(thread, int(names[k, 0]), inst, self.named.told)

    def wait_named(self, run: Run, inst: int, names: Lanes, target: int) -> None:
        """The running threads wait at named barriers."""
        self._check_lanes(run, inst)
        rows = run.rows
        self.place[rows], self.sync[rows], self.resume[rows] = inst, False, target
        self.name[rows] = np.minimum(names[:, 0], MOST)

    def meet_pairs(self, run: Run, inst: int, target: int) -> None:
        """The running threads wait for the others of their pairs."""
        self._check_lanes(run, inst)
        rows = run.rows
        self.place[rows], self.sync[rows], self.resume[rows] = inst, False, target
        for thread in run.threads.tolist():
            self.name[thread], wrong = self.named.pair(thread)
            if wrong:
                raise self.site.fault(wrong, inst, thread, code="named-barrier")

    def meet(self, run: Run, kind: str, inst: int, target: int) -> bool:
        """The running threads come to a barrier; whether they must wait there."""
        rows = run.rows
        self._check_lanes(run, inst)
        for memory, leaves in enumerate(self.leaves.get(inst, ())):
            self.left[memory, rows] += leaves
        if kind != "wait":
            self.arrived[rows] += 1
            if self.steps is not None:
                for thread in run.threads.tolist():
                    self.steps.signals(thread, GROUP, inst)
        if kind == "signal":
            return False
        self.passed[rows] += 1
        self._tell(run, inst)
        self.place[rows], self.sync[rows], self.resume[rows] = inst, kind == "sync", target
        self.name[rows] = NONE
        return True

    def _tell(self, run: Run, inst: int) -> None:
        observer = self.site.host.observer
        if observer is not None:
            observer.barrier(inst, self.site.numbers(run.threads), self.site.state.used[run.rows])

    def settle(self) -> None:
        """Let go whoever may go on; raise if somebody waits for what cannot happen."""
        shape = (self.site.state.groups, self.site.state.threads_per_group)
        waiting = (self.next_block == BLOCKED).reshape(shape)
        if not waiting.any():
            return
        ended = (self.next_block == DONE).reshape(shape)
        arrived, passed = self.arrived.reshape(shape), self.passed.reshape(shape)
        plain = waiting & (self.name == NONE).reshape(shape)
        free = plain & (arrived.min(axis=1, keepdims=True) >= passed)
        self._check_places(free)
        needed = np.where(plain & ~free, passed, 0).max(axis=1, keepdims=True)
        missing = ended & (arrived < needed)
        if missing.any():
            raise self._threads_ended(plain & ~free, missing)
        free |= self._noticed(waiting & ~plain)
        stuck = (waiting & ~free).any(axis=1) & ((waiting & ~free) | ended).all(axis=1)
        if stuck.any():
            raise self._deadlock(int(np.flatnonzero(stuck)[0]), waiting)
        flat = free.reshape(-1)
        self.next_block[flat] = self.resume[flat]
        for thread in np.flatnonzero(flat & (self.name != NONE)).tolist():
            self.named.take(thread, int(self.name[thread]))
        if self.steps is not None:
            for thread in np.flatnonzero(flat).tolist():
                self.steps.has_waited(thread, int(self.name[thread]), int(self.place[thread]))

    def _noticed(self, waiting: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which of the threads that wait at named barriers may go on."""
        free = np.zeros(waiting.size, bool)
        for thread in np.flatnonzero(waiting).tolist():
            free[thread] = self.named.has_notice(thread, int(self.name[thread]))
        return free.reshape(waiting.shape)

    # ---- diagnoses

    def _check_lanes(self, run: Run, inst: int) -> None:
        """All lanes of a thread that have not ended must come together."""
        if run.active is ALL:
            return
        missing = self.site.state.alive(run.rows) & ~run.active
        if not missing.any():
            return
        row = int(np.flatnonzero(missing.any(axis=1))[0])
        thread = int(run.threads[row])
        here, absent = np.flatnonzero(run.active[row]), np.flatnonzero(missing[row])
        frame = self.site.state.pc[thread]
        notes = [f"lanes {ranges(here)} are at the barrier"]
        waiting = {int(b): absent[frame[absent] == b].tolist() for b in np.unique(frame[absent])}
        for block, lanes in waiting.items():
            where = (
                "the call to return"
                if block == DONE
                else words.block_place(self.site.function, block)
            )
            notes.append(f"lanes {ranges(lanes)} wait at {where}")
        reason = f"{_DIVERGENT}: lanes {ranges(absent)} of the thread are elsewhere"
        code, (group, member) = "divergent-barrier", self.site.member(thread)
        waiting.pop(DONE, None)
        related = barrier_sides.lanes_elsewhere(self.site.grid, code, group, member, waiting)
        lanes = [int(k) for k in here]
        raise self.site.fault(reason, inst, thread, lanes, None, notes, code=code, related=related)

    def _check_places(self, free: NDArray[np.bool_]) -> None:
        """Threads that sync together must do so at the same barrier."""
        synced = (free & self.sync.reshape(free.shape)).reshape(-1)
        if not synced.any():
            return
        place = self.place.reshape(free.shape)
        both = synced.reshape(free.shape)
        low = np.where(both, place, np.iinfo(np.int32).max).min(axis=1)
        high = np.where(both, place, -1).max(axis=1)
        mixed = np.flatnonzero(low < high)
        if len(mixed):
            group = int(mixed[0])
            raise self._fault(
                f"{_DIVERGENT}: threads of the group meet at different barriers",
                self._members(both, group),
                barrier_sides.may_race(self.site.grid),
            )

    def _threads_ended(self, waiting: NDArray[np.bool_], missing: NDArray[np.bool_]) -> Fault:
        group = int(np.flatnonzero(missing.any(axis=1))[0])
        gone = np.flatnonzero(missing[group])
        return self._fault(
            f"{_DIVERGENT}: {words.threads(gone)} of the group ended without reaching it",
            self._members(waiting, group),
            [
                f"{words.threads(gone)} ended",
                *barrier_sides.missing(
                    self.site.grid, self.site.first_group + group, gone.tolist()
                ),
                *barrier_sides.may_race(self.site.grid),
            ],
        )

    def _deadlock(self, group: int, waiting: NDArray[np.bool_]) -> Fault:
        members = self._members(waiting, group)
        per_group = self.site.state.threads_per_group
        named = members[self.name[members] != NONE]
        if not len(named):
            who = words.waiting(members % per_group)
            reason = f"deadlock: {who} at a barrier that not all signalled"
            return self._fault(reason, members, [])
        names = np.unique(self.name[named]).tolist()
        return self._fault(
            f"deadlock: {words.waiting(members % per_group)} at barriers that will not open",
            members,
            [self.named.describe(group, name, members % per_group) for name in names],
        )

    def _members(self, mask: NDArray[np.bool_], group: int) -> NDArray[np.intp]:
        """The threads of a group that the mask has, counted within the batch."""
        return np.asarray(np.flatnonzero(mask[group]) + group * mask.shape[1])

    def _fault(self, reason: str, threads: NDArray[np.intp], notes: list[str]) -> Fault:
        per_group = self.site.state.threads_per_group
        who = []
        for inst in np.unique(self.place[threads]):
            members = threads[self.place[threads] == inst] % per_group
            who.append(f"{words.waiting(members)} at {self.site.where(int(inst))}")
        first = int(threads[0])
        code = "deadlock" if reason.startswith("deadlock") else "divergent-barrier"
        inst, told, grid = int(self.place[first]), [*who, *notes], self.site.grid
        group, member = self.site.member(first)
        places = {int(t) % per_group: int(self.place[t]) for t in threads}
        related = barrier_sides.threads_elsewhere(grid, code, group, places, inst)
        lanes = barrier_sides.lanes_of(grid, member)
        return self.site.fault(reason, inst, first, lanes, None, told, code=code, related=related)

    def waiting(self, thread: int) -> tuple[Finding, ...]:
        """Who of a thread's group waits at barriers while it does something else."""
        per_group = self.site.state.threads_per_group
        first = thread // per_group * per_group
        here = range(first, first + per_group)
        places = {t - first: int(self.place[t]) for t in here if self.next_block[t] == BLOCKED}
        group, _ = self.site.member(thread)
        return barrier_sides.threads_elsewhere(self.site.grid, "endless-loop", group, places, NONE)
