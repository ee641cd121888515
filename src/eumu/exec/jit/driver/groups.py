"""The group driver, as LLVM text: ``i32 @run(ctx, groups)`` takes and runs chunks of groups.

Workers take chunks in ascending order and only what lies before the first fault so far, so that the
fault of the first faulting group is found.

A kernel without resume points runs each thread once.  Else threads run in turn until all of the
group have ended; after each turn those that wait at a barrier go on once every thread signalled.
"""

# ruff: noqa: E501  # lines of LLVM text

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from eumu.exec.jit.codegen.streaming import FENCE
from eumu.exec.jit.driver import tiling
from eumu.exec.jit.driver.barrier_scheduler import schedule
from eumu.exec.jit.driver.speculative import TRY, missed_before
from eumu.exec.jit.llvm.attention import look_between
from eumu.exec.jit.llvm.layout import (
    NAMED_RECORD,
    NAMED_WORDS,
    Context,
    FaultKind,
    Outcome,
    Record,
    ThreadState,
)
from eumu.exec.jit.llvm.words import get, put
from eumu.exec.named import MOST

_LOOKS = 16  # turns of all threads until the driver looks up; at once if a slice was used up

_RECORD = f"""
define internal ptr @record.of(ptr %ctx, i64 %t) alwaysinline {{
{get("all", Context.RECORDS)}{get("size", Context.RECORD_SIZE)}  %d = mul i64 %t, %size
  %i = add i64 %all, %d
  %r = inttoptr i64 %i to ptr
  ret ptr %r
}}

define internal ptr @payload.of(ptr %ctx, i64 %t) alwaysinline {{
{get("all", Context.PAYLOADS)}{get("size", Context.PAYLOAD_SIZE)}  %d = mul i64 %t, %size
  %i = add i64 %all, %d
  %r = inttoptr i64 %i to ptr
  ret ptr %r
}}
"""

_SCRATCH = f"""
{get("scratch", Context.SCRATCH_ALL)}{get("scratch.size", Context.SCRATCH_ROOM)}  %scratch.d = mul i64 %t, %scratch.size
  %scratch.t = add i64 %scratch, %scratch.d
{put("now", Context.SCRATCH, "%scratch.t")}"""


_TAIL = f"""{get("tail", Context.TAIL_MASK)}  %next = add i64 %t, 1
  %last = icmp eq i64 %next, %threads
  %lanes = select i1 %last, i64 %tail, i64 -1
"""

_OWN_LANES = f"""{get("masks.i", Context.MASKS)}  %masks = inttoptr i64 %masks.i to ptr
  %mask.p = getelementptr i64, ptr %masks, i64 %t
  %lanes = load i64, ptr %mask.p
"""


def _turn(has_scratch: bool, own_lanes: bool) -> str:
    return f"""
define internal i32 @turn(ptr %ctx, ptr %r, ptr %payload, i64 %t, i64 %threads$PARAMETERS) alwaysinline {{
{_SCRATCH if has_scratch else ""}{put("who", Context.THREAD, "%t")}{
        _OWN_LANES if own_lanes else _TAIL
    }  %outcome = call i32 @thread(ptr %ctx, ptr %r, ptr %payload, i64 %lanes$ARGUMENTS)
  ret i32 %outcome
}}
"""


def _clear(words: Iterable[Record]) -> str:
    return "".join(put(f"z{word.value}", word, "0", "%r") for word in words)


_NAMED_BYTES = 8 * NAMED_WORDS * MOST
_CLOSE = f"""  %named = getelementptr i64, ptr %ctx, i64 {int(Context.NAMED)}
  call void @llvm.memset.p0.i64(ptr %named, i8 0, i64 {_NAMED_BYTES}, i1 false)
"""


