"""Allocation from many threads, and under interruption anywhere: nothing is lost or given twice."""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

import eumu
from eumu.device import Memory
from interruptions import at_every_line

MB = 1 << 20
WHERE = ("eumu/device/allocator", "eumu/device/memory", "eumu/runtime/array")


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads take turns after some instructions of Python."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def is_whole(memory: Memory) -> bool:
    """Whether the free and the taken bytes are all there, once."""
    inside = memory._allocator
    blocks = sorted([p.block for p in inside._live.values()] + inside._free)
    joined = all(a[1] == b[0] for a, b in pairwise(blocks))
    return joined and blocks[0][0] == 4096 and blocks[-1][1] == memory.size


@pytest.mark.usefixtures("quick_switches")
def test_arrays_of_many_threads_are_their_own() -> None:
    device = eumu.Device("pvc", engine="interp", memory_bytes=64 * MB)
    wrong: list[object] = []

    def work(seed: int) -> None:
        choose, mine = random.Random(seed), []
        try:
            for turn in range(400):
                value = seed << 20 | turn
                size = choose.choice((16, 100, 1000, 5000, 300_000))
                mine.append((device.array(np.full(size, value, np.int32)), value))
                if len(mine) > 12:
                    array, value = mine.pop(choose.randrange(len(mine)))
                    if not (array.numpy() == value).all():
                        wrong.append((seed, turn, array))
                    if choose.random() < 0.5:
                        array.free()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
    assert device.memory.live == ()
    assert is_whole(device.memory)


@pytest.mark.parametrize("size", [100, 5000, 3 * MB])
def test_interrupted_anywhere_nothing_is_lost(size: int) -> None:
    device = eumu.Device("pvc", engine="interp", memory_bytes=64 * MB)
    kept = device.array(np.arange(1000, dtype=np.int32))
    other = device.array(10, np.int32)
    before = [kept.address, other.address]

    def action() -> None:
        array = device.array(np.full(size, 7, np.uint8))
        again = device.array(size, np.uint8)
        array.free()
        assert again.numpy().max() == 0

    def check() -> None:
        assert [a.start for a in device.memory.live] == before
        assert is_whole(device.memory)
        assert device.array(size, np.uint8).numpy().max() == 0
        assert (kept.numpy() == np.arange(1000)).all()

    assert at_every_line(action, check, WHERE) > 100


def test_a_failing_system_call_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(64 * MB)
    if memory._map is None:
        pytest.skip("memory is no mapping here")

    class Refusing:
        def madvise(self, *_: int) -> None:
            raise OSError(12, "no memory")

    a = memory.allocate(3 * MB, "a")
    memory.view(a)[:] = 1
    with monkeypatch.context() as patch:
        patch.setattr(memory, "_map", Refusing())
        memory.free(a.start)
        assert memory.allocate(3 * MB, "b").size == 3 * MB
    assert not memory.arena[: 32 * MB].any()


def test_a_finalizer_may_free_inside_an_allocation() -> None:
    device = eumu.Device("pvc", engine="interp", memory_bytes=64 * MB)

    class Ring:
        def __init__(self) -> None:
            self.array, self.me = device.array(2 * MB, np.uint8), self

    gc.disable()
    try:
        for _ in range(5):
            Ring()
        with device.memory._allocator._alone():
            gc.collect()  # as it may run at any line of an allocation
        assert device.memory.live == ()
    finally:
        gc.enable()


def test_freed_by_two_threads_is_freed_once() -> None:
    memory = Memory(64 * MB)
    owner = threading.Event()
    claim = memory.claim(owner)
    a = memory.allocate(100, "a", claim=claim)
    memory.release(claim)
    b = memory.allocate_at(a.start, 100, "b")
    memory.release(claim)
    del owner
    assert memory.live == (b,)


def test_small_arrays_give_their_pages_back() -> None:
    memory = Memory(64 * MB)
    low, before = 0, _resident(memory)
    for _ in range(2000):
        a = memory.allocate(4000, "a")
        memory.view(a)[:] = 1
        memory.free(a.start)
        low = max(low, a.end)
    assert low - memory.base > 8 * MB  # each lay elsewhere
    assert _resident(memory) - before < MB


def _resident(memory: Memory) -> int:
    """Bytes that the system keeps pages for, of the mapping that the arena is in."""
    start, size = memory.arena.ctypes.data, 0
    with open("/proc/self/smaps", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if "-" in words[0]:
                first, last = (int(n, 16) for n in words[0].split("-"))
                is_ours = first <= start < last
            elif words[0] == "Rss:" and is_ours:
                size += int(words[1]) << 10
    return size
