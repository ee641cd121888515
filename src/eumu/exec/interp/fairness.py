"""Keeps loops that wait for somebody else from starving that somebody.

The lowest waiting block runs first, so a loop that spins until another thread, or another lane of
its thread, changes memory would spin for ever.  *Threads* are independent: when some were left out
for `STARVED` blocks in a row they get `SLICE` blocks of their own.  *Lanes* of a thread are not
(sub-group operations look across them), so they leave the order only when their loop provably
waits: the state of the whole thread at a back edge repeats while other lanes wait.  What it has
stored is part of that: without optimization, loops count in memory.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.exec.interp.values import Lanes
from eumu.exec.state import BLOCKED, DONE, ThreadState
from eumu.records import dataclass

Bytes = NDArray[np.uint8]

STARVED: Final = 256
SLICE: Final = 64
_FIRST_LOOK: Final = 128  # back edges before the state of a thread is compared
_LOOKS: Final = 4  # back edges that a remembered state is compared with
MOST_WRITES: Final = 1024  # that are remembered with it


class Threads:
    """Which threads run next.

    With `first`, those at a block for which it is set go before all others, however long it takes.
    """

    def __init__(
        self, next_block: NDArray[np.int32], seed: int, first: NDArray[np.bool_] | None = None
    ) -> None:
        self._next, self._random = next_block, np.random.default_rng(seed)
        self.first = first
        self._starved = self._left = 0
        self._favoured = np.zeros(len(next_block), bool)

    def choose(self) -> tuple[int, slice | NDArray[np.intp]]:
        """The block to run and the threads to run it; block DONE or BLOCKED when there is none."""
        next_block = self._next
        if self._left:
            self._left -= 1
            ready = self._favoured & (next_block < BLOCKED)
            if ready.any():
                block = int(next_block[ready].min())
                return block, np.flatnonzero(ready & (next_block == block))
            self._left = 0
        block = int(next_block.min())
        if block == int(next_block.max()):
            self._starved = 0
            return block, slice(0, len(next_block))
        if self.first is not None and block < BLOCKED:
            block = self._first(block, self.first)
        here = next_block == block
        if self.first is None:
            self._count(here)
        rows = np.flatnonzero(here)
        first, last = int(rows[0]), int(rows[-1])
        return block, slice(first, last + 1) if last - first + 1 == len(rows) else rows

    def _first(self, block: int, first: NDArray[np.bool_]) -> int:
        """The lowest block of those that are first, if a thread is there; else the lowest one."""
        if first[block]:
            return block
        waiting = self._next[self._next < BLOCKED]
        ahead = waiting[first[waiting]]
        return int(ahead.min()) if len(ahead) else block

    def _count(self, here: NDArray[np.bool_]) -> None:
        others = self._next[~here & (self._next < BLOCKED)]
        self._starved = self._starved + 1 if len(others) else 0
        if self._starved == STARVED:
            self._favoured = self._next == self._random.choice(np.unique(others))
            self._starved, self._left = 0, SLICE


@dataclass(frozen=True, slots=True)
class _Overwritten:
    """Bytes of memory, and what they were."""

    memory: Bytes
    places: Lanes
    was: Bytes


def _is_as_before(writes: list[_Overwritten]) -> bool:
    """Whether memory is what it was before some writes."""
    if not writes:
        return True
    starts = [write.memory.ctypes.data for write in writes]  # surfaces lie in other memory
    places = np.concatenate([w.places + start for w, start in zip(writes, starts, strict=True)])
    _, first = np.unique(places, return_index=True)
    was = np.concatenate([write.was for write in writes])
    now = np.concatenate([write.memory[write.places] for write in writes])
    return bool((was[first] == now[first]).all())


class LaneOrder:
    """Lanes that spin inside a thread, set aside for a while."""

    def __init__(self, state: ThreadState, next_block: NDArray[np.int32]) -> None:
        self._state, self._next = state, next_block
        self._edges = np.zeros(state.threads, np.int32)
        self._seen: dict[int, bytes] = {}
        self._overwritten: dict[int, list[_Overwritten]] = {}  # since a state was seen
        self.aside: dict[int, list[int]] = {}  # thread: the block set aside, blocks left to run

    def start(self) -> None:
        """Forget the threads that ran before."""
        self._edges[...] = 0
        self._seen.clear()
        self._overwritten.clear()
        self.aside.clear()

    @property
    def watches(self) -> bool:
        """Whether it wants to know of what threads are about to write."""
        return bool(self._seen)

    def writes(self, threads: Lanes, memory: Bytes, offset: Lanes, size: int) -> None:
        """Elements at byte offsets, of one thread each, are about to be written.

        A thread that writes too much meanwhile is not looked at any more: it may have left the
        loop, and nobody would forget what it writes.
        """
        for thread in [*self._seen]:
            places = (offset[threads == thread, None] + np.arange(size)).reshape(-1)
            if len(self._overwritten[thread]) == MOST_WRITES:
                self._forget(thread)
            elif len(places):
                self._overwritten[thread].append(_Overwritten(memory, places, memory[places]))

    def back_edge(self, threads: NDArray[np.intp]) -> None:
        """Threads that went back to an earlier block; looks at those with lanes elsewhere."""
        frame = self._state.pc[threads]
        elsewhere = (frame != self._next[threads, None]) & (frame != DONE)
        split = threads[elsewhere.any(axis=1)]
        self._edges[split] += 1
        edges = self._edges[split]
        power = (edges & (edges - 1)) == 0
        seen = np.array([int(t) in self._seen for t in split], bool) if self._seen else False
        for thread in split[((edges >= _FIRST_LOOK) & power) | seen]:
            self._look(int(thread))

    def _look(self, thread: int) -> None:
        edges, now = int(self._edges[thread]), self._snapshot(thread)
        if self._seen.get(thread) == now and _is_as_before(self._overwritten[thread]):
            self.aside[thread] = [int(self._next[thread]), SLICE]
            self._edges[thread] = 0
            self._forget(thread)
            self.reorder(thread)
        elif edges & (edges - 1) == 0:
            self._seen[thread], self._overwritten[thread] = now, []
        elif edges & (_LOOKS - 1) == 0:
            self._forget(thread)

    def _forget(self, thread: int) -> None:
        self._seen.pop(thread, None)
        self._overwritten.pop(thread, None)

    def _snapshot(self, thread: int) -> bytes:
        parts = [root[thread].tobytes() for root in self._state.roots.values()]
        return b"".join([*parts, self._state.pc[thread].tobytes()])

    def ran(self, threads: NDArray[np.intp]) -> None:
        """Threads ran a block: correct the next block of those with lanes aside."""
        for thread in [t for t in self.aside if t in threads]:
            self.aside[thread][1] -= 1
            self.reorder(thread)

    def reorder(self, thread: int) -> None:
        """Choose the next block of a thread without the lanes set aside."""
        if self._next[thread] in (DONE, BLOCKED):
            self.aside.pop(thread, None)
            return
        block, left = self.aside[thread]
        frame = self._state.pc[thread]
        low = int(frame[frame != block].min(initial=DONE))
        if left <= 0 or low == DONE:
            del self.aside[thread]
            low = int(frame.min())
        self._next[thread] = low
