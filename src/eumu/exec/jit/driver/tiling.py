"""Groups that run together, where threads do nothing that other threads notice.

Group after group, or one row of work items of all groups after the other: memory is then gone
through in long runs, which processors fetch ahead, and not in pieces of a group's width.  Which is
faster is found by trying.
"""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.driver import speculative
from eumu.exec.jit.driver.threads import place_of, tell_fault
from eumu.exec.jit.llvm.functions import FunctionBuilder, Variable
from eumu.exec.jit.llvm.layout import Context, Record
from eumu.exec.jit.llvm.vectors import Vector
from eumu.records import dataclass

_MOST: Final = 64  # groups
_NOWHERE: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class _Tile:
    """Groups that lie beside each other, and what runs their threads."""

    f: FunctionBuilder
    given: str  # further arguments of a thread
    first: Vector
    x: Vector  # of the first group's id
    record: str
    quick: str
    payloads: str
    payload_size: Vector
    total: Variable  # instructions
    end: Variable  # the first group that does not belong to it, or is not to run any more


def tile(parameters: str) -> str:
    """``i64 @tile(ctx, first, last, threads, stop, …)``: run some groups from `first` on.

    It returns the next one, or -1 after a fault; then all groups before the faulting one have run
    to their end.  `parameters` are further ones.
    """
    head = f"ptr %ctx, i64 %first, i64 %last, i64 %threads, ptr %stop{parameters}"
    f = FunctionBuilder(f"internal i64 @tile({head}) alwaysinline #0")
    first, threads = f.number("%first"), f.number("%threads")
    record = f.alloca(f"[{int(Record.FRAMES)} x i64]", None)
    f.word(record, Record.PC).set(0)
    x, count = _members(f, first)
    quick = speculative.prepare(f, count, count * threads)
    f.do("call void @prepare(ptr %ctx, i64 %first, i64 %threads)")
    payloads, size = place_of(f, "payload", 0), f.context(Context.PAYLOAD_SIZE).get()
    total, end, start = f.variable(), f.variable(), f.variable()
    instructions, row = f.context(Context.INSTRUCTIONS), f.context(Context.ROW).get()
    total.set(instructions.get())
    end.set(first + count)
    t = _Tile(f, parameters, first, x, record, quick, payloads, size, total, end)
    with f.repeat(lambda: start.get() < threads):
        _row(t, start.get(), row)
        start.add(row)
    instructions.set(total.get())
    last = end.get()
    f.do(f"ret {f.where(f.equal(last, first + count), last, _NOWHERE).typed}")
    return f.text()


def _members(f: FunctionBuilder, first: Vector) -> tuple[Vector, Vector]:
    """The x of the first group's id, and how many groups of its row belong to the tile."""
    nx = f.context(Context.GROUPS_X).get()
    past = first % nx
    count = f.least(f.least(nx - past, f.number("%last") - first), _MOST)
    return past + f.context(Context.FIRST_X).get(), count


def _row(t: _Tile, start: Vector, row: Vector) -> None:
    """Run so many threads of each group from thread `start` on; a fault makes the tile shorter."""
    f, group, thread = t.f, t.f.variable(), t.f.variable()
    group.set(t.first)
    with f.block() as done:
        with f.block() as fault:
            with f.repeat(lambda: group.get() < t.end.get()):
                f.context(Context.GROUP).set(group.get())
                x = f.op(f"trunc {(t.x + (group.get() - t.first)).typed} to i32")
                thread.set(start)
                past = start + row
                with f.repeat(lambda: thread.get() < past):
                    payload = f.elements(8, t.payloads, thread.get() * t.payload_size)
                    f.do(f"store i32 {x}, ptr {f.elements(32, payload, 1)}, align 4")
                    f.context(Context.THREAD).set(thread.get())
                    ran = speculative.attempt(f, t.record, t.quick, payload, t.given, fault)
                    t.total.add(ran)
                    thread.add(1)
                group.add(1)
            f.leave(done)
        tell_fault(f, group.get(), thread.get(), "%stop")
        t.end.set(group.get())