_IDS = """  %d1 = getelementptr i32, ptr %payload, i64 1
  %d6 = getelementptr i32, ptr %payload, i64 6
  %d7 = getelementptr i32, ptr %payload, i64 7
  store i32 %x32, ptr %d1, align 4
  store i32 %y32, ptr %d6, align 4
  store i32 %z32, ptr %d7, align 4
"""
_OWN_PAYLOADS = f"""{get("rows", Context.ROWS)}{get("row.size", Context.PAYLOAD_SIZE)}  %rows.size = mul i64 %row.size, %threads
  %rows.d = mul i64 %rows.size, %g
  %rows.g = add i64 %rows, %rows.d
{put("rows.at", Context.PAYLOADS, "%rows.g")}"""


def _prepare(resumable: bool, has_named: bool, own_payloads: bool) -> str:
    """Tell a group's threads its id; clear what is the group's, and the records of its threads."""
    words = set(Record) - {Record.FRAMES} - (set() if has_named else NAMED_RECORD)
    clear = _clear(sorted(words)) if resumable or has_named else ""
    return f"""
define internal void @prepare(ptr %ctx, i64 %g, i64 %threads) {{
entry:
{put("g", Context.GROUP, "%g")}{get("nx", Context.GROUPS_X)}{get("ny", Context.GROUPS_Y)}{
        get("x.first", Context.FIRST_X)
    }{get("y.first", Context.FIRST_Y)}{get("z.first", Context.FIRST_Z)}{get("slm", Context.SLM)}{
        get("slm.size", Context.SLM_ROOM)
    }{get("all", Context.SCRATCH_ALL)}{
        get("scratch.size", Context.SCRATCH_ROOM)
    }  %x.past = urem i64 %g, %nx
  %row = udiv i64 %g, %nx
  %y.past = urem i64 %row, %ny
  %z.past = udiv i64 %row, %ny
  %x = add i64 %x.past, %x.first
  %y = add i64 %y.past, %y.first
  %z = add i64 %z.past, %z.first
  %x32 = trunc i64 %x to i32
  %y32 = trunc i64 %y to i32
  %z32 = trunc i64 %z to i32
  %slm.ptr = inttoptr i64 %slm to ptr
  call void @llvm.memset.p0.i64(ptr %slm.ptr, i8 0, i64 %slm.size, i1 false)
  %scratch.ptr = inttoptr i64 %all to ptr
  %scratch.bytes = mul i64 %scratch.size, %threads
  call void @llvm.memset.p0.i64(ptr %scratch.ptr, i8 0, i64 %scratch.bytes, i1 false)
{_CLOSE if has_named else ""}{
        _OWN_PAYLOADS if own_payloads else ""
    }  %payloads = call ptr @payload.of(ptr %ctx, i64 0)
{get("payload.size", Context.PAYLOAD_SIZE)}  %records = call ptr @record.of(ptr %ctx, i64 0)
{get("record.size", Context.RECORD_SIZE)}  br label %thread
thread:
  %t = phi i64 [ 0, %entry ], [ %t.next, %thread ]
  %payload = phi ptr [ %payloads, %entry ], [ %payload.next, %thread ]
  %r = phi ptr [ %records, %entry ], [ %r.next, %thread ]
{"" if own_payloads else _IDS}{
        clear
    }  %payload.next = getelementptr i8, ptr %payload, i64 %payload.size
  %r.next = getelementptr i8, ptr %r, i64 %record.size
  %t.next = add i64 %t, 1
  %more = icmp ult i64 %t.next, %threads
  br i1 %more, label %thread, label %end
end:
  ret void
}}
"""


_COUNT = f"""
define internal void @count(ptr %ctx, ptr %r) alwaysinline {{
{get("ran", Record.COUNT, "%r")}{get("sum", Context.INSTRUCTIONS)}  %total = add i64 %sum, %ran
  store i64 %total, ptr %sum.p
  ret void
}}
"""

