"""Persistent worker threads; compiled code releases the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """Threads that wait for jobs; the caller of `run` works too."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        for n in range(size - 1):
            threading.Thread(target=self._serve, name=f"eumu worker {n}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._jobs.get()()

    def run(self, work: Callable[[int], None], workers: int) -> None:
        """Call work(0) … work(workers-1) at once; the first exception is raised here."""
        if workers == 1:
            work(0)
            return
        errors: list[BaseException] = []
        done = threading.Semaphore(0)

        def job(number: int) -> Callable[[], None]:
            def run() -> None:
                try:
                    work(number)
                except BaseException as error:
                    errors.append(error)
                finally:
                    done.release()

            return run

        for number in range(1, workers):
            self._jobs.put(job(number))
        job(0)()
        for _ in range(workers):
            done.acquire()
        if errors:
            raise errors[0]


@cache
def _pool(process: int, size: int) -> Pool:
    return Pool(size)


def pool() -> Pool:
    """The pool of this process (a forked child starts its own)."""
    return _pool(os.getpid(), cores())
