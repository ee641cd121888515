"""How many workers a kernel's launches take, found by trying.

Workers that all wait for the same memory take processor time from others and gain nothing.  The
first launches of a size run with all workers, then with half of them and so on, as long as that
is hardly slower; now and then it is tried again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_TRIES = 3  # launches with each number; the fastest counts
_WORTH = 1.2  # twice the workers must be that much faster
_LONG = 0.02  # seconds; a longer launch is not tried with fewer
_AGAIN = 1000  # launches after which it is tried again


@dataclass(slots=True)
class Trial:
    """Launches of one size: what was found for the number before, and for this one."""

    count: int
    more: int = 0
    before: float | None = None
    best: float = float("inf")
    launches: int = 0
    is_over: bool = False

    def took(self, seconds: float) -> None:
        self.launches += 1
        if self.is_over:
            return
        self.best = min(self.best, seconds)
        if self.launches % _TRIES:
            return
        if self.before is not None and self.best > _WORTH * self.before:
            self.count, self.is_over = self.more, True
        elif self.count == 1 or self.best > _LONG:
            self.is_over = True
        else:
            self.more, self.count = self.count, self.count // 2
            self.before, self.best = self.best, float("inf")


@dataclass(slots=True)
class Crew:
    """The trials of one kernel."""

    _trials: dict[tuple[int, int], Trial] = field(default_factory=dict)

    def trial(self, groups: int, most: int) -> Trial:
        """The trial that launches of that many groups with at most so many workers belong to."""
        key = groups.bit_length(), most
        trial = self._trials.get(key)
        if trial is None or trial.launches > _AGAIN:
            trial = self._trials[key] = Trial(most)
        return trial
