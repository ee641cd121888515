"""The group driver: ``i32 @run(ctx, groups)`` takes and runs chunks of groups.

Workers take chunks in ascending order and only what lies before the first fault so far, so that the
fault of the first faulting group is found.

A kernel without resume points runs each thread once.  Else threads run in turn until all of the
group have ended; after each turn those that wait at a barrier go on once every thread signalled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from eumu.exec.jit.codegen.streaming import FENCE
from eumu.exec.jit.driver import speculative
from eumu.exec.jit.driver.barrier_scheduler import schedule
from eumu.exec.jit.driver.several import Several
from eumu.exec.jit.driver.threads import parameters, place_of, tell_fault
from eumu.exec.jit.driver.tiling import tile
from eumu.exec.jit.llvm.attention import looked, paused
from eumu.exec.jit.llvm.functions import RARELY, FunctionBuilder, Variable
from eumu.exec.jit.llvm.layout import (
    NAMED_RECORD,
    NAMED_WORDS,
    NO_GROUP,
    STOPPED_SHIFT,
    Context,
    FaultKind,
    Record,
    ThreadOutcome,
    ThreadState,
)
from eumu.exec.jit.llvm.paranoid import TRUSTED
from eumu.exec.jit.llvm.vectors import Vector
from eumu.exec.named import MOST
from eumu.records import dataclass

_LOOKS = 16  # turns of all threads until the driver looks up; at once if a slice was used up
_NOWHERE = (1 << 64) - 1
_NAMED_BYTES = 8 * NAMED_WORDS * MOST
_GROUP_ID = (1, 6, 7)  # dwords of a payload with the id of its group


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDriver:
    """What the functions of a kernel's driver depend on; they are made by `text`."""

    resumable: bool  # threads stop and go on
    waits: bool  # they may wait for another group
    # Sites of barriers by resume points, if threads stop only where they signal and wait at once.
    rounds: Sequence[int] | None
    halves: bool  # they signal first and wait then: threads may meet at different barriers
    has_scratch: bool
    has_named: bool
    small_record: bool  # nothing but its own words lies in a thread's record
    speculative: bool
    abreast: Several | None  # what runs threads abreast
    streams: bool  # the speculative version may store past the caches
    is_tiled: bool  # the order of threads is free
    own_payloads: bool  # threads come with a payload of their own,
    own_lanes: bool  # or lanes
    prologue: Sequence[str] = field(default_factory=tuple)  # lines that make the values `shared`
    shared: Mapping[str, str] = field(default_factory=dict)  # and that threads get: their types

    @property
    def given(self) -> str:
        """Further parameters, or arguments: values that are the same in all threads."""
        return parameters(self.shared)

    @property
    def calls_thread(self) -> bool:
        """Whether all that a driver knows of its kernel is that it has a function ``thread``."""
        return not (self.shared or self.speculative or self.abreast or self.rounds is not None)

    def around(self) -> str:
        """Functions around the running of groups, which many kernels have in common; like those
        below they call `PLACES`."""
        takes_turns = self.resumable and self.rounds is None
        between = schedule(self.has_named) if takes_turns else ""
        return "".join([_prepare(self), between, _again()])

    def running(self) -> str:
        """Functions that run groups.

        Those that call come before what they call, and so what is inlined is copied once: LLVM
        inlines the first function first.
        """
        if not self.resumable:
            group = tile(self.given) if self.is_tiled else _once(self)
        elif self.rounds is not None:
            group = _rounds(self, self.rounds)
        else:
            group = _turns(self)
        turn = "" if self.speculative else _turn(self)
        return "".join([_run(self), group, turn])


# ---- threads


def _enter(d: GroupDriver, f: FunctionBuilder, thread: Vector) -> None:
    """Note which thread runs, and where its scratch space is."""
    if d.has_scratch:
        place = f.context(Context.SCRATCH_ALL).get()
        place += thread * f.context(Context.SCRATCH_ROOM).get()
        f.context(Context.SCRATCH).set(place)
    f.context(Context.THREAD).set(thread)


