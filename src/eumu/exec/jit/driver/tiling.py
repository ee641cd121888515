"""Groups that run together, where threads do nothing that other threads notice.

``i64 @tile(ctx, first, last, …)`` runs some groups that lie beside each other, from `first` on, and
returns the next one, or -1 after a fault; then all groups before the faulting one have run to
their end.  Group after group, or one row of work items of all groups after the other: memory is
then gone through in long runs, which processors fetch ahead, and not in pieces of a group's width.
Which is faster is found by trying.
"""

# ruff: noqa: E501  # lines of LLVM text

from __future__ import annotations

from typing import Final

from eumu.exec.jit.driver.speculative import TRY, missed_before
from eumu.exec.jit.llvm.layout import Context, Record
from eumu.exec.jit.llvm.words import get, put

_MOST: Final = 64  # groups


TILE: Final = f"""
define internal i64 @tile(ptr %ctx, i64 %first, i64 %last, i64 %threads, ptr %stop$PARAMETERS) alwaysinline #0 {{
entry:
  %r = alloca [{int(Record.FRAMES)} x i64]
  %pc = getelementptr i64, ptr %r, i64 {int(Record.PC)}
  store i64 0, ptr %pc
{get("nx", Context.GROUPS_X)}{get("row", Context.ROW)}{get("payload.size", Context.PAYLOAD_SIZE)}{
    get("sum", Context.INSTRUCTIONS)
}{get("x.first", Context.FIRST_X)}  %x.past = urem i64 %first, %nx
  %x0 = add i64 %x.past, %x.first
  %left = sub i64 %nx, %x.past
  %some = sub i64 %last, %first
  %fewer = call i64 @llvm.umin.i64(i64 %left, i64 %some)
  %count = call i64 @llvm.umin.i64(i64 %fewer, i64 {_MOST})
  %beyond = add i64 %first, %count
  %members = mul i64 %count, %threads
{missed_before("%count", "%members")}  call void @prepare(ptr %ctx, i64 %first, i64 %threads)
  %payloads = call ptr @payload.of(ptr %ctx, i64 0)
  %row.bytes = mul i64 %row, %payload.size
  br label %rows
rows:
  %from = phi i64 [ 0, %entry ], [ %to, %row.end ]
  %row.payload = phi ptr [ %payloads, %entry ], [ %row.payload.next, %row.end ]
  %total.row = phi i64 [ %sum, %entry ], [ %total.group, %row.end ]
  %end.row = phi i64 [ %beyond, %entry ], [ %end, %row.end ]
  %to = add i64 %from, %row
  br label %group
group:
  %g = phi i64 [ %first, %rows ], [ %g.next, %group.end ]
  %total.group = phi i64 [ %total.row, %rows ], [ %total.next, %group.end ]
  %inside = icmp ult i64 %g, %end.row
  br i1 %inside, label %begin, label %row.end
begin:
{put("g", Context.GROUP, "%g")}  %d = sub i64 %g, %first
  %x = add i64 %x0, %d
  %x32 = trunc i64 %x to i32
  br label %thread
thread:
  %t = phi i64 [ %from, %begin ], [ %t.next, %on ]
  %payload = phi ptr [ %row.payload, %begin ], [ %payload.next, %on ]
  %total = phi i64 [ %total.group, %begin ], [ %total.next, %on ]
  %id = getelementptr i32, ptr %payload, i64 1
  store i32 %x32, ptr %id, align 4
{put("t", Context.THREAD, "%t")}{TRY}  %total.next = add i64 %total, %ran
  %payload.next = getelementptr i8, ptr %payload, i64 %payload.size
  %t.next = add i64 %t, 1
  %more = icmp ult i64 %t.next, %to
  br i1 %more, label %thread, label %group.end
group.end:
  %g.next = add i64 %g, 1
  br label %group
fault:
{put("fault.group", Context.FAULT_GROUP, "%g")}{
    put("fault.thread", Context.FAULT_THREAD, "%t")
}  %was.stop = atomicrmw umin ptr %stop, i64 %g monotonic, align 8
  br label %row.end
row.end:
  %end = phi i64 [ %end.row, %group ], [ %g, %fault ]
  %row.payload.next = getelementptr i8, ptr %row.payload, i64 %row.bytes
  %again = icmp ult i64 %to, %threads
  br i1 %again, label %rows, label %done
done:
  store i64 %total.group, ptr %sum.p
  %all = icmp eq i64 %end, %beyond
  %next = select i1 %all, i64 %beyond, i64 -1
  ret i64 %next
}}
"""

# What takes the place of running one group.
TAKE: Final = """  %g.next = call i64 @tile(ptr %ctx, i64 %g, i64 %last, i64 %threads, ptr %stop$ARGUMENTS)
  %fine = icmp ne i64 %g.next, -1
  br i1 %fine, label %on, label %fault
on:
  br label %loop
fault:
"""
