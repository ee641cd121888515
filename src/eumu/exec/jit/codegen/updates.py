"""Updates in memory: each lane is loaded, changed and stored before the next one.

That is the same as loading all, changing all and storing all if no two lanes meet.  Whether they do
is tested at run time, as is all that an update needs: LLVM sees most of it when it compiles.  Where
something is not so, the operations follow as the program has them.

A gather has to wait until what was stored before it is in the cache; a load of one lane has not.
Processors that scatter fast are faster with gathers all the same, so there dwords are updated all
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from eumu.exec.jit.analysis import updates
from eumu.exec.jit.analysis.updates import Path, Update
from eumu.exec.jit.codegen import fetching, indirect, irregular
from eumu.exec.jit.codegen.access import access_of
from eumu.exec.jit.codegen.checks import check, heads, learn
from eumu.exec.jit.codegen.joined import changed, gathered, joined
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.registers import bits_of_mask, byte_pointer
from eumu.exec.jit.llvm.emit import (
    lane_type,
    scalar_type,
    signed,
    vector_literal,
    vector_of,
)
from eumu.ir import Root, Space, Value
from eumu.ir.operations.memory import Load, Store
from eumu.ir.operations.state import ExecMask, ReadIndirect, WriteIndirect
from eumu.records import dataclass
from eumu.types import Type

_LEAST = 8  # lanes
_TOGETHER = 8  # in a turn: processors foresee the end of loops of few turns


@dataclass(frozen=True, slots=True)
class _Element:
    """A lane to update: where it comes from, and the store that ends it."""

    path: Path
    sink: Store | WriteIndirect
    lane: int  # of the store


@dataclass(frozen=True, slots=True)
class _Places:
    """Offsets from a pointer, one for each element, and an i1: all may be updated one by one."""

    base: str
    offsets: str  # of a vector of i32
    fine: str


def deferred(k: KernelLowering, block: int) -> dict[int, Callable[[], None] | None]:
    """The places of a block whose operations wait; at the last of a chain, what emits all of it."""
    if k.users is None:
        k.users = updates.users(k.function)
    places: dict[int, Callable[[], None] | None] = {}
    confined = indirect.pointees_of(k) if k.facts.confined else None
    for update in updates.find(k.function, block, k.users, confined):
        places |= dict.fromkeys(update.places)

        def emit(update: Update = update) -> None:
            _update(k, update)

        places[update.places[-1]] = emit
    return places


def _update(k: KernelLowering, update: Update) -> None:
    e = k.e
    for value in update.given:  # here: what is made in a branch is not there behind it
        k.vector(value)
    elements = _elements(k, update)
    if elements and isinstance(elements[0].path.source, ReadIndirect):
        sink = elements[0].sink
        if isinstance(sink, Store):
            _scatter(k, update, elements, sink)
            return
    places = _places(k, elements) if elements else None
    if places is None:
        _as_it_stands(k, update)
        return
    assert elements is not None
    k.updated.add(k.block)
    fast, slow, join = (e.name(n) for n in ("update", "slow", "join"))
    e.do(f"br i1 {places.fine}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    if _at_once_is_better(k, elements):
        _at_once(k, elements, places, join)
    else:
        _one_by_one(k, elements, places, join)
    e.label(slow)
    _as_it_stands(k, update)
    e.do(f"br label %{join}")
    e.label(join)


def _as_it_stands(k: KernelLowering, update: Update) -> None:
    """The operations as the program has them."""
    last = k.place
    for place in update.places:
        k.place = place
        k.lower(update.block.ops[place])
    if k.emit_delayed is not None:
        k.emit_delayed()
    k.place = last


# ---- what may be updated


def _elements(k: KernelLowering, update: Update) -> list[_Element] | None:
    """The lanes to update; None if they are not all of one kind."""
    elements: list[_Element] = []
    for place in update.sinks:
        sink = update.block.ops[place]
        if isinstance(sink, Store):
            lanes, data = list(range(sink.args[0].width)), sink.args[2]
        else:
            assert isinstance(sink, WriteIndirect)
            lane = _only_lane(k, update, sink)
            if lane is None:
                return None
            lanes, data = [lane], sink.args[1]
        for lane in lanes:
            path = update.path(data, lane)
            if path is None:
                return None
            elements.append(_Element(path, sink, lane))
    kinds = {(type(x.sink), tuple(step.kind for step in x.path.steps)) for x in elements}
    types = {x.path.source.result.type for x in elements} | {_stored(x.sink) for x in elements}
    alike = len(kinds) == 1 and len({type.size for type in types}) == 1 and len(elements) >= _LEAST
    moves = alike and isinstance(elements[0].sink, Store) and elements[0].sink.space is Space.FLAT
    if moves:
        return elements if all(step.op is None for step in elements[0].path.steps) else None
    return elements if alike and elements[0].path.steps else None


def _stored(sink: Store | WriteIndirect) -> Type:
    return sink.args[2 if isinstance(sink, Store) else 1].type


def _only_lane(k: KernelLowering, update: Update, sink: WriteIndirect) -> int | None:
    """The lane that is written where all lanes execute."""
    mask = k.lanes(sink.args[2])
    if sink.args[0].width > 1 or not mask.possible or mask.possible.bit_count() != 1:
        return None
    maker = next(op for op in update.block.ops if sink.args[2] in op.results)
    makers = {v.id: op for op in update.block.ops for v in op.results}
    if mask.bits is None and not all(
        isinstance(makers[a.id], ExecMask) or k.lanes(a).bits is not None for a in maker.args
    ):
        return None
    return mask.possible.bit_length() - 1


# ---- where


def _places(k: KernelLowering, elements: list[_Element]) -> _Places | None:
    sink = elements[0].sink
    if isinstance(sink, WriteIndirect):
        places = _in_registers(k, elements)
    else:
        places = _in_local_memory(k, elements)
    if places is None:
        return None
    every = _all_execute(k, places.fine)
    apart = _apart(k, places.offsets, len(elements), _stored(sink).size)
    return replace(places, fine=k.e.op(f"and i1 {every}, {apart}"))


def _all_execute(k: KernelLowering, fine: str) -> str:
    """An i1 that is set if another one is, and all lanes of the thread execute."""
    if k.facts.full_threads and k.flow.full(k.block):
        return fine
    e, word = k.e, f"i{k.width}"
    every = e.op(f"icmp eq {word} {e.op(f'load {word}, ptr {k.em}')}, -1")
    return e.op(f"and i1 {fine}, {every}")


def _apart(k: KernelLowering, offsets: str, count: int, size: int) -> str:
    """Whether no two lanes meet: each is at its own place among the bytes of all, beside others
    at most a multiple of these away."""
    e, vector = k.e, vector_of("i32", count)
    span = 1 << (count * size - 1).bit_length()
    first = e.splat(e.shuffle(offsets, "i32", count, [0]), "i32", count)
    own = vector_literal("i32", [str(n * size) for n in range(count)])
    away = e.op(f"xor {vector} {e.op(f'sub {vector} {offsets}, {own}')}, {first}")
    beside = e.op(f"and {vector} {away}, {vector_literal('i32', [str(span - 1)] * count)}")
    return _all(k, e.op(f"icmp eq {vector} {beside}, zeroinitializer"), count)


def _all(k: KernelLowering, flags: str, count: int) -> str:
    return k.e.op(f"icmp eq i{count} {bits_of_mask(k.e, flags, count, count)}, -1")


def _in_local_memory(k: KernelLowering, elements: list[_Element]) -> _Places | None:
    """Updates of shared local memory or scratch space."""
    e, path, sink = k.e, elements[0].path, elements[0].sink
    source, count = path.source, len(elements)
    assert isinstance(source, Load) and isinstance(sink, Store)
    lanes_stay = all(x.path.source is source and x.path.lane == x.lane for x in elements)
    address = k.lanes(source.args[0])
    if not lanes_stay or source.space is not sink.space or source.args[0].type.size != 4:
        return None
    if address.affine is not None and k.known[source.args[0].id].shape is not None:
        return None  # a vector is loaded and stored
    access = access_of(k, sink, store=True)
    at = irregular.places(k, access)
    vector = vector_of("i32", count)
    same = e.op(f"icmp eq {vector} {k.vector(source.args[0])}, {k.vector(sink.args[0])}")
    fine = e.op(f"and i1 {at.inside}, {_all(k, same, count)}")
    base = f"%{source.space.value}"
    return _Places(base, k.vector(sink.args[0]), fine)


def _in_registers(k: KernelLowering, elements: list[_Element]) -> _Places | None:
    """Updates of a register with an index."""
    e, size, count = k.e, _stored(elements[0].sink).size, len(elements)
    root: Root | None = None
    read, written = [], []
    for x in elements:
        source, sink = x.path.source, x.sink
        assert isinstance(source, ReadIndirect) and isinstance(sink, WriteIndirect)
        read_at = source.offset
        distance = sink.offset + x.lane * sink.hstride
        expected = [
            indirect.expected(k, source.args[0], [read_at], size),
            indirect.expected(k, sink.args[0], [distance], size),
        ]
        root = root or expected[0]
        if root is None or expected != [root, root] or source.row != 1:
            return None
        read.append((source.args[0], x.path.lane, read_at - root.address))
        written.append((sink.args[0], 0, distance - root.address))
    assert root is not None
    vector = vector_of("i32", count)
    offsets = _offsets(k, written)
    same = e.op(f"icmp eq {vector} {offsets}, {_offsets(k, read)}")
    room = vector_literal("i32", [str(root.size - size)] * count)
    inside = e.op(f"icmp ule {vector} {offsets}, {room}")
    both = e.op(f"and {vector_of('i1', count)} {same}, {inside}")
    return _Places(byte_pointer(e, k.registers, root, 0), offsets, _all(k, both, count))


def _offsets(k: KernelLowering, lanes: Sequence[tuple[Value, int, int]]) -> str:
    """Lanes of addresses, each with a number added, as one vector."""
    vector = vector_of("i32", len(lanes))
    if all(value.width == 1 for value, _, _ in lanes):
        ops = k.function.blocks[k.block].ops
        makers = {value.id: op for op in ops for value in op.results}
        places = joined(k, makers, [value for value, _, _ in lanes])
    else:
        places = gathered(k, [(value, lane) for value, lane, _ in lanes])
    more = vector_literal("i32", [str(signed(number, 32)) for _, _, number in lanes])
    return k.e.op(f"add {vector} {places}, {more}")


# ---- from registers to global memory


def _scatter(k: KernelLowering, update: Update, elements: list[_Element], sink: Store) -> None:
    """Lanes read from a register with an index and store anywhere: each is read and stored.

    A gather, and taking its lanes out of a vector, would cost as much again.
    """
    e, access = k.e, access_of(k, sink, store=True)
    affine = access.address.affine
    size, offsets = access.size, affine.shape.offsets if affine else ()
    root, read = _read_places(k, elements, size)
    together = any(b == a + size for a, b in pairwise(offsets))  # vectors of them are stored
    if affine is None or root is None or together:
        _as_it_stands(k, update)
        return
    count, vector = len(elements), vector_of("i32", len(elements))
    room = vector_literal("i32", [str(root.size - size)] * count)
    fine = _all(k, e.op(f"icmp ule {vector} {read}, {room}"), count)
    addresses = heads(k, access, affine)
    ok, base = check(k, access, affine, addresses)
    fine = e.op(f"and i1 {_all_execute(k, fine)}, {ok}")
    fast, slow, join = (e.name(n) for n in ("scatter", "slow", "join"))
    e.do(f"br i1 {fine}, label %{fast}, label %{slow}, !prof !1")
    e.label(fast)
    fetching.fetch_for_stores(k, access, base, addresses, offsets)
    pad = k.scratchpad("offsets", vector)
    e.do(f"store {vector} {read}, ptr {pad}, align 8")
    own = byte_pointer(e, k.registers, root, 0)
    for n, x in enumerate(elements):
        wide = e.op(f"zext i32 {_element(k, pad, 'i32', str(n))} to i64")
        value = _value(k, x, e.op(f"getelementptr i8, ptr {own}, i64 {wide}"), [])
        group, lane = divmod(x.lane, len(offsets))
        place = e.op(f"getelementptr i8, ptr {base}, i64 {addresses[group]}")
        place = e.op(f"getelementptr i8, ptr {place}, i64 {offsets[lane]}")
        e.do(f"store {scalar_type(_stored(sink))} {value}, ptr {place}, align 1")
    e.do(f"br label %{join}")
    e.label(slow)
    miss, on = e.name("miss"), e.name("on")
    e.do(f"br i1 {ok}, label %{on}, label %{miss}")
    e.label(miss)
    learn(k, access, affine.shape, addresses)
    e.do(f"br label %{on}")
    e.label(on)
    _as_it_stands(k, update)
    e.do(f"br label %{join}")
    e.label(join)


def _read_places(k: KernelLowering, elements: list[_Element], size: int) -> tuple[Root | None, str]:
    """The register that all elements are expected in, and where: offsets of it."""
    root: Root | None = None
    read = []
    for x in elements:
        source = x.path.source
        assert isinstance(source, ReadIndirect)
        found = indirect.expected(k, source.args[0], [source.offset], size)
        root = root or found
        if root is None or found != root or source.row != 1:
            return None, ""
        read.append((source.args[0], x.path.lane, source.offset - root.address))
    return root, _offsets(k, read)


# ---- all at once


def _at_once_is_better(k: KernelLowering, elements: list[_Element]) -> bool:
    """Whether the host scatters dwords fast, and these fill vectors."""
    is_dword = _stored(elements[0].sink).size == 4
    return k.scatters and is_dword and len(elements).bit_count() == 1


def _at_once(k: KernelLowering, elements: list[_Element], places: _Places, end: str) -> None:
    """Gather all elements, change and scatter them; on to a label."""
    e, count, path = k.e, len(elements), elements[0].path
    wide = vector_of("i64", count)
    # Processors take signed offsets of 32 bits as they are; larger memory has larger ones.
    extend = "sext" if max(k.slm_bytes, k.scratch_bytes) < 1 << 31 else "zext"
    offsets = e.op(f"{extend} {vector_of('i32', count)} {places.offsets} to {wide}")
    pointers = e.op(f"getelementptr i8, ptr {places.base}, {wide} {offsets}")
    at = irregular.Places("true", pointers, vector_literal("i1", ["true"] * count), True)
    was = path.source.result.type
    (value,) = irregular.gather(k, at, was, 1, count)
    for n, step in enumerate(path.steps):
        others = [
            gathered(k, [x.path.steps[n].others[m] for x in elements])
            for m in range(len(step.others))
        ]
        value = changed(k, step, was, value, others, count)
        was = step.type
    irregular.scatter(k, at, was, count, [value])
    e.do(f"br label %{end}")


# ---- the loop


def _one_by_one(k: KernelLowering, elements: list[_Element], places: _Places, end: str) -> None:
    """A loop that loads, changes and stores each element; on to a label."""
    e, count = k.e, len(elements)
    type = _stored(elements[0].sink)
    offsets = k.scratchpad("offsets", vector_of("i32", count))
    e.do(f"store {vector_of('i32', count)} {places.offsets}, ptr {offsets}, align 8")
    arguments = [
        [_given(k, elements, n, m) for m in range(len(step.others))]
        for n, step in enumerate(elements[0].path.steps)
    ]
    before, loop = e.current_label(), e.name("lanes")
    e.do(f"br label %{loop}")
    e.label(loop)
    lane, following = f"%{e.name('lane')}", f"%{e.name('following')}"
    e.do(f"{lane} = phi i64 [ 0, %{before} ], [ {following}, %{loop} ]")
    together = next(n for n in (_TOGETHER, 4, 2, 1) if count % n == 0)
    for n, wide in enumerate(_wide_offsets(k, offsets, lane, together)):
        one = e.op(f"add i64 {lane}, {n}") if n else lane
        place = e.op(f"getelementptr i8, ptr {places.base}, i64 {wide}")
        value = _value(
            k, elements[0], place, [[make(one) for make in others] for others in arguments]
        )
        e.do(f"store {scalar_type(type)} {value}, ptr {place}, align 1")
    e.do(f"{following} = add i64 {lane}, {together}")
    more = e.op(f"icmp ult i64 {following}, {count}")
    e.do(f"br i1 {more}, label %{loop}, label %{end}, !llvm.loop !3")


def _wide_offsets(k: KernelLowering, pad: str, lane: str, count: int) -> Iterator[str]:
    """The offsets of elements from a lane on, as 64 bits; two are loaded at once.

    That is a third less time for updates of bytes.  Probably as a load waits for stores under way
    whose addresses have the same last twelve bits, and updates of a few KiB have any.
    """
    e = k.e
    for n in range(0, count, 2):
        first = e.op(f"add i64 {lane}, {n}") if n else lane
        place = e.op(f"getelementptr i32, ptr {pad}, i64 {first}")
        if count == 1:
            yield e.op(f"zext i32 {e.op(f'load i32, ptr {place}')} to i64")
            return
        both = e.op(f"load i64, ptr {place}, align 4")
        yield e.op(f"and i64 {both}, {(1 << 32) - 1}")
        yield e.op(f"lshr i64 {both}, 32")


def _value(k: KernelLowering, element: _Element, place: str, given: list[list[str]]) -> str:
    """What is made of the element at a place; `given` is what each step is given beside it."""
    was = element.path.source.result.type
    value = k.e.op(f"load {scalar_type(was)}, ptr {place}, align 1")
    for n, step in enumerate(element.path.steps):
        value = changed(k, step, was, value, given[n] if given else [])
        was = step.type
    return value


def _given(
    k: KernelLowering, elements: list[_Element], step: int, other: int
) -> Callable[[str], str]:
    """What an operation is given beside the old value, for an element that is known in the loop."""
    e, lanes = k.e, [x.path.steps[step].others[other] for x in elements]
    value = lanes[0][0]
    scalar = scalar_type(value.type)
    affine = k.lanes(value).affine
    if affine is not None and all(x is value for x, _ in lanes):
        shape = affine.shape
        if shape.exact and shape.uniform and shape.groups == 1:
            return lambda lane: affine.scalars[0]
    if value.is_mask:
        flags = vector_of("i1", len(lanes))
        octets = vector_of("i8", len(lanes))
        widened = e.op(f"zext {flags} {gathered(k, lanes)} to {octets}")
        pad = k.scratchpad(f"given{step}.{other}", octets)
        e.do(f"store {octets} {widened}, ptr {pad}, align 8")
        return lambda lane: e.op(f"trunc i8 {_element(k, pad, 'i8', lane)} to i1")
    vector = lane_type(value.type, len(lanes))
    pad = k.scratchpad(f"given{step}.{other}", vector)
    e.do(f"store {vector} {gathered(k, lanes)}, ptr {pad}, align 8")
    return lambda lane: _element(k, pad, scalar, lane)


def _element(k: KernelLowering, pad: str, scalar: str, lane: str) -> str:
    place = k.e.op(f"getelementptr {scalar}, ptr {pad}, i64 {lane}")
    return k.e.op(f"load {scalar}, ptr {place}")
