"""The driver's look at a group after a turn, as LLVM text: who may leave a barrier, who never will.

``i32 @settle(ctx, threads, running)`` returns 0 to go on, 1 when all threads have ended, 2 for a
fault.
"""

# ruff: noqa: E501  # lines of LLVM text

from __future__ import annotations

from eumu.exec.jit.llvm.layout import Context, FaultKind, Record, ThreadState
from eumu.exec.jit.llvm.words import get, put
from eumu.exec.named import PAIRS

_TEXT = f"""
define internal i32 @settle(ptr %ctx, i64 %threads, i64 %running) {{
entry:
  br label %look
look:
  %t = phi i64 [ 0, %entry ], [ %t.next, %look ]
  %least = phi i64 [ -1, %entry ], [ %least.next, %look ]
  %least.done = phi i64 [ -1, %entry ], [ %least.done.next, %look ]
  %done = phi i64 [ 0, %entry ], [ %done.next, %look ]
  %r = call ptr @record.of(ptr %ctx, i64 %t)
{get("state", Record.STATE, "%r")}{get("arrived", Record.ARRIVED, "%r")}  %is.done = icmp eq i64 %state, {int(ThreadState.DONE)}
  %least.next = call i64 @llvm.umin.i64(i64 %least, i64 %arrived)
  %ended = select i1 %is.done, i64 %arrived, i64 -1
  %least.done.next = call i64 @llvm.umin.i64(i64 %least.done, i64 %ended)
  %one = zext i1 %is.done to i64
  %done.next = add i64 %done, %one
  %t.next = add i64 %t, 1
  %again = icmp ult i64 %t.next, %threads
  br i1 %again, label %look, label %free
free:
  %all.done = icmp eq i64 %done.next, %threads
  br i1 %all.done, label %finished, label %pass
pass:
  %u = phi i64 [ 0, %free ], [ %u.next, %pass.on ]
  %stuck = phi i64 [ 0, %free ], [ %stuck.next, %pass.on ]
  %missing = phi i1 [ false, %free ], [ %missing.next, %pass.on ]
  %place = phi i64 [ -1, %free ], [ %place.next, %pass.on ]
  %mixed = phi i1 [ false, %free ], [ %mixed.next, %pass.on ]
  %freed = phi i64 [ 0, %free ], [ %freed.next, %pass.on ]
  %q = call ptr @record.of(ptr %ctx, i64 %u)
  %q.state = getelementptr i64, ptr %q, i64 {int(Record.STATE)}
  %s = load i64, ptr %q.state
  %is.blocked = icmp eq i64 %s, {int(ThreadState.BLOCKED)}
  br i1 %is.blocked, label %waiting, label %pass.on
waiting:
@NAMED@  %q.passed = getelementptr i64, ptr %q, i64 {int(Record.PASSED)}
  %passed = load i64, ptr %q.passed
  %opens = icmp uge i64 %least.next, %passed
  br i1 %opens, label %open, label %held
open:
  store i64 {int(ThreadState.FREE)}, ptr %q.state
  %q.place = getelementptr i64, ptr %q, i64 {int(Record.PLACE)}
  %site = load i64, ptr %q.place
  %q.sync = getelementptr i64, ptr %q, i64 {int(Record.SYNC)}
  %sync = load i64, ptr %q.sync
  %syncs = icmp ne i64 %sync, 0
  %known = icmp ne i64 %place, -1
  %differs = icmp ne i64 %place, %site
  %clash = and i1 %known, %differs
  %clashes = and i1 %clash, %syncs
  %mixed.more = or i1 %mixed, %clashes
  %place.more = select i1 %syncs, i64 %site, i64 %place
  %freed.more = add i64 %freed, 1
  br label %pass.on
held:
  %lost = icmp ult i64 %least.done.next, %passed
  %missing.more = or i1 %missing, %lost
  %stuck.more = add i64 %stuck, 1
  br label %pass.on
pass.on:
  %stuck.next = phi i64 [ %stuck, %pass ], [ %stuck, %open ], [ %stuck.more, %held ]
  %missing.next = phi i1 [ %missing, %pass ], [ %missing, %open ], [ %missing.more, %held ]
  %place.next = phi i64 [ %place, %pass ], [ %place.more, %open ], [ %place, %held ]
  %mixed.next = phi i1 [ %mixed, %pass ], [ %mixed.more, %open ], [ %mixed, %held ]
  %freed.next = phi i64 [ %freed, %pass ], [ %freed.more, %open ], [ %freed, %held ]
  %u.next = add i64 %u, 1
  %u.again = icmp ult i64 %u.next, %threads
  br i1 %u.again, label %pass, label %judge
judge:
  br i1 %mixed.next, label %bad.places, label %judge.ended
judge.ended:
  br i1 %missing.next, label %bad.ended, label %judge.stuck
judge.stuck:
  %idle = icmp eq i64 %running, 0
  %none = icmp eq i64 %freed.next, 0
  %some = icmp ne i64 %stuck.next, 0
  %quiet = and i1 %idle, %none
  %deadlock = and i1 %quiet, %some
  br i1 %deadlock, label %bad.deadlock, label %release
release:
  %v = phi i64 [ 0, %judge.stuck ], [ %v.next, %release ]
  %w = call ptr @record.of(ptr %ctx, i64 %v)
  %w.state = getelementptr i64, ptr %w, i64 {int(Record.STATE)}
  %w.s = load i64, ptr %w.state
  %w.free = icmp eq i64 %w.s, {int(ThreadState.FREE)}
  %w.new = select i1 %w.free, i64 {int(ThreadState.READY)}, i64 %w.s
  store i64 %w.new, ptr %w.state
  %v.next = add i64 %v, 1
  %v.again = icmp ult i64 %v.next, %threads
  br i1 %v.again, label %release, label %go.on
go.on:
  ret i32 0
finished:
  ret i32 1
bad.places:
  br label %bad
bad.ended:
  br label %bad
bad.deadlock:
  br label %bad
bad:
  %kind = phi i64 [ {int(FaultKind.PLACES)}, %bad.places ], [ {int(FaultKind.ENDED)}, %bad.ended ], [ {int(FaultKind.DEADLOCK)}, %bad.deadlock ]
{put("kind", Context.FAULT, "%kind")}  ret i32 2
}}
"""

