"""Memory for hostile kernels: arrays with canaries around them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.addresses import DEVICE_BASE
from eumu.exec.observe import Observer

ARRAY: Final = 1024  # bytes of each array
_CANARY: Final = 0xC7
_ROOM: Final = 4096  # bytes between arrays, and beside the first and the last
_FAR: Final = 300_000  # bytes beside the last array, more than two small numbers make
_ARRAYS: Final = 4  # the last one is for results: nobody aims at it
SHORT: Final = 2  # the array whose last element is cut off


class Memory:
    """Arrays with canaries around them; the arena lies in the middle of a larger buffer."""

    def __init__(self) -> None:
        places = [_ROOM + k * (ARRAY + _ROOM) for k in range(_ARRAYS)]
        places[-1] += _FAR
        size = places[-1] + ARRAY + _FAR
        self._raw = np.full(size + 2 * _ROOM + 64, _CANARY, np.uint8)
        first = _ROOM + -(self._raw.ctypes.data + _ROOM) % 64
        self.arena = self._raw[first : first + size]
        self.base = DEVICE_BASE
        self.progress: Callable[[int, int], object] | None = None
        self.observer: Observer | None = None
        self.addresses = [self.base + place for place in places]
        starts = np.array(self.addresses, np.uint64)
        sizes = np.full(len(places), ARRAY, np.uint64)
        sizes[SHORT] -= np.uint64(2)  # in the middle of an element
        self._extents = starts, starts + sizes
        # What is read there, or stored there twice, depends on which threads run first.
        self.restricted = {self.addresses[-1]: "w"}
        inside = np.zeros(len(self._raw), bool)
        for place, bytes_inside in zip(places, sizes.tolist(), strict=True):
            inside[first + place : first + place + bytes_inside] = True
        self._outside = ~inside
        self._content = Random(0).randbytes(ARRAY)
        self.reset()

    def reset(self) -> None:
        """Arrays as they were at first."""
        for first, last in zip(*self._extents, strict=True):
            place, size = int(first) - self.base, int(last - first)
            self.arena[place : place + size] = np.frombuffer(self._content, np.uint8, size)

    def is_whole(self) -> bool:
        """Whether every canary is as it was."""
        return bool((self._raw[self._outside] == _CANARY).all())

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        return self._extents

    def describe(self, address: int) -> str:
        return f"{address:#x}"

    def printed(self, text: str) -> None:
        raise AssertionError("no hostile kernel prints")
