"""A launch that comes again just as it was: tables and workers are there, and little Python runs.

A short kernel is done long before Python has found out once more what it found out before, and
after a kernel that filled the caches each step of that waits for memory.
"""

from __future__ import annotations

from threading import Lock

from eumu.exec.gate import Admitted
from eumu.exec.grid import RunStats
from eumu.exec.jit.host.autotuner import Trial
from eumu.exec.jit.host.known import Known, Ready
from eumu.exec.jit.host.launch import Launch, Worker
from eumu.exec.jit.host.outcome import raise_fault, stats_of
from eumu.exec.jit.llvm.layout import Context
from eumu.exec.snapshot import Preemption

_INSTRUCTIONS = int(Context.INSTRUCTIONS)


class Again:
    """One grid, admitted to memory as it is; whoever runs it sees to it that memory is the same.

    What `run` takes it takes out of the lists that other launches take theirs from: a signal
    handler that launches the same finds other workers.
    """

    __slots__ = (
        *("_admitted", "_groups", "_known", "_lock", "_ready"),
        *("_stats", "_trial", "_wanted"),
    )

    def __init__(
        self, known: Known, ready: Ready, admitted: Admitted, trial: Trial, lock: Lock
    ) -> None:
        self._known, self._ready, self._admitted, self._trial = known, ready, admitted, trial
        self._lock = lock  # the engine's
        self._groups = admitted.grid.groups
        self._wanted = ready.wanted(self._groups)
        self._stats = RunStats(-1, 0, 0)

    def run(self, stop: Preemption) -> RunStats | None:
        """What was counted, or None if nothing has run and the engine has to look again.

        Raises `Fault`, and `Preempted` where `stop` stops it.
        """
        taken = self._take()
        if taken is None:
            return None
        launch, workers = taken
        known, ready, groups = self._known, self._ready, self._groups
        done = launch.run(workers, 0, groups, stop)
        raise_fault(ready.compiled, self._admitted, launch, workers)
        instructions = 0
        for worker in workers:
            instructions += worker.words[_INSTRUCTIONS]
        with self._lock:
            self._trial.launches += 1
            ready.work = instructions // max(1, done)
            ready.idle += workers
            known.launches.append(launch)
        stats = self._stats
        if instructions != stats.instructions or done < groups:
            stats = self._stats = stats_of(self._admitted.grid, done, instructions)
        return stats

    def _take(self) -> tuple[Launch, list[Worker]] | None:
        """Tables and workers, if they are there, and are what the engine would take."""
        known, ready, trial = self._known, self._ready, self._trial
        with self._lock:
            setup, idle = trial.setup, ready.idle
            if trial.is_over or ready.wanted(self._groups) != self._wanted:
                return None
            if len(idle) < setup.workers or not known.launches:
                return None
            launch = known.launches.pop()
            workers = [idle.pop() for _ in range(setup.workers)]
        launch.again(self._admitted.grid, setup.row)
        return launch, workers
