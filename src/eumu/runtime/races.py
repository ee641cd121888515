"""Launches that look for races: the fast engine says that there are none, or the interpreter which.

A suspect launch runs again, so what it may change is kept before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from eumu.device import Memory
from eumu.errors import Unsupported
from eumu.exec.grid import Grid, RunStats
from eumu.exec.race_instrumentation import followed
from eumu.exec.races import check_memory
from eumu.exec.snapshot import Snapshot
from eumu.runtime.facts import Facts

Bytes = NDArray[np.uint8]

_FOLLOWED: Final = Facts(followed)
_ROOM: WeakKeyDictionary[Memory, Bytes] = WeakKeyDictionary()


class Kept:
    """What is in the arrays of a device that kernels may write; one at a time.

    Unsupported where that is more than EUMU_SHADOW_MB.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._arrays = [a for a in memory.live if "w" in a.access]
        ends = [0, *accumulate(a.size for a in self._arrays)]
        check_memory("a copy of arrays", ends[-1])
        room = _ROOM.get(memory)
        if room is None or len(room) < ends[-1]:
            # Memory that was written before is quicker than fresh memory.
            room = _ROOM[memory] = np.empty(ends[-1], np.uint8)
        self._content = [room[start:end] for start, end in pairwise(ends)]
        for array, content in zip(self._arrays, self._content, strict=True):
            content[:] = memory.view(array)

    def put_back(self, stored: Collection[int] | None = None) -> None:
        """Undo what a launch wrote, to the arrays that start there or to any.

        Other threads may have written others meanwhile, or freed them and made new ones.
        """
        live = {(a.start, a.size) for a in self._memory.live}
        for array, content in zip(self._arrays, self._content, strict=True):
            is_kept = stored is None or array.start in stored
            if is_kept and (array.start, array.size) in live:
                self._memory.view(array)[:] = content


def fast(
    grid: Grid,
    snapshot: Snapshot | None,
    memory: Memory,
    run: Callable[[Grid, Snapshot | None], RunStats],
) -> RunStats | None:
    """What `run` counts, which runs a launch, or what a snapshot leaves of it, on the fast engine.

    None of a launch that looks for races and may have some, or a fault: it has done nothing yet.
    """
    function = _FOLLOWED.of(grid.function)
    if function is None or snapshot is not None or grid.parts or not memory.live:
        return None  # what is not in arrays, but in a driver's objects, cannot be put back
    kept = Kept(memory)
    other = replace(grid, function=function)
    asks = any(op.name == "message" for block in function.blocks for op in block.ops)
    while True:
        try:
            stats = run(other, None)
        except Unsupported:
            kept.put_back()
            raise
        if not (stats.is_suspect or stats.runs_again):
            return stats
        kept.put_back(None if asks else stats.stored)
        if stats.is_suspect:
            return None
