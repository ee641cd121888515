"""A batch of thread groups in lockstep: chooses a block, runs it for every thread that is there."""

from __future__ import annotations

from time import thread_time

import numpy as np

from eumu.errors import Finding, InternalError
from eumu.exec import words
from eumu.exec.attempt import Attempt
from eumu.exec.gate import Admitted
from eumu.exec.interp.compile import compile_block
from eumu.exec.interp.fairness import Threads
from eumu.exec.interp.labels import Labels
from eumu.exec.interp.memory import AddressSpaces
from eumu.exec.interp.races import AccessLog
from eumu.exec.interp.site import BlockSite
from eumu.exec.interp.snapshots import capture, restore
from eumu.exec.interp.values import ALL, Mask, Rows, Run
from eumu.exec.interp.waiting import Flow
from eumu.exec.observe import Observer
from eumu.exec.race_order import unordered
from eumu.exec.races import Log
from eumu.exec.snapshot import Preempted, Preemption, Snapshot, between_groups
from eumu.exec.state import BLOCKED, DONE, ThreadState


class Machine:
    """Room for `groups` groups of a grid, and its function compiled for that room."""

    def __init__(self, admitted: Admitted, groups: int, stop: Preemption) -> None:
        self.grid, self.stop = admitted.grid, stop
        grid = self.grid
        self.before = 0  # instructions that groups before these have run
        self._attempt_end = thread_time() + (stop.attempt.seconds if stop.attempt else 0)
        self.state = ThreadState.allocate(grid, groups)
        self.site = BlockSite(admitted, self.state)
        observer = admitted.host.observer
        if grid.function.fidelity and observer is not None and observer.followed is not None:
            self.site.labels = Labels(grid.function, self.state, observer.followed)
        self.memory = memory = AddressSpaces(self.site)
        self.flow = Flow(self.site)
        if grid.races:
            self.site.log = AccessLog(Log(grid, admitted.host))
            self.site.log.follow(self.flow.barriers, groups)
            self.flow.barriers.leaves = unordered(grid.function)
        self.blocks = [compile_block(block, self.site, memory) for block in grid.function.blocks]
        self.moves = [
            self.flow.make(block.end, compiled.arguments, index)
            for index, (block, compiled) in enumerate(
                zip(grid.function.blocks, self.blocks, strict=True)
            )
            if block.end is not None
        ]

    def findings(self, *, ended: bool = False) -> tuple[Finding, ...]:
        """What has been found so far; with `ended`, nothing of races if other parts follow."""
        parts = self.grid.parts
        waits = ended and parts is not None and not parts.are_all
        log = None if waits else self.site.log
        races = log.findings() if log is not None else ()
        return (*self.site.notebook.findings(self.grid, self.site.host), *races)

    def late(self) -> tuple[Finding, ...]:
        """Faults behind which the launch went on, those of the first thread first."""
        places = sorted((where, inst) for inst, (where, _) in self.memory.late.items())
        return tuple(self.memory.late[inst][1] for _, inst in places)

    def run(self, first_group: int, groups: int) -> int:
        """Run groups first_group … to their end; the number of instructions issued."""
        self.site.first_group = first_group
        if self.site.log is not None:
            self.site.log.start(first_group, groups)
        if self.site.labels is not None:
            self.site.labels.start()
        self.state.start(self.grid, first_group, groups)
        self.flow.start()
        self._tell_batch()
        return self._go(groups, 0)

    def resume(self, snapshot: Snapshot) -> int:
        """Go on with the groups of a snapshot; the instructions that all their threads issued."""
        self.site.first_group = snapshot.first
        restore(self.flow, snapshot)
        self._tell_batch()
        return self._go(snapshot.groups, int(self.state.used.max()))

    def _go(self, groups: int, spent: int) -> int:
        """Run until every thread has ended; the most spent by one thread is `spent` so far."""
        attempt = self.stop.attempt
        first = None if attempt is None else attempt.looping
        threads = Threads(self.flow.next_block, self.grid.seed, first)
        while True:
            block, rows = threads.choose()
            if block >= BLOCKED:
                break
            if attempt is not None and self._is_attempted(attempt, block):
                attempt = threads.first = None
            spent += self._step(block, rows)
            if spent > self.grid.fuel:
                spent = self._check_fuel()
            if groups <= self.stop.resident:
                self._may_stop(groups)
        if block != DONE:
            raise InternalError("threads wait at a barrier that neither opens nor faults")
        self._tell_end(groups)
        return int(self.state.used.sum())

    def _is_attempted(self, attempt: Attempt, block: int) -> bool:
        """Whether an attempt ends well before a block, so that all goes on; leaves if it fails."""
        is_seen = block in attempt.visible
        if thread_time() > self._attempt_end or (is_seen and not attempt.ends_soon(self.state.pc)):
            raise Preempted(between_groups(self.site.first_group, self.before), "interp")
        return is_seen

    def _tell_batch(self) -> None:
        observer = self.site.host.observer
        if observer is not None:
            observer.batch(self.site.first_group * self.state.threads_per_group, self.state)

    def _tell(self, run: Run) -> None:
        """Tell the observer that a block runs."""
        observer = self.site.host.observer
        assert observer is not None
        width = self.state.width
        lanes = np.full(run.count, width) if run.active is ALL else run.active.sum(axis=1)
        observer.block(run.block, self.site.numbers(run.threads), lanes)

    def _tell_end(self, groups: int) -> None:
        observer = self.site.host.observer
        if observer is not None:
            threads = np.arange(groups * self.state.threads_per_group)
            observer.ended(self.site.numbers(threads), self.state.used[threads])

    def _may_stop(self, groups: int) -> None:
        """Leave if that is wanted; no more groups run than can be saved."""
        if self.stop.stops(self.before + int(self.state.used.sum())):
            first = self.site.first_group
            raise Preempted(capture(self.flow, first, groups, self.before), "interp")

    def _step(self, block: int, rows: Rows) -> int:
        """Run one block; the instructions that each of its threads spent."""
        compiled = self.blocks[block]
        run = Run(block, rows, *self._active(block, rows))
        values: list[object] = [None] * compiled.slots
        self.state.used[rows] += compiled.cost
        observer = self.site.host.observer
        if observer is not None:
            self._tell(run)
        if observer is not None and observer.each_instruction:
            self._step_by_step(observer, run, values)
        else:
            for step in compiled.steps:
                step(values, run)
        self.moves[block](values, run)
        self.flow.finish(run)
        return compiled.cost

    def _step_by_step(self, observer: Observer, run: Run, values: list[object]) -> None:
        """The operations of a block; the observer is told of each instruction before its first."""
        block, steps = self.grid.function.blocks[run.block], self.blocks[run.block].steps
        threads, last = self.site.numbers(run.threads), -1
        for op, step in zip(block.ops, steps, strict=True):
            if op.inst not in (-1, last):
                last = op.inst
                observer.instruction(run.block, last, threads)
            step(values, run)
        if block.end is not None and block.end.inst not in (-1, last):
            observer.instruction(run.block, block.end.inst, threads)

    def _active(self, block: int, rows: Rows) -> tuple[int, Mask]:
        frame = self.state.pc[rows]
        active = frame == block
        return len(frame), ALL if active.all() else active

    def _check_fuel(self) -> int:
        """The most that one thread has spent; raises if that is more than it may."""
        used = self.state.used
        thread = int(used.argmax())
        if used[thread] <= self.grid.fuel:
            return int(used[thread])
        loop = int(self.flow.loop[thread])
        block = int(self.flow.next_block[thread])
        inst = (
            loop
            if loop >= 0 or block >= BLOCKED
            else words.first_instruction(self.grid.function, block)
        )
        lanes = np.flatnonzero(self.state.alive(slice(thread, thread + 1))[0])
        raise self.site.fault(
            f"instruction budget: the thread ran more than fuel={self.grid.fuel} instructions",
            inst,
            thread,
            [int(lane) for lane in lanes],
            None,
            words.loops(self.grid.function) if loop >= 0 else [],
            code="endless-loop",
            related=self.flow.barriers.waiting(thread),
        )
