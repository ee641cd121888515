"""The scalars of an operation's affine form, from those of its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from eumu.exec.jit.analysis.affine_forms import masked
from eumu.exec.jit.analysis.slots import KnownValue
from eumu.exec.jit.codegen.elementwise import emitter_of
from eumu.exec.jit.llvm.emit import Emitter, scalar_type, signed
from eumu.exec.jit.llvm.lanes import AffineForm, Lanes, Shape, moved, split
from eumu.ir import Op
from eumu.ir.operations.lanes import Shuffle
from eumu.types import Type


def scalars_of(
    e: Emitter, op: Op, shape: Shape, args: list[Lanes], forms: Sequence[KnownValue]
) -> AffineForm:
    """Emit the scalars of an operation's affine form from those of its arguments."""
    result = op.results[0]
    if isinstance(op, Shuffle):
        return _shuffled(e, op, shape, args[0])
    if op.name == "concat":
        heads = tuple(a.affine.scalars[0] for a in args if a.affine)
        return AffineForm(shape, heads, _all_sure(e, args))
    if op.name == "splat":
        return AffineForm(shape, (args[0].get(),))
    emit = emitter_of(op)
    columns = [heads_of(e, a, shape.groups) for a in args]
    if op.name == "bitcast":
        kind, wanted = scalar_type(op.args[0].type), scalar_type(result.type)
        heads = tuple(e.bitcast(h, kind, wanted) for h in columns[0])
    else:
        heads = tuple(emit(e, op, 1, *row) for row in zip(*columns, strict=True))
    sure = _all_sure(e, args)
    if op.name == "convert" and shape.certain is False:
        sure = _extends(e, op, args[0], columns[0], heads, sure)
    if op.name == "and" and not shape.certain and not shape.uniform:
        sure = _fits(e, op, shape, columns, forms, sure)
    if op.name in ("min", "max") and not shape.uniform:
        sure = _within(e, op, shape, columns, forms, sure)
    return AffineForm(shape, heads, sure)


def heads_of(e: Emitter, lanes: Lanes, groups: int) -> list[str]:
    """The scalars of an affine form cut into that many groups."""
    assert lanes.affine is not None
    heads = split(lanes.affine.shape, groups)
    assert heads is not None
    scalars = lanes.affine.scalars
    return [moved(e, lanes.type, scalars[old], distance) for old, distance in heads[1]]


def _all_sure(e: Emitter, args: list[Lanes]) -> str:
    sure = "true"
    for condition in dict.fromkeys(a.affine.sure for a in args if a.affine):
        if condition != "true":
            sure = condition if sure == "true" else e.op(f"and i1 {sure}, {condition}")
    return sure


def _extends(
    e: Emitter, op: Op, x: Lanes, narrow: list[str], wide: tuple[str, ...], sure: str
) -> str:
    """Whether widening commutes with adding the offsets, that is, no lane wraps."""
    assert x.affine is not None
    source, target = op.args[0].type, op.results[0].type
    if target.bits <= source.bits:
        return sure
    part = split(x.affine.shape, len(wide))
    assert part is not None
    low, high = min(part[0].offsets), max(part[0].offsets)
    scalar, sign = f"i{source.bits}", "s" if source.is_signed else "u"
    for head in narrow:
        for relation, limit in (("le", source.maximum - high), ("ge", source.minimum - low)):
            if limit not in (source.maximum, source.minimum):
                bound = signed(limit, source.bits)
                fits = e.op(f"icmp {sign}{relation} {scalar} {head}, {bound}")
                sure = fits if sure == "true" else e.op(f"and i1 {sure}, {fits}")
    return sure


def _fits(
    e: Emitter,
    op: Op,
    shape: Shape,
    columns: list[list[str]],
    forms: Sequence[KnownValue],
    sure: str,
) -> str:
    """Whether no lane has a bit that a constant mask clears."""
    masked_form = masked(forms)
    assert masked_form is not None
    which, room = masked_form
    if room >= op.results[0].type.bits:
        return sure  # the mask clears nothing, and a shift by all bits has no result
    scalar = scalar_type(op.results[0].type)
    for head in columns[which]:
        for extreme in {min(shape.offsets), max(shape.offsets)}:
            lane = e.op(f"add {scalar} {head}, {extreme}") if extreme else head
            high = e.op(f"lshr {scalar} {lane}, {room}")
            none = e.op(f"icmp eq {scalar} {high}, 0")
            sure = none if sure == "true" else e.op(f"and i1 {sure}, {none}")
    return sure


def _within(
    e: Emitter,
    op: Op,
    shape: Shape,
    columns: list[list[str]],
    forms: Sequence[KnownValue],
    sure: str,
) -> str:
    """Whether no lane is beyond the number that lanes are clamped to."""
    first = forms[0].shape
    lanes, limits = columns if first is not None and not first.uniform else columns[::-1]
    relation = "le" if op.name == "min" else "ge"
    for lane, limit in zip(lanes, limits, strict=True):
        within = all_hold(e, op.results[0].type, shape, lane, relation, limit)
        sure = within if sure == "true" else e.op(f"and i1 {sure}, {within}")
    return sure


def all_hold(e: Emitter, type: Type, shape: Shape, head: str, relation: str, other: str) -> str:
    """Whether all lanes of a group are less than a number, or what else the relation says.

    Numbers have at most `SUMMED_BITS`.  A lane beyond the largest one is the smallest one again:
    what is asked of one extreme lane says that none is beyond that end of the numbers, and the
    other end is asked for.
    """
    low, high = min(shape.offsets), max(shape.offsets)
    kind, extend = scalar_type(type), "sext" if type.is_signed else "zext"
    first, limit = (e.op(f"{extend} {kind} {x} to i64") for x in (head, other))
    lowest, highest = (e.op(f"add nsw i64 {first}, {o}") if o else first for o in (low, high))
    if relation in ("lt", "le"):
        extreme, inside, rest = highest, f"sge i64 {lowest}, {type.minimum}", low
    else:
        extreme, inside, rest = lowest, f"sle i64 {highest}, {type.maximum}", high
    holds = e.op(f"icmp s{relation} i64 {extreme}, {limit}")
    return e.op(f"and i1 {e.op(f'icmp {inside}')}, {holds}") if rest else holds


def _shuffled(e: Emitter, op: Shuffle, shape: Shape, x: Lanes) -> AffineForm:
    assert x.affine is not None
    lanes, old = op.lanes, x.affine.shape
    size, step = len(old.offsets), len(lanes) // shape.groups
    heads = []
    for g in range(shape.groups):
        group, lane = divmod(lanes[g * step], size)
        heads.append(moved(e, x.type, x.affine.scalars[group], old.offsets[lane]))
    return AffineForm(shape, tuple(heads), x.affine.sure)