def _turn(d: GroupDriver) -> str:
    """Run a thread until it ends or stops."""
    point = "" if d.rounds is None else ", i64 %pc"
    arguments = f"ptr %ctx, ptr %r, ptr %payload, i64 %t, i64 %threads{d.given}{point}"
    f = FunctionBuilder(f"internal i32 @turn({arguments}) alwaysinline")
    thread = f.number("%t")
    _enter(d, f, thread)
    if d.own_lanes:
        lanes = f.word(f.pointer(f.context(Context.MASKS).get()), thread).get()
    else:
        is_last = f.equal(thread + 1, f.number("%threads"))
        lanes = f.where(is_last, f.context(Context.TAIL_MASK).get(), _NOWHERE)
    arguments = f"ptr %ctx, ptr %r, ptr %payload, {lanes.typed}{d.given}{point}"
    f.do(f"ret i32 {f.op(f'call i32 @thread({arguments})')}")
    return f.text()


def _outcome_of(
    d: GroupDriver,
    f: FunctionBuilder,
    record: str,
    payload: str,
    t: Vector,
    point: Vector | None = None,
) -> Vector:
    """Call `turn`, in rounds for a thread that goes on at a resume point; a `ThreadOutcome`."""
    arguments = f"ptr %ctx, ptr {record}, ptr {payload}, {t.typed}, i64 %threads{d.given}"
    arguments += f", {point.typed}" if point is not None else ""
    return f.small(f.op(f"call i32 @turn({arguments})"))


def _ended(f: FunctionBuilder, record: str) -> None:
    """A thread has ended: count what it ran."""
    f.word(record, Record.STATE).set(ThreadState.DONE)
    f.context(Context.INSTRUCTIONS).add(f.word(record, Record.COUNT).get())


# ---- groups


def _prepare(d: GroupDriver) -> str:
    """Tell a group's threads its id; clear what is the group's, and the records of its threads."""
    f = FunctionBuilder("internal void @prepare(ptr %ctx, i64 %g, i64 %threads)")
    group, threads = f.number("%g"), f.number("%threads")
    f.context(Context.GROUP).set(group)
    identity = _identity(f, group)
    _clear(f, f.context(Context.SLM).get(), f.context(Context.SLM_ROOM).get())
    scratch = f.context(Context.SCRATCH_ROOM).get() * threads
    _clear(f, f.context(Context.SCRATCH_ALL).get(), scratch)
    if d.has_named:
        named = f.context(Context.NAMED).place
        f.do(f"call void @llvm.memset.p0.i64(ptr {named}, i8 0, i64 {_NAMED_BYTES}, i1 false)")
    size = f.context(Context.PAYLOAD_SIZE).get()
    if d.own_payloads:
        rows = f.context(Context.ROWS).get() + size * threads * group
        f.context(Context.PAYLOADS).set(rows)
    payloads, records = place_of(f, "payload", 0), place_of(f, "record", 0)
    record_size = f.context(Context.RECORD_SIZE).get()
    with f.times(threads) as t:
        if not d.own_payloads:
            payload = f.elements(8, payloads, t * size)
            for place, value in zip(_GROUP_ID, identity, strict=True):
                f.do(f"store i32 {value}, ptr {f.elements(32, payload, place)}, align 4")
        record = f.elements(8, records, t * record_size)
        for word in _cleared(d):
            f.word(record, word).set(0)
    f.do("ret void")
    return f.text()


def _identity(f: FunctionBuilder, group: Vector) -> list[str]:
    """The three dwords of a group's id."""
    nx, ny = (f.context(word).get() for word in (Context.GROUPS_X, Context.GROUPS_Y))
    row = group // nx
    past = group % nx, row % ny, row // ny
    first = Context.FIRST_X, Context.FIRST_Y, Context.FIRST_Z
    places = [a + f.context(word).get() for a, word in zip(past, first, strict=True)]
    return [f.op(f"trunc {place.typed} to i32") for place in places]


