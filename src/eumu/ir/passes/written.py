"""Which bits of a value come from something that was written: a rule for every operation.

The *written bits* of a value are lanes of the unsigned type of its size (of a mask: a mask), with
ones where a bit depends only on what was written.  Values without an entry are written throughout.
Moves keep bits apart, so that moving an unwritten lane is harmless; arithmetic is exact where that
is cheap and else all or nothing in each lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from eumu.errors import InternalError
from eumu.ir.builder import Builder
from eumu.ir.function import Op, Root, Value
from eumu.ir.operations.arithmetic import Compare, Convert, Dot, InDword, Rounding
from eumu.ir.operations.lanes import Bitcast, Concat, Shuffle
from eumu.ir.operations.row import OPERATIONS, Table
from eumu.ir.operations.state import Read, ReadFlag, ReadIndirect
from eumu.types import BOOL, UB, UD, Type, integer

# Shadows of GRF roots have addresses that are this much higher.
SHADOW_DISTANCE = 1 << 31


def unsigned(type: Type) -> Type:
    """The type of the written bits of a type."""
    return BOOL if type is BOOL else integer(type.bits, signed=False)


class Written:
    """The written bits of the values of one block; `shadows` are the shadow roots by root name."""

    def __init__(self, builder: Builder, shadows: Mapping[str, Root]) -> None:
        self.b, self.shadows = builder, shadows
        self._bits: dict[int, Value] = {}
        self._lanes: dict[int, Value] = {}
        self._equal: dict[int, int] = {}  # the first value that certainly equals a value
        self._made: dict[object, int] = {}  # that value, by what made it

    def step(self, op: Op) -> None:
        """Note the written bits of an operation's results."""
        rule = RULES.get(op.name)
        if rule is not None:
            self.note(op.result, rule(self, op))
        if op.name in _COPIES:
            self._number(op)
        elif op.name in ("write", "write_indirect"):
            self._made.clear()

    def _number(self, op: Op) -> None:
        """Find an earlier value that was made in the same way."""
        args = tuple(self._equal.get(x.id, x.id) for x in op.args)
        made = (op.name, op.attributes, args, op.result.type, op.result.width)
        first = self._made.setdefault(made, op.result.id)
        self._equal[op.result.id] = self._equal.get(first, first)

    def are_equal(self, x: Value, y: Value) -> bool:
        """Whether both are certainly the same, whatever it is."""
        return self._equal.get(x.id, x.id) == self._equal.get(y.id, y.id)

    def note(self, x: Value, bits: Value | None) -> None:
        """Set the written bits of x."""
        if bits is not None:
            self._bits[x.id] = bits

    # ---- what is known of a value

    def bits(self, x: Value) -> Value | None:
        """The written bits of x, None if all are."""
        return self._bits.get(x.id)

    def every_bit(self, x: Value) -> Value:
        """The written bits of x, as a value in any case."""
        defined = self.bits(x)
        return self.ones(x.type, x.width) if defined is None else defined

    def lanes(self, x: Value) -> Value | None:
        """A mask of the lanes of x all of whose bits are written, None if all lanes are."""
        bits = self.bits(x)
        if bits is None or x.is_mask:
            return bits
        if bits.id not in self._lanes:
            self._lanes[bits.id] = self.b.cmp("eq", bits, self.ones(bits.type, bits.width))
        return self._lanes[bits.id]

    def padded(self, x: Value) -> Value | None:
        """A mask of the lanes of x of which some bytes are written, the others not at all."""
        bits = self.bits(x)
        if bits is None or bits.type.size == 1:
            return None
        ones = int.from_bytes(bytes([1] * bits.type.size), "little")
        low = self.b.and_(bits, self.b.const(bits.type, ones, bits.width))
        whole = self.b.mul(low, self.b.const(bits.type, 0xFF, bits.width), Rounding.RNE)
        return self.b.and_(self.b.cmp("eq", bits, whole), self.some(x))

    def some(self, x: Value) -> Value:
        """A mask of the lanes of x of which some bits are written."""
        bits = self.every_bit(x)
        return self.b.cmp("ne", bits, self.b.const(bits.type, 0, bits.width))

    # ---- building blocks of the rules

    def ones(self, type: Type, width: int) -> Value:
        return self.b.const(unsigned(type), -1, width)

    def raw(self, x: Value) -> Value:
        """The bits of x itself."""
        return x if x.is_mask else self.b.bitcast(x, unsigned(x.type))

    def all_of(self, *parts: Value | None) -> Value | None:
        """The bits that are set in all parts; None stands for ones."""
        present = [part for part in parts if part is not None]
        return reduce(self.b.and_, present) if present else None

    def spread(self, lanes: Value | None, type: Type) -> Value | None:
        """All bits of a type in the lanes of a mask, none in the others."""
        if lanes is None or type is BOOL:
            return lanes
        none = self.b.const(unsigned(type), 0, lanes.width)
        return self.b.select(lanes, self.ones(type, lanes.width), none)


