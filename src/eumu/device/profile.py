"""What a run did, counted by an observer: instructions, lanes, memory, barriers, caches."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.chip import Conflicts, Part
from eumu.device.chip.l3 import LINE
from eumu.device.chip.l3_cache import L3
from eumu.device.dispatch import Needs, Schedule, place
from eumu.errors import LaunchError
from eumu.exec.fidelity import Followed
from eumu.exec.grid import Grid
from eumu.exec.observe import Observer
from eumu.exec.state import instruction_text
from eumu.ir import Function
from eumu.records import dataclass

_MOST_BARRIERS = 100_000  # arrivals that are kept


@dataclass(slots=True)
class Traffic:
    """Messages of threads to one address space, and the bytes of their lanes."""

    messages: int = 0
    lanes: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Profile(Observer):
    """Counters of one launch.

    `used` are the instructions of each thread, `mix` instructions by mnemonic, `lane_slots` and
    `lanes` what instructions could have done and did.  Accesses to device memory go through `l3`,
    if that is not None, in the order in which the interpreter makes them, as the data cluster's;
    it keeps its lines from launch to launch.
    """

    l3: L3 | None = field(default_factory=lambda: L3(banks=2))
    grid: Grid | None = None
    used: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    mix: Counter[str] = field(default_factory=Counter)
    lane_slots: int = 0
    lanes: int = 0
    traffic: dict[tuple[str, str], Traffic] = field(default_factory=dict)
    slm: Conflicts = field(default_factory=Conflicts)
    barriers: list[tuple[int, int]] = field(default_factory=list)  # thread, its instructions so far
    fidelity: Followed = field(default_factory=Followed)
    _mnemonics: list[Counter[str]] = field(default_factory=list)

    @property
    def followed(self) -> Followed:
        return self.fidelity

    def start(self, grid: Grid) -> None:
        self.grid = grid
        self.fidelity = Followed(grid.function)
        self.used = np.zeros(grid.groups * grid.threads_per_group, np.int64)
        self._mnemonics = [_mnemonics(grid.function, k) for k in range(len(grid.function.blocks))]
        if self.l3 is not None:
            self.l3.start(has_slm=grid.slm_bytes > 0)

    def block(self, block: int, threads: Any, lanes: NDArray[np.integer[Any]]) -> None:
        assert self.grid is not None
        own, count = self._mnemonics[block], len(threads)
        self.fidelity.blocks[block] += count
        for name, times in own.items():
            self.mix[name] += times * count
        size = own.total()
        self.lane_slots += size * count * self.grid.function.width
        self.lanes += size * int(lanes.sum())

    def access(self, kind: str, space: str, threads: Any, addresses: Any, size: int) -> None:
        if not len(addresses):
            return
        starts = np.flatnonzero(np.r_[True, threads[1:] != threads[:-1]])
        entry = self.traffic.setdefault((space, kind), Traffic())
        entry.messages += len(starts)
        entry.lanes += len(addresses)
        entry.bytes += len(addresses) * size
        if space == "slm":
            for own in np.split(addresses, starts[1:]):
                self.slm.add(own, size)
        elif space in ("flat", "surface") and self.l3 is not None:
            for own in np.split(addresses, starts[1:]):
                self._lines(own.astype(np.uint64), size, kind)

    def _lines(self, addresses: NDArray[np.uint64], size: int, kind: str) -> None:
        """The cache lines of one message, each once."""
        assert self.l3 is not None
        first, last = addresses // LINE, (addresses + np.uint64(size - 1)) // LINE
        lines = np.unique(np.concatenate([first, last]))
        for line in lines.tolist():
            self.l3.access(line * LINE, "DC", is_write=kind != "load")

    def barrier(self, inst: int, threads: Any, used: NDArray[np.int64]) -> None:
        if len(self.barriers) < _MOST_BARRIERS:
            self.barriers += zip(threads.tolist(), used.tolist(), strict=True)

    def ended(self, threads: Any, used: NDArray[np.int64]) -> None:
        self.used[threads] = used

    @property
    def lane_utilisation(self) -> float:
        """Lanes that worked, of those that could have."""
        return self.lanes / self.lane_slots if self.lane_slots else 0.0

    def schedule(self, part: Part) -> Schedule:
        """Where the groups of the launch would be on a part, by the launch's thread pools."""
        if self.grid is None:
            raise LaunchError("nothing has run with this profile attached")
        return place(part, Needs.of(self.grid), self.durations, self.grid.pool_map)

    @property
    def durations(self) -> list[list[int]]:
        """Instructions of each thread, by group."""
        if self.grid is None:
            return []
        ticks: list[list[int]] = self.used.reshape(-1, self.grid.threads_per_group).tolist()
        return ticks


def _mnemonics(function: Function, block: int) -> Counter[str]:
    """How often each mnemonic stands in a block."""
    ops = function.blocks[block]
    insts = {op.inst for op in ops.ops} | ({ops.end.inst} if ops.end else set())
    return Counter(_mnemonic(function, inst) for inst in insts if inst >= 0)


_MNEMONIC: Final = re.compile(r"\s*(?:\([^)]*\)\s*)?([\w.]+)")


def _mnemonic(function: Function, inst: int) -> str:
    """The first word behind the predicate."""
    match = _MNEMONIC.match(instruction_text(function, inst))
    return match[1] if match else "?"