def _clear(f: FunctionBuilder, start: Vector, size: Vector) -> None:
    f.do(f"call void @llvm.memset.p0.i64(ptr {f.pointer(start)}, i8 0, {size.typed}, i1 false)")


def _cleared(d: GroupDriver) -> list[Record]:
    """Words of a thread's record that are 0 when its group begins."""
    if not (d.resumable or d.has_named):
        return []
    if d.rounds is not None:
        return [Record.STATE, Record.COUNT, Record.DEPTH]
    return sorted(set(Record) - {Record.FRAMES} - (set() if d.has_named else NAMED_RECORD))


def _group(d: GroupDriver) -> FunctionBuilder:
    """The function that runs a group; it returns 1 after a fault, else 0."""
    return FunctionBuilder(f"internal i32 @group(ptr %ctx, i64 %threads{d.given}) alwaysinline #0")


def _once(d: GroupDriver) -> str:
    """Run each thread to its end."""
    f = _group(d)
    threads = f.number("%threads")
    record = f.alloca(f"[{int(Record.FRAMES)} x i64]", None) if d.small_record else ""
    record = record or place_of(f, "record", 0)
    quick = speculative.prepare(f, 1, threads) if d.speculative else ""
    f.word(record, Record.PC).set(0)
    payloads, size = place_of(f, "payload", 0), f.context(Context.PAYLOAD_SIZE).get()
    count, total = f.context(Context.INSTRUCTIONS), f.variable()
    total.set(count.get())
    with f.block() as fault:
        first = f.variable()
        if d.abreast is not None:
            d.abreast.chunks(f, threads, first, total, fault)
        with f.times(threads - first.get()) as n:
            t = first.get() + n
            payload = f.elements(8, payloads, t * size)
            if d.speculative:
                _enter(d, f, t)
                total.add(speculative.attempt(f, record, quick, payload, d.given, fault))
            else:
                f.word(record, Record.COUNT).set(0)
                f.word(record, Record.DEPTH).set(0)
                outcome = _outcome_of(d, f, record, payload, t)
                with f.when(f.equal(outcome, ThreadOutcome.FAULT)):
                    f.leave(fault)
                total.add(f.word(record, Record.COUNT).get())
        count.set(total.get())
        f.give("i32 0")
    f.do("ret i32 1")
    return f.text()


def _attend(f: FunctionBuilder, due: Vector) -> None:
    """Look up if it is time to, and end with a fault if the worker must leave."""
    with f.when(due, RARELY), f.when(looked(f)):
        f.give("i32 1")


def _turns(d: GroupDriver) -> str:
    """Run threads that can run in turn until all have ended."""
    f = _group(d)
    threads, turn, running = f.number("%threads"), f.variable(), f.variable()
    again, moved, since = f.variable(1), f.variable(), f.variable()
    with f.repeat(lambda: f.differ(again.get(), 0)):
        turn.add(1)
        _attend(f, f.equal(turn.get() & (_LOOKS - 1), 0) | f.differ(running.get(), 0))
        running.set(0)
        moved.set(0)
        with f.times(threads) as t:
            record = place_of(f, "record", t)
            state = f.word(record, Record.STATE)
            with f.when(f.equal(state.get(), ThreadState.READY)):
                outcome = _outcome_of(d, f, record, place_of(f, "payload", t), t)
                with f.when(f.equal(outcome, ThreadOutcome.FAULT)):
                    f.give("i32 1")
                with f.when(f.equal(outcome, ThreadOutcome.END)):
                    _ended(f, record)
                with f.when(f.equal(outcome, ThreadOutcome.BARRIER)):
                    state.set(ThreadState.BLOCKED)
                waits = f.one_if(f.equal(outcome, ThreadOutcome.WAIT))
                running.add(waits | f.one_if(f.equal(outcome, ThreadOutcome.YIELD)))
                moved.set(moved.get() | (1 - waits))
        if d.waits:
            stays = f.equal(moved.get(), 0)
            with f.when(stays):
                since.set(paused(f, since.get(), threads))
            since.set(f.where(stays, since.get(), 0))
        verdict = f.op(f"call i32 @schedule(ptr %ctx, i64 %threads, {running.get().typed})")
        with f.when(f.flag(f"icmp eq i32 {verdict}, 2")):
            f.give("i32 1")
        again.set(f.one_if(f.flag(f"icmp eq i32 {verdict}, 0")))
    f.do("ret i32 0")
    return f.text()


