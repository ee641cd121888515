"""The shadow memory of a launch that looks for races, see `eumu.exec.jit.codegen.shadow_memory`.

Memory that a launch only loads from cannot race.  Which arrays it stores to is known from launches
before; a store to another one is noticed, and then the launch begins again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.exec.gate import Admitted
from eumu.exec.grid import Grid
from eumu.exec.guarded import guarded
from eumu.exec.jit.host.launch import Worker
from eumu.exec.jit.llvm.layout import FOLLOWED_SHIFT, UNMARKED, Context
from eumu.exec.races import check_memory
from eumu.ir import Function
from eumu.ir.operations.memory import Follow

_WORD: Final = 8  # bytes of a record
_MORE: Final = 64  # bytes behind a table that a vector may reach
_PAGE: Final = 1 << FOLLOWED_SHIFT


def follows(grid: Grid) -> bool:
    """Whether the accesses of a launch are compared with shadow memory."""
    return grid.races and _granule(grid.function) is not None


def _granule(function: Function) -> int | None:
    """How many bytes share a word; None if no access is followed."""
    ops = (op for block in function.blocks for op in block.ops)
    return next((op.granule for op in ops if isinstance(op, Follow)), None)


class Tables:
    """Two tables of so many words; memory that was written once is quicker than fresh memory."""

    def __init__(self) -> None:
        self._kept: list[NDArray[np.uint8]] = []

    def get(self, size: int) -> list[NDArray[np.uint8]]:
        """Two tables of at least `size` bytes; their content is anything."""
        if not self._kept or len(self._kept[0]) < size:
            self._kept = [guarded(size + _MORE, _PAGE)[1] for _ in range(2)]
        return self._kept


class Shadow:
    """What says who accessed the arrays that a launch stores to, for its only worker."""

    def __init__(self, admitted: Admitted, written: frozenset[int], tables: tuple[Tables, Tables]):
        """`written` are the starts of these arrays, as far as they are known."""
        self.granule = _granule(admitted.grid.function) or 1
        base = admitted.host.base
        self.bounds = [*zip(admitted.starts.tolist(), admitted.ends.tolist(), strict=True)]
        self.extents = [
            (
                int(start),
                (int(start) - base) >> FOLLOWED_SHIFT,
                (int(end) - 1 - base) >> FOLLOWED_SHIFT,
            )
            for start, end in zip(admitted.starts, admitted.ends, strict=True)
            if end > start
        ]
        self.first = self.extents[0][1] if self.extents else 0
        pages = self.extents[-1][2] + 1 - self.first if self.extents else 0
        self.size = pages << FOLLOWED_SHIFT
        self.base = base + (self.first << FOLLOWED_SHIFT)
        self.written = written
        self.pages = np.zeros(pages + 1, np.uint8)
        needed = 2 * sum(self._bytes(last - first) for first, last in self._marked())
        check_memory("shadow memory", needed)
        self.tables, self.local = tables[0].get(self._bytes(pages)), tables[1]
        for first, last in self._marked():
            self.pages[first:last] = 1
            for table in self.tables:
                table[self._bytes(first) : self._bytes(last)] = 0

    def _bytes(self, pages: int) -> int:
        """Of a table, for so many pages."""
        return pages * _PAGE // self.granule * _WORD

    def _marked(self) -> Iterator[tuple[int, int]]:
        """The pages of arrays that are written, from the first one that shadow memory is of."""
        for start, first, last in self.extents:
            if start in self.written:
                yield first - self.first, last + 1 - self.first

    def give(self, worker: Worker) -> None:
        """Tell a worker where the tables are."""
        local = self.local.get(-(-worker.get(Context.SLM_SIZE) // self.granule) * _WORD)
        for table in local:
            table[:] = 0
        worker.shadow = *self.tables, *local, self.pages
        addresses = [t.__array_interface__["data"][0] for t in worker.shadow]
        writers, readers, local_writers, local_readers, pages = addresses
        worker.set(
            FOLLOWED=self.first << FOLLOWED_SHIFT,
            FOLLOWED_SIZE=self.size,
            WRITERS=writers,
            READERS=readers,
            LOCAL_WRITERS=local_writers,
            LOCAL_READERS=local_readers,
            WRITTEN_PAGES=pages,
            MISSED=0,
            SUSPECT=0,
        )

    def stored(self, worker: Worker) -> frozenset[int] | None:
        """The starts of the arrays that it stored to, of more where it did so for the first time;
        None where that cannot be told."""
        if worker.get(Context.SUSPECT) & UNMARKED:
            return None
        if worker.get(Context.MISSED):
            return self.found(worker)
        writers = self.tables[0].view(np.uint64)
        words = {
            start: slice((start - self.base) // self.granule, -(-(end - self.base) // self.granule))
            for start, end in self.bounds
            if start in self.written
        }
        return frozenset(start for start, its in words.items() if writers[its].any())

    def found(self, worker: Worker) -> frozenset[int]:
        """The starts of all arrays that a launch which has ended stored to."""
        if not worker.get(Context.MISSED):
            return self.written
        return self.written | {
            start
            for start, first, last in self.extents
            if self.pages[first - self.first : last + 1 - self.first].any()
        }
