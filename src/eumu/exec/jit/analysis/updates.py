"""Updates: what lanes load, change and store again, where nothing else depends on the order.

What lanes read from registers with an index and store to global memory is such a chain, too.

The operations from the loads to the last store form a *chain* that nobody else sees the values and
registers of.  So all of it may run where its last store stands, or be something else there that
does the same, see `eumu.exec.jit.codegen.updates`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from typing import Final

from eumu.exec.jit.analysis.affine_forms import LANE_WISE
from eumu.ir import Block, Function, Op, Root, Space, Value
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import Load, Store
from eumu.ir.operations.state import (
    ExecMask,
    Indirect,
    OnRoot,
    Read,
    ReadIndirect,
    RootAddress,
    Write,
    WriteIndirect,
)
from eumu.records import dataclass
from eumu.types import Type

_MOST_PLACES: Final = 400  # operations of a chain
# What a chain may be moved behind, beside reads and writes of registers that have no address.
_PASSING: Final = LANE_WISE | {
    "const", "splat", "shuffle", "concat", "bitcast", "root_address", "exec_mask", "bits_mask",
    "mask_bits", "read_flag", "write_flag",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """What is made of the old value of a lane: a piece of its bytes, from byte `first` on, as
    another type; or what `op` makes of it, its argument number `place`, and of `others`."""

    type: Type  # of what is made
    first: int = 0
    op: Op | None = None
    place: int = 0
    others: tuple[tuple[Value, int], ...] = ()  # lanes of values that are not of the chain

    @property
    def kind(self) -> tuple[object, ...]:
        """What is the same in steps that differ in their lanes and values only."""
        if self.op is None:
            return self.type, self.first
        types = tuple(a.type for a in self.op.args)
        return self.type, type(self.op), self.op.name, self.op.attributes, types, self.place


@dataclass(frozen=True, slots=True)
class Path:
    """Where a stored lane comes from, and what is made of it on the way."""

    source: Load | ReadIndirect
    lane: int
    steps: tuple[Step, ...]


@dataclass(slots=True)
class Update:
    """The chain of a block: the places of its operations, in order; the last is a store."""

    block: Block
    places: list[int]
    sources: frozenset[int]  # places of loads
    sinks: tuple[int, ...]  # of stores
    _makers: dict[int, int] = field(default_factory=dict)  # of values: places

    def __post_init__(self) -> None:
        for place in self.places:
            self._makers |= {v.id: place for v in self.block.ops[place].results}

    @property
    def given(self) -> Iterator[Value]:
        """What operations of the chain are given that are not of the chain themselves."""
        for place in self.places:
            for value in self.block.ops[place].args:
                if value.id not in self._makers:
                    yield value

    def path(self, value: Value, lane: int) -> Path | None:
        """How a lane of a value came about, or None if it is not simple."""
        steps: list[Step] = []
        while True:
            place = self._makers.get(value.id)
            if place is None:
                return None
            op = self.block.ops[place]
            if isinstance(op, (Load, ReadIndirect)):
                return Path(op, lane, tuple(reversed(steps)))
            inner = self._read(place, op, lane) if isinstance(op, Read) else _made(self, op, lane)
            if inner is None:
                return None
            step, value, lane = inner
            if step is not None:
                steps.append(step)

    def _read(self, place: int, op: Read, lane: int) -> tuple[Step | None, Value, int] | None:
        """The lane of a value that was written to the bytes that a lane is read from."""
        start = op.offsets[lane]
        end = start + op.result.type.size
        for other in reversed(self.places):
            write = self.block.ops[other]
            if other >= place or not isinstance(write, Write) or write.root != op.root:
                continue
            size = write.value.type.size
            for at, offset in enumerate(write.offsets):
                if offset <= start and end <= offset + size:
                    same = write.value.type is op.result.type
                    step = None if same else Step(op.result.type, start - offset)
                    return step, write.value, at
                if offset < end and start < offset + size:
                    return None
        return None


def _made(update: Update, op: Op, lane: int) -> tuple[Step, Value, int] | None:
    """A lane-wise operation on one value of the chain and others."""
    if op.name == "bitcast":
        same = op.args[0].width == op.result.width
        return (Step(op.result.type), op.args[0], lane) if same else None
    inside = [n for n, a in enumerate(op.args) if a.id in update._makers]
    if op.name not in LANE_WISE or len(inside) != 1 or op.result.is_mask:
        return None
    (place,) = inside
    others = tuple((a, lane) for n, a in enumerate(op.args) if n != place)
    return Step(op.result.type, op=op, place=place, others=others), op.args[place], lane


def find(
    function: Function,
    index: int,
    users: Mapping[str, Collection[int]],
    confined: Mapping[int, Root] | None = None,
) -> list[Update]:
    """The updates of a block; `users` are the blocks that access each root.

    `confined`, by the addresses of register-indirect accesses, are roots that these stay in.
    """
    block = function.blocks[index]
    updates: list[Update] = []
    taken: set[int] = set()
    candidates = _candidates(block)
    if candidates:
        links = _Links(block)
        addressed = {root for root, places in users.items() if ADDRESSED in places}
        alone = {root for root in links.accesses if users[root] == {index}}
    for place in candidates:
        if place in taken:
            continue
        chain = _Chain(links, alone, place, function.width)
        update = chain.update() if chain.grow() else None
        if update is None or not taken.isdisjoint(update.places):
            continue
        if _may_wait(block, update, addressed, confined or {}):
            updates.append(update)
            taken.update(update.places)
    return updates


ADDRESSED: Final = -1  # among the users of a root: registers have its address, or it is given


def users(function: Function) -> dict[str, set[int]]:
    """The blocks that access each root."""
    users: dict[str, set[int]] = {argument.root.name: {ADDRESSED} for argument in function.inputs}
    for index, block in enumerate(function.blocks):
        for op in block.ops:
            if isinstance(op, OnRoot):
                plain = not isinstance(op, RootAddress) and op.name != "partner"
                users.setdefault(op.root.name, set()).add(index if plain else ADDRESSED)
    return users


def _candidates(block: Block) -> list[int]:
    """The loads that an update may begin with, if there are stores that may end one."""
    ends = {op.name for op in block.ops}
    loads = []
    for place, op in enumerate(block.ops):
        if isinstance(op, ReadIndirect) and ends & {"write_indirect", "store"}:
            if op.result.width == op.args[0].width > 1:
                loads.append(place)
        elif isinstance(op, Load) and "store" in ends and _is_local(op):
            loads.append(place)
    return loads


def _is_local(op: Load | Store) -> bool:
    return op.space in (Space.SLM, Space.SCRATCH) and op.count == 1 and op.args[0].width > 1


class _Links:
    """Which operations of a block make and read each value, and access each root."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.makers: dict[int, int] = {}
        self.readers: dict[int, list[int]] = {}
        self.accesses: dict[str, list[int]] = {}
        for place, op in enumerate(block.ops):
            self.makers |= {v.id: place for v in op.results}
            for value in op.args:
                self.readers.setdefault(value.id, []).append(place)
            if isinstance(op, (Read, Write)):
                self.accesses.setdefault(op.root.name, []).append(place)


