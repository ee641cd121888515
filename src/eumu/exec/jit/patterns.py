"""What is known of values before any code is made: lane patterns, constants, full masks.

`know` is the transfer function of one operation, which `eumu.exec.jit.dataflow` runs over the
blocks.  Lowering calls `know` again, in the same order, and emits scalars for the shapes it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from eumu.exec.jit.emit import signed
from eumu.exec.jit.flow import Flow
from eumu.exec.jit.lanes import MAX_GROUPS, Shape, shape_of_constants, split
from eumu.ir import Op, Region, Root
from eumu.types import BOOL, Type


@dataclass(frozen=True, slots=True)
class Slot:
    """Elements of a root that were written together; byte offsets in lane order."""

    root: str
    offsets: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, root: Root, region: Region, type: Type, width: int) -> Slot:
        return cls(root.name, region.offsets(width), type.size)

    def overlaps(self, other: Slot) -> bool:
        if self.root != other.root:
            return False
        return min(self.offsets) < max(other.offsets) + other.size and min(other.offsets) < (
            max(self.offsets) + self.size
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one value; see :class:`eumu.exec.jit.lanes.Lanes`.

    `whole` marks a mask that has every executing lane.
    """

    shape: Shape | None = None
    bits: tuple[int, ...] | None = None
    full: bool = False
    executing: bool = False
    whole: bool = False
    possible: int | None = None  # of a mask: the lanes that may be set, a bit each


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds for the whole function: are all threads full, and patterns of the payload."""

    flow: Flow
    width: int  # of the thread
    full_threads: bool
    inputs: dict[Slot, Shape]
    blocked: frozenset[str] = frozenset()  # roots that indirect writes can reach
    restored: frozenset[str] = frozenset()  # roots that a return may put back


State = dict[Slot, Shape]
SCALAR = Shape(1, (0,))


def find(state: State, wanted: Slot) -> tuple[Slot, int] | None:
    """The slot that holds the wanted elements, and at which lane they start."""
    if wanted in state:
        return wanted, 0
    for slot in state:
        if slot.root == wanted.root and slot.size == wanted.size:
            count = len(wanted.offsets)
            for start in range(0, len(slot.offsets) - count + 1, count):
                if slot.offsets[start : start + count] == wanted.offsets:
                    return slot, start
    return None


def kill(state: State, slot: Slot) -> None:
    """Forget every slot that a write to these elements changes."""
    for other in [o for o in state if o.overlaps(slot)]:
        del state[other]


def slice_shape(shape: Shape, start: int, width: int) -> Shape | None:
    """The shape of lanes start … start+width-1."""
    size = len(shape.offsets)
    if width % size == 0 and start % size == 0:
        return replace(shape, groups=width // size)
    first = start % size
    if first + width > size:
        return None
    offsets = shape.offsets[first : first + width]
    return replace(shape, groups=1, offsets=tuple(o - offsets[0] for o in offsets))


def know(op: Op, args: Sequence[Known], state: State, block: int, facts: Facts) -> Known:
    """What is known of the (first) result of an operation; updates the slots that it writes."""
    if op.name in ("write", "write_indirect"):
        _write(op, args, state, facts)
        return Known()
    if op.name == "write_flag":
        _write_flag(op, args, state)
        return Known()
    if not op.results:
        return Known()
    result = op.results[0]
    if op.name == "const":
        return _constant(op)
    if op.name == "exec_mask":
        inside = op.attrs["offset"] + result.width <= facts.width
        full = inside and facts.full_threads and facts.flow.full(block)
        # Of lanes from another one on nothing is followed: patterns count from lane 0.
        first = op.attrs["offset"] == 0
        shape = SCALAR if result.width == 1 else None
        return Known(shape, full=full, executing=first, whole=first)
    if op.name in ("bits_mask", "read_flag"):
        return _constant_mask(op, args, state)
    if result.type is BOOL and op.name in ("and", "or", "shuffle", "concat", "splat"):
        return _mask(op, args)
    bits = _folded(op, args, state)
    if bits is not None:
        bound = bits if result.type.bits and not bits >> (result.type.bits - 1) else None
        return Known(Shape(1, (0,) * result.width, bound=bound), (bits,) * result.width)
    if result.width == 1:
        return Known(SCALAR)
    if op.name == "load":
        return Known(_loaded(args))
    return Known(_shape(op, args, state))


def _loaded(args: Sequence[Known]) -> Shape | None:
    """Every lane of a group loads from one address."""
    shape = args[0].shape
    if shape is None or not (shape.exact and args[1].full):
        return None
    for groups in (1, 2, MAX_GROUPS):
        parts = split(shape, groups)
        if parts is not None and parts[0].uniform:
            return Shape(groups, parts[0].offsets)
    return None


def of_results(op: Op, first: Known) -> Iterator[tuple[int, Known]]:
    """What is known of every result, by its number, if `first` is what is known of the first."""
    for value in op.results:
        if value is op.results[0] or (op.name == "load" and first.shape is not None):
            yield value.id, first
        else:
            yield value.id, Known(SCALAR if value.width == 1 else None)


def _folded(op: Op, args: Sequence[Known], state: State) -> int | None:
    """The bits of every lane of an integer result, if they are known and the same."""
    result = op.results[0]
    if op.name == "read":
        slot = Slot.of(op.attrs["root"], op.attrs["region"], result.type, result.width)
        if len(set(slot.offsets)) > 1:
            return None
        shape = state.get(Slot(slot.root, slot.offsets[:1], slot.size))
        return shape.constant if shape else None
    fold = FOLDS.get(op.name)
    types = [v.type for v in (*op.args, result)]
    if fold is None or op.attrs.get("saturate") or not all(t.is_int for t in types):
        return None
    values = []
    for known, type in zip(args, types, strict=False):
        if known.bits is None or len(set(known.bits)) != 1:
            return None
        bits = known.bits[0]
        values.append(signed(bits, type.bits) if type.is_signed else bits)
    return fold(result.type, *values) & ((1 << result.type.bits) - 1)


FOLDS: dict[str, Callable[..., int]] = {
    "add": lambda t, x, y: x + y,
    "sub": lambda t, x, y: x - y,
    "mul": lambda t, x, y: x * y,
    "and": lambda t, x, y: x & y,
    "or": lambda t, x, y: x | y,
    "xor": lambda t, x, y: x ^ y,
    "shl": lambda t, x, y: x << (y & (t.bits - 1)),
    "shr": lambda t, x, y: x >> (y & (t.bits - 1)),
    "splat": lambda t, x: x,
    "shuffle": lambda t, x: x,
}
FOLDS["convert"] = FOLDS["splat"]


def _constant(op: Op) -> Known:
    result = op.result
    lanes: tuple[int, ...] = op.attrs["lanes"]
    bits = lanes * result.width if len(lanes) == 1 else lanes
    found = None
    if not result.type.is_float or len(set(bits)) == 1:
        found = shape_of_constants(bits, result.type.bits or 1)
    if result.type is BOOL:
        return Known(found[0] if found else None, bits, all(bits), possible=_packed(bits))
    return Known(found[0] if found else None, bits)


def _packed(bits: Sequence[int]) -> int:
    """A mask's lanes as an integer."""
    return sum(1 << lane for lane, bit in enumerate(bits) if bit)