_COPIES = frozenset({"read", "convert", "bitcast", "splat", "shuffle"})

# ---- rules; what has none is lane-wise (see the end), or its result is written whatever it takes

RULES: Table[Written, [], Value | None] = Table()


@RULES.on(Read)
def _read(w: Written, op: Read) -> Value | None:
    shadow = w.shadows.get(op.root.name)
    if shadow is None:
        return None
    return w.b.read(shadow, op.region, unsigned(op.result.type), op.result.width)


@RULES.on(ReadFlag)
def _read_flag(w: Written, op: ReadFlag) -> Value | None:
    shadow = w.shadows.get(op.root.name)
    return None if shadow is None else w.b.read_flag(shadow, op.offset, op.result.width)


@RULES.on(ReadIndirect)
def _read_indirect(w: Written, op: ReadIndirect) -> Value | None:
    results = w.b.fresh(unsigned(op.result.type), op.result.width)
    return w.b.append(replace(op, results=results, offset=op.offset + SHADOW_DISTANCE))[0]


@RULES.on(Op, "splat")
def _splat(w: Written, op: Op) -> Value | None:
    bits = w.bits(op.args[0])
    return None if bits is None else w.b.splat(bits, op.result.width)


@RULES.on(Shuffle)
def _shuffle(w: Written, op: Shuffle) -> Value | None:
    bits = w.bits(op.args[0])
    return None if bits is None else w.b.shuffle(bits, op.lanes)


@RULES.on(Concat)
def _concat(w: Written, op: Op) -> Value | None:
    if all(w.bits(x) is None for x in op.args):
        return None
    return w.b.concat([w.every_bit(x) for x in op.args])


@RULES.on(Bitcast)
def _bitcast(w: Written, op: Op) -> Value | None:
    bits = w.bits(op.args[0])
    return None if bits is None else w.b.bitcast(bits, unsigned(op.result.type))


@RULES.on(Op, "select")
def _select(w: Written, op: Op) -> Value | None:
    mask, x, y = op.args
    chosen = None
    if w.bits(x) is not None or w.bits(y) is not None:
        chosen = w.b.select(mask, w.every_bit(x), w.every_bit(y))
    return w.all_of(chosen, w.spread(w.bits(mask), op.result.type))


def _lanewise(w: Written, op: Op) -> Value | None:
    """A lane is written if it is in every argument."""
    lanes = w.all_of(*(w.lanes(x) for x in op.args))
    return w.spread(lanes, op.result.type)


@RULES.on(Op, "not")
def _bitwise(w: Written, op: Op) -> Value | None:
    """Each bit depends on those in its place."""
    return w.all_of(*(w.bits(x) for x in op.args))


def _cancels(w: Written, op: Op) -> bool:
    """The compiler compares what nothing wrote with itself, to get a mask of all active lanes."""
    return op.args[0].type.is_int and w.are_equal(*op.args)


@RULES.on(Compare)
def _compare(w: Written, op: Op) -> Value | None:
    return None if _cancels(w, op) else _lanewise(w, op)


@RULES.on(Op, "xor", "sub")
def _difference(w: Written, op: Op) -> Value | None:
    if _cancels(w, op):
        return None
    return _bitwise(w, op) if op.name == "xor" else _carrying(w, op)


