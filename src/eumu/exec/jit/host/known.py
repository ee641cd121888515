"""What the engine knows of launches that come again: code, workers' memory, tables."""

from __future__ import annotations

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

    def launch(self, admitted: Admitted, ready: Ready, row: int) -> Launch:
        """The tables of one more launch."""
        try:
            launch = self.launches.pop()
        except IndexError:
            return Launch(ready.compiled, admitted, self.symbols, row)
        launch.again(admitted.grid, row)
        return launch
