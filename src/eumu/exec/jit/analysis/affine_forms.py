"""What is known of values before any code is made: affine forms of lanes, constants, full masks.

`know` is the transfer function of one operation, which `eumu.exec.jit.analysis.dataflow` runs over
the blocks.  Lowering calls `know` again, in the same order, and emits scalars for the shapes it
finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from eumu.exec.jit.analysis.masks import constant_mask, mask, packed, write_flag
from eumu.exec.jit.analysis.slots import (
    SCALAR,
    BlockState,
    Facts,
    KnownValue,
    Slot,
    find,
    slice_shape,
)
from eumu.exec.jit.llvm.emit import signed
from eumu.exec.jit.llvm.lanes import MAX_GROUPS, Shape, merged, near, shape_of_constants, split
from eumu.ir import Op
from eumu.ir.operations.arithmetic import Convert
from eumu.ir.operations.lanes import Concat, Const, Shuffle
from eumu.ir.operations.row import OPERATIONS
from eumu.ir.operations.state import ExecMask, Read, Write, WriteFlag, WriteIndirect
from eumu.types import BOOL, Type


def know(
    op: Op, args: Sequence[KnownValue], state: BlockState, block: int, facts: Facts
) -> KnownValue:
    """What is known of the (first) result of an operation; updates the slots that it writes."""
    if not op.results:
        if isinstance(op, Write) and not facts.is_long:
            _write(op, args, state)
        elif isinstance(op, Write) and state.roots():  # of the payload
            state.kill(Slot.of(op))
        elif isinstance(op, WriteFlag):
            write_flag(op, args, state)
        elif isinstance(op, WriteIndirect):
            state.forget(facts.blocked)
        return KnownValue()
    result = op.results[0]
    if isinstance(op, Const):
        return _constant(op)
    if isinstance(op, ExecMask):
        inside = op.offset + result.width <= facts.width
        full = inside and facts.full_threads and facts.flow.full(block)
        # Of lanes from another one on nothing is followed: affine forms count from lane 0.
        first = op.offset == 0
        shape = SCALAR if result.width == 1 else None
        return KnownValue(shape, full=full, executing=first, whole=first)
    if op.name in ("bits_mask", "read_flag"):
        return constant_mask(op, args, state)
    if result.type is BOOL and op.name in ("and", "or", "shuffle", "concat", "splat"):
        return mask(op, args)
    bits = _folded(op, args, state)
    if bits is not None:
        bound = bits if result.type.bits and not bits >> (result.type.bits - 1) else None
        return KnownValue(Shape(1, (0,) * result.width, bound=bound), (bits,) * result.width)
    if result.width == 1:
        return KnownValue(SCALAR)
    if facts.is_long:
        return KnownValue()
    if op.name == "load":
        return KnownValue(loaded(args))
    return KnownValue(near(_shape(op, args, state), result.type.bits))


def loaded(args: Sequence[KnownValue]) -> Shape | None:
    """Every lane of a group loads from one address."""
    shape = args[0].shape
    if shape is None or not (shape.exact and args[1].full):
        return None
    for groups in (1, 2, MAX_GROUPS):
        parts = split(shape, groups)
        if parts is not None and parts[0].uniform:
            return Shape(groups, parts[0].offsets)
    return None


def of_results(op: Op, first: KnownValue) -> Iterator[tuple[int, KnownValue]]:
    """What is known of every result, by its number, if `first` is what is known of the first."""
    for value in op.results:
        if value is op.results[0] or (op.name == "load" and first.shape is not None):
            yield value.id, first
        else:
            yield value.id, KnownValue(SCALAR if value.width == 1 else None)


def _folded(op: Op, args: Sequence[KnownValue], state: BlockState) -> int | None:
    """The bits of every lane of an integer result, if they are known and the same."""
    result = op.results[0]
    if isinstance(op, Read):
        slot = Slot.of(op)
        if len(set(slot.offsets)) > 1:
            return None
        shape = state.get(Slot(slot.root, slot.offsets[:1], slot.size))
        return shape.constant if shape else None
    fold = FOLDS.get(op.name)
    saturates = isinstance(op, Convert) and op.saturate
    if fold is None or saturates or not result.type.is_int:
        return None
    values = []
    for value, form in zip(op.args, args, strict=True):
        if form.bits is None or not value.type.is_int or len(set(form.bits)) != 1:
            return None
        bits = form.bits[0]
        values.append(signed(bits, value.type.bits) if value.type.is_signed else bits)
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


def _constant(op: Const) -> KnownValue:
    result, lanes = op.result, op.lanes
    bits = lanes * result.width if len(lanes) == 1 else lanes
    form = None
    if not result.type.is_float or len(set(bits)) == 1:
        form = shape_of_constants(bits, result.type.bits or 1)
    if result.type is BOOL:
        return KnownValue(form[0] if form else None, bits, all(bits), possible=packed(bits))
    return KnownValue(form[0] if form else None, bits)


def _write(op: Write, args: Sequence[KnownValue], state: BlockState) -> None:
    slot, mask = Slot.of(op), args[1]
    state.kill(slot)
    shape = args[0].shape
    if op.value.width == 1:
        if args[0].bits is not None and mask.full:
            state[slot] = Shape(1, (0,), constant=args[0].bits[0])
        return
    if shape is None:
        return
    if mask.full:
        state[slot] = shape
    elif mask.whole:
        state[slot] = replace(shape, active=True)


def _shape(op: Op, args: Sequence[KnownValue], state: BlockState) -> Shape | None:
    """The affine form of a vector result, if it has one."""
    name, result = op.name, op.results[0]
    if isinstance(op, Read):
        slot = Slot.of(op)
        if len(set(slot.offsets)) == 1:
            return Shape(1, (0,) * result.width)
        affine = find(state, slot)
        return slice_shape(state[affine[0]], affine[1], result.width) if affine else None
    if name == "splat":
        return Shape(1, (0,) * result.width)
    if name not in LANE_WISE and name not in ("shuffle", "concat", "bitcast"):
        return None
    shapes = [a.shape for a in args]
    present = [s for s in shapes if s is not None]
    if len(present) != len(shapes):
        return None
    if isinstance(op, Concat):
        return _joined(present)
    if isinstance(op, Shuffle):
        return _moved(op, present[0])
    if name == "bitcast":
        same = op.args[0].type.size == result.type.size
        return present[0] if same else None
    linear = _linear(op, args, present)
    return linear if linear is not None else _per_group(op, present)


LANE_WISE = frozenset(name for name, row in OPERATIONS.items() if row.is_lanewise)


def _joined(shapes: Sequence[Shape]) -> Shape | None:
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


def _moved(op: Shuffle, shape: Shape) -> Shape | None:
    lanes = op.lanes
    if shape.active:  # lanes move, so which of them execute is lost
        return None
    if lanes == tuple(range(lanes[0], lanes[0] + len(lanes))):
        return slice_shape(shape, lanes[0], len(lanes))
    if shape.groups != 1:
        return None
    first = shape.offsets[lanes[0]]
    return replace(shape, offsets=tuple(shape.offsets[k] - first for k in lanes))


def common(shapes: Sequence[Shape], groups: int) -> list[Shape] | None:
    """All shapes with that many groups."""
    parts = [split(s, groups) for s in shapes]
    return [p[0] for p in parts if p] if all(parts) else None


def _linear(op: Op, args: Sequence[KnownValue], shapes: Sequence[Shape]) -> Shape | None:
    """Integer operations that keep constant distances between lanes."""
    type = op.result.type
    if not type.is_int or not op.args[0].type.is_int:
        return None
    split_shapes = common(shapes, max(s.groups for s in shapes))
    if split_shapes is None:
        return None
    first, limit = split_shapes[0], _most(type)
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
        return merged(split_shapes, offsets, total if bounded else None)
    if factor is not None:
        x = split_shapes[factor[0]]
        scaled = tuple(signed(o * factor[1], type.bits) for o in x.offsets)
        top = x.bound * factor[1] if x.bound is not None else None
        return merged(split_shapes, scaled, top if top is not None and top <= limit else None)
    if op.name == "and":
        return _kept(op, args, split_shapes)
    if op.name in ("min", "max"):
        return _clamped(op, split_shapes)
    if isinstance(op, Convert):
        return _converted(op, first)
    return None


def _most(type: Type) -> int:
    """The highest bound of lanes: distances of such lanes are signed numbers of the type's size."""
    return (1 << (type.bits - 1)) - 1


