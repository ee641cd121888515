"""How values and masks look while a block runs, and where it runs.

A value is an array that *broadcasts* to [threads, width]: a constant is [1, width] or [1, 1], a
uniform read [threads, 1].  A mask is a bool array likewise; the object `ALL` stands for "every
lane of every thread", so that the common case is recognised without looking at bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from eumu.records import dataclass

Lanes = NDArray[Any]
Mask = NDArray[np.bool_]
Rows = slice | NDArray[np.intp]

ALL: Final[Mask] = np.ones((1, 1), bool)
ALL.flags.writeable = False


class Run:
    """The threads that execute a block now: `rows` of the state arrays, `count` of them.

    `active` is bool[count, width], or ALL.
    """

    __slots__ = ("active", "block", "count", "rows")

    def __init__(self, block: int, rows: Rows, count: int, active: Mask) -> None:
        self.block, self.rows, self.count, self.active = block, rows, count, active

    @property
    def threads(self) -> NDArray[np.intp]:
        """The thread numbers within the batch."""
        if isinstance(self.rows, slice):
            return np.arange(self.rows.start, self.rows.stop)
        return self.rows


Slots = list[Any]
Step = Callable[[Slots, Run], None]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A block ready to run; `cost` is the number of instructions that it issues."""

    steps: list[Step]
    slots: int
    cost: int
    arguments: list[int]  # slots of the terminator's arguments


def full(x: Lanes, run: Run, width: int) -> Lanes:
    """x spread out to [run.count, width]."""
    shape = (run.count, width)
    return x if x.shape == shape else np.broadcast_to(x, shape)


def wide(x: Lanes, width: int) -> Lanes:
    """x spread out to [1 or threads, width]."""
    return x if x.shape[1] == width else np.broadcast_to(x, (x.shape[0], width))


def lowest(frame: NDArray[np.int32]) -> NDArray[np.int32]:
    """The least of each row; NumPy is faster along the other axis."""
    return np.asarray(frame.T.copy().min(axis=0))


def store_rows(view: Lanes, run: Run, x: Lanes, mask: Mask) -> None:
    """Write x to the rows of `view` that run, in the lanes of the mask."""
    rows = run.rows
    if mask is ALL:
        view[rows] = x
        return
    old = view[rows]
    # `putmask` is the fastest masked copy, for arrays that need no broadcasting.
    if x.shape == old.shape == mask.shape and old.flags.c_contiguous:
        np.putmask(old, mask, x)
    else:
        np.copyto(old, x, where=mask)
    if not isinstance(rows, slice):
        view[rows] = old


class Placed(Protocol):
    """Where the elements of an access lie, [lanes, elements]; see `memory.MemoryAccess`."""

    @property
    def offset(self) -> NDArray[np.int64]: ...
    @property
    def valid(self) -> Mask | None: ...
    @property
    def lanes(self) -> Any: ...