class _Chain:
    """What is made of a load, and of loads that are written to the same registers.

    Its registers are among those that nobody but the block has: `alone`.
    """

    def __init__(self, links: _Links, alone: Collection[str], first: int, width: int) -> None:
        self.links, self.block, self.alone, self.width = links, links.block, alone, width
        self.sources = {first}
        self.places: set[int] = set()
        self.values: set[int] = set()
        self.roots: set[str] = set()

    def grow(self) -> bool:
        """Add what belongs to it until nothing does; whether all of that is of a kind it takes."""
        work = list(self.sources)
        while work:
            place = work.pop()
            if place in self.places:
                continue
            op = self.block.ops[place]
            if not self._takes(place, op) or len(self.places) >= _MOST_PLACES:
                return False
            self.places.add(place)
            for value in op.results:
                self.values.add(value.id)
                work += self.links.readers.get(value.id, ())
            if isinstance(op, Write):
                work += self._written(op)
        end = self.block.end
        if end is not None and any(a.id in self.values for a in end.args):
            return False
        return all(self._fits(self.block.ops[place]) for place in self.places)

    def _takes(self, place: int, op: Op) -> bool:
        if isinstance(op, Write):
            return op.root.name in self.alone and self._is_plain_mask(op.args[1])
        if isinstance(op, (Load, ReadIndirect)):
            return place in self.sources
        if isinstance(op, (Read, Store, WriteIndirect)):
            return True
        return op.name in LANE_WISE or op.name == "bitcast"

    def _written(self, op: Write) -> list[int]:
        """What belongs to it with a register: its other accesses, and loads that it is given."""
        maker = self.links.makers[op.args[0].id]
        source = self.block.ops[maker]
        more = [] if op.root.name in self.roots else self.links.accesses[op.root.name]
        self.roots.add(op.root.name)
        if isinstance(source, ReadIndirect) and source.result.width == source.args[0].width:
            self.sources.add(maker)
            return [*more, maker]
        return more

    def _fits(self, op: Op) -> bool:
        """Whether the chain is in the data of an operation, not in what says where or whether."""
        if isinstance(op, (Load, ReadIndirect)):
            return not any(a.id in self.values for a in op.args)
        if isinstance(op, (Write, Store, WriteIndirect)):
            data = {Write: 0, Store: 2}.get(type(op), 1)
            return all((a.id in self.values) == (n == data) for n, a in enumerate(op.args))
        return True

    def _is_plain_mask(self, mask: Value) -> bool:
        """Whether a mask has all lanes where all execute."""
        op = self.block.ops[self.links.makers[mask.id]]
        if isinstance(op, ExecMask):
            return op.offset + mask.width <= self.width
        return isinstance(op, Const) and op.is_full

    def _ends(self, sink: Op) -> bool:
        """Whether it ends a chain: a store to local memory what was loaded; one to registers with
        an index, or to global memory, what was read from such registers, which the latter cannot
        change."""
        sources = [self.block.ops[n] for n in self.sources]
        if isinstance(sink, WriteIndirect):
            return all(isinstance(op, ReadIndirect) for op in sources)
        assert isinstance(sink, Store)
        if sink.space is Space.FLAT:
            fits = sink.count == 1 and sink.args[0].width > 1
            return fits and all(isinstance(op, ReadIndirect) for op in sources)
        return _is_local(sink) and all(isinstance(op, Load) for op in sources)

    def update(self) -> Update | None:
        """The chain, if it has stores, and ends with one."""
        places = sorted(self.places)
        kinds = (Store, WriteIndirect)
        sinks = tuple(n for n in places if isinstance(self.block.ops[n], kinds))
        if not sinks or sinks[-1] != places[-1]:
            return None
        stores = [op for n in sinks if isinstance(op := self.block.ops[n], Store)]
        if (stores and len(sinks) > 1) or not self._ends(self.block.ops[sinks[0]]):
            return None
        masked = [self.block.ops[n] for n in self.sources] + stores
        if not all(self._is_plain_mask(op.args[1]) for op in masked if len(op.args) > 1):
            return None
        return Update(self.block, places, frozenset(self.sources), sinks)


def _may_wait(
    block: Block, update: Update, addressed: Collection[str], confined: Mapping[int, Root]
) -> bool:
    """Whether nothing between the chain's operations does what must come before or behind them."""
    chain = set(update.places)
    ops = [block.ops[place] for place in chain]
    own = {_meant(op, confined) for op in ops if isinstance(op, Indirect)}
    # A chain that ends with a store writes no register that others read.
    changes = not isinstance(block.ops[update.places[-1]], Store)
    for place in range(update.places[0], update.places[-1]):
        op = block.ops[place]
        if place in chain:
            continue
        if isinstance(op, (Read, Write)):
            if op.root.name in addressed and (changes or isinstance(op, Write)):
                return False
        elif isinstance(op, Indirect):
            other = _meant(op, confined)
            reads = isinstance(op, ReadIndirect) and place < update.sinks[0]
            if not reads and (other is None or not own.isdisjoint({other, None})):
                return False
        elif op.name not in _PASSING:
            return False
    return True


def _meant(op: Indirect, confined: Mapping[int, Root]) -> Root | None:
    """The root that a register-indirect access stays in, if that is certain."""
    return confined.get(op.args[0].id)
