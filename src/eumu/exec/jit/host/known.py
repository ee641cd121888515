"""What the engine knows of launches that come again: code, workers' memory, tables."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import field
from typing import Final

from eumu.exec.gate import Admitted
from eumu.exec.jit.host.autotuner import Autotuner
from eumu.exec.jit.host.launch import Compiled, Launch, Worker
from eumu.ir import Function
from eumu.records import dataclass

_SMALL: Final = 20_000  # instructions: fewer are done before another worker has woken up


@dataclass(slots=True)
class Ready:
    """A function compiled for grids that differ only in counts, arguments and surfaces.

    `function` is kept so that its identity stays its own.
    """

    function: Function
    compiled: Compiled
    most: int  # workers that may run its groups at once
    tuner: Autotuner
    idle: list[Worker] = field(default_factory=list)
    work: int = _SMALL  # instructions of a group, as last seen
    written: frozenset[int] = frozenset()  # arrays that it stores to, if it follows accesses
    seconds: float = 0  # that it has run, where that is counted,
    launches: int = 0  # in so many launches
    better: Future[Compiled] | None = None  # code that is made, or was,
    is_outdated: bool = False  # and is there

    def wanted(self, groups: int) -> int:
        """As many workers as so many groups are worth."""
        if self.compiled.composes:
            return 1  # what is done for it is no atomic operation of the processor
        return min(self.most, groups) if groups * self.work > _SMALL else 1


class KnownGrid:
    """What was found out of a grid, for those that are like it; of memory as it was then.

    `launches` are the tables of launches that have ended.
    """

    __slots__ = ("admitted", "launches", "ready", "symbols")

    def __init__(self, admitted: Admitted) -> None:
        self.admitted = admitted
        self.ready: Ready | None = None
        self.symbols: list[int] = []
        self.launches: list[Launch] = []

    def renew(self, ready: Ready) -> None:
        """Go on with other code; tables of the present one are of no use to it."""
        self.ready = ready
        self.launches.clear()

    def keep(self, launch: Launch, ready: Ready) -> None:
        """Keep the tables of a launch that has ended, if such code still runs."""
        if self.ready is ready:
            self.launches.append(launch)

    def launch(self, admitted: Admitted, ready: Ready, row: int) -> Launch:
        """The tables of one more launch."""
        try:
            launch = self.launches.pop()
        except IndexError:
            return Launch(ready.compiled, admitted, self.symbols, row)
        launch.again(admitted.grid, row)
        return launch
