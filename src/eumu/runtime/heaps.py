"""The memory that states lie in: the heaps of a device.

Surface states and binding tables are in one heap, which Surface State Base and Bindless Surface
State Base point to; tables of samplers and border colours in another, at Dynamic State Base.  A
binding table lies in the first 64 KiB of its heap, as its pointer has 16 bits.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from eumu.addresses import SCRATCH_STATE, SURFACE_STATE_BASE, URB_SURFACE
from eumu.device import Claim
from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.surface import SurfaceState, SurfaceType
from eumu.errors import OutOfMemory
from eumu.exec.grid import StatePointers
from eumu.runtime.array import Array, Holder

if TYPE_CHECKING:
    from eumu.device.functions import StateCaches

_TABLES: Final = 64 << 10  # where binding tables end
_UNIT: Final = 64
HEAP_BYTES: Final = 1 << 20


class HeapSlot:
    """`size` bytes of a heap, until nobody holds the slot any more; `Heap.take` sets `offset`."""

    offset: int

    def __init__(self, heap: Heap, size: int) -> None:
        self.heap, self.size = heap, size

    @property
    def address(self) -> int:
        return self.heap.base + self.offset

    def write(self, data: bytes) -> None:
        """Replace the bytes, and forget what caches know of them."""
        memory = self.heap.array.memory
        memory[self.offset : self.offset + len(data)] = np.frombuffer(data, np.uint8)
        self.heap.caches.invalidate()


class Heap:
    """Pieces of one array, a multiple of 64 bytes each; any thread may take one.

    Slots that are gone are noticed when one is taken: see `eumu.device.allocator`.
    """

    def __init__(self, array: Array, first: int, last: int, caches: StateCaches) -> None:
        self.array, self.caches = array, caches
        self._first, self._last = first, last
        self._lock = threading.Lock()
        self._taken: dict[int, tuple[int, Claim | None]] = {}  # sizes by offset
        self._late: deque[Claim] = deque()  # of slots that are gone

    @property
    def base(self) -> int:
        return self.array.address

    def take(self, size: int) -> HeapSlot:
        """A piece of at least `size` bytes."""
        slot = HeapSlot(self, -(-size // _UNIT) * _UNIT)
        claim = Claim(slot, self._late.append)
        with self._lock:
            self._settle()
            slot.offset = claim.start = self._find(slot.size)
            self._taken[slot.offset] = slot.size, claim
        return slot

    def _find(self, size: int) -> int:
        """The first free bytes."""
        low = self._first
        for start, (taken, _) in sorted(self._taken.items()):
            if start - low >= size:
                break
            low = max(low, start + taken)
        if low + size > self._last:
            raise OutOfMemory(
                f"{self.array.name}: no room for {size} bytes of state; it has"
                f" {self._last - self._first} bytes for all images and samplers of a device"
            )
        return low

    def _settle(self) -> None:
        """Take back what belonged to slots that are gone."""
        while self._late:
            claim = self._late[0]
            if claim.start is not None and self._taken.get(claim.start, (0, None))[1] is claim:
                del self._taken[claim.start]
            self._late.popleft()

    def skip(self, offset: int) -> None:
        """Never give the unit at an offset."""
        with self._lock:
            self._taken[offset] = _UNIT, None


class StateHeaps:
    """The heaps of one device, and the caches of what lies in them."""

    def __init__(self, device: Holder, caches: StateCaches) -> None:
        self.caches = caches
        surfaces = _allocate(device, "the surface state heap")
        dynamic = _allocate(device, "the dynamic state heap")
        self.tables = Heap(surfaces, 0, _TABLES, self.caches)
        self.surfaces = Heap(surfaces, _TABLES, HEAP_BYTES, self.caches)
        for index in (SCRATCH_STATE, URB_SURFACE):
            self.surfaces.skip(index - SURFACE_STATE_BASE)
        self.chroma_keys: tuple[tuple[int, int], ...] = ((0, 0),) * 4
        self.bindless_samplers = False
        self.dynamic = Heap(dynamic, 0, HEAP_BYTES, self.caches)

    def pointers(self, binding_table: int, sampler_table: int, owner: object) -> StatePointers:
        return StatePointers(
            surface_state_base=self.surfaces.base,
            dynamic_state_base=self.dynamic.base,
            bindless_surface_state_base=self.surfaces.base,
            binding_table=binding_table,
            sampler_table=sampler_table,
            chroma_keys=self.chroma_keys,
            bindless_samplers=self.bindless_samplers,
            owner=owner,
        )


def _allocate(device: Holder, name: str) -> Array:
    return Array.allocate(device, (HEAP_BYTES,), np.dtype(np.uint8), name)


def buffer_state(address: int, size: int) -> SurfaceState:
    """The state of a raw buffer, whose size is spread over three fields."""
    last = max(size, 1) - 1
    return SurfaceState(
        surface_type=SurfaceType.BUFFER,
        surface_format=SurfaceFormat.RAW,
        width=last & 0x7F,
        height=last >> 7 & 0x3FFF,
        depth=min(last >> 21, 0x7FF),
        surface_base_address=address,
    )


def buffer_size(state: SurfaceState) -> int:
    """The bytes of a raw buffer, from its state."""
    return (state.width | state.height << 7 | state.depth << 21) + 1
