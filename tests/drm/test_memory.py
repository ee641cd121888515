"""Objects at their addresses: what is mapped over, bound again, or is in the way."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import random
import sys

import pytest

from eumu.device.commands import CommandError, MemoryBus
from eumu.drm.memory import AddressTaken, DriverMemory, Ranges
from eumu.drm.protocol import ADDRESS_END, Piece, Submitted
from eumu.errors import LaunchError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")

PAGE = 4096


_PLACES = itertools.count(0x123400000000, 1 << 24)


def place() -> int:
    """Addresses where nothing is."""
    return next(_PLACES)


@pytest.fixture
def file() -> int:
    fd = os.memfd_create("memory")
    os.ftruncate(fd, 1 << 30)
    return fd


def made(handle: int, at: int, *offsets: int) -> Submitted:
    """An object of single pages of the file."""
    return Submitted(handle, at, PAGE * len(offsets), tuple(Piece(o * PAGE, PAGE) for o in offsets))


def test_objects_are_pages_of_the_file(file: int) -> None:
    memory, at = DriverMemory(file), place()
    bus = MemoryBus(memory)
    memory.bind([made(1, at, 5, 3)])
    bus.write(at + PAGE - 2, b"abcd", "a test")
    assert os.pread(file, 2, 6 * PAGE - 2) == b"ab" and os.pread(file, 2, 3 * PAGE) == b"cd"
    for address, size in ((at - 1, 1), (at + 2 * PAGE, 1), (at + 2 * PAGE - 1, 2), (0, 4)):
        with pytest.raises(
            CommandError, match=r"in no buffer|after the end|before the start|null|byte 8191"
        ):
            bus.read(address, size, "a test")


def test_only_objects_of_the_submission_count(file: int) -> None:
    memory, at = DriverMemory(file), place()
    bus = MemoryBus(memory)
    memory.bind([made(1, at, 0), made(2, at + 2 * PAGE, 1)])
    memory.bind([made(2, at + 2 * PAGE, 1)])
    assert bus.read(at + 2 * PAGE, 4, "a test") == bytes(4)
    with pytest.raises(CommandError, match="8192 bytes before the start of buffer object 2"):
        bus.read(at, 4, "a test")


def test_what_is_mapped_over_is_bound_again(file: int) -> None:
    memory, at = DriverMemory(file), place()
    bus = MemoryBus(memory)
    first, over = made(1, at, 10, 11, 12), made(2, at + PAGE, 20)
    memory.bind([first])
    memory.bind([over])
    memory.bind([first])
    bus.write(at + PAGE, b"x", "a test")
    assert os.pread(file, 1, 11 * PAGE) == b"x" and os.pread(file, 1, 20 * PAGE) == b"\0"


def test_random_bindings(file: int) -> None:
    """Whatever was bound before, an address leads to the pages of its object."""
    memory, at, rng = DriverMemory(file), place(), random.Random(1)
    for n in range(300):
        pages = rng.randrange(1, 6)
        start = at + PAGE * rng.randrange(32 - pages)
        bound = made(n, start, *(rng.randrange(100) for _ in range(pages)))
        memory.bind([bound])
        for k, piece in enumerate(bound.pieces):
            os.pwrite(file, f"{n}.{k}".encode().ljust(8), piece.offset)
            data = MemoryBus(memory).read(start + k * PAGE, 8, "a test")
            assert data == os.pread(file, 8, piece.offset)


def test_what_this_process_has_is_not_touched(file: int) -> None:
    own = mmap.mmap(-1, PAGE)
    own[:4] = b"mine"
    at = ctypes.addressof(ctypes.c_char.from_buffer(own))
    with pytest.raises(AddressTaken, match="run the program again"):
        DriverMemory(file).bind([made(1, at, 0)])
    assert own[:4] == b"mine"


def test_objects_outside_the_arena_are_refused(file: int) -> None:
    """The arena is an array that counts from its base: what is below it would be its end."""
    shift = 1 << 40
    low, high = DriverMemory(file), DriverMemory(file, shift=shift)
    for memory, at in (
        *((low, at) for at in (0, PAGE, 15 * PAGE, ADDRESS_END - PAGE, ADDRESS_END)),
        *((high, at) for at in (16 * PAGE, shift + 15 * PAGE, ADDRESS_END + shift - PAGE)),
    ):
        with pytest.raises(LaunchError, match="outside the addresses that objects may have"):
            memory.bind([made(7, place(), 1), made(8, at, 2)])
        assert not len(memory.extents()[0])


def test_more_pieces_than_a_process_may_map(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(at: int, size: int, protection: int, how: int, fd: int = -1, offset: int = 0) -> None:
        if fd >= 0:
            raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("eumu.drm.memory._mmap", full)
    with pytest.raises(LaunchError, match=r"object 1 of 2 pieces cannot be mapped \(.*allocate"):
        DriverMemory(file).bind([made(1, place(), 5, 3)])


def test_objects_do_not_overlap(file: int) -> None:
    at = place()
    with pytest.raises(LaunchError, match="same addresses"):
        DriverMemory(file).bind([made(1, at, 0, 1), made(2, at + PAGE, 2)])


def test_objects_side_by_side_are_one_extent(file: int) -> None:
    """What a driver makes of one array of the program."""
    memory, at = DriverMemory(file), place()
    memory.bind([made(2, at + PAGE, 7, 8), made(1, at, 0), made(3, at + 4 * PAGE, 1)])
    starts, ends = memory.extents()
    assert starts.tolist() == [at, at + 4 * PAGE]
    assert ends.tolist() == [at + 3 * PAGE, at + 5 * PAGE]
    MemoryBus(memory).write(at + PAGE - 2, b"abcd", "a test")
    assert os.pread(file, 2, 7 * PAGE) == b"cd"
    assert "byte 4 of buffer object 2" in memory.describe(at + PAGE + 4)
    memory.bind([])
    assert len(memory.extents()[0]) == 0


def test_nothing_is_allocated(file: int) -> None:
    with pytest.raises(LaunchError, match="objects of a driver"):
        DriverMemory(file).allocate(64, "an array")


def test_ranges() -> None:
    rng = random.Random(2)
    for _ in range(200):
        ranges, taken = Ranges(), set[int]()
        for _ in range(rng.randrange(20)):
            start, size = rng.randrange(60), rng.randrange(1, 12)
            ranges.add(start, start + size)
            taken |= set(range(start, start + size))
        gaps = ranges.gaps(0, 80)
        assert {k for a, b in gaps for k in range(a, b)} == set(range(80)) - taken
        assert all(a[1] < b[0] for a, b in itertools.pairwise(gaps))
