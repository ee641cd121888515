"""What named and split barriers order: stretches of threads, and which come before which.

A *stretch* is what a thread does between two of its signals and waits.  What a thread has done
before it signals a barrier comes before what others do behind their waits for that opening; the
opening comes behind all signals that it was made of, whatever their role.  A wait takes the oldest
opening of its barrier that the thread has signalled as a consumer and not yet waited for.

Which signals make an opening together must not depend on the order in which threads come: a signal
must come behind the opening before it.  A barrier of which that is not so for all signals orders
nothing, and is a finding itself; what is left is the same for every order of threads.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Unsupported
from eumu.ir import Function
from eumu.ir.operations.ends import Barrier
from eumu.ir.operations.memory import Access, Fence
from eumu.records import dataclass

GROUP: Final = -1  # the barrier of the whole group, which has no name
STRETCHES: Final = 1 << 20  # of a thread; of more no number is kept
_CLOCKS: Final = 1 << 24  # numbers in the clocks of a launch
_ALSO: Final = frozenset({"send", "message"})  # operations that may access memory

Clock = NDArray[np.int32]


class Step(Enum):
    """What ends a stretch."""

    SIGNAL = "signals a barrier"
    WAIT = "has waited for a barrier"


@dataclass(frozen=True, slots=True)
class Event:
    """Thread `member` of a group did a step at instruction `inst`.

    `told` are the consumers of the opening that a signal of a named barrier made, None without one.
    """

    step: Step
    member: int
    barrier: int
    inst: int
    told: tuple[int, ...] | None = None


def number(thread: NDArray[np.int64], stretch: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of stretches of threads of the launch."""
    return thread * STRETCHES + stretch


def meets_whole(function: Function) -> bool:
    """Whether threads meet at whole barriers only, so that counting these orders accesses.

    A signal of the group's barrier with its wait right behind is whole: native code has those.
    """
    for block in function.blocks:
        end = block.end
        if isinstance(end, Barrier) and (end.args or end.kind == "signal"):
            behind = function.blocks[end.targets[0]]
            accesses = any(isinstance(op, Access) or op.name in _ALSO for op in behind.ops)
            next_ = behind.end
            waits = isinstance(next_, Barrier) and next_.kind == "wait" and not next_.args
            if end.args or accesses or not waits:
                return False
    return True


def unordered(function: Function) -> dict[int, tuple[bool, bool]]:
    """By the instruction of a barrier: whether it leaves local, and global memory unordered.

    The compiler puts a fence of each memory that it is to order in front of a barrier, or of the
    signal of one in parts.  One without any fence is somebody's own, and orders everything.
    """
    by_barrier = {}
    for block in function.blocks:
        scopes = {op.scope for op in block.ops if isinstance(op, Fence)}
        end = block.end
        if scopes and isinstance(end, Barrier) and end.kind in ("sync", "signal"):
            by_barrier[end.inst] = not scopes & {"local", "sw"}, "global" not in scopes
    return by_barrier


