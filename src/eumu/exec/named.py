"""Named barriers in words, the same from both engines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from eumu.exec import words
from eumu.records import dataclass

MOST: Final = 32  # barriers of a group
BOTH, PRODUCER, CONSUMER = range(3)


@dataclass(frozen=True, slots=True)
class Signal:
    """One thread comes to a barrier: its role and how many are expected of each."""

    role: int
    producers: int
    consumers: int


PAIRS: Final = 64  # from this number on: barriers of two threads, by the number of the pair


def alone(thread: int) -> str:
    return f"thread {thread} has no other thread to share registers with: the group is odd"


def partner_missing(thread: int) -> str:
    """Why a thread that waits for the other one of its pair waits."""
    return f"thread {thread ^ 1} has not come to what both do together"


def no_barrier(barrier: int) -> str:
    return f"there is no named barrier {barrier}; there are 0 to {MOST - 1}"


def no_role(role: int) -> str:
    return f"{role} is no role at a named barrier: 0 both, 1 producer, 2 consumer"


def other_counts(barrier: int, now: tuple[int, int], said: tuple[int, int]) -> str:
    return f"named barrier {barrier} has {_counts(now)}; this thread says {_counts(said)}"


def too_many(barrier: int, now: tuple[int, int]) -> str:
    return f"more threads come to named barrier {barrier} than its {_counts(now)}"


def untouched(barrier: int) -> str:
    return f"nobody has signalled named barrier {barrier} since it opened last"


def waits(
    barrier: int,
    expected: tuple[int, int],
    come: tuple[int, int],
    threads: tuple[Iterable[int], Iterable[int]],
) -> str:
    """Who has come to a barrier and who is missing; each pair is of producers and consumers."""
    who = [
        f"{seen} of {all_} {role} ({_listed(sorted(set(members)))})"
        for role, all_, seen, members in zip(
            ("producers", "consumers"), expected, come, threads, strict=True
        )
    ]
    return f"named barrier {barrier} has {who[0]} and {who[1]}"


def _counts(expected: tuple[int, int]) -> str:
    return f"{expected[0]} producers and {expected[1]} consumers"


def _listed(threads: list[int]) -> str:
    return words.threads(threads) if threads else "none"
