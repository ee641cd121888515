"""Shadow memory: who accessed a few bytes last, compared with each access.

Two tables have a word for each granule of memory: who wrote it, and who read it.  A word has the
group (and one, so that 0 is nobody), the epoch, the thread, the lane, and what follows of several
accesses.  Only the latest is kept: what came before was ordered with it, or the launch is suspect
already.  Accesses of different groups are never ordered, those of one group are by its epochs; in
local memory other groups have left nothing.  A worker has tables of its own, so that nobody else
changes them; `eumu.exec.jit.host.shadow` compares those of several workers at the end.

The same equations serve vectors of consecutive granules and single ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from eumu.exec.jit.codegen import irregular, support
from eumu.exec.jit.codegen.access import CompiledAccess, access_of, cold_vector
from eumu.exec.jit.codegen.checks import check, heads, need_locate, reach
from eumu.exec.jit.codegen.cold_calls import slow_mask
from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.llvm.emit import Emitter, lane_type, vector_literal, vector_of
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.lanes import Shape
from eumu.exec.jit.llvm.layout import FOLLOWED_SHIFT, RACING, UNMARKED, Context
from eumu.exec.jit.llvm.vectors import Vector
from eumu.exec.race_rows import READ, WRITE
from eumu.ir import Space
from eumu.ir.operations.memory import Follow
from eumu.records import dataclass

# What a word says beside the last access: others of its cell did the same; it was no atomic
# operation, or one of its group before was none.
MANY, PLAIN, EVER = 1, 2, 4
_LANE, _THREAD, _EPOCH, _GROUP = 6, 12, 21, 41  # first bits
_THREADS, _EPOCHS = 1 << _EPOCH - _THREAD, 1 << _GROUP - _EPOCH
_SEVERAL: Final = ((1 << 64 - _GROUP) - 1) << _GROUP  # groups: nobody's number
_AT_ONCE: Final = 8  # granules of a vector


class _Word:
    """What a word of shadow memory says to an access of `me`."""

    def __init__(self, f: FunctionBuilder, word: Vector, me: Vector, *, is_local: bool) -> None:
        self.f, self.word, self.me = f, word, me
        d = word ^ me
        same_group = f.equal(d >> _GROUP, 0)
        self.in_cell = f.equal(d >> _EPOCH, 0)
        # Of its cell, but not this work item's alone.
        self.beside = self.in_cell & (f.differ(d >> _LANE, 0) | f.differ((word | me) & MANY, 0))
        self.of_others = None if is_local else f.differ(word, 0) & ~same_group
        self.same_group = same_group

    def unordered(self) -> Vector:
        """Whether the access that it says is not ordered with this one."""
        return self.beside if self.of_others is None else self.beside | self.of_others

    def has(self, flag: int) -> Vector:
        return self.f.differ(self.word & flag, 0)

    def after_load(self) -> Vector:
        """The reader's word after a load."""
        f = self.f
        now = f.where(self.in_cell, self._with_others(), self.me)
        return now if self.of_others is None else f.where(self.of_others, _SEVERAL, now)

    def after_atomic(self) -> Vector:
        """The writer's word after an atomic operation."""
        f, ever = self.f, self.word & EVER
        later = self.me | f.where(self.same_group, ever, ever & 0)
        now = f.where(self.in_cell, self._with_others(), later)
        return now if self.of_others is None else f.where(self.of_others, _SEVERAL, now)

    def clashes_with_atomic(self) -> Vector:
        """Whether what was written is not ordered with an atomic operation, and none itself."""
        clash = self.beside & self.has(PLAIN)
        return clash if self.of_others is None else clash | (self.of_others & self.has(EVER))

    def _with_others(self) -> Vector:
        return self.f.where(self.beside, self.word | MANY, self.word)


def _change(
    f: FunctionBuilder, kind: int, writer: _Word, reader: _Word
) -> tuple[Vector, Vector, bool]:
    """Whether an access may race; the word that it leaves, and whether that is the writer's."""
    if kind == READ:
        return writer.unordered(), reader.after_load(), False
    if kind == WRITE:
        alone = f.equal(writer.me & MANY, 0)
        racing = writer.unordered() | reader.unordered() | ~alone
        return racing, writer.me | (PLAIN | EVER), True
    return writer.clashes_with_atomic() | reader.unordered(), writer.after_atomic(), True


