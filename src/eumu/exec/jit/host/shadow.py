"""The shadow memory of a launch that looks for races, see `eumu.exec.jit.codegen.following`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Unsupported
from eumu.exec.gate import Admitted
from eumu.exec.guarded import guarded
from eumu.exec.jit.codegen.following import granule_of
from eumu.exec.jit.host.launch import Worker
from eumu.exec.jit.llvm.layout import Context
from eumu.ir import Function
from eumu.settings import SHADOW_MB

__all__ = ["Shadow", "follows"]

_WORD: Final = 8  # bytes of a record
_MORE: Final = 64  # bytes behind a table that a vector may reach
_PAGE: Final = 1 << 12


def follows(function: Function) -> bool:
    """Whether the accesses of a function are compared with shadow memory."""
    return granule_of(function) is not None


class Shadow:
    """Tables for the memory that a launch may access; all words are 0."""

    def __init__(self, admitted: Admitted) -> None:
        self.granule = granule_of(admitted.grid.function) or 1
        starts, ends, base = admitted.starts, admitted.ends, admitted.host.base
        self.first = (int(starts[0]) - base) // _PAGE * _PAGE if len(starts) else 0
        self.size = int(ends[-1]) - base - self.first if len(ends) else 0
        self.live = sum(int(end) - int(start) for start, end in zip(starts, ends, strict=True))
        self._tables: list[tuple[NDArray[np.uint8], ...]] = []

    def give(self, workers: Sequence[Worker]) -> None:
        """Give workers tables of their own; Unsupported if these may take too much memory."""
        needed = 2 * len(workers) * self.live * _WORD // self.granule
        most = SHADOW_MB.get() << 20
        if needed > most:
            error = Unsupported(
                f"looking for races in {self.live} bytes of device memory takes up to"
                f" {needed >> 20} MiB of shadow memory; EUMU_SHADOW_MB={most >> 20} is the limit"
            )
            error.is_late = True  # the interpreter follows less
            raise error
        for worker in workers:
            sizes = self.size, self.size, *(2 * [worker.get(Context.SLM_SIZE)])
            tables = tuple(self._table(size) for size in sizes)
            self._tables.append(tables)
            writers, readers, *local = (t.__array_interface__["data"][0] for t in tables)
            worker.set(
                FOLLOWED=self.first,
                FOLLOWED_SIZE=self.size,
                WRITERS=writers,
                READERS=readers,
                LOCAL_WRITERS=local[0],
                LOCAL_READERS=local[1],
                SUSPECT=0,
            )

    def _table(self, size: int) -> NDArray[np.uint8]:
        return guarded(-(-size // self.granule) * _WORD + _MORE, _PAGE)[1]

    def is_suspect(self, workers: Sequence[Worker]) -> bool:
        """Whether accesses of a launch that has ended may race."""
        return any(worker.get(Context.SUSPECT) for worker in workers)
