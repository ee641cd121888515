"""Writes under the execution mask that may change the other lanes too.

Such a write must keep the lanes that do not execute only if one of them, where it waits, may still
read what it has there.  A register whose every access has each lane in its own place, and whose
values only meet their own lane, is followed lane by lane: most are temporaries of the branch that
writes them.  Without the old value they need no select, and no memory across barriers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from eumu.exec.jit.analysis.flow import Flow, is_call
from eumu.exec.jit.analysis.following import Following
from eumu.exec.jit.analysis.liveness import live_in
from eumu.ir import Function, RootKind
from eumu.ir.operations.state import OnRoot, Read, ReadFlag, Write, WriteFlag
from eumu.records import dataclass

Place = tuple[int, int]  # a block and an operation in it
Key = tuple[str, tuple[int, ...], int]  # root, byte offsets (of a flag: bits), bytes of a lane

_NOTHING: frozenset[Key] = frozenset()


@dataclass(slots=True)
class _Lanewise:
    """What is found on the way through the operations."""

    function: Function
    bad: set[Key] = field(default_factory=set)  # lanes may meet
    first: dict[Key, int] = field(default_factory=dict)  # lane of the thread that comes first
    used: dict[int, set[Key]] = field(default_factory=dict)  # per block: read before overwritten
    killed: dict[int, set[Key]] = field(default_factory=dict)
    writes: list[tuple[Place, Key]] = field(default_factory=list)  # under the whole execution mask


def free_writes(function: Function, flow: Flow) -> frozenset[Place]:
    """The writes that need not keep the lanes that do not execute."""
    lanewise = _Lanewise(function)
    lanewise.bad |= _entangled(function)
    for index in flow.parked:
        _Block(lanewise, index)
    writes = [(place, key) for place, key in lanewise.writes if key not in lanewise.bad]
    if any(is_call(function.blocks[i].end) for i in flow.parked):
        # Lanes wait in other frames, too: only what no block reads before it writes is free.
        read = _NOTHING.union(*lanewise.used.values())
        return frozenset(place for place, key in writes if key not in read)
    is_live = _liveness(function, flow, lanewise)
    return frozenset(
        place
        for place, key in writes
        if not any(is_live(waiting, key) for waiting in flow.parked[place[0]])
    )


def _key(op: Read | Write | ReadFlag | WriteFlag) -> Key:
    """The register of a direct access."""
    if isinstance(op, (ReadFlag, WriteFlag)):
        return op.root.name, op.bits, 1
    return op.root.name, op.offsets, op.value.type.size


def _entangled(function: Function) -> set[Key]:
    """Registers that are also accessed in another way, or have lanes in one place."""
    taken: set[str] = set()
    roots: dict[str, set[Key]] = {}
    bad: set[Key] = set()
    for block in function.blocks:
        for op in block.ops:
            if isinstance(op, (Read, Write, ReadFlag, WriteFlag)):
                key, root = _key(op), op.root
                roots.setdefault(root.name, set()).add(key)
                if root.kind not in (RootKind.GRF, RootKind.FLAG) or len(key[1]) == 1:
                    bad.add(key)
            elif isinstance(op, OnRoot):
                taken.add(op.root.name)
    for name, keys in roots.items():
        if name in taken:
            bad |= keys
        elif len(keys) > 1:
            bad |= _overlapping(keys)
    alone = (key for keys in roots.values() for key in keys)
    return bad | {key for key in alone if len(set(key[1])) != len(key[1])}


def _overlapping(keys: set[Key]) -> set[Key]:
    """The accesses of one root that share a byte with a different one."""
    places = {key: _bytes(key) for key in keys}
    once = twice = 0
    for taken in places.values():
        twice |= once & taken
        once |= taken
    return {key for key, taken in places.items() if taken & twice}


def _bytes(key: Key) -> int:
    """The bytes of a root that an access has, a bit each."""
    _, offsets, size = key
    element, taken = (1 << size) - 1, 0
    for offset in offsets:
        taken |= element << offset
    return taken


class _Block(Following[Key]):
    """Follows the values of one block; a source is a register."""

    def __init__(self, lanewise: _Lanewise, index: int) -> None:
        super().__init__(lanewise.function.width)
        self.found, self.index = lanewise, index
        self.used: set[Key] = set()
        self.killed: set[Key] = set()
        self.follow(lanewise.function.blocks[index])
        lanewise.used[index], lanewise.killed[index] = self.used, self.killed

    def pin(self, sources: frozenset[Key], lane: int) -> None:
        for key in sources:
            if self.found.first.setdefault(key, lane) != lane:
                self.found.bad.add(key)

    def cross(self, sources: frozenset[Key]) -> None:
        self.found.bad |= sources

    def read(self, place: int, op: Read | ReadFlag) -> Key:
        key = _key(op)
        if key not in self.killed:
            self.used.add(key)
        return key

    def write(self, place: int, op: Write | WriteFlag, first: int | None) -> None:
        key, mask = _key(op), op.args[1].id
        if first is not None:
            self.pin(frozenset((key,)), first)
        if mask in self.whole or mask in self.full:
            self.killed.add(key)
            if first is not None:
                self.found.writes.append(((self.index, place), key))


def _liveness(function: Function, flow: Flow, lanewise: _Lanewise) -> Callable[[int, Key], bool]:
    """Whether a lane at the start of a block may read a register before it writes it."""
    numbers: dict[Key, int] = {}

    def bits(keys: set[Key]) -> int:
        return sum(1 << numbers.setdefault(key, len(numbers)) for key in keys)

    used, killed = (
        {k: bits(keys) for k, keys in x.items()} for x in (lanewise.used, lanewise.killed)
    )

    def targets(block: int) -> tuple[int, ...]:
        end = function.blocks[block].end
        return end.targets if end is not None else ()

    live = live_in(flow.parked, targets, lambda block, live: used[block] | live & ~killed[block])
    return lambda block, key: key in numbers and bool(live[block] >> numbers[key] & 1)
