"""The engine: cuts a grid into batches that fit the cache and the memory."""

from __future__ import annotations

from typing import Final

import numpy as np

from eumu.errors import Fault
from eumu.exec.grid import Grid, RunStats
from eumu.exec.host import Host
from eumu.exec.interp.machine import Machine
from eumu.exec.snapshot import Preempted, Snapshot
from eumu.exec.state import bytes_per_thread

# Enough lanes that NumPy's cost per call is small; few enough that values stay in the cache.
BATCH_LANES: Final = 16384
BATCH_BYTES: Final = 1 << 28


class Interpreter:
    """Runs grids on NumPy; `Engine` protocol."""

    name = "interp"

    def __init__(self, batch_lanes: int = BATCH_LANES) -> None:
        self.batch_lanes = batch_lanes

    def run(self, grid: Grid, host: Host, snapshot: Snapshot | None = None) -> RunStats:
        """Run every group, or those that a snapshot leaves; raises `Fault` for what the kernel does
        wrong, `Preempted` where the host stops it.
        """
        if grid.groups == 0:
            return RunStats(0, 0, 0)
        if host.observer is not None:
            host.observer.start(grid)
        batch = self._batch(grid, host)
        with np.errstate(all="ignore"):
            machine = Machine(grid, host, max(batch, snapshot.groups if snapshot else 0))
            notebook = machine.site.notebook
            try:
                first = self._resume(machine, snapshot) if snapshot else 0
                for start in range(first, grid.groups, batch):
                    count = min(batch, grid.groups - start)
                    self._may_stop(host, start, machine.before)
                    machine.before += machine.run(start, count)
                    if host.progress is not None:
                        host.progress(start + count, grid.groups)
            except Fault as fault:
                fault.findings = notebook.findings(grid)
                raise
        threads = grid.groups * grid.threads_per_group
        return RunStats(machine.before, threads, grid.groups, notebook.findings(grid))

    def _may_stop(self, host: Host, first: int, instructions: int) -> None:
        """Leave between two batches if the host wants to stop: nothing is to be saved."""
        if host.preemption is not None and host.preemption.stops(instructions):
            nothing = np.zeros((0, 0), np.uint8)
            raise Preempted(Snapshot(first, 0, instructions, nothing, nothing))

    def _resume(self, machine: Machine, snapshot: Snapshot) -> int:
        """Run the groups of a snapshot to their end; the first group behind them."""
        machine.before = snapshot.instructions
        if not snapshot.groups:
            return snapshot.first
        machine.before += machine.resume(snapshot)
        return snapshot.first + snapshot.groups

    def _batch(self, grid: Grid, host: Host) -> int:
        per_group = grid.threads_per_group
        by_lanes = -(-self.batch_lanes // (per_group * grid.function.width))
        by_number = grid.most_threads // per_group
        by_memory = BATCH_BYTES // max(1, per_group * bytes_per_thread(grid))
        resident = host.preemption.resident if host.preemption is not None else grid.groups
        return max(1, min(by_lanes, by_number, by_memory, grid.groups, resident))
