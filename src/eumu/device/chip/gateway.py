"""The message gateway: barriers of a thread group, local to a subslice, linked, or global.

The payload is read as the PRM chapter "Message Gateway" gives it: M0.2 has the barrier's number in
bits 31 and 27:24, Barrier Count Enable in bit 15 and the count in bits 14:9; M0.3 the predicate
mask; all else is ignored.  The number is five bits wide, so there are 32 states, although the text
once speaks of 16.

What the excerpt leaves open is read like this.  A *local* barrier's threads are in one subslice, as
those of every group in legacy mode.  A *linked* barrier belongs to a group that a pool spreads over
several subslices, a *global* one to a group that may be anywhere: each subslice counts its own
threads, its gateway reports to the others once when all of them have come, and when all subslices
have reported, every thread is notified.  That is a barrier of barriers, on the same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Final

from eumu.errors import LaunchError
from eumu.exec.gateway import BarrierState
from eumu.exec.named import BOTH
from eumu.records import dataclass

BARRIERS: Final = 32


class BarrierKind(Enum):
    """Where the threads of a barrier are."""

    LOCAL = "local"
    LINKED = "linked"
    GLOBAL = "global"


def clash(kinds: Iterable[BarrierKind], *, legacy_dispatch: bool = True) -> str:
    """What is wrong with these kinds of barriers at once, or nothing.

    `legacy_dispatch` is the Thread Dispatch Selection Policy of MEDIA_VFE_STATE.
    """
    used = set(kinds)
    if {BarrierKind.GLOBAL, BarrierKind.LINKED} <= used:
        return "global and linked barriers without a PIPE_CONTROL with CS stall between them"
    if {BarrierKind.GLOBAL, BarrierKind.LOCAL} <= used and not legacy_dispatch:
        return (
            "global and local barriers at once need the Legacy policy of thread dispatch selection"
        )
    return ""


@dataclass(frozen=True, slots=True)
class BarrierMessage:
    """A barrier message, decoded."""

    barrier: int
    count: int | None  # the new terminating count, None to keep the stored one
    predicate: int  # a bit per lane

    @classmethod
    def of(cls, payload: Sequence[int], simd: int = 16) -> BarrierMessage:
        """From dwords M0.0 to M0.5 or more; `simd` is 8, 16 or 32."""
        word, predicate = payload[2], payload[3]
        if simd < 32 and predicate >> simd:
            raise LaunchError(
                f"predicate mask {predicate:#x} has bits of lanes that SIMD{simd} has not"
            )
        number = (word >> 31 & 1) << 4 | word >> 24 & 0xF
        return cls(number, word >> 9 & 0x3F if word >> 15 & 1 else None, predicate)


@dataclass(slots=True)
class Votes:
    """The predicates of a round: bits that any, and that every thread has set, and how many."""

    any: int = 0
    all: int = 0xFFFFFFFF
    lanes: int = 0

    def add(self, predicate: int) -> None:
        self.any |= predicate
        self.all &= predicate
        self.lanes += predicate.bit_count()


@dataclass(slots=True)
class Barrier:
    """One barrier of one subslice; `votes` are those of this round, `outcome` of the last."""

    count: int = 0  # 0: not in use
    kind: BarrierKind = BarrierKind.LOCAL
    state: BarrierState = field(default_factory=lambda: BarrierState(0, 0))
    votes: Votes = field(default_factory=Votes)
    outcome: Votes | None = None
    _asked: int | None = None  # the count that this round's first message gave

    @property
    def waiting(self) -> list[int]:
        """The threads of this round, in order of arrival."""
        return self.state.come_consumers

    def arrive(self, thread: int, request: BarrierMessage) -> tuple[int, ...]:
        """A thread's message; all threads of the round if it is the last, else none."""
        if request.count is not None and self.kind is not BarrierKind.LOCAL:
            raise LaunchError(
                f"barrier {request.barrier} is {self.kind.value} across subslices:"
                " Barrier Count Enable may not be used"
            )
        if self.waiting and request.count != self._asked:
            raise LaunchError(
                f"threads of barrier {request.barrier} give different barrier counts:"
                f" {self._asked} and {request.count}"
            )
        if thread in self.waiting:
            raise LaunchError(f"thread {thread} waits at barrier {request.barrier} already")
        self._asked = request.count
        if request.count is not None:
            self.count = request.count
        if self.count < 1:
            raise LaunchError(f"barrier {request.barrier} has no terminating count")
        self.state.producers = self.state.consumers = self.count
        self.votes.add(request.predicate)
        told = self.state.arrive(thread, BOTH)
        if told is None:
            return ()
        self.outcome, self.votes = self.votes, Votes()
        return told


