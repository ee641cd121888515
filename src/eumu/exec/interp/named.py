"""Named barriers: each counts producers and consumers that have come, and opens for all at once.

A thread that signals as a consumer gets a notice when the barrier opens; waiting takes the notice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

MOST: Final = 32  # barriers of a group

_BOTH, _PRODUCER, _CONSUMER = range(3)


@dataclass(slots=True)
class _Open:
    """A barrier that some threads have come to."""

    producers: int
    consumers: int
    come_producers: list[int] = field(default_factory=list)
    come_consumers: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Signal:
    """One thread comes to a barrier: its role and how many are expected of each."""

    role: int
    producers: int
    consumers: int


class NamedBarriers:
    """The named barriers of all groups of a batch."""

    def __init__(self, threads_per_group: int) -> None:
        self._per_group = threads_per_group
        self._open: dict[tuple[int, int], _Open] = {}
        self._notices: set[tuple[int, int]] = set()

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

    def load(self, found: dict[str, list[list[Any]]]) -> None:
        """Take up what `export` gave."""
        self._open = {(g, b): _Open(*rest) for g, b, *rest in found["open"]}
        self._notices = {(thread, barrier) for thread, barrier in found["notices"]}

    def signal(self, thread: int, barrier: int, signal: Signal) -> str:
        """A thread comes; what is wrong with that, or nothing."""
        if barrier >= MOST:
            return f"there is no named barrier {barrier}; there are 0 to {MOST - 1}"
        if signal.role > _CONSUMER:
            return f"{signal.role} is no role at a named barrier: 0 both, 1 producer, 2 consumer"
        key = thread // self._per_group, barrier
        expected = _Open(signal.producers, signal.consumers)
        now = self._open.setdefault(key, expected)
        if (now.producers, now.consumers) != (expected.producers, expected.consumers):
            return (
                f"named barrier {barrier} has {_counts(now)}; this thread says {_counts(expected)}"
            )
        if signal.role != _CONSUMER:
            now.come_producers.append(thread)
        if signal.role != _PRODUCER:
            now.come_consumers.append(thread)
        if len(now.come_producers) > now.producers or len(now.come_consumers) > now.consumers:
            return f"more threads come to named barrier {barrier} than its {_counts(now)}"
        if (len(now.come_producers), len(now.come_consumers)) == (now.producers, now.consumers):
            self._notices |= {(consumer, barrier) for consumer in now.come_consumers}
            del self._open[key]
        return ""

    def has_notice(self, thread: int, barrier: int) -> bool:
        """Whether a wait of the thread would end now."""
        return (thread, barrier) in self._notices

    def take(self, thread: int, barrier: int) -> None:
        """A wait of the thread ends."""
        self._notices.discard((thread, barrier))

    def describe(self, group: int, barrier: int) -> str:
        """Who has come to a barrier and who is missing, in words."""
        now = self._open.get((group, barrier))
        if now is None:
            return f"nobody has signalled named barrier {barrier} since it opened last"
        come = _members(now.come_producers, self._per_group)
        seen = _members(now.come_consumers, self._per_group)
        return (
            f"named barrier {barrier} has {len(come)} of {now.producers} producers"
            f" ({_listed(come)}) and {len(seen)} of {now.consumers} consumers ({_listed(seen)})"
        )


def _counts(barrier: _Open) -> str:
    return f"{barrier.producers} producers and {barrier.consumers} consumers"


def _members(threads: Iterable[int], per_group: int) -> list[int]:
    return sorted(thread % per_group for thread in threads)


def _listed(threads: list[int]) -> str:
    return (
        f"thread{'s' * (len(threads) != 1)} {', '.join(map(str, threads))}" if threads else "none"
    )
