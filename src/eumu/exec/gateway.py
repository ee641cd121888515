"""One barrier of the message gateway: who has come, who is told when the last has come.

Everything that waits stands on this state: vISA's named barriers and Gen9's barriers, local, linked
and global.  The interpreter runs it; the fast engine has a compiled form, compared with it.
"""

from __future__ import annotations

from dataclasses import field

from eumu.exec.named import CONSUMER, PRODUCER
from eumu.records import dataclass


class Surplus(Exception):
    """More members have come than the barrier has."""


@dataclass(slots=True)
class BarrierState:
    """Opens when `producers` members have come as producers and `consumers` as consumers.

    A member that is both counts twice.  Numbers of members may be threads, or subslices; those who
    have come are listed in the order in which they came.
    """

    producers: int
    consumers: int
    come_producers: list[int] = field(default_factory=list)
    come_consumers: list[int] = field(default_factory=list)

    @property
    def expected(self) -> tuple[int, int]:
        return self.producers, self.consumers

    @property
    def is_waited_at(self) -> bool:
        """Whether somebody has come since it opened last."""
        return bool(self.come_producers or self.come_consumers)

    def arrive(self, member: int, role: int) -> tuple[int, ...] | None:
        """A member comes; the consumers that are told if it opens now, None if it stays closed.

        Opening forgets who came; the counts stay.  `Surplus` if there are more than expected.
        """
        if role != CONSUMER:
            self.come_producers.append(member)
        if role != PRODUCER:
            self.come_consumers.append(member)
        come = len(self.come_producers), len(self.come_consumers)
        if come[0] > self.producers or come[1] > self.consumers:
            raise Surplus
        if come != self.expected:
            return None
        told = tuple(self.come_consumers)
        self.come_producers, self.come_consumers = [], []
        return told
