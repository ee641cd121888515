"""Versions of the thread function: how each is lowered, and its text."""

from __future__ import annotations

from typing import Final

from eumu.errors import InternalError
from eumu.exec.jit.codegen import ahead, counted, merged, observed, updates
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.observed import OBSERVES, WATCH
from eumu.exec.jit.driver.blocks import Ends
from eumu.exec.jit.driver.suspend import Resume
from eumu.exec.jit.llvm.emit import Emitter
from eumu.exec.jit.llvm.layout import SLICE, Context, Record

# What is the same in all threads: where device address 0 would be, the payload of thread 0.
SHARED: Final = (
    f"  %base.p = getelementptr i64, ptr %ctx, i64 {int(Context.BASE)}",
    "  %base = load i64, ptr %base.p",
    f"  %arena.p = getelementptr i64, ptr %ctx, i64 {int(Context.ARENA)}",
    "  %arena = load i64, ptr %arena.p",
    "  %flat.i = sub i64 %arena, %base",
    "  %flat = inttoptr i64 %flat.i to ptr",
    f"  %common.p = getelementptr i64, ptr %ctx, i64 {int(Context.PAYLOADS)}",
    "  %common = load ptr, ptr %common.p",
)


def lower(k: KernelLowering, ends: Ends) -> None:
    k.merges, k.looped = _merges, frozenset(k.flow.repeated())
    k.registers.declare(k.e)
    regs.declare_flags(k.e, k.function, k.registers)
    ends.declare()
    ahead.declare(k)
    counted.declare(k)
    blocks(k, ends)
    k.e.mark(-1)
    ends.finish()
    k.finish()


def _merges(k: KernelLowering, index: int) -> bool:
    return counted.lower(k, index) or merged.lower(k, index)


def blocks(k: KernelLowering, ends: Ends) -> None:
    for index in sorted(k.flow.parked):
        block = k.function.blocks[index]
        if block.end is None:
            raise InternalError(f"IR block {block.label} has no terminator")
        ends.begin(index)
        instructions = {op.inst for op in block.ops} | {block.end.inst}
        cost = len(instructions - {-1}) or 1
        k.cost = cost
        apart = observed.deferred(k, index)
        k.lower_block(index, apart or {**updates.deferred(k, index), **ahead.deferred(k, index)})
        ends.end(index, block.end, cost)


# ---- text


def define(
    name: str,
    parameters: str,
    attributes: str,
    entry: list[str],
    k: KernelLowering,
    linkage: str = "internal",
) -> list[str]:
    """A version of the thread function."""
    first = f"define {linkage} i32 @{name}({parameters}){attributes} #0 {{"
    return [first, "entry:", *entry, *k.e.lines, "}"]


def entry(e: Emitter) -> list[str]:
    """Where variables and local memory lie."""
    return [
        *e.entry,
        f"  %scratch.p = getelementptr i64, ptr %ctx, i64 {int(Context.SCRATCH)}",
        "  %scratch.i = load i64, ptr %scratch.p",
        "  %scratch = inttoptr i64 %scratch.i to ptr",
        f"  %slm.p = getelementptr i64, ptr %ctx, i64 {int(Context.SLM)}",
        "  %slm.i = load i64, ptr %slm.p",
        "  %slm = inttoptr i64 %slm.i to ptr",
    ]


def resuming(resume: Resume, start: str = "start") -> list[str]:
    """The fuel and what was counted before; on to where the thread stopped, or to its start."""
    table = " ".join(f"i64 {n}, label %resume{n}" for n in range(1, resume.count + 1))
    length, first = str(SLICE), []
    if resume.watch:  # what is observed takes long
        length = "%length"
        first = [
            f"  %observes.v = load i64, ptr {WATCH}",
            f"  %observes = icmp eq i64 %observes.v, {OBSERVES}",
            "  %goes.on = icmp ne i64 %pc, 0",
            "  %is.short = select i1 %goes.on, i1 %observes, i1 false",
            f"  {length} = select i1 %is.short, i64 {SLICE >> 6}, i64 {SLICE}",
        ]
    return [
        *([] if resume.in_rounds or resume.cuts else ["  %pc = load i64, ptr %rec"]),
        *first,
        f"  %fuel.p = getelementptr i64, ptr %ctx, i64 {int(Context.FUEL)}",
        "  %fuel.v = load i64, ptr %fuel.p",
        f"  %count.p = getelementptr i64, ptr %rec, i64 {int(Record.COUNT)}",
        "  %count.v = load i64, ptr %count.p",
        f"  %slice = add i64 %count.v, {length}",
        "  %limit.v = call i64 @llvm.umin.i64(i64 %slice, i64 %fuel.v)",
        "  %left.v = sub i64 %limit.v, %count.v",
        "  store i64 %limit.v, ptr %limit",
        "  store i64 %left.v, ptr %left",
        f"  switch i64 %pc, label %{start} [ {table} ]",
    ]
