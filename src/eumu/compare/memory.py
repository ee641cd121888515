"""Memory of launches without a device: what kernels store to, and buffers far from each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from eumu.errors import Unsupported
from eumu.exec.grid import Grid
from eumu.exec.host import Engine
from eumu.exec.observe import Observer
from eumu.messages import FlushStateCaches
from eumu.records import dataclass

BASE = 0xB000_0000_0000


@dataclass(frozen=True)
class Buffer:
    """Memory of a kernel: the variable `address` holds where it is, a surface index names it."""

    name: str
    size: int
    address: str = ""
    surface: int | None = None


class FlatHost:
    """Device memory: what the results are stored to, then the buffers, allocations of their own."""

    progress: Callable[[int, int], object] | None = None
    observer: Observer | None = None

    def __init__(self, size: int, buffers: Sequence[Buffer] = ()) -> None:
        self.base = BASE
        self.places: dict[str, int] = {}  # device addresses
        starts, ends = [BASE], [BASE + size]
        for buffer in buffers:
            self.places[buffer.name] = -(-ends[-1] // 256) * 256 + 256  # far from each other
            starts.append(self.places[buffer.name])
            ends.append(starts[-1] + buffer.size)
        self._extents = np.array([starts, ends], np.uint64)
        self.arena: NDArray[np.uint8] = np.zeros(ends[-1] - BASE + 4096, np.uint8)

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        return self._extents[0], self._extents[1]

    def _place(self, buffer: Buffer) -> slice:
        start = self.places[buffer.name] - BASE
        return slice(start, start + buffer.size)

    def fill(self, buffer: Buffer, data: bytes) -> None:
        """Set the first bytes of a buffer; the others stay 0."""
        place = self._place(buffer)
        self.arena[place.start : place.start + len(data)] = np.frombuffer(data, np.uint8)

    def bytes_of(self, buffer: Buffer) -> bytes:
        return self.arena[self._place(buffer)].tobytes()

    def run(self, grid: Grid, engine: Engine) -> None:
        engine.run(grid, self)

    @property
    def results(self) -> NDArray[np.uint8]:
        return self.arena

    def describe(self, address: int) -> str:
        return "the memory of the launch"

    def printed(self, text: str) -> None:
        raise Unsupported("printf in a launch without a device")

    def message(self, record: object, *request: object) -> list[NDArray[np.uint8]]:
        """Without images there are no cached states to forget."""
        if not isinstance(record, FlushStateCaches):
            raise Unsupported(f"{type(record).__name__} messages in a launch without a device")
        return []
