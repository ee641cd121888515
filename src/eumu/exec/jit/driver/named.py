"""Named barriers: a signal counts, and gives the consumers notice when the barrier opens."""

from __future__ import annotations

from functools import cache
from typing import Final

from eumu.exec.jit.driver.ways import Ways
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.layout import NAMED_WORDS, Context, FaultKind, NamedRow, Record
from eumu.exec.jit.llvm.vectors import Vector
from eumu.exec.named import CONSUMER, MOST, PAIRS, PRODUCER
from eumu.ir import Function, Terminator
from eumu.ir.operations.ends import Barrier


def has_named(function: Function) -> bool:
    """Whether a function has named barriers."""
    ends = (block.end for block in function.blocks)
    return any(isinstance(end, Barrier) and (end.args or end.kind == "pair") for end in ends)


@cache
def _signal() -> str:
    """``i64 @named.signal(ctx, b, role, producers, consumers)``: the kind of fault, or none.

    The barrier and what was said of it are left in the context, for the fault.
    """
    names = ("b", "role", "producers", "consumers")
    parameters = ", ".join(f"i64 %{name}" for name in names)
    f = FunctionBuilder(f"internal i64 @named.signal(ptr %ctx, {parameters}) noinline")
    number, role, producers, consumers = (f.number(f"%{name}") for name in names)
    said = f.context(Context.SIGNAL)
    said.set(number)
    counts = (NamedRow.OPEN, role), (NamedRow.PRODUCERS, producers), (NamedRow.CONSUMERS, consumers)
    for word, value in counts:
        f.word(said.place, 1 + word).set(value)
    _refuse(f, number >= MOST, FaultKind.NO_BARRIER)
    _refuse(f, role > CONSUMER, FaultKind.NO_ROLE)
    row = f.word("%ctx", number * NAMED_WORDS + Context.NAMED).place
    is_open, *awaited = (f.word(row, word) for word, _ in counts)
    come = [f.word(row, w) for w in (NamedRow.COME_PRODUCERS, NamedRow.COME_CONSUMERS)]
    known, first = f.either(f.differ(is_open.get(), 0))
    with known:
        others = f.differ(awaited[0].get(), producers) | f.differ(awaited[1].get(), consumers)
        _refuse(f, others, FaultKind.OTHER_COUNTS)
    with first:
        is_open.set(1)
        for place, value in zip(awaited, (producers, consumers), strict=True):
            place.set(value)
        for count in come:
            count.set(0)
    comes = [f.one_if(f.differ(role, other)) for other in (CONSUMER, PRODUCER)]
    record = f.op(f"call ptr @record.of(ptr %ctx, {f.word('%ctx', Context.THREAD).get().typed})")
    for count, one, mark in zip(come, comes, _CAME, strict=True):
        count.add(one)
        mine = f.word(record, mark)
        mine.set(mine.get() | one << number)
    too_many = (come[0].get() > producers) | (come[1].get() > consumers)
    _refuse(f, too_many, FaultKind.TOO_MANY)
    is_full = f.equal(come[0].get(), producers) & f.equal(come[1].get(), consumers)
    with f.when(is_full):
        is_open.set(0)
        _tell(f, number)
    f.do(f"ret i64 {int(FaultKind.NONE)}")
    return f.text()


_CAME: Final = (Record.CAME_PRODUCER, Record.CAME_CONSUMER)


def _refuse(f: FunctionBuilder, wrong: Vector, kind: FaultKind) -> None:
    with f.when(wrong):
        f.give(f"i64 {int(kind)}")


def _tell(f: FunctionBuilder, number: Vector) -> None:
    """The barrier opens: consumers get notice, and nobody has come any more."""
    with f.times(f.context(Context.THREADS).get()) as t:
        record = f.op(f"call ptr @record.of(ptr %ctx, {t.typed})")
        bit, notices = f.number("1") << number, f.word(record, Record.NOTICES)
        notices.set(notices.get() | f.word(record, Record.CAME_CONSUMER).get() & bit)
        for mark in _CAME:
            came = f.word(record, mark)
            came.set(came.get() & ~bit)


def signal(ends: Ways, end: Terminator, site: int) -> None:
    """A thread comes to a named barrier; leaves it if that is wrong."""
    k, e = ends.k, ends.e
    e.support.setdefault("named.signal", _signal())
    numbers = [("i64", e.op(f"zext i32 {k.vector(x)} to i64")) for x in end.args]
    kind = e.call("i64", "named.signal", ("ptr", "%ctx"), *numbers)
    wrong, bad, on = e.op(f"icmp ne i64 {kind}, 0"), e.name("bad"), e.name("on")
    e.do(f"br i1 {wrong}, label %{bad}, label %{on}, !prof !0")
    e.label(bad)
    k.fault(kind, site)
    e.label(on)


def pair(ends: Ways, site: int) -> None:
    """A thread comes to a barrier of its pair; leaves it if there is no other one."""
    k, e = ends.k, ends.e
    other = e.op(f"xor i64 {k.context_load(Context.THREAD)}, 1")
    lost = e.op(f"icmp uge i64 {other}, {k.context_load(Context.THREADS)}")
    bad, on = e.name("alone"), e.name("on")
    e.do(f"br i1 {lost}, label %{bad}, label %{on}, !prof !0")
    e.label(bad)
    k.fault(FaultKind.ALONE, site)
    e.label(on)
    ends.increment(Record.PAIRS)


def name(ends: Ways, end: Barrier) -> str:
    """The word that says at which barrier a thread waits."""
    if end.kind == "pair":
        return str(PAIRS)
    if not end.args:
        return "0"
    e = ends.e
    number = e.op(f"zext i32 {ends.k.vector(end.args[0])} to i64")
    e.declarations["llvm.umin.i64"] = "declare i64 @llvm.umin.i64(i64, i64)"
    capped = e.op(f"call i64 @llvm.umin.i64(i64 {number}, i64 {MOST})")
    return e.op(f"add i64 {capped}, 1")
