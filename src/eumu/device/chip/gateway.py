"""The message gateway's barriers: 32 of them, each with a terminating count and who has arrived.

The payload is read as the PRM chapter "Message Gateway" gives it: M0.2 has the barrier's number in
bits 31 and 27:24, Barrier Count Enable in bit 15 and the count in bits 14:9; M0.3 the predicate
mask; all else is ignored.  The number is five bits wide, so there are 32 states, although the text
once speaks of 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from eumu.errors import LaunchError

__all__ = ["BARRIERS", "Barrier", "Gateway", "Request"]

BARRIERS: Final = 32


@dataclass(frozen=True, slots=True)
class Request:
    """A barrier message, decoded."""

    barrier: int
    count: int | None  # the new terminating count, None to keep the stored one
    predicate: int  # a bit per lane

    @classmethod
    def of(cls, payload: Sequence[int], simd: int = 16) -> Request:
        """From dwords M0.0 to M0.5 or more; `simd` is 8, 16 or 32."""
        word, predicate = payload[2], payload[3]
        if simd < 32 and predicate >> simd:
            raise LaunchError(
                f"predicate mask {predicate:#x} has bits of lanes that SIMD{simd} has not"
            )
        number = (word >> 31 & 1) << 4 | word >> 24 & 0xF
        return cls(number, word >> 9 & 0x3F if word >> 15 & 1 else None, predicate)


@dataclass(slots=True)
class Barrier:
    """One barrier state; `waiting` are the threads of this round, in order of arrival."""

    count: int = 0  # 0: not in use
    linked: bool = False  # with barriers of other subslices: a pooled group
    waiting: list[int] = field(default_factory=list)
    _asked: int | None = None  # the count that this round's first message gave

    def arrive(self, thread: int, request: Request) -> tuple[int, ...]:
        """A thread's message; the threads that it wakes, empty until the last has come."""
        if request.count is not None and self.linked:
            raise LaunchError(
                f"barrier {request.barrier} is linked across subslices:"
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
        self.waiting.append(thread)
        if len(self.waiting) < self.count:
            return ()
        woken, self.waiting = tuple(self.waiting), []
        return woken


class Gateway:
    """All barriers of a subslice or pool."""

    def __init__(self) -> None:
        self.barriers = [Barrier() for _ in range(BARRIERS)]

    def allocate(self, threads: int, *, linked: bool = False) -> int:
        """A free barrier for a group of `threads`; LaunchError if all are taken."""
        for number, barrier in enumerate(self.barriers):
            if not barrier.count:
                self.barriers[number] = Barrier(threads, linked)
                return number
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
        """A barrier message of a thread; the threads whose n0.0 it notifies."""
        request = Request.of(payload, simd)
        return self.barriers[request.barrier].arrive(thread, request)
