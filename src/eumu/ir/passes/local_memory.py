"""Follows what is written in shared local memory and scratch space, which have no value at first.

What is stored to shared local memory counts as written from then on; scratch space keeps what is
moved there, as spilling a register is no use of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from eumu.addresses import BTI_SLM, SCRATCH_STATE
from eumu.ir.function import Block, Op, RootKind, Value
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import (
    UNWRITTEN_SPACES,
    WRITTEN_SPACES,
    Access,
    Atomic,
    Load,
    LoadBlock,
    Space,
    StoreBlock,
)
from eumu.ir.operations.state import OnRegion, Read, Write
from eumu.ir.passes.padding import Empty, Filled, copied, fourths
from eumu.ir.passes.written import Written, unsigned
from eumu.types import BOOL, UD

_RESERVED = {BTI_SLM: Space.SLM, SCRATCH_STATE: Space.SCRATCH}

_LEAST_BLOCK = 16  # bytes that a message of blocks stores at least

# The space of an access and the lanes for which it is that.
Place = tuple[Space, Value]
Report = Callable[[str, Value], None]


class LocalMemory:
    """The memory operations of one block."""

    def __init__(
        self, written: Written, report: Report, filled: Filled, block: Block, *, device: bool
    ) -> None:
        """With `device` memory of the device is followed, too."""
        self.w, self.b, self.report, self.device = written, written.b, report, device
        self._empty, self._copied = Empty(filled), copied(block)
        self.first = 0  # lane of the instruction
        self._copies: set[int] = set()  # values that are as they were loaded
        self._loaded: set[str] = set()  # roots that were last written by loads
        self._made: dict[str, int] = {}  # bytes of an element, where something was computed
        self._computed: set[int] = set()  # values that were, as wide as they are
        self._numbers: dict[int, int] = {}  # values of one lane that are known
        self._indices: dict[tuple[str, int], int] = {}  # what is known of surface variables

    def follow(self, op: Op) -> None:
        """Note surface indices that are constants: the compiler sets them just before their use;
        and what is as it was loaded."""
        self._empty.follow(op)
        if isinstance(op, (Load, LoadBlock)):
            self._copies.update(value.id for value in op.results)
        elif isinstance(op, Write) and op.args[0].id in self._copies:
            self._loaded.add(op.root.name)
            self._made.pop(op.root.name, None)
        elif isinstance(op, Write):
            self._loaded.discard(op.root.name)
            self._made[op.root.name] = op.args[0].type.size
        elif isinstance(op, Read) and op.root.name in self._loaded:
            self._copies.add(op.result.id)
        elif isinstance(op, Read) and self._made.get(op.root.name) == op.result.type.size:
            self._computed.add(op.result.id)
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
        self._indices = {key: n for key, n in self._indices.items() if key[0] != place[0]}
        if x is not None and mask:
            self._indices[place] = x

    # ---- where an access goes

    def places(self, op: Access) -> list[Place]:
        """The local spaces that a memory operation may go to."""
        space, mask = op.space, op.args[1]
        if space in WRITTEN_SPACES:
            return [(space, mask)]
        if space is not Space.SURFACE:
            return [(space, mask)] if self.device and space is Space.FLAT else []
        index = self._numbers.get(op.args[-1].id)
        if index is not None:
            if index in _RESERVED:
                return [(_RESERVED[index], mask)]
            return [(space, mask)] if self.device else []
        held = [(space, self._going_to(op, number)) for number, space in _RESERVED.items()]
        if self.device:
            local = self.b.or_(*(lanes for _, lanes in held))
            held.append((Space.SURFACE, self.b.and_(mask, self.b.not_(local))))
        return held

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
        held = self._held(op, space, lanes)
        for value, bits in zip(op.results, held, strict=True):
            self._arrived(value, bits, lanes)
        if space in UNWRITTEN_SPACES:
            self._origin(op, space, held, lanes)

    def _origin(self, op: Access, space: Space, values: Sequence[Value], lanes: Value) -> None:
        """Let findings say where what is undefined was read."""
        bad = [self.b.cmp("ne", bits, self.w.ones(bits.type, bits.width)) for bits in values]
        if isinstance(op, LoadBlock):
            bad = [self.b.any(bad[0])]
        mask = self.b.and_(lanes, reduce(self.b.or_, bad))
        self.b.report(
            "load", mask, self.first, code="origin", space=space, at=(op.args[0], *_surface(op))
        )

    def _held(self, op: Access, space: Space, lanes: Value) -> tuple[Value, ...]:
        """The written bits of what a load or an atomic operation finds in memory."""
        type, address = unsigned(op.results[0].type), op.args[0]
        held = WRITTEN_SPACES.get(space) or UNWRITTEN_SPACES[space]
        surface = next(iter(_surface(op)), None) if space is Space.SURFACE else None
        if isinstance(op, LoadBlock):
            width = op.result.width
            block = self.b.load_block(held, address, lanes, type, width, surface)
            values: tuple[Value, ...] = (block,)
        else:
            values = self.b.load(held, address, lanes, type, len(op.results), surface)
        if space in UNWRITTEN_SPACES:
            return tuple(self.b.not_(bits) for bits in values)
        return values

    def _arrived(self, value: Value, bits: Value, lanes: Value) -> None:
        """Lanes of a value that come from elsewhere stay as they are."""
        others = self.w.spread(self.b.splat(self.b.not_(lanes), value.width), value.type)
        assert others is not None
        self.w.note(value, self.w.all_of(self.w.bits(value), self.b.or_(bits, others)))

    def _store(self, op: Access, space: Space, lanes: Value) -> None:
        keeps = space is Space.SCRATCH
        data = [self.w.every_bit(x) if keeps else self._settled(op, x) for x in op.data]
        self._put(op, space, lanes, data)

    def _put(self, op: Access, space: Space, lanes: Value, data: Sequence[Value]) -> None:
        """Make bits of memory written."""
        held, address = WRITTEN_SPACES.get(space) or UNWRITTEN_SPACES[space], op.args[0]
        surface = next(iter(_surface(op)), None) if space is Space.SURFACE else None
        if space in UNWRITTEN_SPACES:
            data = [self.b.not_(bits) for bits in data]
        if isinstance(op, StoreBlock):
            self.b.store_block(held, address, lanes, data[0], surface)
        else:
            self.b.store(held, address, lanes, data, surface)

    def harmless(self, op: Access, x: Value) -> Value | None:
        """The lanes of stored data that may be undefined: padding is stored, too.

        That is some bytes of an element that nothing has computed as a whole; an element of several
        that are stored as they were loaded, together or one by one, if something of the lane is
        written; and the last element of several, if nothing in the function is put there, or if it
        is as it was loaded, and the others are written.
        """
        if self.w.bits(x) is None:
            return None
        found = [] if x.id in self._computed else [self.w.padded(x)]
        *others, last = data = op.data
        if x.id in self._copied:
            found.append(self._any(self._copied[x.id]))
        if others and all(value.id in self._copies for value in data):
            found.append(self._any(data))
        elif others and x is last:
            found.append(self._last(others, x))
        elif (
            not others and x.id in self._empty.lanes
        ):  # lanes may be the elements of a uniform vector
            found.append(self.b.const(BOOL, fourths(self._empty.lanes[x.id]), x.width))
            if isinstance(op, StoreBlock) and op.size == _LEAST_BLOCK:
                found.append(self._second_half(x))
        lanes = [mask for mask in found if mask is not None]
        return reduce(self.b.or_, lanes) if lanes else None

    def _last(self, others: Sequence[Value], x: Value) -> Value | None:
        """The lanes in which the last element of several may be padding."""
        written = reduce(self.b.and_, [self.w.some(value) for value in others])
        if x.id in self._copies:
            return written
        if x.id not in self._empty.lanes:
            return None
        return self.b.and_(written, self.b.const(BOOL, self._empty.lanes[x.id], x.width))

    def _second_half(self, x: Value) -> Value | None:
        """The lanes behind the first half of a block if that half is written: there is no shorter
        block, and a frame of a call has less to keep."""
        half, written = x.width // 2, self.w.some(x)
        if not all(self._empty.lanes[x.id][half:]):
            return None
        first = reduce(self.b.and_, [self.b.shuffle(written, (k,) * x.width) for k in range(half)])
        return self.b.and_(first, self.b.const(BOOL, [k >= half for k in range(x.width)], x.width))

    def _any(self, values: Sequence[Value]) -> Value:
        return reduce(self.b.or_, [self.w.some(value) for value in values])

    def _settled(self, op: Access, x: Value) -> Value:
        """The written bits of stored data: what is undefined was reported, and is no more; padding
        stays what it is."""
        ones, harmless = self.w.ones(x.type, x.width), self.harmless(op, x)
        return ones if harmless is None else self.b.select(harmless, self.w.every_bit(x), ones)

    def _atomic(self, op: Atomic, space: Space, lanes: Value) -> None:
        """All but an exchange use what memory holds; then it is written."""
        (bits,) = self._held(op, space, lanes)
        if op.operation in ("xchg", "load"):
            self._arrived(op.result, bits, lanes)
        else:
            bad = self.b.cmp("ne", bits, self.w.ones(bits.type, bits.width))
            self.report("memory", self.b.and_(bad, lanes))
        if op.operation != "load":
            self._put(op, space, lanes, [self.w.ones(bits.type, bits.width)])


def _surface(op: Access) -> tuple[Value, ...]:
    """The surface index of an access, if it has one."""
    return op.args[-1:] if op.space is Space.SURFACE else ()
