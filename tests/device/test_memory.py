"""Device memory: allocation, red zones, what faults say about addresses."""

from __future__ import annotations

import mmap
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from eumu.addresses import DEVICE_BASE, GENERIC_LOCAL, GENERIC_TAG_SHIFT
from eumu.device import Memory
from eumu.errors import LaunchError, OutOfMemory
from eumu.exec.guarded import GUARD

MB = 1 << 20


@pytest.fixture
def memory() -> Memory:
    return Memory(64 * MB)


def test_bytes_are_zero_and_lie_where_the_address_says(memory: Memory) -> None:
    a = memory.allocate(1000, "a")
    data = memory.view(a)
    assert data.shape == (1000,)
    assert not data.any()
    data[:] = 7
    assert memory.arena[a.start - memory.base] == 7
    assert memory.arena[a.end - memory.base] == 0
    assert memory.base == DEVICE_BASE


def test_alignment_and_red_zones(memory: Memory) -> None:
    sizes = [1, 64, 100, 4096, 5000, MB, 3]
    found = [memory.allocate(n, str(n)) for n in sizes]
    assert all(a.start % 256 == 0 for a in found)
    assert all(a.start % 4096 == 0 for a in found if a.size >= 4096)
    for low, high in pairwise(found):
        assert high.start - low.end >= 256


def test_arrays_start_at_different_places_in_their_pages(memory: Memory) -> None:
    found = [memory.allocate(MB, f"array {k}", spread=True) for k in range(16)]
    assert len({a.start % 4096 for a in found}) == 16
    assert all(a.start % 256 == 0 for a in found)
    spans = sorted((a.start, a.start + a.size) for a in found)
    assert all(end < start for (_, end), (start, _) in pairwise(spans))
    assert memory.allocate(100, "small", spread=True).start % 256 == 0


def test_first_page_is_never_given_out(memory: Memory) -> None:
    assert memory.allocate(1, "a").start >= memory.base + 4096


def test_extents_are_sorted_and_follow_every_change(memory: Memory) -> None:
    a, b, c = (memory.allocate(n, "x") for n in (10, 20, 30))
    starts, ends = memory.extents()
    assert starts.dtype == ends.dtype == np.uint64
    assert starts.tolist() == [a.start, b.start, c.start]
    assert (ends - starts).tolist() == [10, 20, 30]
    memory.free(b.start)
    assert memory.extents()[0].tolist() == [a.start, c.start]


def test_an_empty_allocation_has_no_extent(memory: Memory) -> None:
    a = memory.allocate(0, "empty")
    assert memory.extents()[0].size == 0
    memory.free(a.start)


def test_memory_is_used_again_as_late_as_possible_and_reads_zero(memory: Memory) -> None:
    first = memory.allocate(8 * MB, "first")
    memory.view(first)[:] = 255
    memory.free(first.start)
    later = [memory.allocate(8 * MB, f"n{k}") for k in range(6)]
    assert first.start not in [a.start for a in later]
    again = memory.allocate(8 * MB, "again")
    assert again.start == first.start
    assert not memory.view(again).any()


def test_allocating_and_freeing_for_ever_works(memory: Memory) -> None:
    keep = memory.allocate(100, "keep")
    for k in range(300):
        memory.free(memory.allocate(k * 1000, "t").start)
    assert memory.live == (keep,)
    memory.free(keep.start)
    memory.free(memory.allocate(40 * MB, "all free blocks have joined").start)


def test_out_of_memory_says_what_is_used(memory: Memory) -> None:
    memory.allocate(MB, "a")
    with pytest.raises(OutOfMemory, match=r"big: no room for 1073741824 bytes") as error:
        memory.allocate(1 << 30, "big")
    assert "1048576 of them in 1 allocations" in str(error.value)
    memory.allocate(MB, "still works")


def test_negative_size(memory: Memory) -> None:
    with pytest.raises(LaunchError, match="negative size"):
        memory.allocate(-1, "a")