def _flag_slot(op: Op, width: int) -> Slot:
    start = op.attrs["offset"]
    return Slot(op.attrs["root"].name, tuple(range(start, start + width)), 1)


def _write_flag(op: Op, args: Sequence[Known], state: State) -> None:
    slot = _flag_slot(op, op.args[0].width)
    kill(state, slot)
    bits = args[0].bits
    if bits is not None and args[1].full:
        state[slot] = Shape(1, (0,) * len(bits), constant=_packed(bits))


def _constant_mask(op: Op, args: Sequence[Known], state: State) -> Known:
    """A mask made of a constant, or read from a flag that holds one."""
    width = op.result.width
    found: int | None = None
    if op.name == "bits_mask":
        found = args[0].bits[0] if args[0].bits is not None else None
    else:
        wanted = _flag_slot(op, width)
        for slot, shape in state.items():
            start = wanted.offsets[0] - slot.offsets[0]
            inside = slot.root == wanted.root and 0 <= start <= len(slot.offsets) - width
            if inside and shape.constant is not None:
                found = shape.constant >> start
    if found is None:
        return Known(SCALAR if width == 1 else None)
    bits = tuple(found >> lane & 1 for lane in range(width))
    return Known(SCALAR if width == 1 else None, bits, all(bits), possible=_packed(bits))