@RULES.on(Op, "and", "or")
def _and_or(w: Written, op: Op) -> Value | None:
    """A bit is written if both are, or if one is and decides: 0 in `and`, 1 in `or`."""
    x, y = op.args
    if w.bits(x) is None and w.bits(y) is None:
        return None
    alone = [_decides(w, v, inverted=op.name == "and") for v in op.args]
    both = w.all_of(w.bits(x), w.bits(y))
    return reduce(w.b.or_, [p for p in (both, *alone) if p is not None])


def _decides(w: Written, x: Value, *, inverted: bool) -> Value | None:
    value = w.b.not_(w.raw(x)) if inverted else w.raw(x)
    return w.all_of(w.bits(x), value)


@RULES.on(Op, "add", "mul")
def _carrying(w: Written, op: Op) -> Value | None:
    """Integer sums and low products: a bit depends on the bits of the operands below it."""
    if op.result.type.is_float:
        return _lanewise(w, op)
    bits = w.all_of(*(w.bits(x) for x in op.args))
    if bits is None:
        return None
    above = w.b.add(bits, w.b.const(bits.type, 1, bits.width), Rounding.RNE)
    return w.b.and_(bits, w.b.not_(above))


@RULES.on(Op, "shl", "shr", "rotl")
def _shift(w: Written, op: Op) -> Value | None:
    """Bits move with the lane; those that come in are written, or copies of the sign."""
    x, count = op.args
    moved = None
    bits = w.bits(x)
    if bits is not None:
        missing = w.b.bitcast(w.b.not_(bits), x.type)
        shifted = getattr(w.b, op.name)(missing, count)
        moved = w.b.not_(w.b.bitcast(shifted, unsigned(x.type)))
    return w.all_of(moved, w.spread(w.lanes(count), x.type))


@RULES.on(Convert)
def _convert(w: Written, op: Convert) -> Value | None:
    (x,), target = op.args, op.result.type
    bits = w.bits(x)
    if bits is None:
        return None
    if op.saturate or not (x.type.is_int and target.is_int):
        return _lanewise(w, op)
    goal = unsigned(target)
    if x.type.is_signed:
        return w.b.convert(w.b.bitcast(bits, x.type), goal, rounding=Rounding.RNE)
    if target.size <= x.type.size:
        return w.b.convert(bits, goal, rounding=Rounding.RNE)
    return w.b.not_(w.b.convert(w.b.not_(bits), goal, rounding=Rounding.RNE))


@RULES.on(Dot)
def _dot(w: Written, op: Dot) -> Value | None:
    """A sum is written if every element that goes into it is: the same sums count those missing."""
    sums, *factors = op.args
    parts = [w.lanes(sums)]
    for place, factor in enumerate(factors):
        lanes = w.lanes(factor)
        if lanes is None:
            continue
        ones = [w.b.const(UB, 1, x.width) for x in factors]
        ones[place] = w.b.select(lanes, w.b.const(UB, 0, lanes.width), ones[place])
        none = w.b.const(UD, 0, sums.width)
        missing = w.b.dot(none, *ones, rows=op.rows, group=op.group)
        parts.append(w.b.cmp("eq", missing, none))
    return w.spread(w.all_of(*parts), sums.type)


@RULES.on(Op, "any", "all")
def _any_all(w: Written, op: Op) -> Value | None:
    """Known if one written lane decides, or if all are written."""
    (m,) = op.args
    bits = w.bits(m)
    if bits is None:
        return None
    decisive = m if op.name == "any" else w.b.not_(m)
    return w.b.or_(w.b.any(w.b.and_(decisive, bits)), w.b.all(bits))


@RULES.on(InDword, "mask_bits")
def _mask_bits(w: Written, op: Op) -> Value | None:
    bits = w.bits(op.args[0])
    if bits is None:
        return None
    rest = w.b.const(UD, -1 << bits.width)
    return w.b.or_(w.b.mask_bits(bits), rest)


@RULES.on(InDword, "bits_mask")
def _bits_mask(w: Written, op: Op) -> Value | None:
    bits = w.bits(op.args[0])
    return None if bits is None else w.b.bits_mask(bits, op.result.width)


for _name, _row in OPERATIONS.items():
    if _row.is_lanewise:
        RULES.setdefault(_name, _lanewise)
    elif _row.args and _row.results and not _row.effect and _name not in RULES:
        raise InternalError(f"IR {_name}: no rule says which bits of its result are written")
