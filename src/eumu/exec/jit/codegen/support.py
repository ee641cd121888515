"""Functions that every compiled kernel may call in cold paths.

`locate.*` finds the host address of one lane's access and checks it; on success the site's cache
learns the extent, so that the next access is checked in line.  `slow.*` runs an access lane by
lane and records a fault with all lanes that are outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from eumu.addresses import BTI_SLM, SCRATCH_STATE
from eumu.exec.jit.codegen.endings import Ending
from eumu.exec.jit.llvm.emit import Emitter
from eumu.exec.jit.llvm.functions import FunctionBuilder, Variable
from eumu.exec.jit.llvm.layout import (
    LINE,
    LOCAL,
    VOID_BYTES,
    WORDS,
    Context,
    FaultKind,
    SiteWord,
    SurfaceBits,
)
from eumu.exec.jit.llvm.vectors import Vector
from eumu.ir import Space

_GOLDEN: Final = 0x9E3779B97F4A7C15  # multiplicative hashing: 2**64 divided by the golden ratio
_LARGE: Final = 3 << 20  # bytes of an extent that does not stay in the caches of one core
_ALL: Final = (1 << 64) - 1
_PAIR: Final = "{ i64, i64 }"
_GIVEN: Final = "ptr %ctx, ptr %site, i64 %surface, i64 %a, i64 %n, i64 %total, i1 %store"
_PASSED: Final = "ptr %ctx, ptr %site, i64 0, i64 %a, i64 %n, i64 %total, i1 %store"


def context(f: FunctionBuilder, word: Context) -> Vector:
    """A word of the worker's context."""
    return f.context(word).get()


def _is_store(f: FunctionBuilder) -> Vector:
    return f.flag("icmp eq i1 %store, true")


def _extent() -> str:
    """Start and end of the allocation in which an address lies, 0 if there is none.

    Stores may not go to all that loads may read, nor the other way round.
    """
    f = FunctionBuilder(f"internal {_PAIR} @extent(ptr %ctx, i64 %a, i1 %store) noinline")
    is_store = _is_store(f)
    first, last, count = (
        f.where(is_store, f.context(store).get(), f.context(load).get())
        for store, load in (
            (Context.STORE_STARTS, Context.STARTS),
            (Context.STORE_ENDS, Context.ENDS),
            (Context.STORE_EXTENTS, Context.EXTENTS),
        )
    )
    starts, ends = f.pointer(first), f.pointer(last)
    low, high, a = f.variable(), f.variable(), f.number("%a")
    high.set(count)
    with f.repeat(lambda: low.get() < high.get()):
        middle = (low.get() + high.get()) >> 1
        below = f.word(starts, middle).get() <= a
        low.set(f.where(below, middle + 1, low.get()))
        high.set(f.where(below, high.get(), middle))
    with f.when(f.differ(low.get(), 0)):
        start, end = (f.word(table, low.get() - 1).get() for table in (starts, ends))
        with f.when(a < end):
            pair = f.op(f"insertvalue {_PAIR} poison, {start.typed}, 0")
            f.give(f"{_PAIR} {f.op(f'insertvalue {_PAIR} {pair}, {end.typed}, 1')}")
    f.do(f"ret {_PAIR} zeroinitializer")
    return f.text()


# ---- locate


def _locating(space: Space, attributes: str) -> tuple[FunctionBuilder, Vector, Vector]:
    """A function that locates; the address and how many bytes from there on must be inside."""
    f = FunctionBuilder(f"internal ptr @locate.{space.value}({_GIVEN}) {attributes}")
    return f, f.number("%a"), f.number("%n")


def _fits(f: FunctionBuilder, size: Vector, a: Vector, n: Vector) -> Vector:
    """Whether bytes lie inside memory from 0 to `size`."""
    room = f.intrinsic("usub.sat", "i64", size.name, a.name)
    return f.number(room) >= n


def _learn(f: FunctionBuilder, size: Vector, n: Vector, words: dict[SiteWord, Vector]) -> None:
    """Tell the site of an extent: how far one lane may be from its start, how far all."""
    total, past = f.number("%total"), size + 1
    words[SiteWord.LANE_SPAN] = past - n
    words[SiteWord.WHOLE_SPAN] = f.where(size >= total, past - total, 0)
    for word, value in words.items():
        f.word("%site", word).set(value)


