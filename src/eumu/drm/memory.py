"""The memory of a device whose objects belong to a program's driver.

GPU address a is address a of this process: the driver was told of 47 bits, and puts everything
where the program has it, or where it reserved a place.  The arena is a view of the whole address
space, of which the objects of the submission that runs are extents and nothing else is.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device import Memory
from eumu.device.allocator import Allocation, Claim
from eumu.drm.protocol import ADDRESS_END, Submitted
from eumu.errors import EumuError, LaunchError

_PAGE: Final = 4096
_LOWEST: Final = 1 << 16  # below, the system lets nothing be mapped
_LOW_HOME: Final = 1 << 44  # where objects are here whose addresses begin at 0
_MOST_BOUND: Final = 16384  # objects that stay mapped; a process may have 65530 mappings
_NEAR: Final = 1 << 20  # bytes from an object within which messages name it
_FIXED, _NORESERVE, _NOREPLACE = 0x10, 0x4000, 0x100000


class AddressTaken(EumuError, RuntimeError):
    """The program has an object where this process has something of its own."""


class Ranges:
    """Half-open ranges of addresses; those that touch are one.

    >>> r = Ranges()
    >>> r.add(10, 20)
    >>> r.add(30, 40)
    >>> list(r.gaps(5, 35))
    [(5, 10), (20, 30)]
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> None:
        low, high = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if low < high:
            start, end = min(start, self._starts[low]), max(end, self._ends[high - 1])
        self._starts[low:high], self._ends[low:high] = [start], [end]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The ranges, in order."""
        return zip(self._starts, self._ends, strict=True)

    def gaps(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a range that are not in here."""
        gaps = []
        for k in range(bisect_right(self._ends, start), len(self._starts)):
            if self._starts[k] >= end:
                break
            if start < self._starts[k]:
                gaps.append((start, self._starts[k]))
            start = max(start, self._ends[k])
        return [*gaps, (start, end)] if start < end else gaps


