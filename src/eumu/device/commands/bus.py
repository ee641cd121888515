"""Device memory as the command streamer reaches it: bytes of live allocations, nothing else."""

from __future__ import annotations

from typing import Final, Protocol

from eumu.device.commands.packet import CommandError
from eumu.device.memory import Memory
from eumu.exec.gate import extent_of

_NEAR: Final = 16  # bits of an address: a driver reads many bytes of few heaps
_MOST_KNOWN: Final = 1024


class Bus(Protocol):
    """Reads and writes; CommandError for what is outside memory, `what` says who asked."""

    def read(self, address: int, size: int, what: str) -> bytes: ...

    def write(self, address: int, data: bytes, what: str) -> None: ...


class MemoryBus:
    """The bus of one device's memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._starts: object = None  # of the extents that `_known` is of
        self._known: dict[int, tuple[int, int]] = {}  # by what is near: the extent asked for last

    def has(self, address: int, size: int) -> bool:
        """Whether bytes can be read."""
        extents = self._memory.extents()
        if self._starts is not extents[0] or len(self._known) > _MOST_KNOWN:
            self._starts, self._known = extents[0], {}
        low, high = self._known.get(address >> _NEAR, (0, 0))
        if not low <= address < high:
            self._known[address >> _NEAR] = low, high = extent_of(extents, address)
        return size >= 0 and low <= address < high and address + size <= high

    def read(self, address: int, size: int, what: str) -> bytes:
        start = self._offset(address, size, f"{what} reads")
        return self._memory.arena[start : start + size].tobytes()

    def write(self, address: int, data: bytes, what: str) -> None:
        start = self._offset(address, len(data), f"{what} writes")
        self._memory.arena[start : start + len(data)] = memoryview(data)

    def _offset(self, address: int, size: int, what: str) -> int:
        if size and not self.has(address, size):
            where = self._memory.describe(address)
            raise CommandError(f"{what} {size} bytes at {address:#x}: {where}", "address")
        return address - self._memory.base
