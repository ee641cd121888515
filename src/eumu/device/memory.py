"""Device memory: one reserved arena, and words for its addresses.

The arena is reserved, not used: a page costs host memory when it is first written.  Around every
allocation lies a red zone that belongs to nobody, so that an overrun is seen and not silently read
from a neighbour.  Freed memory is used again as late as possible (`eumu.device.allocator`).
"""

from __future__ import annotations

import contextlib
import mmap
import re
import sys
from collections.abc import Callable, Mapping
from copy import copy
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.addresses import (
    DEVICE_BASE,
    GENERIC_LOCAL,
    GENERIC_PRIVATE,
    GENERIC_TAG_SHIFT,
)
from eumu.device.allocator import PAGE, Allocation, Allocator, Claim
from eumu.errors import ArrayPlace, LaunchError, OutOfMemory
from eumu.exec.guarded import GUARD, guarded
from eumu.exec.host import Answer, InlineCacheMaker
from eumu.exec.observe import Observer

DEFAULT_BYTES: Final = 4 << 30
_SMALLEST: Final = 64 << 20  # what is tried last when the default cannot be reserved
_LARGE: Final = 2 << 20  # an allocation for which pages of 2 MiB are worth it
_QUOTED: Final = re.compile(r"'(.+)'")  # what a user calls an array
_TAIL: Final = 64 << 10  # readable bytes after the last allocation that can ever be