class DriverMemory(Memory):
    """The objects of one program, pages of the file `fd`.

    `bind` says which of them there are; a page behind each stays readable, as engines read some
    bytes more than they need.  An `exact` memory ends each object behind the bytes that the program
    asked for, where that is known.  GPU addresses are `shift` bytes above those of this process.
    With `low` they are of 40 bits and the driver's own: object a is at a place of this process that
    has nothing else.
    """

    def __init__(self, fd: int, *, exact: bool = False, shift: int = 0, low: bool = False) -> None:
        super().__init__(2 * _PAGE)
        first = _LOW_HOME if low else _LOWEST
        self._fd, self._exact, self._shift = fd, exact, -first if low else shift
        self.base = first + self._shift
        self.size = 1 << 41 if low else ADDRESS_END - _LOWEST
        space = (ctypes.c_uint8 * self.size).from_address(first)
        self.arena = np.ctypeslib.as_array(space)
        self._ours = Ranges()  # what is mapped here for the program
        self._bound: OrderedDict[int, Submitted] = OrderedDict()  # by address, latest last
        self._places: list[int] = []  # their addresses in order
        self._objects: tuple[Submitted, ...] = ()
        self._given: tuple[Submitted, ...] | None = None  # those that `bind` had last
        self._known: OrderedDict[
            tuple[tuple[int, int], ...], tuple[NDArray[np.uint64], NDArray[np.uint64]]
        ] = OrderedDict()
        self._now = np.zeros(0, np.uint64), np.zeros(0, np.uint64)

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
        raise LaunchError(f"{name}: this memory has the objects of a driver and no others")

    @property
    def restricted(self) -> dict[int, str]:
        """Nothing: a driver does not say what kernels may do to its objects."""
        return {}

    def access(self, address: int) -> str:
        return "rw"

    # ---- what is mapped

    def bind(self, objects: Sequence[Submitted]) -> None:
        """Map the objects of a submission; only they can be accessed from now on.

        LaunchError for one that no part of the arena is: an engine counts from its start, and
        what is below would be at its end.
        """
        if objects is self._given:
            return
        self._given = None
        for made in objects:
            self._check(made)
        for made in objects:
            if self._bound.get(made.address) != made:
                self._put(made)
            self._bound.move_to_end(made.address)
        while len(self._bound) > max(_MOST_BOUND, len(objects)):
            self._unmap(next(iter(self._bound.values())))
        self._objects = tuple(sorted(objects, key=lambda made: made.address))
        self._now = self._extents_of(tuple((m.address, self._end(m)) for m in self._objects))
        self._given = objects if isinstance(objects, tuple) else None

    def _check(self, made: Submitted) -> None:
        low, high = self.base, self.base + self.size - _PAGE
        if not low <= made.address or made.end > high:
            raise LaunchError(
                f"object {made.handle} ({made.size} bytes at {made.address:#x}) lies outside the"
                f" addresses that objects may have, {low:#x} to {high - 1:#x}"
            )

    def _end(self, made: Submitted) -> int:
        """Behind the last byte of an object that may be accessed."""
        return made.address + made.wanted if self._exact and made.wanted else made.end

    def _extents_of(
        self, key: tuple[tuple[int, int], ...]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        extents = self._known.get(key)
        if extents is None:
            rows = np.array(key, np.uint64).reshape(-1, 2)
            if (rows[1:, 0] < rows[:-1, 1]).any():
                raise LaunchError("two objects of a submission have the same addresses")
            extents = self._known[key] = _joined(rows)
            if len(self._known) > 256:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return extents

    def _put(self, made: Submitted) -> None:
        for place in self._overlapping(made):
            del self._bound[place]
            self._places.remove(place)
        here = made.address - self._shift
        end = min(here + made.size + _PAGE, ADDRESS_END - _PAGE)
        for start, stop in self._ours.gaps(here, end):
            try:
                _mmap(start, stop - start, mmap.PROT_READ, _NOREPLACE)
            except OSError as error:
                if error.errno != errno.EEXIST:
                    raise self._unmapped(made, error) from None
                if start >= here + made.size:
                    continue  # whatever is behind the object can be read
                raise AddressTaken(
                    f"object {made.handle} ({made.size} bytes at {made.address:#x}) lies where the"
                    f" engine process has memory of its own; run the program again"
                ) from None
            self._ours.add(start, stop)
        at, both = here, mmap.PROT_READ | mmap.PROT_WRITE
        try:
            for piece in made.pieces:
                _mmap(at, piece.size, both, _FIXED, self._fd, piece.offset)
                at += piece.size
        except OSError as error:
            raise self._unmapped(made, error) from None
        self._bound[made.address] = made
        self._places.insert(bisect_left(self._places, made.address), made.address)

    @staticmethod
    def _unmapped(made: Submitted, error: OSError) -> LaunchError:
        """There is no memory for mappings, of which a process has so many."""
        return LaunchError(
            f"object {made.handle} of {len(made.pieces)} pieces cannot be mapped ({error})"
        )

    def _overlapping(self, made: Submitted) -> list[int]:
        """Addresses of bound objects that have pages of this one."""
        high = bisect_left(self._places, made.end)
        low = high
        while low and self._bound[self._places[low - 1]].end > made.address:
            low -= 1
        return self._places[low:high]

    def _unmap(self, made: Submitted) -> None:
        """Let an object's pages go; the place stays ours, as it may be the page behind another."""
        del self._bound[made.address]
        self._places.remove(made.address)
        try:
            _mmap(made.address - self._shift, made.size, mmap.PROT_READ, _FIXED)
        except OSError as error:  # its pages stay where they are, which does no harm
            raise self._unmapped(made, error) from None

    # ---- what engines ask

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Starts and ends of the objects of the submission that runs, sorted."""
        return self._now

    def bytes_at(self, address: int, size: int) -> bytes | None:
        """What memory has there; None where not all of it is in objects of the submission."""
        starts, ends = self._now
        k = int(starts.searchsorted(np.uint64(address & (1 << 64) - 1), side="right")) - 1
        if k < 0 or address + size > int(ends[k]):
            return None
        at = address - self.base
        return self.arena[at : at + size].tobytes()

    def describe(self, address: int) -> str:
        """Where an address lies, by objects: the driver's handles, whole pages."""
        address &= (1 << 64) - 1
        if address < _PAGE:
            return f"the null pointer plus {address}" if address else "the null pointer"
        k = bisect_right(self._objects, address, key=lambda made: made.address) - 1
        below = self._objects[k] if k >= 0 else None
        above = self._objects[k + 1] if k + 1 < len(self._objects) else None
        if below and address < self._end(below):
            return f"byte {address - below.address} of {self._name(below)}"
        if below and address - self._end(below) < _NEAR:
            return f"{address - self._end(below)} bytes after the end of {self._name(below)}"
        if above and above.address - address < _NEAR:
            return f"{above.address - address} bytes before the start of {self._name(above)}"
        return "in no buffer that the driver submitted"

    def _name(self, made: Submitted) -> str:
        size = self._end(made) - made.address
        return f"buffer object {made.handle} ({size} bytes at {made.address:#x})"


def _joined(rows: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Starts and ends of ranges in order, where those that touch are one.

    A driver makes several objects of one array of the program: its first page, its last, the rest.
    """
    apart = rows[1:, 0] != rows[:-1, 1]
    first, last = np.concatenate(([True], apart)), np.concatenate((apart, [True]))
    return (rows[first, 0], rows[last, 1]) if len(rows) else (rows[:, 0], rows[:, 1])


_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
]


def _mmap(at: int, size: int, protection: int, how: int, fd: int = -1, offset: int = 0) -> None:
    """Pages of a file, shared, or anonymous ones, exactly there."""
    sharing = mmap.MAP_SHARED if fd >= 0 else mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    if _LIBC.mmap(at, size, protection, sharing | how, fd, offset) != at:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
