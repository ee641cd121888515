"""Follows what is written in shared local memory and scratch space, which have no value at first.

What is stored to shared local memory counts as written from then on; scratch space keeps what is
moved there, as spilling a register is no use of it.
"""

from __future__ import annotations

from collections.abc import Callable

from eumu.addresses import BTI_SLM, SCRATCH_STATE
from eumu.ir.function import Op, RootKind, Value
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import WRITTEN_SPACES, Access, Atomic, LoadBlock, Space
from eumu.ir.operations.state import OnRegion, Write
from eumu.ir.passes.written import Written, unsigned
from eumu.types import UD

_RESERVED = {BTI_SLM: Space.SLM, SCRATCH_STATE: Space.SCRATCH}

# The space of an access and the lanes for which it is that.
Place = tuple[Space, Value]
Report = Callable[[str, Value], None]


class LocalMemory:
    """The memory operations of one block."""

    def __init__(self, written: Written, report: Report) -> None:
        self.w, self.b, self.report = written, written.b, report
        self._numbers: dict[int, int] = {}  # values of one lane that are known
        self._indices: dict[tuple[str, int], int] = {}  # what is known of surface variables

    def follow(self, op: Op) -> None:
        """Note surface indices that are constants: the compiler sets them just before their use."""
        if isinstance(op, Const) and op.result.width == 1:
            self._numbers[op.result.id] = op.lanes[0]
        elif isinstance(op, OnRegion) and op.root.kind is RootKind.STATE:
            place = op.root.name, op.region.offset
            if isinstance(op, Write):
                self._write(op, place)
            elif place in self._indices and op.result.width == 1:
                self._numbers[op.result.id] = self._indices[place]

    def _write(self, op: Write, place: tuple[str, int]) -> None:
        x, mask = (self._numbers.get(value.id) for value in op.args)
        self._indices = {known: n for known, n in self._indices.items() if known[0] != place[0]}
        if x is not None and mask:
            self._indices[place] = x

    # ---- where an access goes

    def places(self, op: Access) -> list[Place]:
        """The local spaces that a memory operation may go to."""
        space, mask = op.space, op.args[1]
        if space in WRITTEN_SPACES:
            return [(space, mask)]
        if space is not Space.SURFACE:
            return []
        index = self._numbers.get(op.args[-1].id)
        if index is not None:
            return [(_RESERVED[index], mask)] if index in _RESERVED else []
        return [(space, self._going_to(op, number)) for number, space in _RESERVED.items()]

    def _going_to(self, op: Access, number: int) -> Value:
        """The lanes of an access whose surface index is a number."""
        same = self.b.cmp("eq", op.args[-1], self.b.const(UD, number))
        return self.b.and_(op.args[1], self.b.splat(same, op.args[1].width))

    def visible(self, op: Access, places: list[Place]) -> Value | None:
        """The lanes of a store that others can see, None if there are none."""
        if op.space is Space.SCRATCH:
            return None
        mask = op.args[1]
        for space, lanes in places:
            if space is Space.SCRATCH:
                mask = self.b.and_(mask, self.b.not_(lanes))
        return mask

    # ---- what it does there

    def step(self, op: Access, places: list[Place]) -> None:
        """Do to the written bits of memory what the operation does to memory."""
        for space, lanes in places:
            if isinstance(op, Atomic):
                self._atomic(op, space, lanes)
            elif op.results:
                self._load(op, space, lanes)
            else:
                self._store(op, space, lanes)

    def _load(self, op: Access, space: Space, lanes: Value) -> None:
        type, address, held = unsigned(op.results[0].type), op.args[0], WRITTEN_SPACES[space]
        if isinstance(op, LoadBlock):
            width = op.result.width
            found: tuple[Value, ...] = (self.b.load_block(held, address, lanes, type, width),)
        else:
            found = self.b.load(held, address, lanes, type, len(op.results))
        for value, bits in zip(op.results, found, strict=True):
            self._loaded(value, bits, lanes)

    def _loaded(self, value: Value, bits: Value, lanes: Value) -> None:
        """Lanes of a value that come from elsewhere stay as they are."""
        others = self.w.spread(self.b.splat(self.b.not_(lanes), value.width), value.type)
        assert others is not None
        self.w.note(value, self.w.all_of(self.w.bits(value), self.b.or_(bits, others)))

    def _store(self, op: Access, space: Space, lanes: Value) -> None:
        held, address = WRITTEN_SPACES[space], op.args[0]
        keeps = space is Space.SCRATCH
        data = [self.w.every_bit(x) if keeps else self.w.ones(x.type, x.width) for x in op.data]
        if op.name == "store_block":
            self.b.store_block(held, address, lanes, data[0])
        else:
            self.b.store(held, address, lanes, data)

    def _atomic(self, op: Atomic, space: Space, lanes: Value) -> None:
        """All but an exchange use what memory holds; then it is written."""
        held, address, type = WRITTEN_SPACES[space], op.args[0], unsigned(op.result.type)
        (bits,) = self.b.load(held, address, lanes, type)
        if op.operation in ("xchg", "load"):
            self._loaded(op.result, bits, lanes)
        else:
            bad = self.b.cmp("ne", bits, self.w.ones(type, bits.width))
            self.report("memory", self.b.and_(bad, lanes))
        if op.operation != "load":
            self.b.store(held, address, lanes, [self.w.ones(type, bits.width)])
