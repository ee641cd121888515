"""Device memory that the program has at the same addresses: pages of one file."""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np

from eumu.cl.protocol import AllocationUse
from eumu.device import Memory
from eumu.device.allocator import PAGE, Allocation, Allocator
from eumu.errors import OutOfMemory

_TAIL: Final = 64 << 10  # readable bytes after the last allocation that can ever be
_REMOVE: Final = 9  # MADV_REMOVE: a hole in the file
_TITLES: Final = {
    AllocationUse.BUFFER: "buffer",
    AllocationUse.SVM: "SVM allocation",
    AllocationUse.HOST: "host allocation",
    AllocationUse.DEVICE: "device allocation",
    AllocationUse.SHARED: "shared allocation",
    AllocationUse.WRITE_ONLY: "buffer",
}
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def title(kind: AllocationUse, number: int) -> str:
    """What messages call an allocation: by its kind and the order of their making.

    >>> title(Block.BUFFER, 3)
    'buffer #3'
    """
    return f"{_TITLES[kind]} #{number}"


def is_buffer(allocation: Allocation) -> bool:
    """Whether it is one of the program's buffers, by its title."""
    return allocation.name.startswith(f"{_TITLES[AllocationUse.BUFFER]} #")


class SharedMemory(Memory):
    """The memory that `map_file` has mapped."""

    def __init__(self, base: int, size: int) -> None:
        super().__init__(2 * PAGE)
        self._map = None
        self.base, self.size = base, size - _TAIL
        self.arena = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(base))
        self._allocator = Allocator(self.size, base, PAGE, self._clear)

    def _clear(self, block: tuple[int, int], idle: tuple[int, int]) -> None:
        """Zero the arena offsets of a block; whole pages that lie idle go back to the system."""
        start, end = block
        first = max(start // PAGE, -(-idle[0] // PAGE)) * PAGE
        last = min(-(-end // PAGE), idle[1] // PAGE) * PAGE
        if first < last and not _LIBC.madvise(self.base + first, last - first, _REMOVE):
            self.arena[start : max(start, first)] = 0
            self.arena[min(last, end) : end] = 0
        else:
            self.arena[start:end] = 0

    def place(self, size: int, name: str, align: int, past: int, access: str = "rw") -> Allocation:
        """The same as `allocate`; they start `past` bytes behind a multiple of `align`."""
        made = self._allocator.allocate(
            size, name, spread=False, align=align, claim=None, past=past, access=access
        )
        if made is None:
            raise OutOfMemory(self._out_of_memory(size, name))
        return made

    def allow(self, allocation: Allocation) -> None:
        """Let kernels do all to an allocation."""
        self._allocator.allow(allocation)

    def around(self, address: int) -> Allocation | None:
        """The allocation that starts last at or before an address."""
        return self._allocator.around(address)[0]
