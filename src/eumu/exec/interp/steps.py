"""What threads of a batch do at named and split barriers, for the log of races."""

from __future__ import annotations

import numpy as np

from eumu.errors import Unsupported
from eumu.exec.named import PAIRS
from eumu.exec.race_order import STRETCHES, Event, Step


class Steps:
    """The signals and waits of `groups` groups, and in which stretch each thread is.

    Pairs of threads that meet to share registers order no memory.
    """

    def __init__(self, groups: int, threads_per_group: int) -> None:
        self._per_group = threads_per_group
        self.stretch = np.zeros(groups * threads_per_group, np.int64)
        self.events: list[list[Event]] = [[] for _ in range(groups)]

    def start(self) -> None:
        """Other groups begin."""
        self.stretch[...] = 0
        self.events = [[] for _ in self.events]

    def signals(
        self, thread: int, barrier: int, inst: int, told: tuple[int, ...] | None = None
    ) -> None:
        """A thread signals; `told` are the threads that a named barrier lets go, if it opens."""
        members = told and tuple(t % self._per_group for t in told)
        self._add(Event(Step.SIGNAL, thread % self._per_group, barrier, inst, members), thread)

    def has_waited(self, thread: int, barrier: int, inst: int) -> None:
        """A thread goes on behind a wait."""
        if barrier < PAIRS:
            self._add(Event(Step.WAIT, thread % self._per_group, barrier, inst), thread)

    def _add(self, event: Event, thread: int) -> None:
        self.events[thread // self._per_group].append(event)
        self.stretch[thread] += 1
        if self.stretch[thread] >= STRETCHES:
            raise Unsupported(
                f"looking for races with {STRETCHES} signals and waits of a thread;"
                " fewer are followed"
            )
