"""Observers: what may look at a run.  They attach to the interpreter; without one nothing is paid.

Threads are numbered over the grid: group * threads of a group + thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eumu.exec.fidelity import Followed
from eumu.exec.grid import Grid

if TYPE_CHECKING:
    from eumu.exec.state import ThreadState

Threads = NDArray[np.intp]


class Observer:
    """Override what you want to see; arrays may be used again after the call.

    `instruction` is called where `each_instruction` says so.
    """

    each_instruction = False

    @property
    def followed(self) -> Followed | None:
        """Where to write what results of instructions that are not exact reach; None: nowhere."""
        return None

    def start(self, grid: Grid) -> None:
        """A grid is about to run."""

    def batch(self, first: int, state: ThreadState) -> None:
        """Threads from number `first` on run together; rows of the state are theirs, as they go."""

    def block(self, block: int, threads: Threads, lanes: NDArray[np.integer[Any]]) -> None:
        """Threads run a block of the function, each with that many lanes."""

    def instruction(self, block: int, inst: int, threads: Threads) -> None:
        """Threads come to an instruction of a block; what those before it wrote is written."""

    def at(self, inst: int) -> None:
        """The access that follows is of that instruction of the function."""

    def access(
        self,
        kind: str,
        space: str,
        threads: Threads,
        addresses: NDArray[np.unsignedinteger[Any]],
        size: int,
    ) -> None:
        """Lanes access memory: `kind` is load, store or atomic; one row for each active lane.

        `threads` and `addresses` have the same length; each lane touches `size` bytes.  Addresses
        are device addresses in the spaces flat and surface, offsets in slm and scratch.
        """

    def barrier(self, inst: int, threads: Threads, used: NDArray[np.int64]) -> None:
        """Threads come to a barrier; `used` are the instructions that each has run."""

    def ended(self, threads: Threads, used: NDArray[np.int64]) -> None:
        """Threads have ended after that many instructions."""
