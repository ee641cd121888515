"""Writes under the execution mask that may change the other lanes too.

Such a write must keep the lanes that do not execute only if one of them, where it waits, may still
read what it has there.  A register whose every access has each lane in its own place, and whose
values only meet their own lane, is followed lane by lane: most are temporaries of the branch that
writes them.  Without the old value they need no select, and no memory across barriers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from eumu.exec.jit.analysis.flow import Flow, is_call
from eumu.exec.jit.analysis.patterns import LANE_WISE
from eumu.ir import Function, Op, RootKind, Terminator
from eumu.ir.operations.ends import Diverge, Ret
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import ExecMask, OnFlag, OnRoot, Read, Write

Place = tuple[int, int]  # a block and an operation in it
Key = tuple[str, tuple[int, ...], int]  # root, byte offsets (of a flag: bits), bytes of a lane

_MASKED = ("load", "store", "atomic")
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

    def spoil(self, keys: frozenset[Key]) -> None:
        self.bad |= keys

    def pin(self, keys: frozenset[Key], lane: int) -> None:
        """Values of these registers meet a mask that starts at a lane of the thread."""
        for key in keys:
            if self.first.setdefault(key, lane) != lane:
                self.bad.add(key)


def free_writes(function: Function, flow: Flow) -> frozenset[Place]:
    """The writes that need not keep the lanes that do not execute."""
    found = _Lanewise(function)
    found.bad |= _entangled(function)
    for index in flow.parked:
        _Block(found, index).run()
    writes = [(place, key) for place, key in found.writes if key not in found.bad]
    if any(is_call(function.blocks[i].end) for i in flow.parked):
        # Lanes wait in other frames, too: only what no block reads before it writes is free.
        read = _NOTHING.union(*found.used.values())
        return frozenset(place for place, key in writes if key not in read)
    live = _liveness(function, flow, found)
    return frozenset(
        place
        for place, key in writes
        if not any(key in live[waiting] for waiting in flow.parked[place[0]])
    )


def _key(op: Op) -> Key | None:
    """The register of a direct access."""
    if isinstance(op, OnFlag):
        return op.root.name, op.bits, 1
    if isinstance(op, (Read, Write)):
        return op.root.name, op.offsets, op.value.type.size
    return None


def _entangled(function: Function) -> set[Key]:
    """Registers that are also accessed in another way, or have lanes in one place."""
    taken: set[str] = set()
    roots: dict[str, set[Key]] = {}
    bad: set[Key] = set()
    for block in function.blocks:
        for op in block.ops:
            if not isinstance(op, OnRoot):
                continue
            key, root = _key(op), op.root
            if key is not None:
                roots.setdefault(root.name, set()).add(key)
                if root.kind not in (RootKind.GRF, RootKind.FLAG) or len(key[1]) == 1:
                    bad.add(key)
            else:
                taken.add(root.name)
    for name, keys in roots.items():
        if name in taken:
            bad |= keys
        elif len(keys) > 1:
            bad |= _overlapping(keys)
    alone = (key for keys in roots.values() for key in keys)
    return bad | {key for key in alone if len(set(key[1])) != len(key[1])}


def _overlapping(keys: set[Key]) -> set[Key]:
    """The accesses of one root that share a byte with a different one."""
    owner: dict[int, Key] = {}
    bad: set[Key] = set()
    for key in keys:
        _, offsets, size = key
        for byte in (o + n for o in offsets for n in range(size)):
            other = owner.setdefault(byte, key)
            if other is not key:
                bad |= {key, other}
    return bad


class _Block:
    """Follows values through one block."""

    def __init__(self, found: _Lanewise, index: int) -> None:
        self.found, self.index = found, index
        self.taint: dict[int, frozenset[Key]] = {}  # registers whose lanes a value has
        self.executing: dict[int, int] = {}  # masks of executing lanes: the first lane
        self.whole: set[int] = set()  # masks of all executing lanes, or of all lanes
        self.used: set[Key] = set()
        self.killed: set[Key] = set()

    def run(self) -> None:
        block = self.found.function.blocks[self.index]
        for place, op in enumerate(block.ops):
            self._operation(place, op)
        if block.end is not None:
            self._end(block.end)
        self.found.used[self.index], self.found.killed[self.index] = self.used, self.killed

    def _of(self, op: Op | Terminator) -> frozenset[Key]:
        return _NOTHING.union(*(self.taint.get(a.id, _NOTHING) for a in op.args))

    def _operation(self, place: int, op: Op) -> None:
        key = _key(op)
        if key is not None:
            if op.results:
                self.taint[op.result.id] = frozenset((key,))
                if key not in self.killed:
                    self.used.add(key)
            else:
                self._write(place, op, key)
        elif isinstance(op, ExecMask):
            if op.offset + op.result.width <= self.found.function.width:
                self.executing[op.result.id] = op.offset
                self.whole.add(op.result.id)
        elif isinstance(op, Const) and op.is_full:
            self.whole.add(op.result.id)
        elif op.name in _MASKED and op.args[1].id in self.executing:
            self.found.pin(self._of(op), self.executing[op.args[1].id])
        else:
            self._compute(op)

    def _compute(self, op: Op) -> None:
        keys = self._of(op)
        starts = {self.executing[a.id] for a in op.args if a.id in self.executing}
        if op.name == "and" and op.result.is_mask and len(starts) == 1:
            start = starts.pop()
            self.executing[op.result.id] = start
            self.found.pin(keys, start)
        elif keys:
            wide = {v.width for v in (*op.args, *op.results)}
            if (op.name in LANE_WISE or op.name == "bitcast") and len(wide) == 1:
                self.taint[op.result.id] = keys
            else:
                self.found.spoil(keys)

    def _write(self, place: int, op: Op, key: Key) -> None:
        mask, keys = op.args[1].id, self._of(op)
        start = self.executing.get(mask)
        if start is None:
            # Lanes that do not execute would get what is computed of theirs.
            self.found.spoil(keys)
            if mask in self.whole:
                self._kill(key)
            return
        self.found.pin(keys | {key}, start)
        if mask in self.whole:
            self.found.writes.append(((self.index, place), key))
            self._kill(key)

    def _kill(self, key: Key) -> None:
        self.killed.add(key)

    def _end(self, end: Terminator) -> None:
        keys = self._of(end)
        if isinstance(end, (Diverge, Ret)):
            self.found.pin(keys, end.offset)
        else:
            self.found.spoil(keys)


def _successors(end: Terminator | None) -> Iterator[int]:
    if end is not None:
        yield from end.targets


def _liveness(function: Function, flow: Flow, found: _Lanewise) -> dict[int, set[Key]]:
    """The registers that a lane at the start of each block may read before it writes them."""
    live = {block: set(found.used[block]) for block in flow.parked}
    changed = True
    while changed:
        changed = False
        for block in sorted(live, reverse=True):
            behind: set[Key] = set()
            for target in _successors(function.blocks[block].end):
                behind |= live.get(target, set())
            more = behind - found.killed[block] - live[block]
            if more:
                live[block] |= more
                changed = True
    return live
