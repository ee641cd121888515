"""A launch that comes again just as it was: tables and workers are there, and little Python runs.

A short kernel is done long before Python has found out once more what it found out before, and
after a kernel that filled the caches each step of that waits for memory.
"""

from __future__ import annotations

from threading import Lock

from eumu.exec.gate import Admitted
from eumu.exec.grid import RunStats
from eumu.exec.jit.host.autotuner import AGAIN, Trial
from eumu.exec.jit.host.known import KnownGrid, Ready
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
        *("_admitted", "_grid", "_groups", "_known", "_lock", "_patience", "_ready", "_row"),
        *("_seconds", "_stats", "_trial", "_wanted", "_work", "_workers"),
    )

    def __init__(
        self,
        kept: KnownGrid,
        ready: Ready,
        admitted: Admitted,
        trial: Trial,
        patience: float,
        lock: Lock,
    ) -> None:
        """After `patience` seconds of such launches the engine may make better code."""
        self._known, self._ready, self._admitted, self._trial = kept, ready, admitted, trial
        self._lock = lock  # the engine's
        self._patience, self._seconds = patience, trial.least
        self._grid, self._groups = admitted.grid, admitted.grid.groups
        # For good, as the trial has ended.
        self._workers, self._row = trial.setup.workers, trial.setup.row
        self._work = ready.work  # instructions of a group for which so many workers are wanted:
        self._wanted = ready.wanted(self._groups)
        self._stats = RunStats(-1, 0, 0)

    def run(self, stop: Preemption) -> RunStats | None:
        """What was counted, or None if nothing has run and the engine has to look again.

        Raises `Fault`, and `Preempted` where `stop` stops it.
        """
        kept, ready, trial, wanted = self._known, self._ready, self._trial, self._workers
        idle, launches = ready.idle, kept.launches
        with self._lock:
            if ready.work != self._work and not self._has_same_work():
                return None
            if ready.is_outdated or trial.launches > AGAIN or len(idle) < wanted or not launches:
                return None
            ready.seconds += self._seconds
            if ready.seconds > self._patience and ready.better is None:
                return None
            launch, workers = launches.pop(), idle[-wanted:]
            del idle[-wanted:]
        counted, stats = launch.run_alone(workers, self._grid, self._row, stop), self._stats
        if counted is None or counted < 0 or counted != stats.instructions:
            stats = self._count(launch, workers, counted, stop)
        with self._lock:
            trial.launches += 1
            idle += workers
            if kept.ready is ready:
                launches.append(launch)
        return stats

    def _count(
        self, launch: Launch, workers: list[Worker], counted: int | None, stop: Preemption
    ) -> RunStats:
        """Run it if it has not run yet; what it was, if that is not what it was the last time."""
        ready, grid, done = self._ready, self._grid, self._groups
        if counted is None:
            done = launch.run(workers, 0, done, stop)
        elif counted < 0:
            done = launch.ended(workers, 0)
        raise_fault(ready.compiled, self._admitted, launch, workers)
        instructions = sum([worker.words[_INSTRUCTIONS] for worker in workers])
        if instructions != self._stats.instructions or done < self._groups:
            ready.work = instructions // max(1, done)
            self._stats = stats_of(grid, done, instructions)
        return self._stats

    def _has_same_work(self) -> bool:
        """Whether groups are still worth as many workers."""
        if self._ready.wanted(self._groups) != self._wanted:
            return False
        self._work = self._ready.work
        return True
