"""More workers for a launch whose groups wait for groups that nobody has begun.

A GPU has many groups in flight, so a kernel may wait until all of them have come.  A worker runs
one after the other; where all workers stay in theirs for a while, others take the next groups: one,
then two, then four.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Unsupported
from eumu.exec.jit.host import stacks

MOST: Final = 64  # workers of a launch
_EVERY: Final = 0.02  # seconds in which no worker took a group


@contextmanager
def reinforced(
    taken: NDArray[np.uint64],
    groups: int,
    another: Callable[[], Callable[[], object] | None],
    leave: Callable[[], object],
    fail: Callable[[BaseException], object],
    stack: int = stacks.USUAL,
) -> Iterator[None]:
    """While groups run, of which `taken[0]` have been begun: start what `another` gives, which runs
    groups in a thread of its own, with `stack` bytes, until it gives None.

    All have ended at the end; `leave` makes them.  `fail` is given what goes wrong.
    """
    ended = threading.Event()
    ends: list[threading.Event] = []

    def watch() -> None:
        expected, count = -1, 1  # groups begun if no worker took one, but those started last
        while not ended.wait(_EVERY) and (now := int(taken[0])) < groups:
            stay = now == expected
            started = min(count, groups - now) if stay else 0
            for _ in range(started):
                work = another()
                if work is None:
                    return
                _start(partial(_guarded, work, fail), ends, stack)
            expected, count = now + started, 2 * count if stay else 1

    watching: list[threading.Event] = []

    def join() -> None:
        ended.set()
        _wait(watching)  # then nobody starts any more
        _wait(ends)

    try:
        _start(partial(_guarded, watch, fail), watching, stacks.USUAL)
        yield
        join()
    except BaseException:
        leave()
        join()
        raise


def _guarded(work: Callable[[], object], fail: Callable[[BaseException], object]) -> None:
    try:
        work()
    except Unsupported:  # the system has no more threads
        pass
    except BaseException as error:
        fail(error)


def _start(work: Callable[[], object], ends: list[threading.Event], stack: int) -> None:
    """Start a thread that says when it has ended."""
    end = threading.Event()

    def run() -> None:
        try:
            work()
        finally:
            end.set()

    stacks.start(run, "eumu reinforcement", stack)
    ends.append(end)


def _wait(ends: Sequence[threading.Event]) -> None:
    for end in ends:
        end.wait()
