"""Device memory: one reserved arena, an allocator that leaves room for mistakes, and its words.

The arena is reserved, not used: a page costs host memory when it is first written.  Around every
allocation lies a red zone that belongs to nobody, so that an overrun is seen and not silently read
from a neighbour.  Freed memory is used again as late as possible.
"""

from __future__ import annotations

import contextlib
import mmap
import sys
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.addresses import (
    DEVICE_BASE,
    GENERIC_LOCAL,
    GENERIC_PRIVATE,
    GENERIC_TAG_SHIFT,
)
from eumu.errors import LaunchError, OutOfMemory
from eumu.exec.host import Answer, ShortcutMaker
from eumu.exec.observe import Observer

__all__ = ["DEFAULT_BYTES", "Allocation", "Memory"]

DEFAULT_BYTES: Final = 4 << 30
_SMALLEST: Final = 64 << 20  # what is tried last when the default cannot be reserved
_PAGE: Final = 4096
_LARGE: Final = 2 << 20  # an allocation for which pages of 2 MiB are worth it
_ALIGN: Final = 256  # of small allocations; at least the widest block access
_STEP: Final = 5 * _ALIGN  # from one place in a page to the next
_MIN_RED_ZONE: Final = 256
_MAX_RED_ZONE: Final = 1 << 20
_TAIL: Final = 64 << 10  # readable bytes after the last allocation that can ever be
_REMEMBERED: Final = 256  # freed allocations that fault reports still know


@dataclass(frozen=True, slots=True, order=True)
class Allocation:
    """`size` bytes at device address `start`, called `name` in messages."""

    start: int
    size: int
    name: str

    @property
    def end(self) -> int:
        return self.start + self.size

    def __str__(self) -> str:
        return f"{self.name} ({self.size} bytes at {self.start:#x})"