def _locate_flat() -> str:
    f, a, n = _locating(Space.FLAT, "noinline")
    pointer = f.pointer(f.context(Context.ARENA).get() + (a - f.context(Context.BASE).get()))
    start, span = (f.word("%site", w).get() for w in (SiteWord.LANE_START, SiteWord.LANE_SPAN))
    with f.when(a - start < span):
        f.give(f"ptr {pointer}")
    extent = f.op(f"call {_PAIR} @extent(ptr %ctx, i64 %a, i1 %store)")
    start, end = (f.number(f.op(f"extractvalue {_PAIR} {extent}, {k}")) for k in (0, 1))
    with f.when(f.equal(end, 0) | (end - a < n)):
        f.give("ptr null")
    size = end - start
    _learn(f, size, n, {SiteWord.LANE_START: start, SiteWord.WHOLE_START: start})
    is_small = size <= _LARGE
    whole = f.word("%site", SiteWord.WHOLE_SPAN).get()
    f.word("%site", SiteWord.SMALL_SPAN).set(f.where(is_small, whole, 0))
    read = f.context(Context.READ)
    bit = f.number("1") << (start * _GOLDEN >> 58)
    unread = f.equal(read.get() & bit, 0)
    past_caches = (size >= f.context(Context.LARGE).get()) & unread
    f.word("%site", SiteWord.CACHED).set(f.where(past_caches, f.number(str(LINE - 1)), _ALL))
    with f.when(~Vector(f, "b", "%store", 1)):
        read.set(read.get() | bit)
    f.do(f"ret ptr {pointer}")
    return f.text()


def _locate_small(space: Space) -> str:
    f, a, n = _locating(space, "alwaysinline")
    memory, is_shadow = LOCAL[space]
    base, size = (f.context(word).get() for word in WORDS[memory])
    with f.when(~_fits(f, size, a, n)):
        f.give("ptr null")
    f.do(f"ret ptr {f.pointer((base + size if is_shadow else base) + a)}")
    return f.text()


def _locate_surface() -> str:
    f, a, n = _locating(Space.SURFACE, "noinline")
    surface = f.number("%surface")
    wanted = surface + 1
    is_same = f.equal(f.word("%site", SiteWord.SURFACE).get(), wanted)
    with f.when(is_same & (a < f.word("%site", SiteWord.LANE_SPAN).get())):
        f.give(f"ptr {f.pointer(f.word('%site', SiteWord.SURFACE_ADDRESS).get() + a)}")
    row = f.op("call ptr @surface.row(ptr %ctx, i64 %surface)")
    with f.when(f.flag(f"icmp eq ptr {row}, null")):
        for number, space in ((BTI_SLM, Space.SLM), (SCRATCH_STATE, Space.SCRATCH)):
            with f.when(f.equal(surface, number)):
                f.give(f"ptr {f.op(f'call ptr @locate.{space.value}({_PASSED})')}")
        f.give("ptr null")
    place, size, bits = (f.word(row, k).get() for k in (1, 2, 3))
    no_loads, no_stores = (
        f.differ(bits & int(bit), 0) for bit in (SurfaceBits.NO_LOADS, SurfaceBits.NO_STORES)
    )
    with f.when(f.where(_is_store(f), no_stores, no_loads)):
        f.give("ptr null")
    with f.when(_fits(f, size, a, n)):
        address = f.context(Context.ARENA).get() + place
        _learn(f, size, n, {SiteWord.SURFACE: wanted, SiteWord.SURFACE_ADDRESS: address})
        f.give(f"ptr {f.pointer(address + a)}")
    with f.when(f.equal(bits & int(SurfaceBits.STRICT), 0)):
        zeros, sink = (f.context(w).place for w in (Context.ZEROS, Context.SINK))
        f.do(f"call void @llvm.memset.p0.i64(ptr {sink}, i8 0, i64 {VOID_BYTES}, i1 false)")
        f.give(f"ptr {f.op(f'select i1 %store, ptr {sink}, ptr {zeros}')}")
    f.do("ret ptr null")
    return f.text()