_PLAIN = f"""{put("zero", Record.COUNT, "0", "%r")}{put("flat", Record.DEPTH, "0", "%r")}  %outcome = call i32 @turn(ptr %ctx, ptr %r, ptr %payload, i64 %t, i64 %threads$ARGUMENTS)
  %bad = icmp eq i32 %outcome, {int(Outcome.FAULT)}
  br i1 %bad, label %fault, label %on
on:
{get("ran", Record.COUNT, "%r")}"""


def _once(small_record: bool, speculative: bool, has_scratch: bool) -> str:
    """Run each thread to its end."""
    record = f"alloca [{int(Record.FRAMES)} x i64]"
    kept = record if small_record else "call ptr @record.of(ptr %ctx, i64 0)"
    place = put("who", Context.THREAD, "%t") + (_SCRATCH if has_scratch else "")
    return f"""
define internal i32 @group(ptr %ctx, i64 %threads$PARAMETERS) alwaysinline #0 {{
entry:
  %r = {kept}
{missed_before("1", "%threads") if speculative else ""}{put("pc", Record.PC, "0", "%r")}  %payloads = call ptr @payload.of(ptr %ctx, i64 0)
{get("payload.size", Context.PAYLOAD_SIZE)}{get("sum", Context.INSTRUCTIONS)}  br label %thread
thread:
  %t = phi i64 [ 0, %entry ], [ %t.next, %on ]
  %payload = phi ptr [ %payloads, %entry ], [ %payload.next, %on ]
  %total = phi i64 [ %sum, %entry ], [ %total.next, %on ]
{place + TRY if speculative else _PLAIN}  %total.next = add i64 %total, %ran
  %payload.next = getelementptr i8, ptr %payload, i64 %payload.size
  %t.next = add i64 %t, 1
  %more = icmp ult i64 %t.next, %threads
  br i1 %more, label %thread, label %end
fault:
  ret i32 1
end:
  store i64 %total.next, ptr %sum.p
  ret i32 0
}}
"""


_TURNS = f"""
define internal i32 @group(ptr %ctx, i64 %threads$PARAMETERS) alwaysinline #0 {{
entry:
  br label %round
round:
  %turn = phi i64 [ 1, %entry ], [ %turn.next, %turn.end ]
  %yields = phi i64 [ 0, %entry ], [ %running, %turn.end ]
  %turn.next = add i64 %turn, 1
  %since = and i64 %turn, {_LOOKS - 1}
  %often = icmp eq i64 %since, 0
  %long = icmp ne i64 %yields, 0
  %due = or i1 %often, %long
  br i1 %due, label %attend, label %begin, !prof !0
attend:
{look_between("turn", "begin")}begin:
  br label %loop
loop:
  %t = phi i64 [ 0, %begin ], [ %t.next, %on ]
  %running = phi i64 [ 0, %begin ], [ %running.next, %on ]
  %more = icmp ult i64 %t, %threads
  br i1 %more, label %thread, label %turn.end
thread:
  %r = call ptr @record.of(ptr %ctx, i64 %t)
{get("state", Record.STATE, "%r")}  %ready = icmp eq i64 %state, {int(ThreadState.READY)}
  br i1 %ready, label %go, label %on
go:
  %payload = call ptr @payload.of(ptr %ctx, i64 %t)
  %outcome = call i32 @turn(ptr %ctx, ptr %r, ptr %payload, i64 %t, i64 %threads$ARGUMENTS)
  switch i32 %outcome, label %fault [
    i32 {int(Outcome.END)}, label %ended
    i32 {int(Outcome.BARRIER)}, label %blocked
    i32 {int(Outcome.YIELD)}, label %yielded
  ]
ended:
{put("end", Record.STATE, str(int(ThreadState.DONE)), "%r")}  call void @count(ptr %ctx, ptr %r)
  br label %on
blocked:
{put("block", Record.STATE, str(int(ThreadState.BLOCKED)), "%r")}  br label %on
yielded:
  br label %on
on:
  %ran = phi i64 [ 0, %thread ], [ 0, %ended ], [ 0, %blocked ], [ 1, %yielded ]
  %running.next = add i64 %running, %ran
  %t.next = add i64 %t, 1
  br label %loop
turn.end:
  %verdict = call i32 @schedule(ptr %ctx, i64 %threads, i64 %running)
  switch i32 %verdict, label %fault [
    i32 0, label %round
    i32 1, label %end
  ]
fault:
  ret i32 1
end:
  ret i32 0
}}
"""

