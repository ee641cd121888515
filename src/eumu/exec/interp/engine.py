"""The engine: cuts a grid into batches that fit the cache and the memory."""

from __future__ import annotations

from typing import Final

import numpy as np

from eumu.errors import Fault
from eumu.exec.grid import Grid, RunStats
from eumu.exec.host import Host
from eumu.exec.interp.machine import Machine
from eumu.exec.state import bytes_per_thread

# Enough lanes that NumPy's cost per call is small; few enough that values stay in the cache.
BATCH_LANES: Final = 16384
BATCH_BYTES: Final = 1 << 28


class Interpreter:
    """Runs grids on NumPy; `Engine` protocol."""

    name = "interp"

    def __init__(self, batch_lanes: int = BATCH_LANES) -> None:
        self.batch_lanes = batch_lanes

    def run(self, grid: Grid, host: Host) -> RunStats:
        """Run every group; raises `Fault` for what the kernel does wrong."""
        if grid.groups == 0:
            return RunStats(0, 0, 0)
        batch = self._batch(grid)
        instructions = 0
        with np.errstate(all="ignore"):
            machine = Machine(grid, host, batch)
            notebook = machine.site.notebook
            try:
                for first in range(0, grid.groups, batch):
                    count = min(batch, grid.groups - first)
                    instructions += machine.run(first, count)
                    if host.progress is not None:
                        host.progress(first + count, grid.groups)
            except Fault as fault:
                fault.findings = notebook.findings(grid)
                raise
        threads = grid.groups * grid.threads_per_group
        return RunStats(instructions, threads, grid.groups, notebook.findings(grid))

    def _batch(self, grid: Grid) -> int:
        per_group = grid.threads_per_group
        by_lanes = -(-self.batch_lanes // (per_group * grid.function.width))
        by_memory = BATCH_BYTES // max(1, per_group * bytes_per_thread(grid))
        return max(1, min(by_lanes, by_memory, grid.groups))