def _mask(op: Op, args: Sequence[Known]) -> Known:
    width = op.result.width
    full = all(a.full for a in args)
    executing = any(a.executing for a in args) if op.name == "and" else False
    whole = op.name in ("and", "or") and all(a.whole or a.full for a in args)
    uniform = op.name == "splat" or (
        op.name in ("and", "or")
        and all(a.shape and a.shape.groups == 1 and a.shape.uniform for a in args)
    )
    shape = SCALAR if width == 1 else None
    if uniform and width > 1:
        shapes = [a.shape for a in args if a.shape]
        shape = _merged(shapes, (0,) * width, None)
    possible = None
    if op.name == "and":
        for a in args:
            if a.possible is not None:
                possible = a.possible if possible is None else possible & a.possible
        if possible is not None and all(a.full or a.bits is not None for a in args):
            bits = tuple(possible >> lane & 1 for lane in range(width))
            return Known(shape, bits, full, executing, whole, possible)
    return Known(shape, full=full, executing=executing, whole=whole, possible=possible)


def _write(op: Op, args: Sequence[Known], state: State, facts: Facts) -> None:
    if op.name == "write_indirect":
        for slot in [s for s in state if s.root in facts.blocked]:
            del state[slot]
        return
    root, value, mask = op.attrs["root"], op.args[0], args[1]
    slot = Slot.of(root, op.attrs["region"], value.type, value.width)
    kill(state, slot)
    shape = args[0].shape
    if value.width == 1:
        if args[0].bits is not None and mask.full:
            state[slot] = Shape(1, (0,), constant=args[0].bits[0])
        return
    if shape is None:
        return
    if mask.full:
        state[slot] = shape
    elif mask.whole:
        state[slot] = replace(shape, active=True)


def _shape(op: Op, args: Sequence[Known], state: State) -> Shape | None:
    """The pattern of a vector result, if it has one."""
    name, result = op.name, op.results[0]
    if name == "read":
        slot = Slot.of(op.attrs["root"], op.attrs["region"], result.type, result.width)
        if len(set(slot.offsets)) == 1:
            return Shape(1, (0,) * result.width)
        found = find(state, slot)
        return slice_shape(state[found[0]], found[1], result.width) if found else None
    if name == "splat":
        return Shape(1, (0,) * result.width)
    if name not in LANE_WISE and name not in ("shuffle", "concat", "bitcast"):
        return None
    shapes = [a.shape for a in args]
    known = [s for s in shapes if s is not None]
    if len(known) != len(shapes):
        return None
    if name in ("shuffle", "concat"):
        return _moved(op, known)
    linear = _linear(op, args, known)
    return linear if linear is not None else _per_group(op, known)


# fmt: off
LANE_WISE = frozenset(
    {
        "add", "sub", "mul", "mul_high", "div", "rem", "and", "or", "xor", "not", "shl",
        "shr", "rotl", "popcount", "clz", "ctz", "bitreverse", "neg", "abs", "min",
        "max", "cmp", "select", "convert", "fma", "sqrt", "round", "flush",
    }
)
# fmt: on


def _moved(op: Op, shapes: Sequence[Shape]) -> Shape | None:
    if op.name == "concat":
        if len(shapes) > MAX_GROUPS or len({(s.offsets, s.groups) for s in shapes}) != 1:
            return None
        if shapes[0].groups != 1:
            return None
        bounds = [s.bound for s in shapes]
        return Shape(
            len(shapes),
            shapes[0].offsets,
            any(s.active for s in shapes),
            all(s.certain for s in shapes),
            None if None in bounds else max(b for b in bounds if b is not None),
        )
    shape, lanes = shapes[0], op.attrs["lanes"]
    if shape.active:  # lanes move, so which of them execute is lost
        return None
    if tuple(lanes) == tuple(range(lanes[0], lanes[0] + len(lanes))):
        return slice_shape(shape, lanes[0], len(lanes))
    if shape.groups != 1:
        return None
    first = shape.offsets[lanes[0]]
    return replace(shape, offsets=tuple(shape.offsets[k] - first for k in lanes))


def common(shapes: Sequence[Shape], groups: int) -> list[Shape] | None:
    """All shapes with that many groups."""
    parts = [split(s, groups) for s in shapes]
    return [p[0] for p in parts if p] if all(parts) else None


def _merged(shapes: Sequence[Shape], offsets: tuple[int, ...], bound: int | None) -> Shape:
    return Shape(
        shapes[0].groups,
        offsets,
        any(s.active for s in shapes),
        all(s.certain for s in shapes),
        bound,
    )


