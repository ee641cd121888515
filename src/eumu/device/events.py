"""Events of threads: what the message gateway knows from Ice Lake on.

A thread monitors one event at a time, and is told when any thread signals it from then on; a wait
is over when that has happened.  Nobody tells a thread that monitors nothing, and it does not wait.
Times count how often a thread has asked, as no public document says their unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.exec.host import Refusal

_EVENT: Final = (1 << 24) - 1
_TIME: Final = (1 << 10) - 1
_PATIENCE: Final = 1 << 16  # questions of one thread while nothing is signalled


class Events:
    """The events of one launch; threads have their numbers in it."""

    def __init__(self) -> None:
        self._monitored: dict[int, int] = {}
        self._told: set[int] = set()
        self._asked: dict[int, int] = {}  # since the wait began, or the last signal

    def answer(
        self, kind: str, threads: NDArray[np.intp], arguments: Sequence[NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """Do what threads ask for: see `eumu.messages.ThreadEvent`."""
        requests = list(zip(threads.tolist(), arguments[0][:, 0].tolist(), strict=True))
        if kind == "wait":
            self._check_known(threads.tolist(), arguments[1][:, 0].tolist())
            waited = [self._wait(row, *pair) for row, pair in enumerate(requests)]
            over, answers = np.array(waited, np.uint32).reshape(-1, 2).T
            return [over[:, None], answers[:, None]]
        for thread, value in requests:
            if kind == "signal":
                self._signal(value & _EVENT)
                continue
            self._told.discard(thread)
            self._monitored.pop(thread, None)
            if kind == "monitor":
                self._monitored[thread] = value & _EVENT
        return []

    def _check_known(self, threads: list[int], monitors: list[int]) -> None:
        for row, (thread, does) in enumerate(zip(threads, monitors, strict=True)):
            if does and thread not in self._monitored:
                raise Refusal("events are not kept when a launch is stopped", row=row)

    def _signal(self, event: int) -> None:
        self._told |= {
            thread for thread, monitored in self._monitored.items() if monitored == event
        }
        self._asked.clear()

    def _wait(self, row: int, thread: int, time: int) -> tuple[int, int]:
        """Whether the wait of a thread is over, and its answer: 1 if it was told."""
        if thread in self._told or thread not in self._monitored:
            self._asked.pop(thread, None)
            was_told = thread in self._told
            self._told.discard(thread)
            return 1, int(was_told)
        asked = self._asked[thread] = self._asked.get(thread, 0) + 1
        if 0 < time & _TIME < asked:
            del self._asked[thread]
            return 1, 0
        if asked > _PATIENCE:
            event = self._monitored[thread]
            reason = (
                f"the thread waits for event {event:#x}, which no thread signals that has begun"
            )
            raise Refusal(reason, row=row, code="deadlock")
        return 0, 0
