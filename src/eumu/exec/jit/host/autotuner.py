"""How many workers a kernel's launches take, and in which order threads run: found by trying.

Workers that all wait for the same memory take processor time from others and gain nothing, and
which order of threads suits a processor's caches is hard to foresee.  The first launches of a
size run with all workers and each order, then with half of the workers and so on, as long as that
is hardly slower; now and then it is tried again.  The engine's lock is held in all calls.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import field

from eumu.exec.grid import Grid
from eumu.records import dataclass

_TRIES = 3  # launches with each setup; the fastest counts
_HOPELESS = 1.7  # one launch that takes so many times as long is enough
_BETTER = 0.95  # another order must take that much less
_WORTH = 1.2  # twice the workers must be that much faster
_LONG = 0.02  # seconds; a longer launch is not tried with fewer
AGAIN = 1000  # launches after which it is tried again


def orders(grid: Grid) -> tuple[int, ...]:
    """How many threads of a group may run before those of the next: all, or those of a row."""
    x, width, threads = grid.local_size[0], grid.function.width, grid.threads_per_group
    if x % width == 0:
        row = x // width
    elif width % x == 0:
        row = 1  # which is whole rows
    else:
        return (threads,)
    return (threads, row) if row < threads else (threads,)


@dataclass(frozen=True, slots=True)
class Setup:
    """How a launch runs: `row` threads of a group before those of the next group."""

    workers: int
    row: int


def _search(most: int, rows: tuple[int, ...]) -> Generator[Setup, float, Setup]:
    """Asks for setups, is sent what they take in seconds, and returns the one to keep."""
    kept = Setup(most, rows[0])
    least = yield kept
    for row in rows[1:]:
        setup = Setup(most, row)
        seconds = yield setup
        if seconds < _BETTER * least:
            kept, least = setup, seconds
    while kept.workers > 1 and least <= _LONG:
        setup = Setup(kept.workers // 2, kept.row)
        seconds = yield setup
        if seconds > _WORTH * least:
            break
        kept, least = setup, seconds
    return kept


class Trial:
    """Launches of one size; `setup` is that of the next."""

    def __init__(self, most: int, rows: tuple[int, ...]) -> None:
        self._search: Generator[Setup, float, Setup] | None = _search(most, rows)
        self.setup = next(self._search)
        self.launches = 0
        self._with_it: list[float] = []
        self.least = float("inf")  # seconds of a launch

    @property
    def is_searching(self) -> bool:
        """Whether setups are still tried."""
        return self._search is not None

    @property
    def is_over(self) -> bool:
        """Whether it is time for a new trial."""
        return self.launches > AGAIN

    def took(self, setup: Setup, seconds: float) -> None:
        """A launch has run; with another setup than the present one if others ran meanwhile."""
        self.launches += 1
        if self._search is None or setup != self.setup:
            return
        self._with_it.append(seconds)
        if len(self._with_it) < _TRIES and seconds <= _HOPELESS * self.least:
            return
        least, self._with_it = min(self._with_it), []
        self.least = min(self.least, least)
        try:
            self.setup = self._search.send(least)
        except StopIteration as end:
            # A search that was interrupted has no result.
            self.setup, self._search = end.value or self.setup, None


@dataclass(slots=True)
class Autotuner:
    """The trials of one kernel; `rows` are the orders of its threads, see `Setup`."""

    rows: tuple[int, ...] = (1,)
    _trials: dict[tuple[int, int], Trial] = field(default_factory=dict)

    def trial(self, groups: int, most: int) -> Trial:
        """The trial that launches of that many groups with at most so many workers belong to."""
        key = groups.bit_length(), most
        trial = self._trials.get(key)
        if trial is None or trial.is_over:
            trial = self._trials[key] = Trial(most, self.rows)
        return trial