@dataclass(frozen=True, slots=True)
class Order:
    """Which stretches come before which, for one memory.

    Stretch k is the `own[k]`-th of thread `member[k]`, counted by its signals; `seen[k]` has how
    many of each thread of the group come before it.  From stretch `beyond[k]` on, all of the group
    come behind k.
    """

    member: NDArray[np.int64]
    own: NDArray[np.int64]
    seen: Clock
    beyond: NDArray[np.int64]

    def orders(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether stretches of one group are ordered, either way."""
        before = self.seen[b, self.member[a]] > self.own[a]
        after = self.seen[a, self.member[b]] > self.own[b]
        return np.asarray(before | after)


@dataclass(frozen=True, slots=True)
class Undetermined:
    """A barrier at which it is chance who meets: its group, and the first who signals it where."""

    barrier: int
    group: int
    member: int
    inst: int


@dataclass(slots=True)
class _Thread:
    """A thread while its group's events are followed."""

    clock: Clock
    own: int = 0
    stretches: list[tuple[int, Clock]] = field(default_factory=list)

    def cut(self) -> None:
        """A stretch begins."""
        self.stretches.append((self.own, self.clock))


@dataclass(slots=True)
class _Opening:
    """Signals that have come to a barrier since it opened last."""

    clock: Clock
    last: Clock | None = None  # of the opening before


class _Group:
    """The clocks of a group's threads, as far as barriers in `ignored` and `leaves` make them."""

    def __init__(
        self, threads: int, ignored: Collection[int], leaves: Collection[int] = ()
    ) -> None:
        self.zero = np.zeros(threads, np.int32)
        self.threads = [_Thread(self.zero) for _ in range(threads)]
        self.ignored, self.leaves = ignored, leaves
        self.chance: set[int] = set()  # barriers at which it depends on chance who meets
        self._openings: dict[int, _Opening] = {}
        self._pending: dict[tuple[int, int], deque[Clock]] = defaultdict(deque)
        self._arrived: dict[int, Clock] = {}  # by how many times threads have come: all of them
        self._counts = {Step.SIGNAL: [0] * threads, Step.WAIT: [0] * threads}

    def follow(self, events: Sequence[Event]) -> None:
        for thread in self.threads:
            thread.cut()
        for event in events:
            thread = self.threads[event.member]
            if event.step is Step.SIGNAL:
                given = self._release(thread, event)
                if event.barrier == GROUP:
                    self._arrive(event, given)
                else:
                    self._signal(event, thread, given)
                thread.own += 1
            elif event.barrier not in self.ignored:
                got = self._passed(event) if event.barrier == GROUP else self._opened(event)
                thread.clock = np.maximum(thread.clock, got)
            thread.cut()

    def _release(self, thread: _Thread, event: Event) -> Clock:
        """What a signal tells: everything before it, if it orders this memory."""
        if event.inst in self.leaves:
            return self.zero
        given = thread.clock.copy()
        given[event.member] = thread.own + 1
        return given

    def _arrive(self, event: Event, given: Clock) -> None:
        counts = self._counts[Step.SIGNAL]
        counts[event.member] += 1
        number = counts[event.member]
        self._arrived[number] = np.maximum(self._arrived.get(number, self.zero), given)

    def _passed(self, event: Event) -> Clock:
        counts = self._counts[Step.WAIT]
        counts[event.member] += 1
        return self._arrived[counts[event.member]]

    def _signal(self, event: Event, thread: _Thread, given: Clock) -> None:
        opening = self._openings.setdefault(event.barrier, _Opening(self.zero))
        if opening.last is not None and (thread.clock < opening.last).any():
            self.chance.add(event.barrier)
        opening.clock = np.maximum(opening.clock, given)
        if event.told is not None:
            for member in event.told:
                self._pending[member, event.barrier].append(opening.clock)
            self._openings[event.barrier] = _Opening(self.zero, opening.clock)

    def _opened(self, event: Event) -> Clock:
        """The oldest opening that the thread was told of and has not waited for."""
        pending = self._pending[event.member, event.barrier]
        return pending.popleft() if pending else self.zero


class Orders:
    """What the barriers of a launch order; `threads` of each group."""

    def __init__(self, function: Function, threads: int) -> None:
        self.threads = threads
        self._leaves = unordered(function)
        self._events: dict[int, list[Event]] = {}
        # By group and thread: the first stretch with an atomic operation that may publish.
        self._published: dict[tuple[int, int], int] = {}
        self._count = 0

    def add(self, group: int, events: list[Event]) -> None:
        """The steps of a group's threads, in the order in which they were done."""
        self._events[group] = events
        self._count += (len(events) + self.threads) * self.threads
        if self._count > _CLOCKS:
            raise Unsupported(
                f"looking for races with {self._count // self.threads} signals and waits;"
                f" {_CLOCKS // self.threads} are followed"
            )

    def publishes(self, group: int, member: int, stretch: int) -> None:
        """A thread does an atomic operation by which it may learn what others have published."""
        self._published.setdefault((group, member), stretch)

    def settled(self) -> Settled:
        """What is ordered, and what depends on chance."""
        chance = {group: self._chance(events) for group, events in self._events.items()}
        makers = {
            memory: {
                group: self._followed(events, chance[group], leaves)
                for group, events in self._events.items()
            }
            for memory, leaves in self._by_memory().items()
        }
        every = {
            group: self._followed(events, chance[group]) for group, events in self._events.items()
        }
        return Settled.of(self.threads, every, makers, self._published, self._undetermined(chance))

    def _by_memory(self) -> Mapping[str, frozenset[int]]:
        return {
            memory: frozenset(inst for inst, leaves in self._leaves.items() if leaves[k])
            for k, memory in enumerate(("local", "global"))
        }

    def _chance(self, events: Sequence[Event]) -> frozenset[int]:
        """The barriers of a group at which it depends on chance who meets."""
        ignored: frozenset[int] = frozenset()
        while True:
            more = self._followed(events, ignored).chance - ignored
            if not more:
                return ignored
            ignored |= more

    def _followed(
        self,
        events: Sequence[Event],
        ignored: frozenset[int],
        leaves: frozenset[int] = frozenset(),
    ) -> _Group:
        group = _Group(self.threads, ignored, leaves)
        group.follow(events)
        return group

    def _undetermined(self, chance: Mapping[int, frozenset[int]]) -> tuple[Undetermined, ...]:
        """For each barrier, the first group and the first signal there."""
        first: dict[int, Undetermined] = {}
        for group, barriers in sorted(chance.items()):
            for barrier in sorted(barriers - first.keys()):
                inst, member = min(
                    (e.inst, e.member)
                    for e in self._events[group]
                    if e.step is Step.SIGNAL and e.barrier == barrier
                )
                first[barrier] = Undetermined(barrier, group, member, inst)
        return tuple(first[barrier] for barrier in sorted(first))


@dataclass(frozen=True, slots=True)
class Settled:
    """The stretches of all groups, numbered so that what comes before another has a lower number.

    Nothing here depends on the order in which threads came.
    """

    starts: NDArray[np.int64]  # by group and thread: where `places` has its stretches
    places: NDArray[np.int64]  # the number of each stretch
    local: Order
    shared: Order  # global memory
    published: NDArray[np.bool_]  # whether a stretch comes behind what may publish
    undetermined: tuple[Undetermined, ...]

    @classmethod
    def of(
        cls,
        threads: int,
        every: Mapping[int, _Group],
        makers: Mapping[str, Mapping[int, _Group]],
        published: Mapping[tuple[int, int], int],
        undetermined: tuple[Undetermined, ...],
    ) -> Settled:
        counts = np.zeros((max(every, default=0) + 1) * threads, np.int64)
        for group, made in every.items():
            at = group * threads
            counts[at : at + threads] = [len(t.stretches) for t in made.threads]
        starts = np.cumsum(counts) - counts
        thread = np.repeat(np.arange(len(counts)), counts)
        its, member = thread // threads, thread % threads
        own, seen = _clocks(every, threads)
        # What comes behind has seen all that a stretch has, and the stretch itself.
        full = seen.copy()
        full[np.arange(len(own)), member] = own + 1
        order = np.lexsort((np.arange(len(own)), member, full.sum(axis=1), its))
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        orders = {
            name: _order(order, its, member, *_clocks(made, threads))
            for name, made in makers.items()
        }
        most = np.full((len(counts) // threads, threads), np.iinfo(np.int32).max)
        for (g, m), stretch in published.items():
            most[g, m] = own[starts[g * threads + m] + stretch]
        behind = np.any(seen > most[its], axis=1)[order]
        local, shared = orders["local"], orders["global"]
        return cls(starts, places, local, shared, behind, undetermined)

    def rank(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of stretches here, for those that `number` gives."""
        thread, stretch = np.divmod(numbers, STRETCHES)
        return np.asarray(self.places[self.starts[thread] + stretch])


def _clocks(groups: Mapping[int, _Group], threads: int) -> tuple[NDArray[np.int64], Clock]:
    """The counts and clocks of all stretches, by group and thread."""
    made = [s for _, g in sorted(groups.items()) for t in g.threads for s in t.stretches]
    own = np.array([own for own, _ in made], np.int64)
    return own, np.array([clock for _, clock in made], np.int32).reshape(-1, threads)


def _order(
    order: NDArray[np.int64],
    group: NDArray[np.int64],
    member: NDArray[np.int64],
    own: NDArray[np.int64],
    seen: Clock,
) -> Order:
    group, member, own, seen = group[order], member[order], own[order], seen[order]
    return Order(member, own, seen, _beyond(group, member, own, seen))


def _beyond(
    group: NDArray[np.int64], member: NDArray[np.int64], own: NDArray[np.int64], seen: Clock
) -> NDArray[np.int64]:
    """For each stretch the number from which on all of its group come behind it."""
    beyond = np.zeros(len(own), np.int64)
    for number in np.unique(group):
        here = np.flatnonzero(group == number)
        threads = [here[member[here] == m] for m in range(seen.shape[1])]
        for a in threads:
            for b in threads:
                # The stretches of a thread have seen ever more of another one.
                behind = np.searchsorted(seen[b, member[a[0]]], own[a], side="right")
                last = np.where(behind > 0, b[np.maximum(behind, 1) - 1], -1)
                beyond[a] = np.maximum(beyond[a], last + 1)
    return beyond