def _linear(op: Op, args: Sequence[Known], shapes: Sequence[Shape]) -> Shape | None:
    """Integer operations that keep constant distances between lanes."""
    type = op.result.type
    if not type.is_int or not op.args[0].type.is_int:
        return None
    split_shapes = common(shapes, max(s.groups for s in shapes))
    if split_shapes is None:
        return None
    first, limit = split_shapes[0], type.maximum
    bounds = [s.bound for s in split_shapes]
    factor = _factor(op, args)
    if op.name in ("add", "sub"):
        sign = 1 if op.name == "add" else -1
        offsets = tuple(
            signed(a + sign * b, type.bits)
            for a, b in zip(first.offsets, split_shapes[1].offsets, strict=True)
        )
        total = sum(b for b in bounds if b is not None)
        bounded = op.name == "add" and None not in bounds and total <= limit
        return _merged(split_shapes, offsets, total if bounded else None)
    if factor is not None:
        x = split_shapes[factor[0]]
        scaled = tuple(signed(o * factor[1], type.bits) for o in x.offsets)
        top = x.bound * factor[1] if x.bound is not None else None
        return _merged(split_shapes, scaled, top if top is not None and top <= limit else None)
    if op.name == "and":
        return _kept(op, args, split_shapes)
    if op.name in ("convert", "bitcast"):
        return _converted(op, first)
    return None


def low_ones(mask: int) -> int:
    """How many low bits of a mask are set, up to the first clear one."""
    return (~mask & (mask + 1)).bit_length() - 1


def masked(args: Sequence[Known]) -> tuple[int, int] | None:
    """Which argument of an `and` a constant mask leaves alone if it is small, and how small."""
    for k in (0, 1):
        bits = args[1 - k].bits
        if bits is not None and len(set(bits)) == 1 and low_ones(bits[0]) >= _LEAST_KEPT:
            return k, low_ones(bits[0])
    return None


_LEAST_KEPT = 12  # low bits that a mask must keep for an address to be expected to fit


def _kept(op: Op, args: Sequence[Known], shapes: Sequence[Shape]) -> Shape | None:
    """An `and` that clears only high bits, which addresses in shared local memory do not have."""
    found = masked(args)
    if found is None or shapes[found[0]].uniform:
        return None
    shape, room = shapes[found[0]], found[1]
    fits = shape.bound is not None and shape.bound < 1 << room
    if max(shape.offsets) - min(shape.offsets) >= 1 << (room - 1):
        return None
    return replace(shape, certain=shape.certain and fits)


def _factor(op: Op, args: Sequence[Known]) -> tuple[int, int] | None:
    """Which argument is scaled by which constant, for a product or a left shift."""

    def constant(k: int) -> int | None:
        bits = args[k].bits
        return bits[0] if bits is not None and len(set(bits)) == 1 else None

    if op.name == "shl":
        count = constant(1)
        return None if count is None else (0, 1 << (count % op.result.type.bits))
    if op.name == "mul":
        for k in (0, 1):
            value = constant(1 - k)
            if value is not None:
                return k, value
    return None


def _converted(op: Op, shape: Shape) -> Shape | None:
    source, target = op.args[0].type, op.result.type
    if op.name == "bitcast":
        return shape if source.size == target.size else None
    fits = shape.bound is not None and shape.bound <= target.maximum
    if op.attrs["saturate"] and not fits:
        return None
    offsets = tuple(signed(o, target.bits) for o in shape.offsets)
    widens = target.bits > source.bits and not shape.uniform and shape.bound is None
    certain = shape.certain and not widens
    return replace(shape, offsets=offsets, certain=certain, bound=shape.bound if fits else None)


def _per_group(op: Op, shapes: Sequence[Shape]) -> Shape | None:
    """Any lane-wise operation on values that are uniform in each group."""
    if op.name == "bitcast":
        source, target = op.args[0].type, op.result.type
        return shapes[0] if shapes[0].uniform and source.size == target.size else None
    groups = max(s.groups for s in shapes)
    while groups <= MAX_GROUPS and op.result.width % groups == 0:
        parts = common(shapes, groups)
        if parts is not None and all(s.uniform for s in parts):
            return _merged(parts, parts[0].offsets, None)
        groups *= 2
    return None