def test_freeing_twice(memory: Memory) -> None:
    a = memory.allocate(16, "a")
    memory.free(a.start)
    with pytest.raises(LaunchError, match="freed twice"):
        memory.free(a.start)


def test_impossible_device_size() -> None:
    with pytest.raises(OutOfMemory, match="cannot reserve"):
        Memory(1 << 62)
    with pytest.raises(LaunchError, match="at least"):
        Memory(16)


def test_words_for_addresses(memory: Memory) -> None:
    y = memory.allocate(4096, "array 'y'")
    z = memory.allocate(64, "array 'z'")
    where = f"(4096 bytes at {y.start:#x})"
    words = {
        0: "the null pointer",
        12: "the null pointer plus 12",
        y.start: f"byte 0 of array 'y' {where}",
        y.end - 1: f"byte 4095 of array 'y' {where}",
        y.end: f"right after the end of array 'y' {where}",
        y.end + 4: f"4 bytes after the end of array 'y' {where}",
        y.start - 1: f"1 byte before the start of array 'y' {where}",
        z.start - 8: f"8 bytes before the start of array 'z' (64 bytes at {z.start:#x})",
        0x7FFF_0000_1000: "not device memory, which is "
        f"{memory.base:#x} to {memory.base + memory.size - 1:#x}",
        GENERIC_LOCAL << GENERIC_TAG_SHIFT | 16: "a generic pointer to local memory, "
        "not to global memory",
    }
    assert {a: memory.describe(a) for a in words} == words
    memory.free(z.start)
    assert memory.describe(z.start + 8).endswith("which has been freed")


def test_words_when_nothing_is_allocated(memory: Memory) -> None:
    assert "nothing is" in memory.describe(memory.base + 8192)


def test_string(memory: Memory) -> None:
    a = memory.allocate(8, "text")
    memory.view(a)[:3] = list(b"%d\0")
    assert memory.string(a.start) == b"%d"
    assert memory.string(a.start + 1) == b"d"
    assert memory.string(a.end) is None
    memory.view(a)[:] = 65
    assert memory.string(a.start) is None


def test_printed_goes_to_the_sink() -> None:
    out: list[str] = []
    Memory(MB, out.append).printed("hello\n")
    assert out == ["hello\n"]


def test_the_default_device_costs_address_space_only() -> None:
    memory = Memory()
    a = memory.allocate(memory.size // 2, "half")
    memory.view(a)[-1] = 1
    assert memory.view(a)[0] == 0


class _Advised:
    """A map that notes for which bytes large pages are asked."""

    def __init__(self, map: Any) -> None:
        self.map, self.asked = map, list[tuple[int, int]]()

    def madvise(self, option: int, start: int, length: int) -> None:
        self.map.madvise(option, start, length)  # which refuses what is no page
        self.asked.append((start, start + length))


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="the system has no large pages")
def test_large_pages_are_asked_for_as_a_whole() -> None:
    """A part of one would be small pages; what they reach into is the arena, and nothing else."""
    memory = Memory(64 * MB)
    advised = memory._map = _Advised(memory._map)  # type: ignore[assignment]
    place = memory.arena.ctypes.data
    sizes = [MB, 2 * MB - 1, 2 * MB, 3 * MB + 5, 100, 4 * MB]
    made = [memory.allocate(size, "a", spread=True) for size in sizes]
    rest = memory.size - (made[-1].end - memory.base) - 3 * MB  # with its red zones
    made.append(memory.allocate(rest, "up to the end"))
    large = [a for a in made if a.size >= 2 * MB]
    assert len(advised.asked) == len(large) == 4
    for a, (first, last) in zip(large, advised.asked, strict=True):
        start, end = a.start - memory.base, a.end - memory.base
        assert GUARD <= first <= GUARD + start and GUARD + end <= last
        assert last <= GUARD + len(memory.arena)
        assert (place + first - GUARD) % (2 * MB) == 0 or first == GUARD
        assert (place + last - GUARD) % (2 * MB) == 0 or last > GUARD + memory.size
        memory.view(a)[:] = 1
