"""A register file cut into variables, as the compiler had them before it allocated registers.

Native code has one root for all registers.  Here each *live range*, the writes and reads that hang
together, becomes a root of its own, so that LLVM makes it an SSA value of its own.  A write under
the execution mask begins a new one if nobody may still need what other lanes have there: no lane
that waits, on its way from there, and no read that crosses lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import pairwise
from typing import Final

import numpy as np

from eumu.exec.jit.analysis.flow import Flow, is_call
from eumu.exec.jit.analysis.following import Following
from eumu.exec.jit.analysis.liveness import live_in
from eumu.exec.jit.analysis.sets import Numbers, UnitedSets
from eumu.exec.jit.analysis.windows import Place, Window, windows
from eumu.ir import Function, Input, Op, Root, RootKind
from eumu.ir.function import Block
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import (
    OnRegion,
    Read,
    ReadFlag,
    RootAddress,
    Write,
    WriteFlag,
    WriteIndirect,
    addressed,
)
from eumu.records import dataclass

LEAST = 2048  # bytes of a root that is worth it
_NOBODY: Final = -1  # nothing has written it, and nothing reads what was there


@dataclass(slots=True)
class RegisterAccess:
    """A read or write of the file; `first` is the lane of its first element, None: lanes cross.

    `whole` writes are under the execution mask alone, `full` ones under none.
    """

    place: Place
    offsets: tuple[int, ...]
    size: int
    is_write: bool
    first: int | None = None
    whole: bool = False
    full: bool = False
    crosses: bool = False
    kills: bool = False
    bytes: int = 0  # a bit for each byte that it touches

    def pin(self, lane: int) -> None:
        """Its value meets a mask that starts at a lane of the thread."""
        if self.first is None:
            self.first = lane
        self.crosses |= self.first != lane

    def pairs(self, width: int) -> int:
        """Bit byte*width + lane for each byte and the lane that it belongs to."""
        if self.crosses or self.first is None:
            return rows_of(self.bytes, width)
        mask, begin = 0, min(self.offsets)  # small numbers first: the file has thousands of bytes
        for k, offset in enumerate(self.offsets):
            lane = (self.first + k) % width
            for byte in range(offset - begin, offset - begin + self.size):
                mask |= 1 << byte * width + lane
        return mask << begin * width


def rows_of(bytes: int, width: int) -> int:
    """The bits byte*width … byte*width + width-1 for each byte whose bit is set.

    >>> hex(rows_of(0b1011, 4))
    '0xf0ff'
    """
    rows = at = 0
    while bytes:
        gap = (bytes & -bytes).bit_length() - 1
        bytes >>= gap
        run = (~bytes & bytes + 1).bit_length() - 1
        rows |= (1 << run * width) - 1 << (at + gap) * width
        bytes >>= run
        at += gap + run
    return rows


def bits_of(word: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while word:
        low = word & -word
        yield low.bit_length() - 1
        word ^= low


def split_file(function: Function, flow: Flow, *, full_threads: bool = False) -> Function:
    """The function with live ranges of its register file as roots; itself if it has no file, or
    if register-indirect accesses may be anywhere in it.

    If threads are full, so are writes where all lanes execute.
    """
    file = next((r for r in function.roots.values() if _is_file(r)), None)
    if file is None:
        return function
    full = {i for i in flow.parked if flow.full(i)} if full_threads else set()
    opened = windows(function, flow, file, full) if file.name in addressed(function) else {}
    if opened is None:
        return function
    blocks = {i: _Accesses(function, i, file, opened, i in full).found for i in flow.parked}
    if not any(is_call(function.blocks[i].end) for i in flow.parked):
        _Lanes(function, flow, blocks).decide()
    else:
        for access in _all(blocks):
            access.kills = access.is_write and access.full
    return _LiveRanges(function, flow, file, blocks, opened).rewritten()


def _is_file(root: Root) -> bool:
    return root.kind is RootKind.GRF and root.size >= LEAST


def _all(blocks: dict[int, list[RegisterAccess]]) -> Iterator[RegisterAccess]:
    return (access for accesses in blocks.values() for access in accesses)


# ---- what each access is


class _Accesses(Following[int]):
    """The accesses of a block; a source is a read, as its place in `found`."""

    def __init__(
        self,
        function: Function,
        index: int,
        file: Root,
        opened: Mapping[Place, Window],
        all_execute: bool,
    ) -> None:
        super().__init__(function.width)
        self.index, self.file, self.opened = index, file, opened
        self.all_execute = all_execute
        block = function.blocks[index]
        self.uses = Counter(a.id for op in [*block.ops, block.end] if op for a in op.args)
        self.lone: dict[int, int] = {}  # masks of one lane: which
        self.single: dict[int, int] = {}  # the same if it executes: which of the thread's
        self.found: list[RegisterAccess] = []
        self.follow(function.blocks[index])
        for access in self.found:
            access.crosses |= access.first is None

    def _operation(self, place: int, op: Op) -> None:
        """Lanes meet in a window: which element one accesses is not known."""
        window = self.opened.get((self.index, place))
        if window is not None:
            size, is_write = window.end - window.start, isinstance(op, WriteIndirect)
            at = self.index, place
            access = RegisterAccess(at, (window.start,), size, is_write, bytes=window.bytes)
            access.crosses = True
            self.found.append(access)
        lanes = op.lanes if isinstance(op, Const) and op.result.is_mask else ()
        if sum(lanes) == 1 and len(lanes) == op.result.width:
            self.lone[op.result.id] = lanes.index(1)
        elif op.name == "and" and op.result.is_mask:
            for mask, other in (op.args, op.args[::-1]):
                if mask.id in self.whole and other.id in self.lone:
                    self.single[op.result.id] = self.executing[mask.id] + self.lone[other.id]
        if not isinstance(op, WriteIndirect) or not self._writes_own(op):
            super()._operation(place, op)

    def _writes_own(self, op: WriteIndirect) -> bool:
        """Whether it writes what a lane reads for itself alone: compilers write lane by lane."""
        lane, sources = self.single.get(op.args[2].id), self.sources.get(op.args[1].id, ())
        if lane is None or len(sources) != 1 or self.uses[op.args[1].id] > 1:
            return False
        access = self.found[next(iter(sources))]
        if len(set(access.offsets)) > 1 or op.args[0].id in self.sources:
            return False
        access.offsets, access.first, access.crosses = access.offsets[:1], lane, False
        return True

    def read(self, place: int, op: Read | ReadFlag) -> int | None:
        if not isinstance(op, Read) or op.root is not self.file:
            return None
        self.found.append(self._access(place, op))
        return len(self.found) - 1

    def write(self, place: int, op: Write | WriteFlag, first: int | None) -> None:
        if isinstance(op, Write) and op.root is self.file:
            access, mask = self._access(place, op), op.args[1].id
            access.first = first
            access.full = mask in self.full or (self.all_execute and mask in self.whole)
            access.whole = mask in self.whole and not access.crosses
            self.found.append(access)

    def pin(self, sources: frozenset[int], lane: int) -> None:
        for number in sources:
            self.found[number].pin(lane)

    def cross(self, sources: frozenset[int]) -> None:
        for number in sources:
            self.found[number].crosses = True

    def _access(self, place: int, op: Read | Write) -> RegisterAccess:
        offsets, size, width = op.offsets, op.value.type.size, op.value.width
        ones = (1 << size) - 1
        touched = 0
        for offset in offsets:
            touched |= ones << offset
        at = self.index, place
        access = RegisterAccess(at, offsets, size, isinstance(op, Write), bytes=touched)
        access.crosses = width == 1 or len(set(offsets)) < width
        return access


# ---- which writes begin a live range


@dataclass(slots=True)
class _Lanes:
    """Decides which writes under the execution mask need not keep other lanes."""

    function: Function
    flow: Flow
    blocks: dict[int, list[RegisterAccess]]
    live: dict[int, int] = field(default_factory=dict)  # pairs that a lane may read from there on
    crossed: dict[int, int] = field(default_factory=dict)  # bytes that crossing reads may read

    def decide(self) -> None:
        """Set `kills` of every write."""
        self.live = live_in(self.blocks, self._targets, self._before)
        self.crossed = live_in(self.blocks, self.flow.after, self._crossing_before)
        width = self.function.width
        for index, accesses in self.blocks.items():
            waiting = 0
            for parked in self.flow.parked[index]:
                waiting |= self.live[parked]
            own, crossed = self._behind(index)
            for access in reversed(accesses):
                if access.is_write:
                    access.kills = access.full
                    if access.whole:
                        kept = waiting | (own & ~access.pairs(width))
                        kept &= rows_of(access.bytes, width)
                        access.kills |= not kept and not crossed & access.bytes
                own, crossed = _lane_step(access, own, width), _cross_step(access, crossed)

    def _behind(self, index: int) -> tuple[int, int]:
        """What is live at the end of a block."""
        own = crossed = 0
        for target in self._targets(index):
            own |= self.live.get(target, 0)
        for target in self.flow.edges.get(index, ()):
            crossed |= self.crossed.get(target, 0)
        return own, crossed

    def _targets(self, index: int) -> tuple[int, ...]:
        end = self.function.blocks[index].end
        return end.targets if end is not None else ()

    def _before(self, index: int, live: int) -> int:
        for access in reversed(self.blocks[index]):
            live = _lane_step(access, live, self.function.width)
        return live

    def _crossing_before(self, index: int, crossed: int) -> int:
        for access in reversed(self.blocks[index]):
            crossed = _cross_step(access, crossed)
        return crossed


def _lane_step(access: RegisterAccess, live: int, width: int) -> int:
    """What a lane may read before an access, if it may read `live` after it."""
    if not access.is_write:
        return live | access.pairs(width)
    if access.full:
        return live & ~rows_of(access.bytes, width)
    return live & ~access.pairs(width) if access.whole else live


def _cross_step(access: RegisterAccess, crossed: int) -> int:
    if access.is_write:
        return crossed & ~access.bytes if access.full else crossed
    return crossed | access.bytes if access.crosses else crossed


# ---- live ranges


class _LiveRanges:
    """Unites the writes, and the atoms with which blocks begin, that hang together."""

    def __init__(
        self,
        function: Function,
        flow: Flow,
        file: Root,
        blocks: dict[int, list[RegisterAccess]],
        opened: Mapping[Place, Window],
    ) -> None:
        self.function, self.flow, self.file, self.blocks = function, flow, file, blocks
        self.pointed = {window.base: place for place, window in opened.items()}
        self.atoms = _atoms(blocks, file.size)
        self.starts = np.array([(bits & -bits).bit_length() - 1 for bits in self.atoms])
        self.range_of: dict[Place, int] = {}
        self.touched: dict[int, Numbers] = {}  # atoms, by the bytes of accesses

    def _touched(self, bytes: int) -> Numbers:
        """The atoms of some bytes, in order."""
        atoms = self.touched.get(bytes)
        if atoms is None:
            size = self.file.size
            bits = np.frombuffer(bytes.to_bytes(-(-size // 8), "little"), np.uint8)
            flags = np.unpackbits(bits, bitorder="little")
            atoms = self.touched[bytes] = np.flatnonzero(flags[self.starts])
        return atoms

    def rewritten(self) -> Function:
        """The function on its new roots."""
        live = live_in(self.blocks, self.flow.after, self._before)
        begins = {index: self._touched(bytes) for index, bytes in live.items()}
        # Members are numbers: first what each block begins with, then each access.
        self.entries, count = dict[int, int](), 0
        for index, atoms in begins.items():
            self.entries[index] = count
            count += len(atoms)
        sets = UnitedSets(count + sum(map(len, self.blocks.values())))
        for index, accesses in self.blocks.items():
            self._block(sets, count, index, accesses, begins)
            count += len(accesses)
        self.sets = sets.all()
        roots, inputs = self._roots(live)
        blocks = [
            Block(block.label, [self._moved(op, (i, k), roots) for k, op in enumerate(block.ops)],
                  block.end)
            for i, block in enumerate(self.function.blocks)
        ]  # fmt: skip
        others = {n: r for n, r in self.function.roots.items() if r is not self.file}
        kept = [i for i in self.function.inputs if i.root is not self.file]
        fresh = {root.name: root for root in roots.values()}
        return replace(self.function, roots=others | fresh, inputs=kept + inputs, blocks=blocks)

    def _before(self, index: int, now: int) -> int:
        """Bytes that some lane may read from the start of a block on."""
        for access in reversed(self.blocks[index]):
            if not access.is_write:
                now |= access.bytes
            elif access.kills:
                now &= ~access.bytes
        return now

    def _block(
        self,
        sets: UnitedSets,
        number: int,
        index: int,
        accesses: list[RegisterAccess],
        begins: dict[int, Numbers],
    ) -> None:
        """Unite what hangs together in a block and at its edges; `number` is its first access."""
        current = np.full(len(self.atoms), _NOBODY)
        current[begins[index]] = self._entry(index, begins[index])
        for k, access in enumerate(accesses, number):
            atoms = self._touched(access.bytes)
            if not access.is_write or not access.kills:
                _unite(sets, current[atoms], np.array(k))
            if access.is_write:
                current[atoms] = k
            self.range_of[access.place] = k
        for target in self.flow.edges.get(index, ()):
            atoms = begins[target]
            _unite(sets, current[atoms], self._entry(target, atoms))

    def _entry(self, block: int, atoms: Numbers) -> Numbers:
        """The members for all atoms that are live where a block begins."""
        return self.entries[block] + np.arange(len(atoms))

    def _roots(self, live: dict[int, int]) -> tuple[dict[int, Root], list[Input]]:
        """A root for each live range, and what the payload gives to those live at the start."""
        spans: dict[int, int] = {}
        for access in _all(self.blocks):
            number = self._range(access.place)
            spans[number] = spans.get(number, 0) | access.bytes
        starting = self._starting(live)
        for number, bytes in starting.items():
            spans[number] = spans.get(number, 0) | bytes
        roots, self.base = {}, {}
        address = self.file.address + self.file.size
        for n, (number, bytes) in enumerate(sorted(spans.items(), key=lambda i: i[1] & -i[1])):
            low = (bytes & -bytes).bit_length() - 1 & ~7
            size = bytes.bit_length() - low
            roots[number] = Root(f"{self.file.name}.{n}", RootKind.GRF, size, address)
            self.base[number] = low
            address += size + 64
        return roots, list(self._inputs(starting, roots))

    def _range(self, place: Place) -> int:
        return int(self.sets[self.range_of[place]])

    def _starting(self, live: dict[int, int]) -> dict[int, int]:
        """Live ranges that are there at the start, and which bytes of them."""
        by_range: dict[int, int] = {}
        atoms = self._touched(live.get(0, 0))
        for atom, member in zip(atoms, self._entry(0, atoms), strict=True):
            number = int(self.sets[member])
            by_range[number] = by_range.get(number, 0) | self.atoms[atom]
        return by_range

    def _inputs(self, starting: dict[int, int], roots: dict[int, Root]) -> Iterator[Input]:
        for argument in self.function.inputs:
            if argument.root is not self.file:
                continue
            inside = (1 << argument.size) - 1 << argument.offset
            for number, bytes in starting.items():
                for start, size in _stretches(bytes & inside):
                    place = argument.payload_offset + start - argument.offset
                    yield Input(roots[number], start - self.base[number], place, size)

    def _moved(self, op: Op, place: Place, roots: dict[int, Root]) -> Op:
        """The operation on its live range's root."""
        if isinstance(op, RootAddress) and op.root is self.file:
            if place not in self.pointed:  # nothing reaches it
                return Const("const", (), op.results, op.inst, lanes=(0,))
            number = self._range(self.pointed[place])
            return replace(op, root=roots[number], offset=op.offset - self.base[number])
        if not isinstance(op, OnRegion) or op.root is not self.file:
            return op
        if place not in self.range_of:  # nothing reaches it
            return op
        number = self._range(place)
        moved = op.region._replace(offset=op.region.offset - self.base[number])
        return replace(op, root=roots[number], region=moved)


def _unite(sets: UnitedSets, holders: Numbers, members: Numbers) -> None:
    known = holders != _NOBODY
    sets.unite(holders[known], np.broadcast_to(members, holders.shape)[known])


def _stretches(bytes: int) -> Iterator[tuple[int, int]]:
    """Runs of set bits: first, count."""
    while bytes:
        low = (bytes & -bytes).bit_length() - 1
        rest = bytes >> low
        count = (~rest & rest + 1).bit_length() - 1
        yield low, count
        bytes &= ~((1 << count) - 1 << low)


def _atoms(blocks: dict[int, list[RegisterAccess]], size: int) -> list[int]:
    """The bytes of the file in the largest pieces that no access takes apart, as bits."""
    edges = {0, size}
    for access in _all(blocks):
        for start, count in _stretches(access.bytes):
            edges |= {start, start + count}
    points = sorted(edges)
    return [(1 << b) - (1 << a) for a, b in pairwise(points)]