class Memory:
    """The memory of one device; implements :class:`eumu.exec.host.Host`.

    `size` is in bytes of address space.  `sink` gets what kernels print,
    standard output by default.
    """

    base: int = DEVICE_BASE

    def __init__(
        self, size: int | None = None, sink: Callable[[str], object] | None = None
    ) -> None:
        self._map, self.arena = _reserve(size)
        self.size = len(self.arena) - _TAIL
        self.sink = sink or _to_stdout
        self.progress: Callable[[int, int], object] | None = None
        self.message: Answer | None = None
        self.shortcut: ShortcutMaker | None = None
        self.observer: Observer | None = None
        # The first page stays free, so that address 0 of a32 accesses is never an allocation.
        self._free: list[tuple[int, int]] = [(_PAGE, self.size)]
        self._spread = 0  # where in its page the latest allocation that is spread starts
        self._cursor = 0  # where the search for free memory goes on
        self._live: dict[int, Allocation] = {}
        self._blocks: dict[int, tuple[int, int]] = {}  # start -> arena offsets with red zones
        self._starts: list[int] = []
        self._freed: deque[Allocation] = deque(maxlen=_REMEMBERED)
        self._extents: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None = None

    # ---- allocation

    def allocate(self, size: int, name: str, *, spread: bool = False, align: int = 1) -> Allocation:
        """Reserve `size` bytes; they read as zero.  A size of 0 is legal and has no byte.

        What is large starts at a page of 4 KiB, with `spread` at one of 16 places in a page: a
        kernel reads the same element of several arrays, which would fall into one set of the
        processor's caches, and loads would wait for stores to other arrays.  Without it, the start
        is a multiple of `align`, a power of two.
        """
        if size < 0:
            raise LaunchError(f"{name}: a negative size ({size} bytes) cannot be allocated")
        align = max(align, _PAGE if size >= _PAGE else _ALIGN)
        red = min(max(_MIN_RED_ZONE, size // 16), _MAX_RED_ZONE)
        shift = 0
        if spread and size >= _PAGE:
            self._spread = (self._spread + _STEP) % _PAGE
            shift = self._spread
        block = self._take(size + 2 * red + align + shift)
        if block is None:
            raise OutOfMemory(self._out_of_memory(size, name))
        offset = (block[0] + red + align - 1) // align * align + shift
        allocation = Allocation(self.base + offset, size, name)
        self._live[allocation.start] = allocation
        self._blocks[allocation.start] = block
        insort(self._starts, allocation.start)
        self._extents = None
        if size >= _LARGE:
            self._ask_for_large_pages(offset, offset + size)
        return allocation

    def _ask_for_large_pages(self, start: int, end: int) -> None:
        """Let the system use pages of 2 MiB: rows of matrices need fewer translations."""
        if self._map is not None and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a system without them
                self._map.madvise(mmap.MADV_HUGEPAGE, start // _PAGE * _PAGE, end - start)

    def allocate_at(self, start: int, size: int, name: str) -> Allocation:
        """Reserve `size` bytes at a device address; LaunchError if they are not free."""
        first = start - self.base
        block = first, first + max(size, 1)
        for k, (low, high) in enumerate(self._free):
            if low <= block[0] and block[1] <= high:
                rest = [(low, block[0]), (block[1], high)]
                self._free[k : k + 1] = [(s, e) for s, e in rest if s < e]
                allocation = Allocation(start, size, name)
                self._live[start], self._blocks[start] = allocation, block
                insort(self._starts, start)
                self._extents = None
                return allocation
        raise LaunchError(f"{name}: {size} bytes at {start:#x} are not free")

    def free(self, start: int) -> None:
        """Give the allocation at `start` back; its address is not used again soon."""
        allocation = self._live.pop(start, None)
        if allocation is None:
            raise LaunchError(f"no allocation starts at {start:#x} (freed twice?)")
        self._starts.remove(start)
        self._freed.append(allocation)
        self._extents = None
        block = self._blocks.pop(start)
        self._clear(*block)
        self._release(*block)

    def answering(self, answer: Answer, shortcut: ShortcutMaker | None = None) -> Memory:
        """The same memory as a host that answers messages; it must not allocate."""
        host = copy(self)
        host.message, host.shortcut = answer, shortcut
        return host

    def rename(self, allocation: Allocation, name: str) -> Allocation:
        """The same memory under another name in messages."""
        renamed = replace(allocation, name=name)
        self._live[allocation.start] = renamed
        return renamed

    def view(self, allocation: Allocation) -> NDArray[np.uint8]:
        """The bytes of an allocation; a view, shape (size,)."""
        offset = allocation.start - self.base
        return self.arena[offset : offset + allocation.size]

    @property
    def live(self) -> tuple[Allocation, ...]:
        """All allocations, by address."""
        return tuple(self._live[s] for s in self._starts)

    def _take(self, need: int) -> tuple[int, int] | None:
        """Cut `need` bytes from the free memory at or after the cursor, or else before it."""
        for low in (self._cursor, 0):
            for k, (start, end) in enumerate(self._free):
                begin = max(start, low)
                if end - begin >= need:
                    rest = [(start, begin), (begin + need, end)]
                    self._free[k : k + 1] = [(s, e) for s, e in rest if s < e]
                    self._cursor = begin + need
                    return begin, begin + need
        return None

    def _release(self, start: int, end: int) -> None:
        """Put a block on the free list and join it with its neighbours."""
        k = bisect_left(self._free, (start, end))
        if k < len(self._free) and self._free[k][0] == end:
            end = self._free.pop(k)[1]
        if k > 0 and self._free[k - 1][1] == start:
            k -= 1
            start = self._free.pop(k)[0]
        self._free.insert(k, (start, end))

    def _clear(self, start: int, end: int) -> None:
        """Zero arena offsets start … end; whole pages go back to the system where it can."""
        first, last = -(-start // _PAGE) * _PAGE, end // _PAGE * _PAGE
        if first < last and self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            with contextlib.suppress(OSError):
                self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
                self.arena[start:first] = 0
                self.arena[last:end] = 0
                return
        self.arena[start:end] = 0

    def _out_of_memory(self, size: int, name: str) -> str:
        used = sum(a.size for a in self._live.values())
        return (
            f"{name}: no room for {size} bytes; the device has {self.size} bytes, "
            f"{used} of them in {len(self._live)} allocations\n"
            "  a larger device: Device(..., memory_bytes=...)"
        )

    # ---- what engines ask (eumu.exec.host.Host)

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Starts and ends of all allocations, sorted."""
        if self._extents is None:
            live = [a for a in self.live if a.size]
            self._extents = (
                np.array([a.start for a in live], np.uint64),
                np.array([a.end for a in live], np.uint64),
            )
        return self._extents

    def printed(self, text: str) -> None:
        self.sink(text)

    def describe(self, address: int) -> str:
        """Where an address lies, in words.

        >>> Memory(1 << 26).describe(4)
        'the null pointer plus 4'
        """
        address &= (1 << 64) - 1
        if address < _PAGE:
            return f"the null pointer plus {address}" if address else "the null pointer"
        tag = address >> GENERIC_TAG_SHIFT
        if tag in (GENERIC_LOCAL, GENERIC_PRIVATE):
            space = "local" if tag == GENERIC_LOCAL else "private"
            return f"a generic pointer to {space} memory, not to global memory"
        if not self.base <= address < self.base + len(self.arena):
            last = self.base + self.size - 1
            return f"not device memory, which is {self.base:#x} to {last:#x}"
        return self._near(address)

    def _near(self, address: int) -> str:
        """Words for an address inside the arena."""
        k = bisect_right(self._starts, address)
        below = self._live[self._starts[k - 1]] if k else None
        above = self._live[self._starts[k]] if k < len(self._starts) else None
        if below and address < below.end:
            return f"byte {address - below.start} of {below}"
        for old in reversed(self._freed):
            if old.start <= address < old.end:
                return f"byte {address - old.start} of {old}, which has been freed"
        after = address - below.end if below else sys.maxsize
        before = above.start - address if above else sys.maxsize
        if below and after <= before:
            past = f"{_count(after)} after the end of" if after else "right after the end of"
            return f"{past} {below}"
        if above:
            return f"{_count(before)} before the start of {above}"
        return "device memory that is not allocated; nothing is"

    def string(self, address: int) -> bytes | None:
        """The zero-terminated string at an address, or None where no allocation holds it."""
        k = bisect_right(self._starts, address)
        owner = self._live[self._starts[k - 1]] if k else None
        if owner is None or address >= owner.end:
            return None
        raw = self.view(owner)[address - owner.start :].tobytes()
        end = raw.find(b"\0")
        return raw[:end] if end >= 0 else None


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)


def _count(n: int) -> str:
    return f"{n} byte{'s' * (n != 1)}"


def _reserve(size: int | None) -> tuple[mmap.mmap | None, NDArray[np.uint8]]:
    """An arena of `size` bytes and a tail; without a size the default, or less if need be."""
    if size is not None and size < 2 * _PAGE:
        raise LaunchError(f"a device needs at least {2 * _PAGE} bytes of memory, not {size}")
    wanted = DEFAULT_BYTES if size is None else size
    while True:
        try:
            return _map(-(-wanted // _PAGE) * _PAGE + _TAIL)
        except (OSError, OverflowError, MemoryError) as error:
            if size is not None or wanted <= _SMALLEST:
                raise OutOfMemory(
                    f"the host cannot reserve {wanted} bytes of address space: {error}"
                ) from error
            wanted //= 2


def _map(size: int) -> tuple[mmap.mmap | None, NDArray[np.uint8]]:
    if sys.platform == "win32":
        return None, np.zeros(size, np.uint8)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    if sys.platform == "linux":
        flags |= getattr(mmap, "MAP_NORESERVE", 0x4000)  # named from Python 3.13 on
    area = mmap.mmap(-1, size, flags=flags)
    return area, np.frombuffer(area, np.uint8)
