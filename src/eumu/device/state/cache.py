"""The sampler's caches of surface and sampler states.

They are not coherent: what is cached stays as it was until software invalidates it (PRM volume 6,
"State Caching").  The model notices what hardware does not: a hit whose memory has changed since
counts as `stale`, and is warned about once for each object.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from eumu.records import dataclass

T = TypeVar("T")


class StaleState(RuntimeWarning):
    """A state object was used as the cache has it, and memory has another by now."""


@dataclass(slots=True)
class Counters:
    """What a cache has seen; `stale` hits are among the hits."""

    hits: int = 0
    misses: int = 0
    stale: int = 0
    evictions: int = 0


class StateCache(Generic[T]):
    """Decoded state objects by address; of `capacity` objects, or without a limit.

    The documents give no size; the least recently used object leaves first.
    """

    def __init__(self, name: str, capacity: int | None = None) -> None:
        self.name, self.capacity = name, capacity
        self.counters = Counters()
        self._kept: OrderedDict[int, tuple[bytes, T]] = OrderedDict()
        self._warned: set[int] = set()
        self._lock = Lock()  # states are written, and so forgotten, by any thread

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, address: int, memory: bytes, decode: Callable[[bytes], T]) -> T:
        """The object at an address, decoded from `memory` only if it is not cached."""
        with self._lock:
            kept = self._kept.get(address)
            if kept is not None:
                self._kept.move_to_end(address)
                self.counters.hits += 1
        if kept is None:
            return self._decoded(address, memory, decode)
        if kept[0] != memory:
            self._is_stale(address)
        return kept[1]

    def _decoded(self, address: int, memory: bytes, decode: Callable[[bytes], T]) -> T:
        decoded = decode(memory)
        with self._lock:
            self.counters.misses += 1
            self._kept[address] = memory, decoded
            if self.capacity is not None and len(self._kept) > self.capacity:
                self._kept.popitem(last=False)
                self.counters.evictions += 1
        return decoded

    def invalidate(self) -> None:
        """Forget every object; the counters go on."""
        with self._lock:
            self._kept.clear()
            self._warned.clear()

    def _is_stale(self, address: int) -> None:
        with self._lock:
            self.counters.stale += 1
            is_new = address not in self._warned
            self._warned.add(address)
        if is_new:
            warnings.warn(
                f"the {self.name} at {address:#x} was changed in memory and is used as it was:"
                " invalidate the state cache first",
                StaleState,
                stacklevel=2,
            )
