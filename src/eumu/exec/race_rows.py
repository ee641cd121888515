"""Accesses that a log of races has noted: tables of them, and what is said of whole tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.records import dataclass

READ, WRITE, ATOMIC_WRITE, ATOMIC_READ = range(4)

Column = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Parts:
    """The logs of a launch whose groups have several sizes: a grid for each of `count` parts."""

    count: int
    logs: list[Any] = field(default_factory=list)

    @property
    def are_all(self) -> bool:
        return len(self.logs) == self.count


@dataclass(frozen=True, slots=True)
class Rows:
    """Accesses put together: one row for each byte, epoch, stretch and instruction; sorted.

    `cell` is group and epoch; `stretch` is 0 where epochs say what is ordered; `what` is
    instruction, kind, and whether lanes are known; `first` and `last` are the least and greatest
    work items, with what they wrote; `low` and `high` of all.
    """

    byte: Column
    cell: Column
    stretch: Column
    what: Column
    first: Column
    last: Column
    wrote: NDArray[np.uint64]
    wrote_last: NDArray[np.uint64]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.byte)

    def __getitem__(self, at: Any) -> Rows:
        return Rows(*(getattr(self, name)[at] for name in self.__slots__))

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in cls.__slots__))

    def together(self) -> Rows:
        """One row for what has the same byte, cell and instruction."""
        if not len(self):
            return self
        order = self.first, self.what, self.stretch, self.cell, self.byte
        rows = self[np.lexsort(order)]
        changes = (
            (rows.byte[1:] != rows.byte[:-1])
            | (rows.cell[1:] != rows.cell[:-1])
            | (rows.stretch[1:] != rows.stretch[:-1])
            | (rows.what[1:] != rows.what[:-1])
        )
        starts = np.flatnonzero(np.concatenate([[True], changes]))
        # The greatest work item's row: they are sorted by the least one, so look for it.
        last = np.maximum.reduceat(rows.last, starts)
        segment = np.repeat(np.arange(len(starts)), np.diff([*starts, len(rows)]))
        ends = np.zeros(len(starts), np.int64)
        ends[segment[rows.last == last[segment]]] = np.flatnonzero(rows.last == last[segment])
        return Rows(
            rows.byte[starts],
            rows.cell[starts],
            rows.stretch[starts],
            rows.what[starts],
            rows.first[starts],
            last,
            rows.wrote[starts],
            rows.wrote_last[ends],
            np.minimum.reduceat(rows.low, starts),
            np.maximum.reduceat(rows.high, starts),
        )

    @property
    def kind(self) -> Column:
        return self.what >> 1 & 3

    @property
    def inst(self) -> Column:
        return self.what >> 3

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Whether it is the thread that accesses, not a lane of it."""
        return (self.what & 1).astype(bool)


def writes(rows: Rows) -> NDArray[np.bool_]:
    """Which rows change memory."""
    return np.asarray((rows.kind == WRITE) | (rows.kind == ATOMIC_WRITE))


def atomic(rows: Rows) -> NDArray[np.bool_]:
    """Which rows are of atomic operations."""
    return np.asarray(rows.kind >= ATOMIC_WRITE)


def differ(a: Rows, b: Rows, size: int) -> NDArray[np.bool_]:
    """Whether two rows have work items of different threads (of `size` numbers), or groups."""
    numbers = [x // size for x in (a.first, a.last, b.first, b.last)]
    least, most = np.minimum.reduce(numbers), np.maximum.reduce(numbers)
    return np.asarray(least != most)


def segments(rows: Rows) -> Column:
    """The number of each row's byte and cell; rows are sorted by them."""
    if not len(rows):
        return _EMPTY
    new = (rows.byte[1:] != rows.byte[:-1]) | (rows.cell[1:] != rows.cell[:-1])
    return np.concatenate([[0], np.cumsum(new)])


def firsts(a: Rows, b: Rows) -> tuple[Rows, Rows]:
    """The first pair of rows of each two instructions, an equal value only if there is no other."""
    if not len(a):
        return a, b
    a, b = _chosen(a.what <= b.what, a, b), _chosen(a.what <= b.what, b, a)
    equal = (a.kind == WRITE) & (b.kind == WRITE)
    equal &= (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
    order = np.lexsort((b.stretch, a.stretch, a.byte, a.cell, equal, b.what, a.what))
    key = np.stack([a.what[order], b.what[order]])
    new = np.concatenate([[True], np.any(key[:, 1:] != key[:, :-1], axis=0)])
    return a[order[new]], b[order[new]]


def _chosen(which: NDArray[np.bool_], a: Rows, b: Rows) -> Rows:
    """Rows of `a` where `which` says so, else of `b`."""
    return Rows(*(np.where(which, getattr(a, n), getattr(b, n)) for n in Rows.__slots__))


def each(pair: tuple[Rows, Rows]) -> Iterator[tuple[Rows, Rows]]:
    """Pairs of rows, each of one element."""
    a, b = pair
    for k in range(len(a)):
        yield a[k : k + 1], b[k : k + 1]


_EMPTY: Final = np.zeros(0, np.int64)
_NONE: Final = np.zeros(0, np.uint64)
NOTHING: Final = Rows(_EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY, _NONE, _NONE, _NONE, _NONE)
