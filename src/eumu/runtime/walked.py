"""Walkers that come again: the same kernel, groups and surfaces, with other numbers.

A driver that launches a kernel in a loop writes its constants, and its tables at places further on
in its heaps.  All else stands in the grid of the last time already.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from eumu.device.commands import WalkerJob
from eumu.exec.grid import BufferSurface, Dim3, Grid
from eumu.ir import Function
from eumu.isa.messages.request import GENERAL_STATE
from eumu.records import dataclass
from eumu.runtime.job_surfaces import state_pointers
from eumu.runtime.thread_rows import tables_of

_KEPT: Final = 64  # kernels
Found = tuple[Function, Mapping[int, BufferSurface], Dim3 | None]  # of a job, as memory is now


@dataclass(frozen=True, slots=True)
class _Kept:
    """A walker that ran: what it has alike with others, and its payload's size and end of data."""

    key: Hashable
    sizes: tuple[int, int]
    grid: Grid


class Walked:
    """The latest grid of each kernel, by its address."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()

    def again(
        self, job: WalkerJob, settings: Hashable, find: Callable[[WalkerJob, int, int], Found]
    ) -> Grid | None:
        """The grid of a job that differs in constants and places of tables from the last one.

        None if it differs in more: in what `find` says of it for the sizes of its payload, too.
        """
        kept = self._kept.get(job.kernel)
        if kept is None or kept.key != _key(job, settings):
            return None
        function, surfaces, offset = find(job, *kept.sizes)
        grid = kept.grid
        known = grid.surfaces, grid.global_offset
        if function is not grid.function or (surfaces, offset) != known:
            return None
        return grid.with_data(job.cross_thread, tables_of(job), state_pointers(job))

    def keep(self, job: WalkerJob, settings: Hashable, end: int, grid: Grid) -> None:
        """Keep a grid whose constants are those of the job and nothing more."""
        if GENERAL_STATE in grid.function.roots:  # its bases are among the constants
            return
        self._kept[job.kernel] = _Kept(_key(job, settings), (grid.payload.size, end), grid)
        self._kept.move_to_end(job.kernel)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


def _key(job: WalkerJob, settings: Hashable) -> Hashable:
    """What a grid depends on besides its code, surfaces and constants."""
    return (
        *(job.simd, job.first, job.last, job.counters, job.right_mask, job.bottom_mask),
        *(len(job.cross_thread), job.per_thread, job.scratch, job.pool_map, job.slm_bytes),
        settings,
    )
