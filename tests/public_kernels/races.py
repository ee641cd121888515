"""Whether work items of a run touch the same memory without a barrier between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.exec.grid import Grid
from eumu.exec.observe import Observer, Threads

_GRANULE = 4


class Races(Observer):
    """Looks at every access; `found` says what kinds of conflict there were.

    "threads": two threads touch a place, one of them by a store, and no barrier orders them.
    "lanes": a store has two lanes at one address.  "atomics": the same of threads or lanes whose
    accesses are atomic, so that what they return depends on their order.
    """

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._per_group = 1
        self._epochs: dict[int, int] = {}
        # (space, group or 0, granule) -> (thread, epoch, kind), of the last store and load
        self._last: dict[tuple[str, int, int], dict[str, tuple[int, int]]] = {}

    def start(self, grid: Grid) -> None:
        self._per_group = grid.threads_per_group

    def barrier(self, inst: int, threads: Threads, used: NDArray[np.int64]) -> None:
        for thread in threads.tolist():
            self._epochs[thread] = self._epochs.get(thread, 0) + 1

    def access(
        self, kind: str, space: str, threads: Threads, addresses: NDArray[Any], size: int
    ) -> None:
        if space == "scratch":
            return
        shared = "slm" if space == "slm" else "memory"
        if kind != "load" and np.unique(addresses).size < addresses.size:
            self.found.add("lanes" if kind == "store" else "atomics")
        for thread, address in zip(threads.tolist(), addresses.tolist(), strict=True):
            group = thread // self._per_group
            for granule in range(address // _GRANULE, (address + size - 1) // _GRANULE + 1):
                self._touch((shared, group if shared == "slm" else 0, granule), thread, kind)

    def _touch(self, key: tuple[str, int, int], thread: int, kind: str) -> None:
        seen = self._last.setdefault(key, {})
        epoch = self._epochs.get(thread, 0)
        for other, (who, when) in seen.items():
            same_group = who // self._per_group == thread // self._per_group
            ordered = same_group and when != epoch
            if who != thread and not ordered and {kind, other} != {"load"}:
                self.found.add("atomics" if {kind, other} == {"atomic"} else "threads")
        seen[kind] = thread, epoch