class Gateway:
    """The barriers of one subslice."""

    def __init__(self) -> None:
        self.barriers = [Barrier() for _ in range(BARRIERS)]

    def allocate(
        self, threads: int, kind: BarrierKind = BarrierKind.LOCAL, number: int | None = None
    ) -> int:
        """A free barrier for `threads` threads, or that one; LaunchError if there is none."""
        for place in range(BARRIERS) if number is None else (number,):
            if not self.barriers[place].count:
                self.barriers[place] = Barrier(threads, kind)
                return place
        raise LaunchError(f"all {BARRIERS} barriers are in use")

    def release(self, number: int) -> None:
        """The group has ended; LaunchError if threads of it still wait."""
        if self.barriers[number].waiting:
            raise LaunchError(
                f"the group of barrier {number} ends while threads"
                f" {self.barriers[number].waiting} wait at it"
            )
        self.barriers[number] = Barrier()

    def message(self, thread: int, payload: Sequence[int], simd: int = 16) -> tuple[int, ...]:
        """A barrier message of a thread; the threads of this subslice that have come, if all."""
        request = BarrierMessage.of(payload, simd)
        return self.barriers[request.barrier].arrive(thread, request)


@dataclass(slots=True)
class _Link:
    """A barrier of several subslices: which have reported, and whom each then notifies."""

    state: BarrierState
    threads: dict[int, tuple[int, ...]] = field(default_factory=dict)


Thread = tuple[int, int]  # subslice, thread in it


class Gateways:
    """The gateways of a chip's subslices, and the links between them.

    `legacy_dispatch` is the Thread Dispatch Selection Policy of MEDIA_VFE_STATE.
    """

    def __init__(self, subslices: Iterable[int], *, legacy_dispatch: bool = True) -> None:
        self.of = {number: Gateway() for number in subslices}
        self._legacy = legacy_dispatch
        self._links: dict[int, _Link] = {}  # by the number that all their subslices use
        self._kinds: set[BarrierKind] = set()  # since the last stall

    def allocate(self, threads: Mapping[int, int], kind: BarrierKind) -> int:
        """A barrier number that is free in each subslice, for so many threads in each.

        LaunchError if there is none, a local group is not in one subslice, or the kind may not be
        used together with those since the last `stall`.
        """
        strange = set(threads) - set(self.of)
        if strange or not threads or min(threads.values()) < 1:
            raise LaunchError(
                f"no group has {dict(threads)} threads in subslices {sorted(self.of)}"
            )
        if kind is BarrierKind.LOCAL and len(threads) > 1:
            raise LaunchError(f"a local barrier for threads in subslices {sorted(threads)}")
        wrong = clash(self._kinds | {kind}, legacy_dispatch=self._legacy)
        if wrong:
            raise LaunchError(wrong)
        number = self._free(threads, kind)
        for subslice, count in threads.items():
            self.of[subslice].allocate(count, kind, number)
        if kind is not BarrierKind.LOCAL:
            self._links[number] = _Link(BarrierState(len(threads), len(threads)))
        self._kinds.add(kind)
        return number

    def _free(self, subslices: Iterable[int], kind: BarrierKind) -> int:
        for number in range(BARRIERS):
            is_linked = number in self._links and kind is not BarrierKind.LOCAL
            if not is_linked and not any(self.of[s].barriers[number].count for s in subslices):
                return number
        raise LaunchError(f"all {BARRIERS} barriers are in use")

    def message(self, at: Thread, payload: Sequence[int], simd: int = 16) -> tuple[Thread, ...]:
        """A barrier message of a thread; the threads of all subslices whose n0.0 it notifies."""
        subslice, thread = at
        number = BarrierMessage.of(payload, simd).barrier
        kind = self.of[subslice].barriers[number].kind
        told = self.of[subslice].message(thread, payload, simd)
        if kind is BarrierKind.LOCAL or not told:
            return tuple((subslice, t) for t in told)
        link = self._links[number]
        link.threads[subslice] = told
        if link.state.arrive(subslice, BOTH) is None:
            return ()
        all_, link.threads = link.threads, {}
        return tuple((s, t) for s, threads in all_.items() for t in threads)

    def release(self, number: int, subslices: Iterable[int]) -> None:
        """The group has ended; LaunchError if threads of it still wait."""
        where = list(subslices)
        is_linked = self.of[where[0]].barriers[number].kind is not BarrierKind.LOCAL
        if is_linked and self._links[number].state.is_waited_at:
            raise LaunchError(f"the group of barrier {number} ends while subslices wait at it")
        for subslice in where:
            self.of[subslice].release(number)
        if is_linked:
            del self._links[number]

    def stall(self) -> None:
        """PIPE_CONTROL with CS stall: once groups have ended, other kinds may come."""
        used = (b for gateway in self.of.values() for b in gateway.barriers if b.count)
        self._kinds = {barrier.kind for barrier in used}