def low_ones(mask: int) -> int:
    """How many low bits of a mask are set, up to the first clear one."""
    return (~mask & (mask + 1)).bit_length() - 1


def masked(args: Sequence[KnownValue]) -> tuple[int, int] | None:
    """Which argument of an `and` a constant mask leaves alone if it is small, and how small."""
    for k in (0, 1):
        bits = args[1 - k].bits
        if bits is not None and len(set(bits)) == 1 and low_ones(bits[0]) >= LEAST_KEPT:
            return k, low_ones(bits[0])
    return None


SUMMED_BITS = 32  # sums of such numbers and distances of lanes are exact in 64 bits
LEAST_KEPT = 12  # low bits that a mask must keep for an address to be expected to fit


def _kept(op: Op, args: Sequence[KnownValue], shapes: Sequence[Shape]) -> Shape | None:
    """An `and` that clears only high bits, which addresses in shared local memory do not have."""
    kept = masked(args)
    if kept is None or shapes[kept[0]].uniform:
        return None
    shape, room = shapes[kept[0]], kept[1]
    if room >= op.result.type.bits:
        return shape
    fits = shape.bound is not None and shape.bound < 1 << room
    if max(shape.offsets) - min(shape.offsets) >= 1 << (room - 1):
        return None
    return replace(shape, certain=shape.certain and fits)


def _clamped(op: Op, shapes: Sequence[Shape]) -> Shape | None:
    """Lanes that are clamped to a number: mostly none is beyond it."""
    if op.result.type.bits > SUMMED_BITS or [s.uniform for s in shapes].count(False) != 1:
        return None
    offsets = next(s.offsets for s in shapes if not s.uniform)
    return replace(merged(shapes, offsets, None), certain=False)


def _factor(op: Op, args: Sequence[KnownValue]) -> tuple[int, int] | None:
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


def _converted(op: Convert, shape: Shape) -> Shape | None:
    source, target = op.args[0].type, op.result.type
    fits = shape.bound is not None and shape.bound <= _most(target)
    if op.saturate and not fits:
        return None
    offsets = tuple(signed(o, target.bits) for o in shape.offsets)
    # Lanes with a bound, which is in the lower half of the type, are as far from each other as
    # their offsets say; others may be farther, and have other offsets in a wider type.
    widens = target.bits > source.bits and not shape.uniform and shape.bound is None
    certain = shape.certain and not widens
    return replace(shape, offsets=offsets, certain=certain, bound=shape.bound if fits else None)


def _per_group(op: Op, shapes: Sequence[Shape]) -> Shape | None:
    """Any lane-wise operation on values that are uniform in each group."""
    groups = max(s.groups for s in shapes)
    while groups <= MAX_GROUPS and op.result.width % groups == 0:
        parts = common(shapes, groups)
        if parts is not None and all(s.uniform for s in parts):
            return merged(parts, parts[0].offsets, None)
        groups *= 2
    return None
