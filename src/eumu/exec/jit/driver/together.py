"""The version of a kernel that runs threads side by side, and what goes on with each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from eumu.exec.jit.analysis import turns
from eumu.exec.jit.analysis.dataflow import analyse as analyse_affine
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.kernel import KernelLowering, Place
from eumu.exec.jit.driver import abreast
from eumu.exec.jit.driver.blocks import Ends
from eumu.exec.jit.driver.calls import frames_size, saved_roots
from eumu.exec.jit.driver.members import Member
from eumu.exec.jit.driver.planning import Plan, behind, copies_of, original, untouched
from eumu.exec.jit.driver.several import Several
from eumu.exec.jit.driver.speculative import CannotSpeculate
from eumu.exec.jit.driver.suspend import Resume
from eumu.exec.jit.driver.versions import define, entry, lower, resuming
from eumu.exec.jit.interface import HostTarget, Special
from eumu.exec.jit.llvm.layout import Record
from eumu.records import dataclass

_MOST_BYTES: Final = 1 << 16  # of the records of all members, on the stack


@dataclass(frozen=True, slots=True)
class Together:
    """What runs threads abreast, and what goes on with each of them (None: all of the kernel)."""

    members: int
    site: int  # where it is counted how often they began again
    first: KernelLowering
    lines: list[str]
    rest: KernelLowering | None
    resume: Resume

    @property
    def several(self) -> Several:
        """What the driver must know."""
        return Several(self.members, self.site, self.resume.size)

    def text(self, prologue: Sequence[str]) -> list[str]:
        """The lines of the functions."""
        parameters = "ptr noalias %ctx, ptr noalias %rec, i64 %size, ptr %payload, i64 %pitch"
        parts = [
            f"define internal i32 @abreast({parameters}) noinline #0 {{",
            *("entry:", *prologue, *entry(self.first.e), *self.lines, "}"),
        ]
        if self.rest is not None:
            given = "ptr noalias %ctx, ptr noalias %rec, ptr %payload, i64 %lanes, i64 %pc"
            first = [*prologue, *entry(self.rest.e), *resuming(self.resume, "resume1")]
            parts += define("rest", given, " noinline", first, self.rest)
        return parts


def side_by_side(
    k: KernelLowering, resume: Resume, plan: Plan, special: Special, target: HostTarget
) -> Together | None:
    """The version that runs several threads, if it can."""
    rest = None
    if k.registers.memory or frames_size(k.function, k.flow):
        return None
    if resume.saves and not resume.in_rounds:
        return None
    if any(original(copy) in k.updated for copy in plan.copies):
        return None  # members have no code for that
    try:
        if not resume.in_rounds:
            rest, resume = _rest(k, plan, special, target)
            if resume.size * plan.members > _MOST_BYTES:
                return None
        members = _members(k, plan, special, target)
        loops = {loop.blocks[0]: loop for loop in turns.find(plan.function, members[0].facts)}
        lines = abreast.Abreast(plan, members, resume, special, loops).emit()
    except CannotSpeculate:
        return None
    site = k.site(-1, "abreast")
    return Together(plan.members, site, members[0], lines, rest, resume)


def _members(
    k: KernelLowering,
    plan: Plan,
    special: Special,
    target: HostTarget,
) -> list[Member]:
    """The threads, which share what is known of values, and sites."""
    function, e = plan.function, k.e.another()
    facts = replace(k.facts, flow=plan.flow)
    visits = {copy: v for i, v in k.analysis.visits.items() for copy in copies_of(i)}
    analysis = analyse_affine(function, facts, visits)
    free = frozenset((copy, place) for i, place in k.free for copy in copies_of(i))
    sites: dict[tuple[Place, str], int] = {}
    places = untouched(plan)
    looped = frozenset(plan.flow.repeated())
    members = []
    for _ in range(plan.members):
        registers = regs.cut(function, k.registers.memory_end, plan.flow, saved_roots(function))
        own = Member(
            *(function, facts, analysis, registers, e),
            *(special.slm_bytes, special.scratch_bytes),
            *(target.masked_stores, target.gathers, target.scatters, target.octet_products),
        )
        own.free, own.sites, own.shared_sites = free, k.sites, sites
        own.untouched, own.leaves_to_learn = places, True
        own.looped, own.stores = looped, plan.stores
        own.streams = k.streams and plan.stores
        members.append(own)
    return members


def _rest(
    k: KernelLowering, plan: Plan, special: Special, target: HostTarget
) -> tuple[KernelLowering, Resume]:
    """A version that begins at the cuts."""
    function = k.function
    facts = replace(k.facts, flow=behind(k.flow, plan.tail))
    own = KernelLowering(
        *(function, facts, k.analysis),
        regs.cut(function, k.registers.memory_end, k.flow, saved_roots(function)),
        k.e.another(),
        *(special.slm_bytes, special.scratch_bytes),
        *(target.masked_stores, target.gathers, target.scatters, target.octet_products),
    )
    own.free, own.sites, own.streams = k.free, k.sites, k.streams
    resume = Resume(own, frozenset(), cuts=plan.cuts)
    ends = Ends(own, resume)
    lower(own, ends)
    first = 8 * (Record.FRAMES + len(k.flow.waiting))
    resume.emit(own.registers.memory_end, first, ends.rotate)
    if resume.saves:
        raise CannotSpeculate
    return own, resume
