"""Memory as the command streamer reaches it."""

import pytest

from eumu.device import Memory
from eumu.device.commands import CommandError, MemoryBus


def test_neighbours_are_told_apart() -> None:
    """Extents that lie near each other, and one that comes later: what was asked before is kept."""
    memory = Memory(1 << 20)
    first, second = (memory.allocate(100, name) for name in ("first", "second"))
    bus = MemoryBus(memory)
    for _ in range(2):
        for made in (first, second):
            assert bus.has(made.start, 100)
            assert bus.has(made.end - 1, 1)
            assert not bus.has(made.start, 101)
            assert not bus.has(made.end, 1)
            assert not bus.has(made.start - 1, 1)
    third = memory.allocate(100, "third")
    assert bus.has(third.start, 100)
    assert bus.has(first.start, 100)
    memory.free(first.start)
    assert not bus.has(first.start, 1)
    with pytest.raises(CommandError, match="reads 4 bytes"):
        bus.read(first.start, 4, "somebody")
    assert bus.read(second.start, 100, "somebody") == bytes(100)
    assert not bus.has(-1, 1)
    assert not bus.has(1 << 64, 1)