class Memory:
    """The memory of one device; implements :class:`eumu.exec.host.Host`.

    `size` is in bytes of address space.  `sink` gets what kernels print,
    standard output by default.
    """

    base: int = DEVICE_BASE
    forgets: bool = False  # whether arrays without content are followed
    _unwritten: NDArray[np.uint8] | None = None  # bits of the arena that nothing has written

    def __init__(
        self, size: int | None = None, sink: Callable[[str], object] | None = None
    ) -> None:
        self._map, self.arena = _reserve(size)
        self.size = len(self.arena) - _TAIL
        self.sink = sink or _to_stdout
        self.progress: Callable[[int, int], object] | None = None
        self.message: Answer | None = None
        self.inline_cache: InlineCacheMaker | None = None
        self.observer: Observer | None = None
        # The first page stays free, so that address 0 of a32 accesses is never an allocation.
        self._allocator = Allocator(self.size, self.base, PAGE, self._clear)
        self.renamed_since = self._allocator.renamed_since

    # ---- allocation

    def claim(self, owner: object) -> Claim:
        """A claim for `allocate`: what it gets is given back when `owner` is gone."""
        return self._allocator.claim(owner)

    def allocate(
        self,
        size: int,
        name: str,
        *,
        spread: bool = False,
        align: int = 1,
        claim: Claim | None = None,
        item: int = 1,
        access: str = "rw",
    ) -> Allocation:
        """Reserve `size` bytes; they read as zero.  A size of 0 is legal and has no byte.

        What is large starts at a page of 4 KiB, with `spread` at one of 16 places in a page: a
        kernel reads the same element of several arrays, which would fall into one set of the
        processor's caches, and loads would wait for stores to other arrays.  Without it, the start
        is a multiple of `align`, a power of two.  `access` is what kernels may do: "rw", "r", "w".
        """
        if size < 0:
            raise LaunchError(f"{name}: a negative size ({size} bytes) cannot be allocated")
        made = self._allocator.allocate(
            size, name, spread=spread, align=align, claim=claim, item=item, access=access
        )
        if made is None:
            raise OutOfMemory(self._out_of_memory(size, name))
        if size >= _LARGE:
            self._ask_for_large_pages(made.start - self.base, made.end - self.base)
        return made

    def _ask_for_large_pages(self, start: int, end: int) -> None:
        """Let the system use pages of 2 MiB: rows of matrices need fewer translations."""
        if self._map is not None and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a system without them
                first, last = self._around(start, end)
                self._map.madvise(mmap.MADV_HUGEPAGE, first, last - first)

    def _around(self, start: int, end: int) -> tuple[int, int]:
        """Where in the map the large pages begin and end that have a part of the arena's bytes:
        what its neighbours have of them, too, as a page that is asked for in part is none."""
        place = self.arena.__array_interface__["data"][0]
        first, last = (place + start) // _LARGE * _LARGE, -(-(place + end) // _LARGE) * _LARGE
        bounds = max(first, place), min(last, place + len(self.arena) // PAGE * PAGE)
        return bounds[0] - place + GUARD, bounds[1] - place + GUARD

    def allocate_at(
        self, start: int, size: int, name: str, claim: Claim | None = None, access: str = "rw"
    ) -> Allocation:
        """Reserve `size` bytes at a device address; LaunchError if they are not free."""
        made = None if size < 0 else self._allocator.allocate_at(start, size, name, claim, access)
        if made is None:
            raise LaunchError(f"{name}: {size} bytes at {start:#x} are not free")
        return made

    def adopt(self, allocation: Allocation, claim: Claim) -> None:
        """Give back an allocation without an owner when that of the claim is gone."""
        self._allocator.adopt(allocation, claim)

    def free(self, start: int) -> None:
        """Give the allocation at `start` back; its address is not used again soon."""
        if not self._allocator.free(start):
            raise LaunchError(f"no allocation starts at {start:#x} (freed twice?)")

    def release(self, claim: Claim) -> None:
        """Give the allocation of a claim back, unless that was done."""
        self._allocator.release(claim)

    def settle(self) -> None:
        """Free what belonged to objects that are gone; everything else here does that, too."""
        self._allocator.settle()

    def answering(self, answer: Answer, inline_cache: InlineCacheMaker | None = None) -> Memory:
        """The same memory as a host that answers messages."""
        host = copy(self)
        host.message, host.inline_cache = answer, inline_cache
        return host

    def rename(self, allocation: Allocation, name: str) -> Allocation:
        """The same memory under another name in messages."""
        return self._allocator.rename(allocation, name)

    def view(self, allocation: Allocation) -> NDArray[np.uint8]:
        """The bytes of an allocation; a view, shape (size,)."""
        offset = allocation.start - self.base
        return self.arena[offset : offset + allocation.size]

    @property
    def live(self) -> tuple[Allocation, ...]:
        """All allocations, by address."""
        return self._allocator.live

    @property
    def unwritten(self) -> NDArray[np.uint8]:
        """For each byte of the arena the bits that nothing has written; made when it is wanted."""
        if self._unwritten is None:
            self._unwritten = guarded(len(self.arena))[1]
        return self._unwritten

    def forget(self, allocation: Allocation) -> None:
        """Nothing has written an allocation, if that is followed."""
        if self.forgets:
            start = allocation.start - self.base
            self.unwritten[start : start + allocation.size] = 0xFF

    def written(self, allocation: Allocation) -> None:
        """The host has written an allocation."""
        if self._unwritten is not None:
            start = allocation.start - self.base
            self._unwritten[start : start + allocation.size] = 0

    def _clear(self, block: tuple[int, int], idle: tuple[int, int]) -> None:
        """Zero the arena offsets of a block; whole pages that lie idle go back to the system."""
        start, end = block
        if self._unwritten is not None:
            self._unwritten[start:end] = 0
        first = max(start // PAGE, -(-idle[0] // PAGE)) * PAGE
        last = min(-(-end // PAGE), idle[1] // PAGE) * PAGE
        if first < last and self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            with contextlib.suppress(OSError):
                self._map.madvise(mmap.MADV_DONTNEED, GUARD + first, last - first)
                self.arena[start : max(start, first)] = 0
                self.arena[min(last, end) : end] = 0
                return
        self.arena[start:end] = 0

    def _out_of_memory(self, size: int, name: str) -> str:
        live = self.live
        used = sum(a.size for a in live)
        return (
            f"{name}: no room for {size} bytes; the device has {self.size} bytes, "
            f"{used} of them in {len(live)} allocations\n"
            "  a larger device: Device(..., memory_bytes=...)"
        )

    # ---- what engines ask (eumu.exec.host.Host)

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Starts and ends of all allocations, sorted."""
        return self._allocator.extents()

    def printed(self, text: str) -> None:
        self.sink(text)

    def describe(self, address: int) -> str:
        """Where an address lies, in words.

        >>> Memory(1 << 26).describe(4)
        'the null pointer plus 4'
        """
        address &= (1 << 64) - 1
        if address < PAGE:
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
        below, above = self._allocator.around(address)
        if below and address < below.end:
            return f"byte {address - below.start} of {below}"
        for old in self._allocator.freed:
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

    @property
    def restricted(self) -> Mapping[int, str]:
        """By its start: what kernels may do to an allocation to which they may not do all."""
        return {a.start: a.access for a in self._allocator.live if a.access != "rw"}

    def access(self, address: int) -> str:
        """What kernels may do at an address."""
        below, _ = self._allocator.around(address)
        return below.access if below and address < below.end else "rw"

    def nearest(self, address: int) -> ArrayPlace | None:
        """The allocation that holds an address, held it once, or is nearest to it."""
        if not self.base <= address < self.base + len(self.arena):
            return None
        below, above = self._allocator.around(address)
        if below and address < below.end:
            return _place(below, address, "inside")
        for old in self._allocator.freed:
            if old.start <= address < old.end:
                return _place(old, address, "freed")
        if below and (above is None or address - below.end <= above.start - address):
            return _place(below, address, "after")
        return _place(above, address, "before") if above else None

    def string(self, address: int) -> bytes | None:
        """The zero-terminated string at an address, or None where no allocation holds it."""
        owner, _ = self._allocator.around(address)
        if owner is None or address >= owner.end:
            return None
        raw = self.view(owner)[address - owner.start :].tobytes()
        end = raw.find(b"\0")
        return raw[:end] if end >= 0 else None


def _place(allocation: Allocation, address: int, state: str) -> ArrayPlace:
    quoted = _QUOTED.search(allocation.name)
    name = quoted[1] if quoted else allocation.name
    return ArrayPlace(
        name, allocation.size, address - allocation.start, max(1, allocation.item), state
    )


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)


def _count(n: int) -> str:
    return f"{n} byte{'s' * (n != 1)}"


def _reserve(size: int | None) -> tuple[mmap.mmap | None, NDArray[np.uint8]]:
    """An arena of `size` bytes and a tail; without a size the default, or less if need be."""
    if size is not None and size < 2 * PAGE:
        raise LaunchError(f"a device needs at least {2 * PAGE} bytes of memory, not {size}")
    wanted = DEFAULT_BYTES if size is None else size
    while True:
        try:
            return guarded(-(-wanted // PAGE) * PAGE + _TAIL)
        except (OSError, OverflowError, MemoryError) as error:
            if size is not None or wanted <= _SMALLEST:
                raise OutOfMemory(
                    f"the host cannot reserve {wanted} bytes of address space: {error}"
                ) from error
            wanted //= 2