# Every barrier signals and waits and nobody yields: all threads run in every round, and either all
# end or all meet at one barrier.
_ROUNDS = f"""
define internal i32 @group(ptr %ctx, i64 %threads$PARAMETERS) alwaysinline #0 {{
entry:
  %record = call ptr @record.of(ptr %ctx, i64 0)
{get("size", Context.RECORD_SIZE)}  %payloads = call ptr @payload.of(ptr %ctx, i64 0)
{get("payload.size", Context.PAYLOAD_SIZE)}  br label %round
round:
  %turn = phi i64 [ 1, %entry ], [ %turn.next, %all.met ]
  %turn.next = add i64 %turn, 1
  %since = and i64 %turn, {_LOOKS - 1}
  %due = icmp eq i64 %since, 0
  br i1 %due, label %attend, label %begin, !prof !0
attend:
{look_between("turn", "begin")}begin:
  br label %thread
thread:
  %t = phi i64 [ 0, %begin ], [ %t.next, %on ]
  %r = phi ptr [ %record, %begin ], [ %r.next, %on ]
  %payload = phi ptr [ %payloads, %begin ], [ %payload.next, %on ]
  %ended = phi i64 [ 0, %begin ], [ %ended.next, %on ]
  %place = phi i64 [ -1, %begin ], [ %place.next, %on ]
  %mixed = phi i1 [ false, %begin ], [ %mixed.next, %on ]
  %outcome = call i32 @turn(ptr %ctx, ptr %r, ptr %payload, i64 %t, i64 %threads$ARGUMENTS)
  switch i32 %outcome, label %fault [
    i32 {int(Outcome.END)}, label %end
    i32 {int(Outcome.BARRIER)}, label %met
  ]
end:
{put("end", Record.STATE, str(int(ThreadState.DONE)), "%r")}  call void @count(ptr %ctx, ptr %r)
  %ended.more = add i64 %ended, 1
  br label %on
met:
{put("met", Record.STATE, str(int(ThreadState.BLOCKED)), "%r")}{get("site", Record.PLACE, "%r")}  %known = icmp ne i64 %place, -1
  %differs = icmp ne i64 %place, %site
  %clash = and i1 %known, %differs
  %mixed.more = or i1 %mixed, %clash
  br label %on
on:
  %ended.next = phi i64 [ %ended.more, %end ], [ %ended, %met ]
  %place.next = phi i64 [ %place, %end ], [ %site, %met ]
  %mixed.next = phi i1 [ %mixed, %end ], [ %mixed.more, %met ]
  %t.next = add i64 %t, 1
  %r.next = getelementptr i8, ptr %r, i64 %size
  %payload.next = getelementptr i8, ptr %payload, i64 %payload.size
  %more = icmp ult i64 %t.next, %threads
  br i1 %more, label %thread, label %judge
judge:
  %none = icmp eq i64 %ended.next, 0
  br i1 %none, label %all.met, label %some.ended
all.met:
  br i1 %mixed.next, label %bad, label %round
some.ended:
  %all = icmp eq i64 %ended.next, %threads
  br i1 %all, label %done, label %bad
bad:
  %kind = select i1 %none, i64 {int(FaultKind.PLACES)}, i64 {int(FaultKind.ENDED)}
{put("kind", Context.FAULT, "%kind")}  br label %fault
fault:
  ret i32 1
done:
  ret i32 0
}}
"""

