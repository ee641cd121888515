"""A whole LLVM module for one kernel: the thread function, its support, the group driver."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from eumu.errors import Unsupported
from eumu.exec.jit.analysis.dataflow import Visits
from eumu.exec.jit.analysis.dataflow import analyse as analyse_affine
from eumu.exec.jit.analysis.flow import MOST_ROTATING, Flow
from eumu.exec.jit.analysis.flow import analyse as analyse_flow
from eumu.exec.jit.analysis.lanewise import free_writes
from eumu.exec.jit.analysis.live_ranges import split_file
from eumu.exec.jit.analysis.slots import Facts
from eumu.exec.jit.codegen import (
    atomics,
    block_accesses,
    indirect,
    memory,
    messages,
    observed,
    products,
    report,
    shadow_memory,
    special,
    state,
    stores,
    streaming,
)
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.inputs import input_slots, start
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.shared import INTRINSICS, METADATA, Drivers, divide
from eumu.exec.jit.driver import planning, speculative
from eumu.exec.jit.driver.blocks import Ends
from eumu.exec.jit.driver.calls import frames_size, saved_roots
from eumu.exec.jit.driver.groups import GroupDriver
from eumu.exec.jit.driver.named import has_named
from eumu.exec.jit.driver.suspend import (
    Resume,
    can_run_in_rounds,
    has_halves,
    rotating_headers,
    spinning_headers,
    waiting_headers,
)
from eumu.exec.jit.driver.threads import PLACES, parameters
from eumu.exec.jit.driver.together import Together, side_by_side
from eumu.exec.jit.driver.versions import SHARED, define, entry, lower, resuming
from eumu.exec.jit.interface import HostTarget, Module, Special
from eumu.exec.jit.llvm import paranoid
from eumu.exec.jit.llvm.attention import look
from eumu.exec.jit.llvm.emit import Emitter
from eumu.exec.jit.llvm.layout import Record
from eumu.ir import Function, Value
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import addressed

MOST_OPERATIONS: Final = 400_000  # of a function: their LLVM text alone takes 10 s
_SHORT: Final = 3000  # operations: a longer function is not compiled twice, and never inlined
_LONG: Final = 20_000  # operations: of a longer one slower code is made, in half the time

# They register their operations.
_LOWERED_IN = (
    *(atomics, block_accesses, indirect, memory, messages, products),
    *(report, shadow_memory, special, state, stores),
)


def build(
    function: Function, special: Special, target: HostTarget, *, marks: bool = False
) -> Module:
    """Lower a function; raises `Unsupported` for what the fast engine cannot do.

    With `marks` the text says which instruction its lines come from, see `Emitter.mark`.
    """
    length = _length(function)
    if length > MOST_OPERATIONS:
        raise Unsupported(
            f"{length} operations in the fast engine, which takes up to {MOST_OPERATIONS}"
        )
    flow = _flow(function)
    whole = function
    function = split_file(function, flow, full_threads=special.full_threads)
    facts = Facts(
        flow,
        function.width,
        special.full_threads,
        input_slots(function, special),
        frozenset(addressed(function)),
        saved_roots(function),
        confined=function is not whole,
        is_long=length > _LONG,
    )
    e = _emitter(target, marks)
    k = _kernel(function, facts, special, target, e)
    k.free = free_writes(function, flow)
    k.observed = observed.observed(function, flow)
    headers = waiting_headers(function, flow)
    in_rounds = can_run_in_rounds(function, flow, headers)
    halves, spinning = bool(has_halves(function, flow)), spinning_headers(function, flow)
    resume = Resume(k, headers, in_rounds, in_rounds and halves, spinning)
    plans = _plans(function, flow, special, resume) if not headers and not resume.halves else []
    if not (special.full_threads and speculative.can_be(function, flow)):
        k.streams = (resume.in_rounds or not headers) and streaming.may_stream(function)
    ends = Ends(k, resume)
    lower(k, ends)
    start(k, special, keeps_alive=ends.keeps_alive, runs_once=not resume.saves)
    place = e.lines.index("start:") + 1
    first = 8 * (Record.FRAMES + len(flow.waiting)) + frames_size(function, flow)
    e.lines[place:place] = resume.emit(k.registers.memory_end, first, ends.rotate)
    if k.observed or resume.watch:
        e.entry += resume.watch or observed.NEVER
    quick = None if resume.places else _speculative(k, special, target)
    made = (side_by_side(k, resume, plan, special, target) for plan in plans if not quick)
    together = next((version for version in made if version), None)
    return _assemble(k, resume, ends, special, quick, target, together)


def _plans(function: Function, flow: Flow, special: Special, resume: Resume) -> list[planning.Plan]:
    """What threads may run side by side, the best first; `resume` has the cuts of all."""
    wanted = (True, False) if resume.in_rounds else (False,)
    found = [
        plan
        for stores in wanted
        if (
            plan := planning.plan(
                function, flow, special, in_rounds=resume.in_rounds, stores=stores
            )
        )
    ]
    if resume.in_rounds:
        resume.cuts = tuple(sorted({i for plan in found for i in (*plan.cuts, *plan.exits)}))
    return found


def _length(function: Function) -> int:
    return sum(len(block.ops) for block in function.blocks)


def _emitter(target: HostTarget, marks: bool) -> Emitter:
    return Emitter(
        half_conversions=target.half_conversions,
        half_arithmetic=target.half_arithmetic,
        embedded_rounding=target.embedded_rounding,
        fenced_bytes=target.fenced_bytes,
        marks=marks,
    )


def _kernel(
    function: Function,
    facts: Facts,
    special: Special,
    target: HostTarget,
    e: Emitter,
    visits: Visits | None = None,
) -> KernelLowering:
    words = Record.FRAMES + len(facts.flow.waiting)
    return KernelLowering(
        function,
        facts,
        analyse_affine(function, facts, visits),
        regs.cut(
            function,
            8 * words + frames_size(function, facts.flow),
            facts.flow,
            saved_roots(function),
        ),
        e,
        special.slm_bytes,
        special.scratch_bytes,
        target.masked_stores,
        target.gathers,
        target.scatters,
        target.octet_products,
    )


def _speculative(k: KernelLowering, special: Special, target: HostTarget) -> KernelLowering | None:
    """The speculative version of a kernel, if it has one; it shares sites and support functions."""
    function = k.function
    if not (special.full_threads and speculative.can_be(function, k.flow)) or k.registers.memory:
        return None
    if _length(function) > _SHORT:
        return None
    flow = speculative.together(function)
    facts, visits = replace(k.facts, flow=flow), k.analysis.visits
    own = _kernel(function, facts, special, target, k.e.another(), visits)
    own.free, own.sites = k.free, k.sites
    own.untouched = speculative.untouched(function, flow)
    own.streams = streaming.may_stream(function)
    try:
        ends = speculative.SpeculativeEnds(own, Resume(own, frozenset()))
        lower(own, ends)
        start(own, special, keeps_alive=ends.keeps_alive, runs_once=True)
    except speculative.CannotSpeculate:
        return None
    return own


def _flow(function: Function) -> Flow:
    """The flow; once more where lanes that wait for others must let them run.

    If these may wait at too many places, nobody lets others run; to wait in vain is a fault then.
    """
    full_mask = _full_masks(function)

    def is_full(block: int, mask: Value) -> bool:
        return (block, mask.id) in full_mask

    flow = analyse_flow(function, is_full)
    rotating = rotating_headers(function, flow)
    if not rotating:
        return flow
    try:
        return analyse_flow(function, is_full, rotating, MOST_ROTATING)
    except Unsupported:
        flow.stuck = rotating
        return flow


def _full_masks(function: Function) -> set[tuple[int, int]]:
    """Constant masks of every lane, per block: the lanes of an unconditional return or call."""
    full = set()
    for index, block in enumerate(function.blocks):
        single: set[int] = set()  # constant true masks of one lane
        for op in block.ops:
            if isinstance(op, Const) and op.is_full:
                if op.result.width == 1:
                    single.add(op.result.id)
                if op.result.width >= function.width:
                    full.add((index, op.result.id))
            elif op.name == "splat" and op.args[0].id in single:
                full.add((index, op.result.id))
    return full


def _has_loop(function: Function) -> bool:
    """Whether a thread may stay long: then entering it costs little, and code of its own has more
    registers; else it becomes a part of the loop over threads."""
    ends = [(k, b.end) for k, b in enumerate(function.blocks) if b.end is not None]
    return any(min(end.targets, default=k + 1) <= k for k, end in ends if end.name != "ret")


def _alone(special: Special) -> bool:
    """Whether threads have nothing in common but what they are given."""
    return not (special.own_payloads or special.slm_bytes or special.scratch_bytes)


def _with_support(
    e: Emitter, thread: str, driver: GroupDriver, head: str, special: Special, target: HostTarget
) -> tuple[str, tuple[str, ...]]:
    """The whole text, and those of the objects beside it; all is one if all is asserted.

    `thread` has the versions of the thread function, of which `head` is what the driver calls.
    """
    declarations = e.declarations.values()
    around, running = driver.around(), driver.running()
    if not special.paranoid:
        outer = ("run", "declare hidden i32 @run(ptr, i64)"), ("thread", f"declare hidden {head}")
        texts, kernel = [f"{PLACES}{around}"], f"{PLACES}{thread}"  # named barriers call them, too
        if driver.calls_thread:
            texts.append(f"{PLACES}{running}")
        else:
            kernel = f"{running}{kernel}"
        drivers = Drivers(tuple(texts), outer)
        divided = divide(e.support, declarations, kernel, drivers, is_arm=target.is_arm)
        return divided.text, divided.objects
    parts = [
        *sorted({*declarations, *INTRINSICS}),
        look(target.is_arm),
        *e.support.values(),
        *(running, around, PLACES, thread),
        METADATA,
    ]
    return paranoid.asserted("\n".join(parts)), ()


def _assemble(
    k: KernelLowering,
    resume: Resume,
    ends: Ends,
    special: Special,
    quick: KernelLowering | None,
    target: HostTarget,
    together: Together | None,
) -> Module:
    e = k.e
    resumable = bool(resume.saves)
    inline = quick is None and (resumable or not _has_loop(k.function))
    inline = inline and _length(k.function) <= _SHORT
    prologue = [*SHARED, *e.prologue, *(speculative.PROLOGUE if quick else ())]
    driver = _driver(k, resume, special, quick, together)
    shared = {"%flat": "ptr", **e.shared} if inline or quick else {}
    if quick:
        shared["%misses"] = "ptr"
    first = [*([] if shared else prologue), *entry(e), *resuming(resume)]
    thread = "ptr noalias %ctx, ptr noalias %rec, ptr %payload, i64 %lanes" + parameters(shared)
    thread += ", i64 %pc" if resume.in_rounds else ""
    driver = replace(driver, prologue=prologue if shared else [], shared=shared)
    apart = driver.calls_thread and not special.paranoid
    parts = [
        *(together.text([*SHARED, *e.prologue]) if together else ()),
        *(_speculative_text(quick, thread) if quick else ()),
        *define(
            *("thread", thread, " alwaysinline" if inline else " noinline", first, k),
            "hidden" if apart else "internal",
        ),
    ]
    head = f"i32 @thread({thread})"
    text, support = _with_support(e, "\n".join(parts), driver, head, special, target)
    return Module(
        text,
        support,
        tuple(k.sites),
        resume.size,
        resumable,
        tuple(sorted(k.flow.waiting)),
        ends.waiting,
        driver.is_tiled,
        driver.waits,
    )


def _speculative_text(quick: KernelLowering, thread: str) -> list[str]:
    first = [*entry(quick.e), *speculative.ENTRY]
    return define("speculative", thread, " alwaysinline", first, quick)


def _driver(
    k: KernelLowering,
    resume: Resume,
    special: Special,
    quick: KernelLowering | None,
    together: Together | None,
) -> GroupDriver:
    """What runs the threads of groups, but for what all versions share."""
    return GroupDriver(
        resumable=bool(resume.saves),
        waits=bool(resume.spinning),
        rounds=resume.sites if resume.in_rounds else None,
        halves=resume.halves,
        has_scratch=k.scratch_bytes > 0,
        has_named=has_named(k.function),
        own_payloads=special.own_payloads,
        own_lanes=special.own_lanes,
        small_record=resume.size == 8 * (Record.FRAMES + len(k.flow.waiting)),
        speculative=quick is not None,
        abreast=together.several if together else None,
        streams=k.streams or (quick is not None and quick.streams),
        is_tiled=quick is not None and quick.streams and _alone(special),
    )
