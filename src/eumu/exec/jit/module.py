"""A whole LLVM module for one kernel: the thread function, its support, the group driver."""

from __future__ import annotations

from dataclasses import dataclass

from eumu.errors import InternalError
from eumu.exec.jit import (
    atomics,
    block_accesses,
    indirect,
    memory,
    messages,
    products,
    report,
    special,
    state,
    stores,
)
from eumu.exec.jit import registers as regs
from eumu.exec.jit.blocks import Ends
from eumu.exec.jit.calls import frames_size, saved_roots
from eumu.exec.jit.dataflow import analyse as analyse_patterns
from eumu.exec.jit.driver import driver
from eumu.exec.jit.emit import Emitter, vector_of
from eumu.exec.jit.flow import Flow
from eumu.exec.jit.flow import analyse as analyse_flow
from eumu.exec.jit.kernel import Kernel, Site, Target
from eumu.exec.jit.lanes import Shape
from eumu.exec.jit.lanewise import free_writes
from eumu.exec.jit.layout import Context, Outcome, Record
from eumu.exec.jit.named import has_named
from eumu.exec.jit.slots import Facts, Slot, slice_shape
from eumu.exec.jit.spill import Resume, rotating_headers, waiting_headers
from eumu.exec.jit.webs import split_file
from eumu.ir import Function, Value

OWN_DWORDS = (1, 2, 6, 7)  # of r0: the rest of it is the same for every thread
SLICE = 1 << 14  # instructions until a thread in a waiting loop gives way

# They register their operations.
_LOWERED_IN = (
    *(atomics, block_accesses, indirect, memory, messages, products),
    *(report, special, state, stores),
)


@dataclass(frozen=True, slots=True)
class Special:
    """What code is specialised on.

    `local_ids` has, per dimension, the shape of every thread's ids, or None; it is empty unless
    every thread of a group is full.  `own_payloads` and `own_lanes` say that each thread has some.
    """

    full_threads: bool
    local_ids: tuple[Shape | None, ...]
    local_id_offset: int
    local_id_pitch: int
    slm_bytes: int
    scratch_bytes: int
    r0: tuple[int, ...]
    own_payloads: bool = False
    own_lanes: bool = False


@dataclass(frozen=True, slots=True)
class Module:
    """LLVM text, and what the engine must know of it."""

    text: str
    sites: tuple[Site, ...]
    record_size: int
    resumable: bool
    waiting: tuple[int, ...]  # blocks where lanes may wait; their masks, when a barrier
    waiting_offset: int  # diverges, are left in the record from this byte on


def build(function: Function, special: Special, target: Target) -> Module:
    """Lower a function; raises `Unsupported` for what the fast engine cannot do."""
    flow = _flow(function)
    function = split_file(function, flow)
    facts = Facts(
        flow,
        function.width,
        special.full_threads,
        _input_slots(function, special),
        _reach(function),
        saved_roots(function),
    )
    e = Emitter(
        half_conversions=target.half_conversions,
        embedded_rounding=target.embedded_rounding,
        fenced_bytes=target.fenced_bytes,
    )
    words = Record.FRAMES + len(flow.waiting)
    registers = regs.cut(function, 8 * words + frames_size(function, flow))
    analysis = analyse_patterns(function, facts)
    k = Kernel(
        function,
        facts,
        analysis,
        registers,
        e,
        special.slm_bytes,
        special.scratch_bytes,
        target.masked_stores,
        target.gathers,
        target.octet_products,
        free_writes(function, flow),
    )
    registers.declare(e)
    regs.declare_flags(e, function, registers)
    resume = Resume(k, waiting_headers(function, flow))
    ends = Ends(k, resume)
    ends.declare()
    _blocks(k, ends)
    ends.finish()
    _start(k, ends, special)
    place = e.lines.index("start:") + 1
    first = 8 * words + frames_size(function, flow)
    e.lines[place:place] = resume.emit(registers.memory_end, first, ends.rotate)
    return _assemble(k, resume, ends, special)


def _flow(function: Function) -> Flow:
    """The flow; once more where lanes that wait for others must let them run."""
    full_mask = _full_masks(function)

    def is_full(block: int, mask: Value) -> bool:
        return (block, mask.id) in full_mask

    flow = analyse_flow(function, is_full)
    rotating = rotating_headers(function, flow)
    return analyse_flow(function, is_full, rotating) if rotating else flow


