"""Loads and stores: a checked vector access where lanes are affine, else lane by lane.

The ladder: an affine form known at compile time costs one compare a group; else the lanes are
compared at run time with consecutive addresses; what fits neither goes through the slow functions.
In long functions all do, as a call is a third of the code.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from eumu.errors import InternalError
from eumu.exec.jit.analysis.affine_forms import LANE_WISE
from eumu.exec.jit.codegen import irregular, rows, support
from eumu.exec.jit.codegen.access import CompiledAccess, access_of
from eumu.exec.jit.codegen.checks import (
    affine_form_of,
    check,
    heads,
    is_expected,
    reach,
    require,
    ways_inside,
)
from eumu.exec.jit.codegen.cold_calls import slow_call
from eumu.exec.jit.codegen.endings import Ending, ending_of
from eumu.exec.jit.codegen.gather import fast_part, lane_part
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.codegen.scalars import heads_of
from eumu.exec.jit.llvm.emit import Emitter, int_type, lane_type, scalar_type, vector_of
from eumu.exec.jit.llvm.lanes import AffineForm, Shape
from eumu.exec.jit.llvm.layout import VOID_BYTES
from eumu.ir import Space, Value
from eumu.ir.operations.memory import Load
from eumu.types import Type

_DEPTH = 4  # operations that an address is made by, to be looked at
COVER = 4  # load at most this many times the bytes wanted, to pick strided lanes out of a vector


def need_slow(
    k: KernelLowering,
    access: CompiledAccess,
    name: str,
    body: support.Lane,
    bits: int = 0,
    element: Type | None = None,
    ending: Ending | None = None,
) -> str:
    """Define a slow function and what it calls, once; `bits` of an element for a fast part, its
    type if there are several, so that a surface may end between two; an `ending` of arrays."""
    partly = None
    if access.space is Space.SURFACE and element is not None:
        count = access.size // element.size
        partly = support.pieces(element.bits, count, store=access.store, block=not bits)
    elif access.space is Space.SURFACE and access.size > VOID_BYTES:
        raise InternalError(f"an access of {access.size} bytes by one lane")
    width = access.address.width
    function = f"{name}.{access.space.value}"
    if bits and width > 1:
        function += f".{width}"
    e = k.e
    e.support.setdefault("extent", support.EXTENT)
    e.support.setdefault("record", support.RECORD)
    spaces = [access.space]
    if access.space is Space.SURFACE:
        spaces += [Space.SLM, Space.SCRATCH]
        e.support.setdefault("surface.row", support.SURFACE_ROW)
    for space in spaces:
        e.support.setdefault(f"locate.{space.value}", support.LOCATE[space])
    e.declarations["llvm.cttz.i64"] = "declare i64 @llvm.cttz.i64(i64, i1)"
    if function not in e.support:
        fast = None
        if bits and width > 1:
            count = access.size * 8 // bits
            # A vector stores one element of all lanes at a time: where lanes with several elements
            # overlap, a lower lane's last one would hide a higher lane's first.
            at_once = k.gathers and not (access.store and count > 1)
            part = fast_part if at_once else lane_part
            fast = partial(
                part, space=access.space, bits=bits, count=count, width=width, store=access.store
            )
        e.support[function] = support.lane_loop(
            *(function, access.space, access.size, access.store, body, fast, partly),
            ending=ending,
            beside=e,
        )
    return function


# ---- load


@LOWERINGS.on(Load)
def _load(k: KernelLowering, op: Load) -> None:
    type, count, results = op.type, op.count, op.results
    width = results[0].width
    access = access_of(k, op, store=False)
    shape = k.known[results[0].id].shape if width > 1 else None
    if k.facts.is_long and shape is None:
        called = _called(k, access, access.size, type, count, width)
        for value, loaded in zip(results, called, strict=True):
            k.plain(value, loaded)
        return
    affine = affine_form_of(k, access)
    access = replace(access, is_rare=irregular.is_rare(k, access))
    if shape is not None:
        _load_uniform(k, op, access, affine, shape)
        return
    e, scalar = k.e, scalar_type(type)
    mask = None if access.mask.full else access.mask.get()
    addresses = heads(k, access, affine)
    own = width if mask else _different(k, op.args[0], affine.shape)
    if is_expected(k, access):
        base = require(k, access, affine, addresses)
        quick = _quick(k, access, _first(affine.shape, own), base, addresses, op, mask)
        for value, some_lanes in zip(results, quick, strict=True):
            k.plain(value, e.shuffle(some_lanes, scalar, own, [n % own for n in range(width)]))
        return
    slow, join = (e.name(n) for n in ("slow", "join"))
    incoming: list[tuple[list[str], str]] = []
    for base in ways_inside(k, access, affine, addresses, slow):
        quick = _quick(k, access, _first(affine.shape, own), base, addresses, op, mask)
        incoming.append((quick, e.current_label()))
        e.do(f"br label %{join}")
    e.label(slow)
    if irregular.can_gather(k, access) and not access.is_rare:
        at, some, careful = irregular.places(k, access), e.name("some"), e.name("careful")
        e.do(f"br i1 {at.inside}, label %{some}, label %{careful}, !prof !1")
        e.label(some)
        gathered = _some_load(k, at, type, count, width)
        incoming.append(([e.shuffle(f, scalar, width, range(own)) for f in gathered], some))
        e.do(f"br label %{join}")
        e.label(careful)
    slowly = _called(k, access, reach(access, affine.shape)[1], type, count, own)
    incoming.append((slowly, e.current_label()))
    e.do(f"br label %{join}")
    e.label(join)
    ways = [[f"[ {found[v]}, %{label} ]" for found, label in incoming] for v in range(count)]
    vector = lane_type(type, own)
    merged = [e.op(f"phi {vector} {', '.join(way)}") for way in ways]
    for value, some_lanes in zip(results, merged, strict=True):
        k.plain(value, e.shuffle(some_lanes, scalar, own, [n % own for n in range(width)]))


def _called(
    k: KernelLowering, access: CompiledAccess, total: int, type: Type, count: int, own: int
) -> list[str]:
    """`count` vectors of the first lanes, that a function loads.

    LLVM would move these loads behind the way's end, and what is in registers on the main line to
    memory with them, were they not volatile.
    """
    e, vector, pitch = k.e, lane_type(type, own), access.address.width * type.size
    data = _slow_load(k, access, total, type, count)
    places = [e.byte(data, v * pitch) for v in range(count)]
    return [e.op(f"load volatile {vector}, ptr {place}, align 1") for place in places]


def _different(k: KernelLowering, address: Value, expected: Shape) -> int:
    """How many lanes there are until addresses come again, for certain: rows of a group of work
    items that a thread has several of.  What they load is one vector then, in registers too."""
    width, own = expected.width, _until_again(k, address, _DEPTH)
    return own if expected.groups == 1 and _comes_again(expected, own) else width


def _until_again(k: KernelLowering, value: Value, depth: int) -> int:
    """After how many lanes they are the same; at least 2.

    What is made of such values lane by lane is such a value, whatever its affine form.
    """
    shape, width = k.known[value.id].shape, value.width
    if shape is not None and shape.exact and shape.groups == 1:
        rows = (2, *(width // n for n in (8, 4, 2) if width // n > 2))
        return next((own for own in rows if _comes_again(shape, own)), width)
    ops = k.function.blocks[k.block].ops[: k.place]
    maker = next((op for op in reversed(ops) if value in op.results), None)
    if maker is None or maker.name not in LANE_WISE or not depth:
        return width
    waits = (_until_again(k, a, depth - 1) if a.width == width else width for a in maker.args)
    return max(waits, default=width)


def _comes_again(shape: Shape, own: int) -> bool:
    return shape.width % own == 0 and shape.offsets == shape.offsets[:own] * (shape.width // own)


def _first(shape: Shape, own: int) -> Shape:
    """The first lanes of a shape with one group."""
    return shape if own == shape.width else replace(shape, offsets=shape.offsets[:own])


def _some_load(
    k: KernelLowering, at: irregular.Places, type: Type, count: int, width: int
) -> list[str]:
    """What lanes load that are not affine."""
    if rows.are_worth_it(type, count):
        return rows.load(k, at.pointers, None if at.is_full else at.mask, type, count, width)
    return irregular.gather(k, at, type, count, width)


def _quick(
    k: KernelLowering,
    access: CompiledAccess,
    shape: Shape,
    base: str,
    addresses: list[str],
    op: Load,
    mask: str | None,
) -> list[str]:
    """What a checked load gives: zero in lanes outside the mask."""
    e, type, width = k.e, op.type, op.results[0].width
    fast = fast_load(k, access, shape, base, addresses, type, op.count)
    if mask is None:
        return fast
    lanes, zero, vector = vector_of("i1", width), zero_of(type, width), lane_type(type, width)
    return [e.op(f"select {lanes} {mask}, {vector} {q}, {vector} {zero}") for q in fast]


def _slow_load(
    k: KernelLowering, access: CompiledAccess, total: int, type: Type, count: int
) -> str:
    """Load lane by lane; where the elements are then: those of all lanes, element by element."""
    elements = access.address.width * count
    body = support.elements(type.bits, count, store=False)
    name, element = f"slow.load.{type.bits}x{count}", type if count > 1 else None
    function = need_slow(k, access, name, body, type.bits, element, ending_of(access))
    block = vector_of(int_type(type, 1), elements)
    data = k.scratchpad("data", block)
    slow_call(k, access, function, data, total)
    return data


def _load_uniform(
    k: KernelLowering, op: Load, access: CompiledAccess, affine: AffineForm, shape: Shape
) -> None:
    """All lanes load, those of a group from one address: one scalar a group stays a scalar."""
    e, type, count = k.e, op.type, op.count
    scalar, lanes, width = scalar_type(type), len(shape.offsets), op.results[0].width
    if is_expected(k, access):
        base = require(k, access, affine, heads(k, access, affine))
        first = AffineForm(shape, tuple(heads_of(e, access.address, shape.groups)))
        for v, value in enumerate(op.results):
            elements = tuple(
                _element(e, e.op(f"getelementptr i8, ptr {base}, i64 {a}"), scalar, v * type.size)
                for a in heads(k, access, first)
            )
            k.groups(value, shape, elements)
        return
    ok, base = check(k, access, affine, heads(k, access, affine))
    first = AffineForm(shape, tuple(heads_of(e, access.address, shape.groups)))
    addresses = heads(k, access, first)
    fast, slow, join = (e.name(n) for n in ("fast", "slow", "join"))
    e.do(f"br i1 {ok}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    origins = [e.op(f"getelementptr i8, ptr {base}, i64 {a}") for a in addresses]
    quick = [[_element(e, o, scalar, v * type.size) for o in origins] for v in range(count)]
    e.do(f"br label %{join}")
    e.label(slow)
    data = _slow_load(k, access, reach(access, affine.shape)[1], type, count)
    careful = [
        [
            _element(e, data, scalar, (v * width + g * lanes) * type.size)
            for g in range(shape.groups)
        ]
        for v in range(count)
    ]
    after = e.current_label()
    e.do(f"br label %{join}")
    e.label(join)
    for value, a, b in zip(op.results, quick, careful, strict=True):
        pairs = zip(a, b, strict=True)
        scalars = [e.op(f"phi {scalar} [ {x}, %{fast} ], [ {y}, %{after} ]") for x, y in pairs]
        k.groups(value, shape, tuple(scalars))


def zero_of(type: Type, width: int) -> str:
    if width > 1:
        return "zeroinitializer"
    return "0.0" if scalar_type(type) in ("float", "double") else "0"


def fast_load(
    k: KernelLowering,
    access: CompiledAccess,
    shape: Shape,
    base: str,
    addresses: list[str],
    type: Type,
    count: int,
) -> list[str]:
    """Per element, the lanes of all groups."""
    parts = [_load_group(k, shape, base, a, type, count, access.size) for a in addresses]
    size, scalar = len(shape.offsets), scalar_type(type)
    return [join_groups(k.e, scalar, size, [p[v] for p in parts]) for v in range(count)]


def join_groups(e: Emitter, scalar: str, size: int, groups: list[str]) -> str:
    """Concatenate 1, 2 or 4 vectors of one size."""
    while len(groups) > 1:
        pairs = zip(groups[::2], groups[1::2], strict=True)
        if size == 1:
            vector = f"<2 x {scalar}>"
            groups = [
                e.op(
                    f"insertelement {vector} "
                    + e.op(f"insertelement {vector} poison, {scalar} {a}, i64 0")
                    + f", {scalar} {b}, i64 1"
                )
                for a, b in pairs
            ]
        else:
            groups = [e.blend(a, b, scalar, size, list(range(2 * size))) for a, b in pairs]
        size *= 2
    return groups[0]


def _load_group(
    k: KernelLowering, shape: Shape, base: str, address: str, type: Type, count: int, size: int
) -> list[str]:
    """`count` vectors of the lanes of one group, whose bytes are all inside the extent."""
    e, lanes, scalar = k.e, len(shape.offsets), scalar_type(type)
    origin = e.op(f"getelementptr i8, ptr {base}, i64 {address}")
    if shape.uniform:
        return [
            e.splat(_element(e, origin, scalar, v * type.size), scalar, lanes) for v in range(count)
        ]
    low, high = min(shape.offsets), max(shape.offsets)
    if rows.are_apart(type, count, shape.offsets):
        return rows.load_known(k, origin, shape.offsets, type, count)
    wanted = [[(o - low + v * type.size, v) for o in shape.offsets] for v in range(count)]
    units = (high - low + size) // type.size
    regular = all(o % type.size == 0 for o in shape.offsets)
    if regular and units <= COVER * lanes * count:
        start = e.byte(origin, low)
        whole = e.op(f"load {vector_of(scalar, units)}, ptr {start}, align 1")
        return [
            e.shuffle(whole, scalar, units, [place // type.size for place, _ in row])
            for row in wanted
        ]
    vector, results = vector_of(scalar, lanes), []
    for row in wanted:
        result = "poison"
        for j, (place, _) in enumerate(row):
            lane = _element(e, origin, scalar, place + low)
            result = e.op(f"insertelement {vector} {result}, {scalar} {lane}, i64 {j}")
        results.append(result)
    return results


def _element(e: Emitter, origin: str, scalar: str, offset: int) -> str:
    place = e.byte(origin, offset)
    return e.op(f"load {scalar}, ptr {place}, align 1")