# A thread that waits at a named barrier goes on when it has a notice, and takes it.
_TAKE = f"""  %q.name.p = getelementptr i64, ptr %q, i64 {int(Record.NAME)}
  %q.name = load i64, ptr %q.name.p
  %q.named = icmp ne i64 %q.name, 0
  br i1 %q.named, label %waiting.named, label %waiting.plain
waiting.named:
  %q.pair = icmp eq i64 %q.name, {PAIRS}
  br i1 %q.pair, label %waiting.pair, label %waiting.number
waiting.pair:
  %q.other.t = xor i64 %u, 1
  %q.other = call ptr @record.of(ptr %ctx, i64 %q.other.t)
  %q.mine.p = getelementptr i64, ptr %q, i64 {int(Record.PAIRS)}
  %q.mine = load i64, ptr %q.mine.p
  %q.its.p = getelementptr i64, ptr %q.other, i64 {int(Record.PAIRS)}
  %q.its = load i64, ptr %q.its.p
  %q.came = icmp uge i64 %q.its, %q.mine
  br label %waiting.done
waiting.number:
  %q.number = sub i64 %q.name, 1
  %q.notices.p = getelementptr i64, ptr %q, i64 {int(Record.NOTICES)}
  %q.notices = load i64, ptr %q.notices.p
  %q.bit = shl i64 1, %q.number
  %q.notice = and i64 %q.notices, %q.bit
  %q.left = xor i64 %q.notices, %q.notice
  store i64 %q.left, ptr %q.notices.p
  %q.told = icmp ne i64 %q.notice, 0
  br label %waiting.done
waiting.done:
  %q.noticed = phi i1 [ %q.came, %waiting.pair ], [ %q.told, %waiting.number ]
  %q.next = select i1 %q.noticed, i64 {int(ThreadState.FREE)}, i64 {int(ThreadState.BLOCKED)}
  store i64 %q.next, ptr %q.state
  %q.one = zext i1 %q.noticed to i64
  %q.none = sub i64 1, %q.one
  %freed.named = add i64 %freed, %q.one
  %stuck.named = add i64 %stuck, %q.none
  br label %pass.on
waiting.plain:
"""
_KEPT = ("stuck", "missing", "place", "mixed", "freed")  # what `settle` counts


def settle(has_named: bool) -> str:
    """The function, for kernels with named barriers or without."""
    if not has_named:
        return _TEXT.replace("@NAMED@", "")
    text = _TEXT.replace("@NAMED@", _TAKE)
    for name in _KEPT:
        given = f"%{name}.named" if name in ("stuck", "freed") else f"%{name}"
        text = text.replace(
            f"[ %{name}, %pass ], ", f"[ %{name}, %pass ], [ {given}, %waiting.done ], "
        )
    return text