def _full_masks(function: Function) -> set[tuple[int, int]]:
    """Constant masks of every lane, per block: the lanes of an unconditional return or call."""
    found = set()
    for index, block in enumerate(function.blocks):
        for op in block.ops:
            if op.name == "const" and all(op.attrs["lanes"]) and op.result.is_mask:
                if op.result.width >= function.width:
                    found.add((index, op.result.id))
            elif op.name == "splat" and (index, op.args[0].id) in _single(function, index):
                found.add((index, op.result.id))
    return found


def _single(function: Function, index: int) -> set[tuple[int, int]]:
    """Constant true masks of one lane in a block."""
    return {
        (index, op.result.id)
        for op in function.blocks[index].ops
        if op.name == "const"
        and op.result.is_mask
        and op.result.width == 1
        and all(op.attrs["lanes"])
    }


def _reach(function: Function) -> frozenset[str]:
    """Roots that register-indirect writes can change."""
    return frozenset(
        op.attrs["root"].name
        for block in function.blocks
        for op in block.ops
        if op.name == "root_address"
    )


def _input_slots(function: Function, special: Special) -> dict[Slot, Shape]:
    """Where the payload puts local ids that have a known shape."""
    slots = {}
    for dimension, shape in enumerate(special.local_ids):
        row = special.local_id_offset + dimension * special.local_id_pitch
        for given in function.inputs:
            # Registers may hold a part of a row each.
            first = max(0, -(-(given.payload_offset - row) // 2))
            last = min(function.width, (given.payload_offset + given.size - row) // 2)
            part = slice_shape(shape, first, last - first) if shape and first < last else None
            if part is not None:
                start = given.offset + row - given.payload_offset
                offsets = tuple(start + 2 * n for n in range(first, last))
                slots[Slot(given.root.name, offsets, 2)] = part
    for given in function.inputs:
        for dword, value in enumerate(special.r0):
            place = 4 * dword - given.payload_offset
            if dword not in OWN_DWORDS and 0 <= place <= given.size - 4:
                slot = Slot(given.root.name, (given.offset + place,), 4)
                slots[slot] = Shape(1, (0,), constant=value)
    return slots


def _start(k: Kernel, ends: Ends, special: Special) -> None:
    """The first instructions: payload into roots, all existing lanes execute."""
    e = k.e
    e.label("start")
    for root, place in k.registers.memory.values():
        pointer = e.op(f"getelementptr i8, ptr %rec, i64 {place}")
        e.do(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {root.size}, i1 false)")
    for given in k.function.inputs:
        if given.root.name in k.registers.memory:
            target = regs.byte_pointer(e, k.registers, given.root, given.offset)
            source = e.op(f"getelementptr i8, ptr %payload, i64 {given.payload_offset}")
            regs.copy_bytes(e, target, source, given.size)
        for part in k.registers.parts.get(given.root.name, []):
            _fill(k, part, given.offset, given.payload_offset, given.size)
    for slot, shape in k.facts.inputs.items():
        if shape.constant is None:
            _input_shadow(k, slot, shape)
    lanes = "%lanes" if k.width == 64 else e.op(f"trunc i64 %lanes to i{k.width}")
    if k.facts.full_threads:
        lanes = "-1"
    e.do(f"store i{k.width} {lanes}, ptr %em")
    if ends.calls.exist:
        e.do(f"store i{k.width} {lanes}, ptr %alive")
    e.do("br label %b0")


def _fill(k: Kernel, part: regs.Part, offset: int, payload: int, size: int) -> None:
    """Copy what an input gives to a part."""
    e = k.e
    low, high = max(part.start, offset), min(part.end, offset + size)
    if low >= high:
        return
    source = e.op(f"getelementptr i8, ptr %payload, i64 {payload + low - offset}")
    units = (high - low) // part.unit
    kind = vector_of(part.scalar, units)
    value = e.op(f"load {kind}, ptr {source}, align 1")
    if units < part.count:
        first = (low - part.start) // part.unit
        whole = e.op(f"load {part.llvm}, ptr {part.variable}")
        if units == 1:
            value = e.op(f"insertelement {part.llvm} {whole}, {part.scalar} {value}, i64 {first}")
        else:
            where = [n - first if first <= n < first + units else -1 for n in range(part.count)]
            padded = e.shuffle(value, part.scalar, units, where)
            lanes = [part.count + n if w >= 0 else n for n, w in enumerate(where)]
            value = e.blend(whole, padded, part.scalar, part.count, lanes)
    e.do(f"store {part.llvm} {value}, ptr {part.variable}")


def _input_shadow(k: Kernel, slot: Slot, shape: Shape) -> None:
    e = k.e
    given = next(
        i
        for i in k.function.inputs
        if i.root.name == slot.root and i.offset <= slot.offsets[0] < i.offset + i.size
    )
    heads, sure = k.shadow(slot, shape, "i16")
    for g, variable in enumerate(heads):
        lane = slot.offsets[g * len(shape.offsets)]
        place = given.payload_offset + lane - given.offset
        source = e.op(f"getelementptr i8, ptr %payload, i64 {place}")
        e.do(f"store i16 {e.op(f'load i16, ptr {source}, align 1')}, ptr {variable}")
    e.do(f"store i1 true, ptr {sure}")


def _blocks(k: Kernel, ends: Ends) -> None:
    for index in sorted(k.flow.parked):
        block = k.function.blocks[index]
        if block.end is None:
            raise InternalError(f"IR block {block.label} has no terminator")
        ends.begin(index)
        instructions = {op.inst for op in block.ops} | {block.end.inst}
        cost = len(instructions - {-1}) or 1
        k.cost = cost
        k.lower_block(index)
        ends.end(index, block.end, cost)


def _only_sync(k: Kernel, resume: Resume) -> bool:
    """Whether threads stop at sync barriers only."""
    ends = [k.function.blocks[i].end for i in k.flow.parked]
    kinds = {end.attrs["kind"] for end in ends if end is not None and end.name == "barrier"}
    return kinds <= {"sync"} and all(s.outcome is Outcome.BARRIER for s in resume.saves)


_MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
_UMIN = "declare i64 @llvm.umin.i64(i64, i64)"
_METADATA = """
!0 = !{!"branch_weights", i32 1, i32 100000}
!1 = !{!"branch_weights", i32 100000, i32 1}
"""


def _has_loop(function: Function) -> bool:
    """Whether a thread may stay long: then entering it costs little, and code of its own has more
    registers; else it becomes a part of the loop over threads."""
    ends = [(k, b.end) for k, b in enumerate(function.blocks) if b.end is not None]
    return any(min(end.targets, default=k + 1) <= k for k, end in ends if end.name != "ret")


def _assemble(k: Kernel, resume: Resume, ends: Ends, special: Special) -> Module:
    e = k.e
    table = " ".join(f"i64 {n}, label %resume{n}" for n in range(1, resume.count + 1))
    entry = [
        *e.entry,
        f"  %base.p = getelementptr i64, ptr %ctx, i64 {int(Context.BASE)}",
        "  %base = load i64, ptr %base.p",
        f"  %arena.p = getelementptr i64, ptr %ctx, i64 {int(Context.ARENA)}",
        "  %arena = load i64, ptr %arena.p",
        "  %flat.i = sub i64 %arena, %base",
        "  %flat = inttoptr i64 %flat.i to ptr",
        f"  %slm.p = getelementptr i64, ptr %ctx, i64 {int(Context.SLM)}",
        "  %slm.i = load i64, ptr %slm.p",
        "  %slm = inttoptr i64 %slm.i to ptr",
        f"  %scratch.p = getelementptr i64, ptr %ctx, i64 {int(Context.SCRATCH)}",
        "  %scratch.i = load i64, ptr %scratch.p",
        "  %scratch = inttoptr i64 %scratch.i to ptr",
        f"  %fuel.p = getelementptr i64, ptr %ctx, i64 {int(Context.FUEL)}",
        "  %fuel.v = load i64, ptr %fuel.p",
        "  store i64 %fuel.v, ptr %fuel",
        f"  %count.p = getelementptr i64, ptr %rec, i64 {int(Record.COUNT)}",
        "  %count.v = load i64, ptr %count.p",
        "  store i64 %count.v, ptr %count",
        f"  %slice = add i64 %count.v, {SLICE}",
        "  store i64 %slice, ptr %limit",
        "  %pc = load i64, ptr %rec",
        f"  switch i64 %pc, label %start [ {table} ]",
    ]
    resumable = bool(resume.saves)
    parts = [
        *sorted({*e.declarations.values(), _MEMSET, _UMIN}),
        *e.support.values(),
        "define internal i32 @thread(ptr noalias %ctx, ptr noalias %rec, ptr %payload, i64 %lanes)"
        f"{' alwaysinline' if resumable or not _has_loop(k.function) else ''} #0 {{",
        "entry:",
        *entry,
        *e.lines,
        "}",
        driver(
            resumable=resumable,
            rounds=_only_sync(k, resume),
            has_scratch=k.scratch_bytes > 0,
            has_named=has_named(k.function),
            own_payloads=special.own_payloads,
            own_lanes=special.own_lanes,
        ),
        _METADATA,
    ]
    return Module(
        "\n".join(parts),
        tuple(k.sites),
        resume.size,
        resumable,
        tuple(sorted(k.flow.waiting)),
        ends.waiting,
    )
