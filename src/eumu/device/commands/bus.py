"""Device memory as the command streamer reaches it: bytes of live allocations, nothing else."""

from __future__ import annotations

from typing import Protocol

from eumu.device.commands.packet import CommandError
from eumu.device.memory import Memory
from eumu.exec.gate import extent_of


class Bus(Protocol):
    """Reads and writes; CommandError for what is outside memory, `what` says who asked."""

    def read(self, address: int, size: int, what: str) -> bytes: ...

    def write(self, address: int, data: bytes, what: str) -> None: ...


class MemoryBus:
    """The bus of one device's memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._last: tuple[object, int, int] = None, 0, 0  # starts of extents, one of these

    def has(self, address: int, size: int) -> bool:
        """Whether bytes can be read."""
        extents = self._memory.extents()
        starts, low, high = self._last
        if starts is not extents[0] or not low <= address < high:
            low, high = extent_of(extents, address)
            self._last = extents[0], low, high
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
