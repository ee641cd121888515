"""The engine: cuts a grid into batches that fit the cache and the memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from eumu.errors import Fault, Finding
from eumu.exec.findings import merged
from eumu.exec.gate import admit, check_snapshot
from eumu.exec.grid import Grid, RunStats, groups_that_fit
from eumu.exec.host import Host
from eumu.exec.interp.machine import Machine
from eumu.exec.snapshot import Preempted, Preemption, Snapshot, between_groups
from eumu.exec.state import bytes_per_thread
from eumu.exec.telling import tell
from eumu.settings import SCRATCH_MB

# Enough lanes that NumPy's cost per call is small; few enough that values stay in the cache.
BATCH_LANES: Final = 16384
BATCH_BYTES: Final = 1 << 28


class Interpreter:
    """Runs grids on NumPy; `Engine` protocol."""

    name = "interp"

    def __init__(self, batch_lanes: int = BATCH_LANES) -> None:
        self.batch_lanes = batch_lanes

    def run(
        self,
        grid: Grid,
        host: Host,
        snapshot: Snapshot | None = None,
        stop: Preemption | None = None,
    ) -> RunStats:
        """Run every group, or those that a snapshot leaves; raises `Fault` for what the kernel does
        wrong, `Preempted` where `stop` stops it.
        """
        stop = stop or Preemption()
        admitted = admit(grid, host)
        if snapshot is not None:
            check_snapshot(grid, snapshot)
        if grid.groups == 0:
            return RunStats(0, 0, 0)
        if host.observer is not None:
            host.observer.start(grid)
        batch = self._batch(grid, stop)
        with np.errstate(all="ignore"):
            machine = Machine(admitted, max(batch, snapshot.groups if snapshot else 0), stop)
            earlier = snapshot.findings if snapshot else ()
            try:
                first = self._resume(machine, snapshot) if snapshot else 0
                last = min(grid.groups, grid.groups if stop.groups is None else stop.groups)
                for start in range(first, last, batch):
                    count = min(batch, last - start)
                    self._may_stop(stop, start, machine.before)
                    machine.before += machine.run(start, count)
                    if host.progress is not None:
                        tell(host.progress, start + count, grid.groups)
                if last < grid.groups:
                    self._may_stop(stop, max(first, last), machine.before)
            except Fault as fault:
                fault.findings = merged(earlier, (*machine.findings(), *machine.late()))
                raise
            except Preempted as left:
                if late := machine.late():  # a snapshot has no faults
                    raise _ended(late, earlier, machine) from None
                findings = merged(earlier, machine.findings())
                left.snapshot = replace(left.snapshot, findings=findings)
                raise
        if late := machine.late():
            raise _ended(late, earlier, machine)
        threads = grid.groups * grid.threads_per_group
        findings = merged(earlier, machine.findings(ended=True))
        return RunStats(machine.before, threads, grid.groups, findings)

    def _may_stop(self, stop: Preemption, first: int, instructions: int) -> None:
        """Leave between two batches if that is wanted: nothing is to be saved."""
        if stop.stops(instructions, first):
            raise Preempted(between_groups(first, instructions), self.name)

    def _resume(self, machine: Machine, snapshot: Snapshot) -> int:
        """Run the groups of a snapshot to their end; the first group behind them."""
        machine.before = snapshot.instructions
        if not snapshot.groups:
            return snapshot.first
        machine.before += machine.resume(snapshot)
        return snapshot.first + snapshot.groups

    def _batch(self, grid: Grid, stop: Preemption) -> int:
        per_group = grid.threads_per_group
        by_lanes = -(-self.batch_lanes // (per_group * grid.function.width))
        by_number = grid.most_threads // per_group
        by_limit = groups_that_fit(grid, SCRATCH_MB.get())
        by_memory = BATCH_BYTES // max(1, per_group * bytes_per_thread(grid))
        resident = stop.resident or grid.groups
        return max(1, min(by_lanes, by_number, by_memory, by_limit, grid.groups, resident))


def _ended(late: tuple[Finding, ...], earlier: tuple[Finding, ...], machine: Machine) -> Fault:
    """The fault of a launch that went on behind faults."""
    fault = Fault.of(late[0])
    fault.findings = merged(earlier, (*machine.findings(), *late[1:]))
    return fault
