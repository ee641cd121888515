"""How far a launch is: a thread looks at the counter that the workers take groups from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.exec.telling import tell

STOPPED: Final = 1 << 62  # in place of the counter: no more groups are taken

_EVERY: Final = 0.1  # seconds


def told(
    progress: Callable[[int, int], object] | None,
    taken: NDArray[np.uint64],
    groups: int,
    fail: Callable[[BaseException], object],
) -> AbstractContextManager[None]:
    """Call `progress` now and then while groups run; `taken[0]` is how many have been begun.

    `fail` is given what it raises.
    """
    return nullcontext() if progress is None else _watched(progress, taken, groups, fail)


@contextmanager
def _watched(
    progress: Callable[[int, int], object],
    taken: NDArray[np.uint64],
    groups: int,
    fail: Callable[[BaseException], object],
) -> Iterator[None]:
    stop = threading.Event()

    def watch() -> None:
        try:
            while not stop.wait(_EVERY) and taken[0] < STOPPED:
                tell(progress, min(int(taken[0]), groups), groups)
        except BaseException as error:
            fail(error)

    watcher = threading.Thread(target=watch, name="eumu progress", daemon=True)
    with suppress(RuntimeError):  # the system has no thread: the end alone is told
        watcher.start()
    try:
        yield
    finally:
        stop.set()
        if watcher.ident is not None:
            watcher.join()
    if taken[0] < STOPPED:
        tell(progress, min(int(taken[0]), groups), groups)
