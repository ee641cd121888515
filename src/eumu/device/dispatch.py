"""Where thread groups run: placement over the chip, in legacy and in pooled mode.

A group starts as soon as the first subslice (legacy mode) or pool has room for all its threads, for
its shared local memory and for its barrier; groups start in launch order.  Time is counted in
instructions: every hardware thread issues one a tick, which is no model of the pipeline.  Where a
group runs changes nothing of what it computes.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import lru_cache

from eumu.device.chip import Occupancy, Part, Pool, occupancy, pools
from eumu.device.chip.parts import Unit
from eumu.errors import LaunchError
from eumu.exec.grid import Grid
from eumu.records import dataclass

_BARRIERS = 16


@dataclass(frozen=True, slots=True, order=True)
class ThreadSlot:
    """A hardware thread."""

    unit: Unit
    thread: int


@dataclass(frozen=True, slots=True)
class Needs:
    """What one group takes; shared local memory as the hardware hands it out: a power of two, at
    least 1 KB."""

    threads: int
    slm_bytes: int
    has_barrier: bool

    @classmethod
    def of(cls, grid: Grid) -> Needs:
        barrier = any(b.end is not None and b.end.name == "barrier" for b in grid.function.blocks)
        slm = 1 << (max(grid.slm_bytes, 1024) - 1).bit_length() if grid.slm_bytes else 0
        return cls(grid.threads_per_group, slm, barrier)


@dataclass(frozen=True, slots=True)
class Placement:
    """A group's run: pool index, a slot for each thread, start and end in ticks; `ends` has the end
    of each thread."""

    group: int
    pool: int
    slots: tuple[ThreadSlot, ...]
    start: int
    end: int
    ends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """All placements in order of start; `occupancy` is that of each pool."""

    part: Part
    pools: tuple[Pool, ...]
    occupancy: tuple[Occupancy, ...]
    placements: tuple[Placement, ...]
    is_pooled: bool = False

    @property
    def ticks(self) -> int:
        return max((p.end for p in self.placements), default=0)

    @property
    def busy(self) -> float:
        """The share of hardware threads' time with a thread on them."""
        spent = sum(end - p.start for p in self.placements for end in p.ends)
        return spent / (self.part.threads * self.ticks) if self.ticks else 0.0


class _Room:
    """What is free in one pool."""

    def __init__(self, pool: Pool, needs: Needs, slm: int) -> None:
        self.pool, self.needs = pool, needs
        slots = [ThreadSlot(u, t) for t in range(pool.threads_per_eu) for u in pool.units]
        self.free = slots[::-1]  # round robin over the units
        self.slm, self.barriers = slm, _BARRIERS

    def take(self) -> tuple[ThreadSlot, ...] | None:
        needs = self.needs
        if len(self.free) < needs.threads or self.slm < needs.slm_bytes:
            return None
        if needs.has_barrier and not self.barriers:
            return None
        self.slm -= needs.slm_bytes
        self.barriers -= needs.has_barrier
        return tuple(self.free.pop() for _ in range(needs.threads))

    def give(self, slots: Sequence[ThreadSlot]) -> None:
        self.slm += self.needs.slm_bytes
        self.barriers += self.needs.has_barrier
        self.free += reversed(slots)


@lru_cache(maxsize=256)
def capacity(
    part: Part, needs: Needs, pool_map: int | None = None, *, is_global: bool = False
) -> tuple[Occupancy, ...]:
    """How many groups each subslice or pool holds; LaunchError for a group that none can hold.

    Groups with a global barrier may be spread over all subslices, unless they share memory.
    """
    thread_pools = pools(part, pool_map)
    if is_global and not needs.slm_bytes:
        thread_pools = (Pool(0, part.units, part.threads_per_eu),)
    held = tuple(
        occupancy(
            pool,
            needs.threads,
            slm_bytes=needs.slm_bytes,
            slm_available=part.slm_bytes,
            has_barrier=needs.has_barrier,
            barriers=_BARRIERS,
        )
        for pool in thread_pools
    )
    if not any(o.groups for o in held):
        kind = "subslice" if pool_map is None else "pool"
        most = max(p.threads for p in thread_pools)
        raise LaunchError(
            f"no {kind} of {part.name} can hold a group of {needs.threads} threads and"
            f" {needs.slm_bytes} bytes of shared local memory; the largest has {most} threads"
            f" and {part.slm_bytes} bytes"
        )
    return held


def place(
    part: Part, needs: Needs, durations: Sequence[Sequence[int]], pool_map: int | None = None
) -> Schedule:
    """Run groups through the chip; `durations` has the ticks of each thread of each group.

    LaunchError for a group that no subslice or pool can hold.
    """
    thread_pools = pools(part, pool_map)
    rooms = [_Room(pool, needs, part.slm_bytes) for pool in thread_pools]
    held = capacity(part, needs, pool_map)
    running: list[tuple[int, int, Placement]] = []
    placements = []
    now = 0
    for group, ticks in enumerate(durations):
        while (taken := _first(rooms)) is None:
            now, _, ended = heapq.heappop(running)
            rooms[ended.pool].give(ended.slots)
        index, slots = taken
        ends = tuple(now + max(1, t) for t in ticks)
        placement = Placement(group, index, slots, now, max(ends), ends)
        placements.append(placement)
        heapq.heappush(running, (placement.end, group, placement))
    return Schedule(part, thread_pools, held, tuple(placements), pool_map is not None)


def _first(rooms: Sequence[_Room]) -> tuple[int, tuple[ThreadSlot, ...]] | None:
    """The pool with the most room, and slots in it."""
    for index in sorted(range(len(rooms)), key=lambda k: -len(rooms[k].free)):
        slots = rooms[index].take()
        if slots is not None:
            return index, slots
    return None