def _surface_row() -> str:
    """A surface's row in the table of the launch, or null."""
    f = FunctionBuilder("internal ptr @surface.row(ptr %ctx, i64 %surface) noinline cold")
    table = f.pointer(f.context(Context.SURFACES).get())
    with f.times(f.context(Context.SURFACE_COUNT).get()) as k:
        row = f.word(table, k * 4)
        with f.when(f.equal(row.get(), f.number("%surface"))):
            f.give(f"ptr {row.place}")
    f.do("ret ptr null")
    return f.text()


def _record() -> str:
    """Records a fault: the site, the lanes, the address of the first and its surface."""
    names = ("id", "lanes", "address", "surface")
    parameters = ", ".join(f"i64 %{name}" for name in names)
    f = FunctionBuilder(f"internal void @record(ptr %ctx, {parameters}) noinline cold")
    f.context(Context.FAULT).set(FaultKind.ACCESS)
    words = Context.FAULT_SITE, Context.FAULT_LANES, Context.FAULT_ADDRESS, Context.SURFACE_FAULT
    for word, name in zip(words, names, strict=True):
        f.context(word).set(f.number(f"%{name}"))
    f.do("ret void")
    return f.text()


EXTENT: Final = _extent()
LOCATE: Final = {
    Space.FLAT: _locate_flat(),
    Space.SURFACE: _locate_surface(),
    **{space: _locate_small(space) for space in LOCAL},
}
SURFACE_ROW: Final = _surface_row()
RECORD: Final = _record()

# ---- accesses lane by lane

SLOW_PARAMETERS: Final = (
    "(ptr %ctx, ptr %site, i64 %id, ptr %addresses, i64 %mask, ptr %data, i64 %width,"
    " i64 %surface, i64 %total)"
)
# What is done for a lane: its number, its address, and where that is on the host.
Lane = Callable[[FunctionBuilder, Vector, Vector, str], None]


def lane_loop(
    name: str,
    space: Space,
    size: int,
    store: bool,
    body: Lane,
    fast: Callable[[FunctionBuilder], None] | None = None,
    pieces: Lane | None = None,
    *,
    ending: Ending | None = None,
    beside: Emitter,
) -> str:
    """A slow function: `body` runs per lane.

    `fast` may do the whole access and return, or go to the label ``slow``.  `pieces` is done for an
    access that ends outside a lenient surface.  It is for the module of `beside`.  With an `ending`
    a lane may load what ends outside an array.
    """
    f = FunctionBuilder(f"internal i1 @{name}{SLOW_PARAMETERS} noinline #0", beside)
    if fast is not None:
        fast(f)
        f.label("slow")
    bad, where = f.variable(), f.variable()
    arguments = f"i64 {size}, i64 %total, i1 {'true' if store else 'false'}"
    with f.lanes_of(f.number("%mask")) as lane:
        a = f.word("%addresses", lane).get()
        located = (
            f"@locate.{space.value}(ptr %ctx, ptr %site, i64 %surface, {a.typed}, {arguments})"
        )
        place = f.op(f"call ptr {located}")
        outside, inside = f.either(f.flag(f"icmp eq ptr {place}, null"))
        with outside:
            if ending is None:
                _note_outside(f, lane, a, bad, where)
            else:
                room, memory = ending.room(f, a)
                begins, misses = f.either(ending.is_allowed(f, a, room))
                with begins:
                    ending.load(f, room, memory)
                with misses:
                    _note_outside(f, lane, a, bad, where)
        with inside:
            if pieces is None:
                body(f, lane, a, place)
            else:
                partly, whole = f.either(_leads_nowhere(f, place))
                with partly:
                    pieces(f, lane, a, place)
                with whole:
                    body(f, lane, a, place)
    with f.when(f.differ(bad.get(), 0)):
        told = f"i64 %id, {bad.get().typed}, {where.get().typed}, i64 %surface"
        f.do(f"call void @record(ptr %ctx, {told})")
        f.give("i1 true")
    f.do("ret i1 false")
    return f.text()


