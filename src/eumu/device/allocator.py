"""Which bytes of an arena belong to whom; any thread may ask at any time.

What is live is one table.  The rest, free pieces and sorted starts, follows from it: a change that
an exception stops in the middle (KeyboardInterrupt may come anywhere) leaves the table whole, and
the rest is made again from it.

An owner that is gone gives its bytes back without running a line of Python: its :class:`Claim` goes
to a queue that the next operation empties.  So it does not matter where, in which thread and under
which lock the garbage collector finds it.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import Any, Final
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from eumu.errors import InternalError
from eumu.records import dataclass

PAGE: Final = 4096
_ALIGN: Final = 256  # of small allocations; at least the widest block access
_STEP: Final = 5 * _ALIGN  # from one place in a page to the next
_MIN_RED_ZONE: Final = 256
_MAX_RED_ZONE: Final = 1 << 20
_REMEMBERED: Final = 256  # freed allocations that fault reports still know

Extents = tuple[NDArray[np.uint64], NDArray[np.uint64]]
Block = tuple[int, int]


@dataclass(frozen=True, slots=True, order=True)
class Allocation:
    """`size` bytes at device address `start`, called `name` in messages; elements of `item`.

    `access` is what kernels may do there: "rw", "r" or "w".
    """

    start: int
    size: int
    name: str
    item: int = field(default=1, compare=False)
    access: str = field(default="rw", compare=False)

    @property
    def end(self) -> int:
        return self.start + self.size

    def __str__(self) -> str:
        return f"{self.name} ({self.size} bytes at {self.start:#x})"


class Claim(ref[Any]):
    """What ties an allocation to an object; `start` is None until there is one."""

    __slots__ = ("start",)
    start: int | None

    def __init__(self, owner: object, gone: Callable[[Any], object]) -> None:
        super().__init__(owner, gone)  # type: ignore[call-arg]  # typeshed knows only __new__
        self.start = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """A live allocation, the arena offsets that it takes with its red zones, and its claim."""

    allocation: Allocation
    block: Block
    claim: Claim | None


class Allocator:
    """Offsets from 0 to `size` of an arena whose first byte has the device address `base`.

    `clear` zeroes a range of offsets; `idle` are those of the free range around it.  `first` is
    the least offset that is ever used.
    """

    def __init__(
        self, size: int, base: int, first: int, clear: Callable[[Block, Block], object]
    ) -> None:
        self.size, self.base, self._first, self._clear = size, base, first, clear
        self._lock = threading.RLock()
        # Whether this thread is inside: a finalizer may run in the middle of an operation.
        self._is_inside: Callable[[], bool] = getattr(self._lock, "_is_owned")  # noqa: B009
        self._live: dict[int, _Piece] = {}
        self._late: deque[Claim] = deque()  # whose owners are gone
        self._dying: dict[int, _Piece] = {}  # freed, but not cleared
        self._freed: deque[Allocation] = deque(maxlen=_REMEMBERED)
        # What follows from `_live` and `_dying`, unless it is torn.
        self._torn = False
        self._free: list[Block] = [(first, size)]
        self._starts: list[int] = []
        self._extents: Extents | None = None
        self._renamed = 0  # how often an allocation got another name
        self._spread = 0  # where in its page the latest allocation that is spread starts
        self._cursor = 0  # where the search for free memory goes on

    # ---- changes

    def claim(self, owner: object) -> Claim:
        """A claim for `allocate`: what it gets is given back when `owner` is gone."""
        return Claim(owner, self._late.append)

    def allocate(
        self,
        size: int,
        name: str,
        *,
        spread: bool,
        align: int,
        claim: Claim | None,
        past: int = 0,
        item: int = 1,
        access: str = "rw",
    ) -> Allocation | None:
        """Room for `size` bytes, see `Memory.allocate`; None if there is none."""
        align = max(align, PAGE if size >= PAGE else _ALIGN)
        red = min(max(_MIN_RED_ZONE, size // 16), _MAX_RED_ZONE)
        with self._alone():
            self._mend()
            shift = past
            if spread and size >= PAGE:
                shift = self._spread = (self._spread + _STEP) % PAGE
            place = self._find(size + 2 * red + align + shift)
            if place is None:
                return None
            start = self.base + (place[1][0] + red + align - 1) // align * align + shift
            return self._take(Allocation(start, size, name, item, access), *place, claim)

    def allocate_at(
        self, start: int, size: int, name: str, claim: Claim | None = None, access: str = "rw"
    ) -> Allocation | None:
        """The same at a device address; None if it is not free."""
        low = start - self.base
        block = low, low + max(size, 1)
        with self._alone():
            self._mend()
            for k, (first, last) in enumerate(self._free):
                if first <= block[0] and block[1] <= last:
                    made = Allocation(start, size, name, access=access)
                    return self._take(made, k, block, claim)
            return None

    def adopt(self, allocation: Allocation, claim: Claim) -> None:
        """Tie an allocation to the owner of a claim."""
        with self._alone():
            piece = self._live[allocation.start]
            claim.start = allocation.start
            self._live[allocation.start] = replace(piece, claim=claim)

    def free(self, start: int) -> bool:
        """Give an allocation back; False if none starts there."""
        with self._alone():
            self._mend()
            live = self._live.get(start)
            if live is not None:
                self._end(live)
            return live is not None

    def release(self, claim: Claim) -> None:
        """Give the allocation of a claim back, unless that was done."""
        self._late.append(claim)
        self.settle()

    def settle(self) -> None:
        """Free what belonged to objects that are gone."""
        if self._late and not self._is_inside():
            with self._alone():
                self._mend()

    def rename(self, allocation: Allocation, name: str) -> Allocation:
        """The same bytes under another name."""
        renamed = replace(allocation, name=name)
        with self._alone():
            self._renamed += 1
            live = self._live.get(allocation.start)
            if live is not None:
                self._live[allocation.start] = replace(live, allocation=renamed)
        return renamed

    def allow(self, allocation: Allocation) -> None:
        """Let kernels read and write the same bytes from now on."""
        with self._alone():
            live = self._live.get(allocation.start)
            if live is not None:
                allowed = replace(live.allocation, access="rw")
                self._live[allocation.start] = replace(live, allocation=allowed)
                self._extents = None  # what was admitted before is to be looked at again

    def _alone(self) -> AbstractContextManager[bool]:
        """The lock; only C code runs between taking it and the block, so nothing can interrupt."""
        if self._is_inside():
            raise InternalError("a finalizer asks for device memory inside an allocation")
        return self._lock

    # ---- the lock is held in what follows

    def _find(self, need: int) -> tuple[int, Block] | None:
        """Free bytes at or after the cursor, or else before it: the piece they are in, and they."""
        for low in (self._cursor, 0):
            for k, (start, end) in enumerate(self._free):
                begin = max(start, low)
                if end - begin >= need:
                    self._cursor = begin + need
                    return k, (begin, begin + need)
        return None

    def _take(
        self, allocation: Allocation, k: int, block: Block, claim: Claim | None
    ) -> Allocation:
        """Make a block of the k-th free piece live."""
        self._torn = True
        if claim is not None:
            claim.start = allocation.start
        self._live[allocation.start] = _Piece(allocation, block, claim)
        start, end = self._free[k]
        rest = (start, block[0]), (block[1], end)
        self._free[k : k + 1] = [(s, e) for s, e in rest if s < e]
        insort(self._starts, allocation.start)
        self._extents = None
        self._torn = False
        return allocation

    def _end(self, piece: _Piece) -> None:
        """A live allocation is none any more."""
        start = piece.allocation.start
        self._torn = True
        self._dying[start] = piece
        del self._live[start]
        self._starts.remove(start)
        self._extents = None
        self._freed.append(piece.allocation)
        idle = self._release(*piece.block)
        self._clear(piece.block, idle)
        del self._dying[start]
        self._torn = False

    def _mend(self) -> None:
        """Finish what an exception stopped, then free what belonged to objects that are gone."""
        if self._torn:
            self._rebuild()
        while self._late:
            claim = self._late[0]
            piece = None if claim.start is None else self._live.get(claim.start)
            if piece is not None and piece.claim is claim:
                self._end(piece)
            self._late.popleft()

    def _rebuild(self) -> None:
        for piece in self._dying.values():
            self._live.pop(piece.allocation.start, None)
            self._clear(piece.block, piece.block)
        self._dying.clear()
        self._starts = sorted(self._live)
        self._extents = None
        free, low = [], self._first
        for start, end in sorted(piece.block for piece in self._live.values()):
            free.append((low, start))
            low = end
        self._free = [(s, e) for s, e in (*free, (low, self.size)) if s < e]
        self._torn = False

    def _release(self, start: int, end: int) -> Block:
        """Put a block on the free list, joined with its neighbours; the free piece it is in."""
        k = bisect_left(self._free, (start, end))
        if k < len(self._free) and self._free[k][0] == end:
            end = self._free.pop(k)[1]
        if k > 0 and self._free[k - 1][1] == start:
            k -= 1
            start = self._free.pop(k)[0]
        self._free.insert(k, (start, end))
        return start, end

    # ---- questions

    @property
    def live(self) -> tuple[Allocation, ...]:
        """All allocations, by address."""
        with self._alone():
            self._mend()
            return tuple(self._live[s].allocation for s in self._starts)

    @property
    def freed(self) -> tuple[Allocation, ...]:
        """Those that were freed last, the latest first."""
        with self._alone():
            return tuple(reversed(self._freed))

    def extents(self) -> Extents:
        """Starts and ends of all allocations, sorted; the arrays never change."""
        with self._alone():
            self._mend()
            if self._extents is None:
                live = [p.allocation for s in self._starts if (p := self._live[s]).allocation.size]
                self._extents = (
                    np.array([a.start for a in live], np.uint64),
                    np.array([a.end for a in live], np.uint64),
                )
            return self._extents

    def renamed_since(self, starts: NDArray[np.uint64]) -> int:
        """How often names changed if these are still the starts of `extents`; -1 if they are not,
        or that takes a longer look."""
        known = self._extents
        if known is None or known[0] is not starts or self._late or self._torn:
            return -1
        return self._renamed

    def around(self, address: int) -> tuple[Allocation | None, Allocation | None]:
        """The allocation that starts last at or before an address, and the first one behind it."""
        with self._alone():
            self._mend()
            k = bisect_right(self._starts, address)
            below = self._live[self._starts[k - 1]].allocation if k else None
            above = self._live[self._starts[k]].allocation if k < len(self._starts) else None
            return below, above