_TAKE = f"""  call void @prepare(ptr %ctx, i64 %g, i64 %threads)
  %bad = call i32 @group(ptr %ctx, i64 %threads$ARGUMENTS)
  %g.next = add i64 %g, 1
  %fine = icmp eq i32 %bad, 0
  br i1 %fine, label %on, label %fault
on:
  br label %loop
fault:
  %who.p = getelementptr i64, ptr %ctx, i64 {int(Context.THREAD)}
  %who = load i64, ptr %who.p
{put("fault.thread", Context.FAULT_THREAD, "%who")}{put("fault.group", Context.FAULT_GROUP, "%g")}  atomicrmw umin ptr %stop, i64 %g monotonic, align 8
"""

_RUN = f"""
define i32 @run(ptr %ctx, i64 %groups) #0 {{
entry:
$PROLOGUE
{get("threads", Context.THREADS)}{get("stop.i", Context.STOP)}  %stop = inttoptr i64 %stop.i to ptr
{get("next.i", Context.NEXT)}  %next = inttoptr i64 %next.i to ptr
{get("chunk", Context.CHUNK)}  br label %take
take:
  %first = atomicrmw add ptr %next, i64 %chunk monotonic, align 8
  %some = icmp ult i64 %first, %groups
  br i1 %some, label %taken, label %end
taken:
  %after = add i64 %first, %chunk
  %last = call i64 @llvm.umin.i64(i64 %after, i64 %groups)
  br label %loop
loop:
  %g = phi i64 [ %first, %taken ], [ %g.next, %on ]
  %more = icmp ult i64 %g, %last
  br i1 %more, label %check, label %take
check:
  %limit = load atomic i64, ptr %stop monotonic, align 8
  %wanted = icmp ult i64 %g, %limit
  br i1 %wanted, label %counted, label %end
counted:
{get("done", Context.INSTRUCTIONS)}{get("look", Context.LOOK)}  %run.due = icmp uge i64 %done, %look
  br i1 %run.due, label %attend, label %go, !prof !0
attend:
  %run.leave = call i1 @attend(ptr %ctx)
  br i1 %run.leave, label %end, label %go
go:
$TAKE$FENCE  ret i32 1
end:
$FENCE  ret i32 0
}}
"""


def parameters(shared: Mapping[str, str]) -> str:
    """Further parameters, or arguments: values that are the same in all threads."""
    return "".join(f", {type} {name}" for name, type in shared.items())


def driver(
    *,
    resumable: bool,
    rounds: bool,
    has_scratch: bool,
    has_named: bool,
    small_record: bool,
    speculative: bool,
    streams: bool,
    is_tiled: bool,
    prologue: Sequence[str],
    shared: Mapping[str, str],
    own_payloads: bool = False,
    own_lanes: bool = False,
) -> str:
    """The driver's functions for a kernel with or without resume points.

    `rounds` says that those are only barriers where threads signal and wait at once, and
    `small_record` that nothing but its own words lies in a thread's record; `prologue` makes
    the values `shared`, which the thread function gets.  With `streams` it may store past the
    caches, and `is_tiled` says that the order of threads is free.
    `own_payloads` and `own_lanes`: threads come with a payload, or lanes, of their own.
    """
    turns = _COUNT + (_ROUNDS if rounds else schedule(has_named) + _TURNS)
    once = tiling.TILE if is_tiled else _once(small_record, speculative, has_scratch)
    parts = (
        *(_RECORD, "" if speculative else _turn(has_scratch, own_lanes)),
        _prepare(resumable, has_named, own_payloads),
        turns if resumable else once,
        _RUN.replace("$TAKE", tiling.TAKE if is_tiled else _TAKE),
    )
    given = parameters(shared)
    text = "".join(parts).replace("$PARAMETERS", given).replace("$ARGUMENTS", given)
    text = text.replace("$FENCE", FENCE if streams else "")
    return text.replace("$PROLOGUE", "\n".join(prologue))