def _note_outside(
    f: FunctionBuilder, lane: Vector, a: Vector, bad: Variable, where: Variable
) -> None:
    where.set(f.where(f.equal(bad.get(), 0), a, where.get()))
    bad.set(bad.get() | f.number("1") << lane)


def _leads_nowhere(f: FunctionBuilder, place: str) -> Vector:
    """Whether an access reads zeros or writes what nobody reads; some elements may be inside."""
    places = (f.context(word).place for word in (Context.ZEROS, Context.SINK))
    zeros, sink = (f.flag(f"icmp eq ptr {place}, {there}") for there in places)
    return zeros | sink


def pieces(bits: int, count: int, *, store: bool, block: bool) -> Lane:
    """Copy the elements of a lane, or of a block, one by one: each is inside a lenient surface or
    leads nowhere."""

    def lane_in_pieces(f: FunctionBuilder, lane: Vector, a: Vector, void: str) -> None:
        row = f.op("call ptr @surface.row(ptr %ctx, i64 %surface)")
        start, size = (f.word(row, k).get() for k in (1, 2))
        arena = f.context(Context.ARENA).get()
        with f.times(count) as k:
            at = a + k * (bits // 8)
            there = f.pointer(arena + (start + at))
            inside = _fits(f, size, at, f.number(str(bits // 8)))
            memory = f.op(f"select {inside.typed}, ptr {there}, ptr {void}")
            number = k if block else k * f.number("%width") + lane
            _move(f, bits, memory, f.elements(bits, "%data", number), store=store)

    return lane_in_pieces


def elements(bits: int, count: int, *, store: bool) -> Lane:
    """Copy `count` elements of a lane to or from data[element * width + lane]."""

    def lane_elements(f: FunctionBuilder, lane: Vector, a: Vector, place: str) -> None:
        for k in range(count):
            data = f.elements(bits, "%data", f.number("%width") * k + lane)
            _move(f, bits, f.elements(bits, place, k), data, store=store)

    return lane_elements


def block_body(size: int, *, store: bool) -> Lane:
    """Copy the bytes of the only lane to data or from there."""

    def whole(f: FunctionBuilder, lane: Vector, a: Vector, place: str) -> None:
        target, source = (place, "%data") if store else ("%data", place)
        arguments = f"ptr {target}, ptr {source}, i64 {size}, i1 false"
        f.do(f"call void @llvm.memcpy.p0.p0.i64({arguments})")

    return whole


def _move(f: FunctionBuilder, bits: int, memory: str, data: str, *, store: bool) -> None:
    f.copy(bits, *((data, memory) if store else (memory, data)))


# ---- registers


def register_locate(roots: list[tuple[int, int, int]]) -> str:
    """``ptr @register.locate(rec, address, size)``; roots are (address, size, record offset)."""
    f = FunctionBuilder("internal ptr @register.locate(ptr %rec, i64 %a, i64 %n)")
    for address, size, place in roots:
        distance = f.number("%a") - address
        fits = f.number(str(size)) - distance >= f.number("%n")
        with f.when((distance < size) & fits):
            f.give(f"ptr {f.elements(8, '%rec', distance + place)}")
    f.do("ret ptr null")
    return f.text()


def register_loop(name: str, size: int, store: bool) -> str:
    """``i64 @name(ctx, rec, places, mask, data)``: copy elements.

    It returns the lanes that are outside, which are not touched, neither in the record nor in the
    data.
    """
    parameters = "ptr %ctx, ptr %rec, ptr %places, i64 %mask, ptr %data"
    f, bits = FunctionBuilder(f"internal i64 @{name}({parameters}) noinline"), 8 * size
    bad = f.variable()
    with f.lanes_of(f.number("%mask")) as lane:
        a = f.word("%places", lane).get()
        place = f.op(f"call ptr @register.locate(ptr %rec, {a.typed}, i64 {size})")
        outside, inside = f.either(f.flag(f"icmp eq ptr {place}, null"))
        with outside:
            bad.set(bad.get() | f.number("1") << lane)
        with inside:
            _move(f, bits, place, f.elements(bits, "%data", lane), store=store)
    f.do(f"ret {bad.get().typed}")
    return f.text()
