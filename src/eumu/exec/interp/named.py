"""Named barriers: each counts producers and consumers that have come, and opens for all at once.

A thread that signals as a consumer gets a notice when the barrier opens; waiting takes the notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eumu.exec import named
from eumu.exec.gateway import BarrierState, Surplus
from eumu.exec.named import BOTH, CONSUMER, MOST, PAIRS, Signal


class NamedBarriers:
    """The named barriers of all groups of a batch."""

    def __init__(self, threads_per_group: int) -> None:
        self._per_group = threads_per_group
        self._open: dict[tuple[int, int], BarrierState] = {}  # that some have come to
        self._notices: set[tuple[int, int]] = set()
        # The consumers that the last signal has told, None if it has not opened its barrier.
        self.told: tuple[int, ...] | None = None

    def start(self) -> None:
        """Forget the groups that ran before."""
        self._open.clear()
        self._notices.clear()

    def export(self) -> dict[str, list[list[Any]]]:
        """What threads have come to, and the notices that nobody has taken."""
        return {
            "open": [
                [*key, o.producers, o.consumers, o.come_producers, o.come_consumers]
                for key, o in sorted(self._open.items())
            ],
            "notices": [list(notice) for notice in sorted(self._notices)],
        }

    def load(self, saved: dict[str, list[list[Any]]]) -> None:
        """Take up what `export` gave."""
        self._open = {(g, b): BarrierState(*rest) for g, b, *rest in saved["open"]}
        self._notices = {(thread, barrier) for thread, barrier in saved["notices"]}

    def signal(self, thread: int, barrier: int, signal: Signal) -> str:
        """A thread comes; what is wrong with that, or nothing."""
        if MOST <= barrier < PAIRS:
            return named.no_barrier(barrier)
        if signal.role > CONSUMER:
            return named.no_role(signal.role)
        key = thread // self._per_group, barrier
        said = signal.producers, signal.consumers
        now = self._open.setdefault(key, BarrierState(*said))
        if now.expected != said:
            return named.other_counts(barrier, now.expected, said)
        try:
            self.told = told = now.arrive(thread, signal.role)
        except Surplus:
            return named.too_many(barrier, now.expected)
        if told is not None:
            self._notices |= {(consumer, barrier) for consumer in told}
            del self._open[key]
        return ""

    def pair(self, thread: int) -> tuple[int, str]:
        """A thread comes to where both of its pair meet: the barrier's number, what is wrong."""
        member = thread % self._per_group
        if member ^ 1 >= self._per_group:
            return -1, named.alone(member)
        number = PAIRS + member // 2
        return number, self.signal(thread, number, Signal(BOTH, 2, 2))

    def has_notice(self, thread: int, barrier: int) -> bool:
        """Whether a wait of the thread would end now."""
        return (thread, barrier) in self._notices

    def take(self, thread: int, barrier: int) -> None:
        """A wait of the thread ends."""
        self._notices.discard((thread, barrier))

    def describe(self, group: int, barrier: int, waiting: Iterable[int]) -> str:
        """Who has come to a barrier and who is missing, in words."""
        if barrier >= PAIRS:
            here = next(t for t in waiting if PAIRS + t // 2 == barrier)
            return named.partner_missing(here)
        now = self._open.get((group, barrier))
        if now is None:
            return named.untouched(barrier)
        come = now.come_producers, now.come_consumers
        members = [[thread % self._per_group for thread in threads] for threads in come]
        return named.waits(
            barrier, now.expected, (len(come[0]), len(come[1])), (members[0], members[1])
        )
