"""Clocks behind the timestamp registers: 36 bits that count at a frequency of the part.

Ticks come from instructions and commands that have run, so that every run reads the same times, or
from the host's clock, for programs that measure time.  The frequencies are those of Mesa's table of
devices.
"""

from __future__ import annotations

import time
from typing import Final, Protocol

TIMESTAMP_BITS: Final = 36
_MASK: Final = (1 << TIMESTAMP_BITS) - 1


class Clock(Protocol):
    """What the command streamer reads."""

    @property
    def now(self) -> int:
        """Ticks, 36 bits."""
        ...

    def count(self, steps: int) -> None:
        """So many instructions or commands have run."""
        ...


class InstructionClock:
    """A tick for each instruction of a thread and for each command: no time, but repeatable."""

    def __init__(self) -> None:
        self._ticks = 0

    @property
    def now(self) -> int:
        return self._ticks & _MASK

    def count(self, steps: int) -> None:
        self._ticks += steps


class HostClock:
    """The time that the host's monotonic clock tells, in ticks of `frequency` a second."""

    def __init__(self, frequency: int) -> None:
        self.frequency = frequency

    @property
    def now(self) -> int:
        return time.monotonic_ns() * self.frequency // 1_000_000_000 & _MASK

    def count(self, steps: int) -> None:
        """Time goes by itself."""
