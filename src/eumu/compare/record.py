"""What a run stored, and which way a thread went: observers of the interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.device.memory import Memory
from eumu.exec.grid import Grid
from eumu.exec.observe import Observer, Threads
from eumu.ir import Function
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Store:
    """What one lane wrote: the `number`-th store of the run."""

    number: int
    inst: int
    thread: int
    address: int
    data: bytes


class Recorder(Observer):
    """All stores and atomics to memory that outlives the run, in order.

    An engine tells of an access before it happens; its data is read when the next event comes.
    """

    def __init__(self, memory: Memory, thread: int | None = None) -> None:
        """With a `thread`, also the way that it goes."""
        self.memory, self.thread = memory, thread
        self.function: Function | None = None
        self.stores: list[Store] = []
        self.way: list[tuple[int, int]] = []  # blocks of the thread, with the stores before
        self._inst = -1
        self._pending: tuple[NDArray[np.intp], NDArray[Any], int] | None = None

    def start(self, grid: Grid) -> None:
        self.function = grid.function

    def at(self, inst: int) -> None:
        self._flush()
        self._inst = inst

    def access(
        self, kind: str, space: str, threads: Threads, addresses: NDArray[Any], size: int
    ) -> None:
        if kind != "load" and space in ("flat", "surface"):
            self._pending = threads.copy(), addresses.copy(), size

    def block(self, block: int, threads: Threads, lanes: NDArray[Any]) -> None:
        self._flush()
        if self.thread is not None and self.thread in threads:
            self.way.append((block, len(self.stores)))

    def ended(self, threads: Threads, used: NDArray[np.int64]) -> None:
        self._flush()

    def _flush(self) -> None:
        if self._pending is None:
            return
        threads, addresses, size = self._pending
        self._pending = None
        arena, base = self.memory.arena, self.memory.base
        for thread, address in zip(threads.tolist(), addresses.tolist(), strict=True):
            data = arena[address - base : address - base + size].tobytes()
            self.stores.append(Store(len(self.stores), self._inst, thread, address, data))


def instructions(function: Function, way: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The instructions that a thread ran, each with the stores of the run before its block."""
    for block, before in way:
        body = function.blocks[block]
        order = dict.fromkeys(op.inst for op in body.ops if op.inst >= 0)
        if body.end is not None and body.end.inst >= 0:
            order[body.end.inst] = None
        yield from ((inst, before) for inst in sorted(order))