def _loaded(f: FunctionBuilder, table: str, index: Vector, width: int) -> tuple[str, Vector]:
    place = f.elements(64, table, index)
    name = f.op(f"load {vector_of('i64', width)}, ptr {place}, align 8")
    return place, Vector(f, "w", name, width)


def _suspect(f: FunctionBuilder, how: int = RACING) -> None:
    word = f.context(Context.SUSPECT)
    word.set(word.get() | how)


def _some(f: FunctionBuilder, flags: Vector) -> Vector:
    """Whether any lane is set."""
    if flags.width == 1:
        return flags
    bits = f.op(f"bitcast {flags.typed} to i{flags.width}")
    return f.flag(f"icmp ne i{flags.width} {bits}, 0")


@dataclass(frozen=True, slots=True)
class _Row:
    """Granules beside each other, `each` of them a lane's, whose work items are `step` apart."""

    kind: int
    is_local: bool
    lanes: int
    each: int
    step: int

    @property
    def name(self) -> str:
        memory = "local" if self.is_local else "global"
        return f"row.{self.kind}.{memory}.{self.lanes}.{self.each}.{self.step}"

    def text(self, beside: Emitter) -> str:
        """The function: `me` is the first lane's word, `mask` has the lanes that access."""
        f = FunctionBuilder(
            f"internal void @{self.name}(ptr %ctx, ptr %writers, ptr %readers, i64 %first,"
            " i64 %mask, i64 %me) noinline",
            beside,
        )
        for start in range(0, self.lanes * self.each, _AT_ONCE):
            self._part(f, start)
        f.do("ret void")
        return f.text()

    def _part(self, f: FunctionBuilder, start: int) -> None:
        lanes = [k // self.each for k in range(start, self.lanes * self.each)][:_AT_ONCE]
        n, mask = len(lanes), f.number("%mask")
        more = Vector(f, "w", vector_literal("i64", [str(lane * self.step) for lane in lanes]), n)
        if n == 1:
            on = f.differ((mask >> lanes[0]) & 1, 0)
        elif self.each == 1:
            bits = f.op(f"trunc {(mask >> start).typed} to i{n}")
            on = Vector(f, "b", f.op(f"bitcast i{n} {bits} to <{n} x i1>"), n)
        else:
            bit = Vector(f, "w", vector_literal("i64", [str(1 << lane) for lane in lanes]), n)
            on = f.differ(_spread(f, mask, n) & bit, 0)
        me = _spread(f, f.number("%me"), n) + more
        tables = "%writers", "%readers"
        _update(f, self.kind, tables, f.number("%first") + start, me, on, self.is_local)


def _spread(f: FunctionBuilder, value: Vector, width: int) -> Vector:
    """A number in every lane."""
    return Vector(f, "w", f.splat(value.name, "i64", width), width)


def _update(
    f: FunctionBuilder,
    kind: int,
    tables: Sequence[str],
    at: Vector,
    me: Vector,
    on: Vector | None,
    is_local: bool,
) -> None:
    """Compare an access of granules with their words, and leave new ones."""
    places, words = [], []
    for table in tables:
        place, word = _loaded(f, table, at, me.width)
        places.append(place)
        words.append(_Word(f, word, me, is_local=is_local))
    racing, new, is_writer = _change(f, kind, *words)
    old = words[not is_writer].word
    if on is not None:
        racing, new = racing & on, f.where(on, new, old)
    with f.when(_some(f, racing | f.differ(new, old))):
        with f.when(_some(f, racing)):
            _suspect(f)
        f.do(f"store {new.typed}, ptr {places[not is_writer]}, align 8")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A function that is called before an access, with the heads of an affine form, or addresses.

    Groups of `shape` access bytes beside each other, or the same.
    """

    op: Follow
    space: Space
    width: int
    shape: Shape | None

    @property
    def heads(self) -> int:
        """How many addresses are given."""
        return self.shape.groups if self.shape else 0

    @property
    def name(self) -> str:
        op, shape = self.op, self.shape
        kind = f"{shape.groups}{'x' * shape.uniform}" if shape else "any"
        words = (op.kind, self.space.value, self.width, op.start, op.size, op.lane, op.granule)
        return f"follow.{kind}.{'.'.join(map(str, words))}".replace("-", "m")

    def text(self, beside: Emitter) -> str:
        parameters = [f"i64 %head{k}" for k in range(self.heads)] or ["ptr %addresses"]
        parameters += [f"i64 %{x}" for x in ("mask", "epoch", "items", "surface", "total")]
        f = FunctionBuilder(
            f"internal void @{self.name}(ptr %ctx, ptr %site, {', '.join(parameters)}) noinline",
            beside,
        )
        f.declarations["llvm.cttz.i64"] = "declare i64 @llvm.cttz.i64(i64, i1)"
        with f.when(f.equal(f.number("%mask"), 0)):
            f.give("void")
        me, step = self._me(f)
        base, size = _memory(f, self.space)
        lanes = _Accesses(f, self.op, self.space, self.width, base, size, me, step)
        if self.shape is None:
            lanes.of_addresses()
        else:
            lanes.of_groups(self.shape)
        f.do("ret void")
        return f.text()

    def _me(self, f: FunctionBuilder) -> tuple[Vector, int]:
        """The word of the access's first lane, and how far those of lanes are apart."""
        thread, group = (support.context(f, word) for word in (Context.THREAD, Context.GROUP))
        epoch, items = f.number("%epoch"), f.number("%items")
        with f.when((epoch >= _EPOCHS) | (thread >= _THREADS)):
            _suspect(f, UNMARKED)
            f.give("void")
        me = ((group + 1) << _GROUP) | (epoch << _EPOCH) | (thread << _THREAD)
        if self.op.lane >= 0:
            return me + (self.op.lane << _LANE), 1 << _LANE
        several = f.one_if(f.differ(items & (items - 1), 0))
        return me | (_lowest(f, items) << _LANE) | several, 0


def _lowest(f: FunctionBuilder, bits: Vector) -> Vector:
    return f.number(f.op(f"call i64 @llvm.cttz.i64({bits.typed}, i1 true)"))


def _memory(f: FunctionBuilder, space: Space) -> tuple[Vector, Vector]:
    """Where the bytes that shadow memory is of begin, as an address, and how many they are."""
    if space is Space.SLM:
        return f.number("0"), support.context(f, Context.SLM_SIZE)
    followed, size = (
        support.context(f, word) for word in (Context.FOLLOWED, Context.FOLLOWED_SIZE)
    )
    if space is Space.FLAT:
        return support.context(f, Context.BASE) + followed, size
    row = f.op("call ptr @surface.row(ptr %ctx, i64 %surface)")
    with f.when(f.flag(f"icmp eq ptr {row}, null")):
        _suspect(f, UNMARKED)  # a reserved index that is not known before
        f.give("void")
    place, limit = (f.word(row, k).get() for k in (1, 2))
    return followed - place, f.where(
        place - followed + limit < size, place - followed + limit, size
    )


class _Accesses:
    """The lanes of an access."""

    def __init__(
        self,
        f: FunctionBuilder,
        op: Follow,
        space: Space,
        width: int,
        base: Vector,
        size: Vector,
        me: Vector,
        step: int,
    ) -> None:
        self.f, self.op, self.space, self.width = f, op, space, width
        self.base, self.size, self.me, self.step = base, size, me, step
        self.shift, self.each = op.granule.bit_length() - 1, op.size // op.granule
        self.is_local = space is Space.SLM
        tables = (
            (Context.LOCAL_WRITERS, Context.LOCAL_READERS)
            if self.is_local
            else (Context.WRITERS, Context.READERS)
        )
        self.tables = [f.pointer(support.context(f, t)) for t in tables]
        self.pages = f.pointer(support.context(f, Context.WRITTEN_PAGES))

    def of_groups(self, shape: Shape) -> None:
        """Lanes of which it is known that they are affine."""
        f, n = self.f, len(shape.offsets)
        for group in range(shape.groups):
            mask = (f.number("%mask") >> group * n) & ((1 << n) - 1)
            with f.when(f.differ(mask, 0)):
                head, me = f.number(f"%head{group}"), self.me + group * n * self.step
                if shape.uniform:
                    self._same(head, me, mask)
                else:
                    at = head + self.op.start - self.base
                    row, other = f.either(self._is_row(at, n))
                    with row:
                        self._row(head, at, me, mask, n)
                    with other, f.lanes_of(mask) as lane:
                        a = head + lane * self.op.size
                        self._one(a, a + self.op.start - self.base, me + lane * self.step)

    def of_addresses(self) -> None:
        f = self.f
        mask = f.number("%mask")
        if self.width > 1:
            self._together(mask)
        with f.lanes_of(mask) as lane:
            a = f.word("%addresses", lane).get()
            self._one(a, a + self.op.start - self.base, self.me + lane * self.step)

    def _one(self, a: Vector, at: Vector, me: Vector) -> None:
        """The bytes of one lane.  What is outside is no access, or a fault of the access itself."""
        f = self.f
        with f.when(at < self.size):
            past = f.least(at + self.op.size, self.size)
            with f.when(self._is_followed(a, at, past)):
                first = at >> self.shift
                with f.times(((past - 1) >> self.shift) - first + 1) as k:
                    _update(f, self.op.kind, self.tables, first + k, me, None, self.is_local)

    def _is_followed(self, a: Vector, at: Vector, past: Vector) -> Vector:
        """Whether bytes are in pages to which the launch stores; a store says that it does."""
        f = self.f
        if self.is_local:
            return f.flag("icmp eq i1 true, true")
        places = [f.elements(8, self.pages, x >> FOLLOWED_SHIFT) for x in (at, past - 1)]
        marks = [f.op(f"load i8, ptr {place}") for place in places]
        if self.op.kind == READ:
            followed = f.flag(f"icmp ne i8 {f.op(f'or i8 {marks[0]}, {marks[1]}')}, 0")
            with f.when(~followed):
                # The site may skip what it finds in this array.
                f.op(
                    f"call ptr @locate.{self.space.value}(ptr %ctx, ptr %site, i64 %surface,"
                    f" {a.typed}, i64 {self.op.start + self.op.size}, i64 %total, i1 false)"
                )
            return followed
        for place, mark in zip(places, marks, strict=True):
            with f.when(f.flag(f"icmp eq i8 {mark}, 0")):
                f.do(f"store i8 1, ptr {place}")
                f.context(Context.MISSED).set(1)
        return f.flag("icmp eq i1 true, true")

    def _together(self, mask: Vector) -> None:
        """Return if all lanes access bytes beside each other, or the same."""
        f, n = self.f, self.width
        name = f.op(f"load {vector_of('i64', n)}, ptr %addresses, align 8")
        addresses, lowest = Vector(f, "w", name, n), _lowest(f, mask)
        head = f.word("%addresses", lowest).get()
        bits = f.op(f"trunc i64 %mask to i{n}")
        on = Vector(f, "b", f.op(f"bitcast i{n} {bits} to <{n} x i1>"), n)
        first = head - lowest * self.op.size
        steps = vector_literal("i64", [str(k * self.op.size) for k in range(n)])
        expected = _spread(f, first, n) + Vector(f, "w", steps, n)
        at = first + self.op.start - self.base
        beside = ~_some(f, f.differ(addresses, expected) & on)
        with f.when(beside & self._is_row(at, n)):
            self._row(first, at, self.me, mask, n)
            f.give("void")
        with f.when(~_some(f, f.differ(addresses, _spread(f, head, n)) & on)):
            self._same(head, self.me, mask)
            f.give("void")

    def _is_row(self, at: Vector, lanes: int) -> Vector:
        """Whether so many lanes beside each other have whole granules of their own."""
        f, op = self.f, self.op
        if op.size % op.granule:
            return f.flag("icmp eq i1 true, false")
        inside = (at < self.size) & (at + lanes * op.size <= self.size)
        return inside & f.equal(at & (op.granule - 1), 0)

    def _row(self, a: Vector, at: Vector, me: Vector, mask: Vector, lanes: int) -> None:
        """Lanes beside each other, from one at `at` on."""
        f = self.f
        row = _Row(self.op.kind, self.is_local, lanes, self.each, self.step)
        if row.name not in f.support:
            f.support[row.name] = row.text(f)
        with f.when(self._is_followed(a, at, at + lanes * self.op.size)):
            tables = [f"ptr {table}" for table in self.tables]
            arguments = ["ptr %ctx", *tables, (at >> self.shift).typed, mask.typed, me.typed]
            f.do(f"call void @{row.name}({', '.join(arguments)})")

    def _same(self, a: Vector, me: Vector, mask: Vector) -> None:
        """Lanes that all access the same bytes."""
        f, at = self.f, a + self.op.start - self.base
        if self.step:
            several = f.one_if(f.differ(mask & (mask - 1), 0))
            me = (me + _lowest(f, mask) * self.step) | several
        self._one(a, at, me)


@LOWERINGS.on(Follow)
def _follow(k: KernelLowering, op: Follow) -> None:
    access = access_of(k, op, store=op.kind != READ)
    if access.space is Space.SCRATCH:
        return
    e, access = k.e, replace(access, size=op.start + op.size)
    if op.kind != READ or access.space is Space.SLM:
        _call(k, op, access, access.size)
        return
    affine = access.address.affine
    if affine is None or (affine.shape.active and not access.mask.executing):
        if not irregular.can_gather(k, access):
            _call(k, op, access, access.size)
            return
        ok, total = irregular.places(k, access).inside, access.size
    else:
        ok, _ = check(k, access, affine, heads(k, access, affine))
        total = reach(access, affine.shape)[1]
    follow, on = e.name("follow"), e.name("on")
    e.do(f"br i1 {ok}, label %{on}, label %{follow}")
    e.label(follow)
    _call(k, op, access, total)
    e.do(f"br label %{on}")
    e.label(on)


def _call(k: KernelLowering, op: Follow, access: CompiledAccess, total: int) -> None:
    """Call what compares an access: for the affine form of its lanes, if they have one, or any."""
    e, affine = k.e, access.address.affine
    bits = slow_mask(k, access.mask)
    is_local = access.space is Space.SLM
    epoch, items = (e.op(f"zext i32 {k.vector(op.args[n])} to i64") for n in (3 - is_local, 4))
    arguments = [f"i64 {x}" for x in (bits, epoch, items, access.surface, total)]
    usable = affine is not None and (not affine.shape.active or access.mask.executing)
    if affine is None or not usable or not _fits(affine.shape, op):
        _call_any(k, op, access, arguments)
        return
    low = min(affine.shape.offsets)
    places = [e.op(f"add i64 {head}, {low}") for head in heads(k, access, affine)]
    entry = _Entry(op, access.space, access.address.width, affine.shape)
    if affine.sure == "true":
        _call_entry(k, entry, access, [*(f"i64 {place}" for place in places), *arguments])
        return
    known, other, on = (e.name(hint) for hint in ("known", "other", "on"))
    e.do(f"br i1 {affine.sure}, label %{known}, label %{other}")
    e.label(known)
    _call_entry(k, entry, access, [*(f"i64 {place}" for place in places), *arguments])
    e.do(f"br label %{on}")
    e.label(other)
    _call_any(k, op, access, arguments)
    e.do(f"br label %{on}")
    e.label(on)


def _fits(shape: Shape, op: Follow) -> bool:
    """Whether lanes of a group access the same bytes, or bytes beside each other in order."""
    steps = {b - a for a, b in pairwise(shape.offsets)}
    return shape.uniform or (op.start == 0 and steps == {op.size})


def _call_any(k: KernelLowering, op: Follow, access: CompiledAccess, arguments: list[str]) -> None:
    e, lanes = k.e, access.address
    vector = vector_of("i64", lanes.width)
    addresses = cold_vector(lanes, access.mask)
    if lanes.type.size != 8:
        addresses = e.op(f"zext {lane_type(lanes.type, lanes.width)} {addresses} to {vector}")
    place = k.scratchpad("addresses", vector)
    e.do(f"store {vector} {addresses}, ptr {place}, align 8")
    entry = _Entry(op, access.space, lanes.width, None)
    _call_entry(k, entry, access, [f"ptr {place}", *arguments])


def _call_entry(
    k: KernelLowering, entry: _Entry, access: CompiledAccess, arguments: list[str]
) -> None:
    """Call an entry, and define it and what it calls, once."""
    e = k.e
    if entry.name not in e.support:
        if entry.op.kind == READ and entry.space is not Space.SLM:
            need_locate(k, entry.space)
        elif entry.space is Space.SURFACE:
            e.support.setdefault("surface.row", support.SURFACE_ROW)
        e.support[entry.name] = entry.text(e)
    site = k.site_pointer(access.site)
    e.do(f"call void @{entry.name}(ptr %ctx, ptr {site}, {', '.join(arguments)})")