def _rounds(d: GroupDriver, sites: Sequence[int]) -> str:
    """Run all threads in each round: then either all end or all meet at one barrier.

    Every barrier signals and waits, and nobody yields.  So all threads go on at the same point,
    and a thread writes down no more than where it stopped.  If the barrier is two halves, each
    goes on at its own point.
    """
    f = _group(d)
    threads, turn, ended = f.number("%threads"), f.variable(), f.variable()
    records, size = place_of(f, "record", 0), f.context(Context.RECORD_SIZE).get()
    payloads, payload_size = place_of(f, "payload", 0), f.context(Context.PAYLOAD_SIZE).get()
    point, stopped, mixed = f.variable(), f.variable(), f.variable()
    if d.abreast is not None:
        d.abreast.group(f, threads, stopped, ended)
    with f.block() as fault:
        with f.repeat(lambda: f.equal(ended.get(), 0)):
            turn.add(1)
            due = f.equal(turn.get() & (_LOOKS - 1), 0)
            with f.when(due, RARELY), f.when(looked(f)):
                f.leave(fault)
            point.set(stopped.get() >> STOPPED_SHIFT)
            stopped.set(0)
            with f.times(threads) as t:
                record = f.elements(8, records, t * size)
                payload = f.elements(8, payloads, t * payload_size)
                if d.halves:
                    point.set(f.word(record, Record.STATE).get() >> STOPPED_SHIFT)
                outcome = _outcome_of(d, f, record, payload, t, point.get())
                with f.when(f.equal(outcome, ThreadOutcome.FAULT)):
                    f.leave(fault)
                ends, meets = f.either(f.equal(outcome, ThreadOutcome.END))
                with ends:
                    _ended(f, record)
                    ended.add(1)
                with meets:
                    here = f.number(f.op(f"zext {outcome.typed} to i64"))
                    f.word(record, Record.STATE).set(here)
                    before = stopped.get()
                    if not d.halves:
                        other = f.differ(before, 0) & f.differ(before, here)
                        mixed.set(mixed.get() | f.one_if(other))
                    stopped.set(here)
            met = f.equal(ended.get(), 0)
            with f.when(f.where(met, f.differ(mixed.get(), 0), f.differ(ended.get(), threads))):
                kind = f.where(met, f.number(str(int(FaultKind.PLACES))), FaultKind.ENDED)
                f.context(Context.FAULT).set(kind)
                f.leave(fault)
        f.give("i32 0")
    f.do("call void @tell.barriers(ptr %ctx, i64 %threads)")
    f.do("ret i32 1")
    return _tell_barriers(sites, d.halves) + f.text()


def _tell_barriers(sites: Sequence[int], halves: bool) -> str:
    """After a fault: write into the records who waits at which barrier, for the diagnosis."""
    f = FunctionBuilder("internal void @tell.barriers(ptr %ctx, i64 %threads) noinline cold")
    records, size = place_of(f, "record", 0), f.context(Context.RECORD_SIZE).get()
    with f.times(f.number("%threads")) as t:
        record = f.elements(8, records, t * size)
        state = f.word(record, Record.STATE)
        point = state.get() >> STOPPED_SHIFT
        with f.when(f.differ(point, 0)):
            entry = f.elements(64, "@barrier.sites", point - 1)
            site = f.number(f.op(f"load i64, ptr {entry}{TRUSTED}"))
            for word in (Record.ARRIVED, Record.PASSED):
                f.word(record, word).set(1)
            f.word(record, Record.SYNC).set(0 if halves else 1)
            f.word(record, Record.PLACE).set(site)
            state.set(ThreadState.BLOCKED)
    f.do("ret void")
    row = ", ".join(f"i64 {site}" for site in sites)
    return f"\n@barrier.sites = internal constant [{len(sites)} x i64] [{row}]\n{f.text()}"


