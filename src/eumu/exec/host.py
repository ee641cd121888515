"""What an engine needs from the device around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eumu.exec.grid import Grid, RunStats


class Host(Protocol):
    """Device memory as the engines see it.

    `arena` holds every byte of device memory; device address a is ``arena[a - base]``.  An access
    is legal when it lies within one live allocation; `extents` lists them as two sorted uint64
    arrays of equal length, starts and (exclusive) ends, and does not change during a run.  The
    arena has at least 64 readable bytes after the last extent.

    `progress` is called with the groups that are done and all groups, now and then, from any
    thread; None if nobody asks.
    """

    arena: NDArray[np.uint8]
    base: int
    progress: Callable[[int, int], object] | None

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...

    def describe(self, address: int) -> str:
        """The allocation nearest to an address, in words, for fault reports."""
        ...

    def printed(self, text: str) -> None:
        """Kernel output, in order."""
        ...


class Engine(Protocol):
    """Runs a grid to its end, or raises `Fault`."""

    name: str

    def run(self, grid: Grid, host: Host) -> RunStats: ...
