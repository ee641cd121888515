"""The driver's look at a group after a turn: who may leave a barrier, who never will.

``i32 @schedule(ctx, threads, running)`` returns 0 to go on, 1 when all threads have ended, 2 for a
fault.
"""

from __future__ import annotations

from eumu.exec.jit.llvm.functions import FunctionBuilder, Variable
from eumu.exec.jit.llvm.layout import Context, FaultKind, Record, ThreadState
from eumu.exec.jit.llvm.vectors import Vector
from eumu.exec.named import PAIRS
from eumu.records import dataclass

_NOWHERE = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class _Counts:
    """What is found of the threads that wait."""

    freed: Variable
    stuck: Variable
    missing: Variable  # threads that wait for one that has ended
    mixed: Variable  # threads that leave another barrier than the first one
    place: Variable  # that barrier


def schedule(has_named: bool) -> str:
    """The function, for kernels with named barriers or without."""
    f = FunctionBuilder("internal i32 @schedule(ptr %ctx, i64 %threads, i64 %running)")
    threads = f.number("%threads")
    least, least_ended, ended = f.variable(-1), f.variable(-1), f.variable()
    with f.times(threads) as t:
        record = _record(f, t)
        is_done = f.equal(f.word(record, Record.STATE).get(), ThreadState.DONE)
        arrived = f.word(record, Record.ARRIVED).get()
        least.set(f.least(least.get(), arrived))
        least_ended.set(f.least(least_ended.get(), f.where(is_done, arrived, _NOWHERE)))
        ended.add(f.one_if(is_done))
    with f.when(f.equal(ended.get(), threads)):
        f.give("i32 1")
    freed, stuck, missing, mixed = (f.variable() for _ in range(4))
    counts = _Counts(freed, stuck, missing, mixed, place=f.variable(-1))
    with f.times(threads) as t:
        record = _record(f, t)
        with f.when(f.equal(f.word(record, Record.STATE).get(), ThreadState.BLOCKED)):
            if has_named:
                named, plain = f.either(f.differ(f.word(record, Record.NAME).get(), 0))
                with named:
                    _at_named(f, record, t, counts)
                with plain:
                    _at_barrier(f, record, least.get(), least_ended.get(), counts)
            else:
                _at_barrier(f, record, least.get(), least_ended.get(), counts)
    _judge(f, counts)
    with f.times(threads) as t:
        state = f.word(_record(f, t), Record.STATE)
        with f.when(f.equal(state.get(), ThreadState.FREE)):
            state.set(ThreadState.READY)
    f.do("ret i32 0")
    return f.text()


def _record(f: FunctionBuilder, thread: Vector) -> str:
    return f.op(f"call ptr @record.of(ptr %ctx, {thread.typed})")


def _at_barrier(
    f: FunctionBuilder, record: str, least: Vector, least_ended: Vector, counts: _Counts
) -> None:
    """A thread goes on if all have signalled; those of one turn leave one barrier."""
    passed = f.word(record, Record.PASSED).get()
    leaves, stays = f.either(least >= passed)
    with leaves:
        f.word(record, Record.STATE).set(ThreadState.FREE)
        counts.freed.add(1)
        with f.when(f.differ(f.word(record, Record.SYNC).get(), 0)):
            before, here = counts.place.get(), f.word(record, Record.PLACE).get()
            counts.mixed.add(f.one_if(f.differ(before, _NOWHERE) & f.differ(before, here)))
            counts.place.set(here)
    with stays:
        counts.stuck.add(1)
        counts.missing.add(f.one_if(least_ended < passed))


def _at_named(f: FunctionBuilder, record: str, thread: Vector, counts: _Counts) -> None:
    """A thread goes on when it has a notice, which it takes, or the other of its pair is there."""
    name, noticed = f.word(record, Record.NAME).get(), f.variable()
    pair, number = f.either(f.equal(name, PAIRS))
    with pair:
        other = f.number(f.op(f"xor {thread.typed}, 1"))
        its = f.word(_record(f, other), Record.PAIRS).get()
        noticed.set(f.one_if(its >= f.word(record, Record.PAIRS).get()))
    with number:
        notices = f.word(record, Record.NOTICES)
        before = notices.get()
        here = before >> (name - 1) & 1
        notices.set(before - (here << (name - 1)))
        noticed.set(here)
    counts.freed.add(noticed.get())
    counts.stuck.add(1 - noticed.get())
    with f.when(f.differ(noticed.get(), 0)):
        f.word(record, Record.STATE).set(ThreadState.FREE)


def _judge(f: FunctionBuilder, counts: _Counts) -> None:
    """End with a fault if threads left different barriers, or some wait in vain."""
    idle = f.equal(f.number("%running"), 0) & f.equal(counts.freed.get(), 0)
    for wrong, kind in (
        (f.differ(counts.mixed.get(), 0), FaultKind.PLACES),
        (f.differ(counts.missing.get(), 0), FaultKind.ENDED),
        (idle & f.differ(counts.stuck.get(), 0), FaultKind.DEADLOCK),
    ):
        with f.when(wrong):
            f.context(Context.FAULT).set(kind)
            f.give("i32 2")