# ---- all groups


def _run(d: GroupDriver) -> str:
    """Take chunks of groups while there are some, and run them; 1 after a fault, else 0."""
    f = FunctionBuilder("i32 @run(ptr %ctx, i64 %groups) #0")
    f.lines += d.prologue
    groups, threads = f.number("%groups"), f.context(Context.THREADS).get()
    stop, next_ = (f.pointer(f.context(word).get()) for word in (Context.STOP, Context.NEXT))
    chunk, first, group = f.context(Context.CHUNK).get(), f.variable(), f.variable()
    done, look = f.context(Context.INSTRUCTIONS), f.context(Context.LOOK)

    def taken() -> Vector:
        add = f"atomicrmw add ptr {next_}, {chunk.typed} monotonic, align 8"
        first.set(f.number(f.op(add)))
        return first.get() < groups

    with f.block() as end, f.repeat(taken):
        last = f.least(first.get() + chunk, groups)
        group.set(first.get())
        with f.repeat(lambda: group.get() < last):
            limit = f.number(f.op(f"load atomic i64, ptr {stop} monotonic, align 8"))
            with f.when(group.get() >= limit):
                f.leave(end)
            with f.when(done.get() >= look.get(), RARELY), f.when(looked(f)):
                f.leave(end)
            _run_some(d, f, group, threads, last, stop)
    _finish(d, f)
    f.do("ret i32 0")
    return f.text()


def _again() -> str:
    """Run all groups with a worker that ran the same launch last: how many instructions they took.

    What a run changes is as before it first.  All bits are set if there is more to tell.
    """
    f = FunctionBuilder("i64 @again(ptr %ctx, i64 %groups, i64 %polls)")
    f.context(Context.POLLS).set(f.number("%polls"))
    for word in (Context.LOOK, Context.POLLED, Context.INSTRUCTIONS):
        f.context(word).set(0)
    f.context(Context.GROUP).set(NO_GROUP)
    f.context(Context.FAULT).set(FaultKind.NONE)
    f.do("call i32 @run(ptr %ctx, i64 %groups)")
    fine = f.equal(f.context(Context.FAULT).get(), FaultKind.NONE)
    fine = fine & f.equal(f.context(Context.ERROR).get(), 0)
    fine = fine & f.equal(f.context(Context.GROUP).get() + 1, f.number("%groups"))
    count = f.where(fine, f.context(Context.INSTRUCTIONS).get(), NO_GROUP)
    f.do(f"ret {count.typed}")
    return f.text()


def _run_some(
    d: GroupDriver, f: FunctionBuilder, group: Variable, threads: Vector, last: Vector, stop: str
) -> None:
    """Run one group, or a tile of some, and go on to the next; a fault ends the function."""
    g = group.get()
    if d.is_tiled:
        arguments = f"ptr %ctx, {g.typed}, {last.typed}, {threads.typed}, ptr {stop}{d.given}"
        after = f.number(f.op(f"call i64 @tile({arguments})"))
        with f.when(f.equal(after, _NOWHERE)):
            _finish(d, f)
            f.give("i32 1")
        group.set(after)
        return
    f.do(f"call void @prepare(ptr %ctx, {g.typed}, {threads.typed})")
    bad = f.op(f"call i32 @group(ptr %ctx, {threads.typed}{d.given})")
    with f.when(f.flag(f"icmp ne i32 {bad}, 0")):
        tell_fault(f, g, f.context(Context.THREAD).get(), stop)
        _finish(d, f)
        f.give("i32 1")
    group.add(1)


def _finish(d: GroupDriver, f: FunctionBuilder) -> None:
    """What was stored past the caches is there for others after the fence."""
    if d.streams:
        f.do(FENCE)
