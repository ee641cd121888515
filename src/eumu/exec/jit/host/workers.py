"""Persistent worker threads; compiled code releases the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache, partial
from queue import SimpleQueue
from typing import Final

from eumu.errors import Unsupported
from eumu.exec.jit.host import stacks


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_TAKEN: Final = "taken"
_DROPPED: Final = "dropped"


class _Jobs:
    """The calls work(`first`) … work(`last`) of one run, and who does them.

    A call that no thread has begun when the caller has done its own is dropped: what is left to do
    is for any of them, and the caller has found nothing more.
    """

    def __init__(self, work: Callable[[int], object], first: int, last: int) -> None:
        self.work = work
        self.errors: list[BaseException] = []
        self.joined = 0  # the last call that was waited for
        self._fate: dict[int, str] = {}
        self._ends = {number: threading.Lock() for number in range(first, last + 1)}
        for end in self._ends.values():
            end.acquire()

    def begin(self, number: int) -> None:
        """In a worker thread: do a call, if it was not dropped."""
        try:
            if self._fate.setdefault(number, _TAKEN) is _TAKEN:
                self.work(number)
        except BaseException as error:
            self.errors.append(error)
        finally:
            self._ends[number].release()

    def wait(self, number: int) -> None:
        """Wait for a call, also if it has not begun."""
        with self._ends[number]:
            pass

    def join(self) -> None:
        """Wait for the calls that have begun; after an interruption it may be called again."""
        for number, end in self._ends.items():
            if self._fate.setdefault(number, _DROPPED) is _TAKEN:
                with end:
                    self.joined = number


class Pool:
    """Threads that wait for jobs; the caller of `run` works too."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._queue: SimpleQueue[tuple[_Jobs, int]] = SimpleQueue()
        for n in range(size - 1):
            stacks.start(self._serve, f"eumu worker {n}", stacks.USUAL)

    def _serve(self) -> None:
        while True:
            jobs, number = self._queue.get()
            jobs.begin(number)
            del jobs  # what it holds is not to wait for the next one

    def run(self, work: Callable[[int], object], workers: int, leave: Callable[[], object]) -> None:
        """Call work(0) … work(workers-1) at once; an exception is raised here when all have ended.

        `leave` makes the others end soon; it is called when one of them, or the caller while it
        waits, is interrupted.  It must not fail, and may be called more than once.
        """
        if workers == 1:
            work(0)
            return
        jobs = _Jobs(work, 1, workers - 1)
        try:
            self._share(jobs, workers, leave)
        finally:
            jobs.join()
        if jobs.errors:
            raise jobs.errors[0]

    def _share(self, jobs: _Jobs, workers: int, leave: Callable[[], object]) -> None:
        try:
            for number in range(1, workers):
                self._queue.put((jobs, number))
            jobs.work(0)
            jobs.join()
        except BaseException:
            leave()
            jobs.join()
            raise


@cache
def _pool(process: int, size: int) -> Pool:
    return Pool(size)


def pool() -> Pool:
    """The pool of this process (a forked child starts its own)."""
    return _pool(os.getpid(), cores())


def run_with_stack(
    work: Callable[[int], object], workers: int, leave: Callable[[], object], stack: int
) -> None:
    """What `Pool.run` does, on new threads alone, which have `stack` bytes.

    Fewer if the system gives no more; Unsupported if it gives none.
    """
    jobs = _Jobs(work, 0, workers - 1)
    try:
        _start(jobs, workers, stack)
        jobs.wait(0)
        jobs.join()
    except BaseException:
        leave()
        jobs.join()
        raise
    if jobs.errors:
        raise jobs.errors[0]


def _start(jobs: _Jobs, workers: int, stack: int) -> None:
    for number in range(workers):
        try:
            stacks.start(partial(jobs.begin, number), f"eumu deep worker {number}", stack)
        except Unsupported:
            if number == 0:
                raise
            return
