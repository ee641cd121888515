"""Threads abreast: the beginning of several threads of a group in one function, block by block.

A thread of 16 or 32 lanes waits for its own sums, and loads for itself what others load, too.  Here
the members, threads of one group, run side by side: in each block one after the other, so that a
vector that all load is loaded once, and sums of one are computed while those of another wait.  At a
barrier nothing happens, as all are there.

Where lanes part, `planning` says how they go on: each member has a mask then, and one without lanes
in a block is left out by one test.  Whatever else is not as expected ends the function with
``ThreadOutcome.AGAIN``: an access that is not where its site says, a scalar branch on which members
differ, a fault.  Outside the group nothing has changed that they load; the threads then run as
ever, from the beginning, so every fault is found by the code that finds it always.  At the first
block that may change something that they load (a *cut*) what is still needed is written into the
records of the members, and each goes on from there by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Final

from eumu.exec.jit.analysis import late_loads
from eumu.exec.jit.analysis.turns import Loop
from eumu.exec.jit.codegen import merged, turns
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.inputs import fill, member_id
from eumu.exec.jit.codegen.turns import Turning
from eumu.exec.jit.driver.members import Member, compared, hand_on
from eumu.exec.jit.driver.planning import (
    Plan,
    is_parted,
    original,
    parted,
    united,
)
from eumu.exec.jit.driver.speculative import CannotSpeculate
from eumu.exec.jit.driver.suspend import Resume, stopped_at
from eumu.exec.jit.interface import Special
from eumu.exec.jit.llvm.attention import KEEPING
from eumu.exec.jit.llvm.emit import Emitter
from eumu.exec.jit.llvm.layout import (
    NO_LIMIT,
    SLICE,
    Context,
    FaultKind,
    ThreadOutcome,
)
from eumu.ir import Block, Terminator, Value
from eumu.ir.operations.ends import Diverge
from eumu.ir.operations.memory import Fence
from eumu.records import dataclass

_ALONE: Final = range(8, 12)  # bytes of a payload's header that each thread has for itself
_THEN, _ELSE = 1, 2  # bits: some member goes this way


@dataclass(slots=True)
class Abreast:
    """Emits the function; `resume` says where a version that goes on keeps its variables."""

    plan: Plan
    members: Sequence[Member]
    resume: Resume
    special: Special
    loops: Mapping[int, Loop]  # whose loads are checked once for many turns, by their first copy
    parks: dict[tuple[int, int], str] = field(default_factory=dict)  # by block and member
    turnings: dict[int, Turning] = field(default_factory=dict)  # of loops that were emitted
    rejoined: set[int] = field(default_factory=set)  # copies to which parted ones may lead

    def emit(self) -> list[str]:
        """The lines of the function."""
        self._declare()
        self._start()
        for copy in self.plan.copies:
            self._e.label(f"b{copy}")
            block = self.plan.function.blocks[copy]
            if is_parted(copy):
                self._join(original(copy))
            if block.end is None:
                self._e.do("br label %again")
                continue
            if original(copy) in self.plan.exits and not is_parted(copy):
                on = self._e.name("on")
                self._e.do(f"br i1 %same, label %cut{original(copy)}, label %{on}, !prof !0")
                self._e.label(on)
            cost = len({op.inst for op in block.ops}.union({block.end.inst}) - {-1}) or 1
            if is_parted(copy):
                self._parted(copy, block, block.end, cost)
            else:
                self._united(copy, block, block.end, cost)
        for turning in self.turnings.values():  # of turns with masks nobody has kept count
            if self.rejoined.intersection(turning.loop.blocks[1:]):
                raise CannotSpeculate
        for cut in (*self.plan.cuts, *self.plan.exits):
            self._cut(cut)
        self._e.label("lost")  # what was said of a fault is said again
        self._e.do(f"store i64 {int(FaultKind.NONE)}, ptr {self.members[0].context(Context.FAULT)}")
        self._e.do("br label %again")
        self._e.label("again")
        self._e.do(f"ret i32 {int(ThreadOutcome.AGAIN)}")
        return [*self._begin(), *self._e.lines]

    @property
    def _e(self) -> Emitter:
        return self.members[0].e

    @property
    def _word(self) -> str:
        return f"i{self.members[0].width}"

    # ---- begin

    def _declare(self) -> None:
        e, word = self._e, self._word
        e.entry += [f"  %em = alloca {word}", "  %left = alloca i64", "  %limit = alloca i64"]
        e.entry.append(f"  store {word} -1, ptr %em")
        e.entry.append("  %ways = alloca i32")
        for m, k in enumerate(self.members):
            e.entry += [f"  %em{m} = alloca {word}", f"  %off{m} = alloca i64"]
            e.entry.append(f"  store i64 0, ptr %off{m}")
            k.registers.declare(e)
            regs.declare_flags(e, k.function, k.registers)

    def _begin(self) -> list[str]:
        """How many instructions each may run until it looks up."""
        return [
            f"  %fuel.p = getelementptr i64, ptr %ctx, i64 {int(Context.FUEL)}",
            "  %fuel.v = load i64, ptr %fuel.p",
            f"  %limit.v = call i64 @llvm.umin.i64(i64 {SLICE}, i64 %fuel.v)",
            "  store i64 %limit.v, ptr %limit",
            "  store i64 %limit.v, ptr %left",
            *(compared(self.members[0]) if self.plan.stores else ()),
            "  br i1 %same, label %again, label %start"
            if self._leaves_at_once
            else "  br label %start",
        ]

    @property
    def _leaves_at_once(self) -> bool:
        return self.plan.stores and not self.plan.exits

    def _start(self) -> None:
        """The payloads of the members: what all have is loaded once."""
        e = self._e
        e.label("start")
        for m, k in enumerate(self.members):
            place = e.op(f"mul i64 %pitch, {m}")
            own = e.op(f"getelementptr i8, ptr %payload, i64 {place}")
            fill(k, partial(self._payload, own), known=partial(member_id, self.special, m))
        e.do("br label %b0")

    def _payload(self, own: str, low: int, high: int) -> str:
        """Where bytes of a member's payload are: in the first one's if all have the same."""
        common, header = self.special.common, 4 * len(self.special.r0)
        if low in common and high - 1 in common:
            return "%payload"
        is_own = high > header or (low < _ALONE.stop and _ALONE.start < high)
        return own if is_own else "%payload"

    # ---- copies of blocks where all go one way

    def _united(self, copy: int, block: Block, end: Terminator, cost: int) -> None:
        """Run the operations of a block, each for all members."""
        turning = self._turning(copy) if copy in self.loops else None
        if turning is not None:
            turning.fill(self.members)
        for m, k in enumerate(self.members):
            merged.require(k, copy)
            if turning is not None:
                turning.assure(k, m)
            k.enter_block(copy)
        late = late_loads.find(block, self.members[0].registers.memory)
        waiting = {place for places in late.values() for place in places}
        for place, op in enumerate(block.ops):
            self._e.mark(op.inst)
            if place in waiting or isinstance(op, Fence):
                continue
            for k in self.members:
                for n in (*late.get(place, ()), place):
                    k.lower_at(n, block.ops[n])
        self._pay(cost)
        index = original(copy)
        if end.name == "branch":
            flags = [k.vector(end.args[0]) for k in self.members]
            self._one_way(index, end, flags, flags)
        elif end.name == "ret":
            self._finish(end)
        elif isinstance(end, Diverge) and len(set(end.targets)) > 1:
            masks = [self._mask(k, end.args[0], end.offset) for k in self.members]
            every = [self._e.op(f"icmp eq {self._word} {bits}, -1") for bits in masks]
            some = [self._e.op(f"icmp ne {self._word} {bits}, 0") for bits in masks]
            mixed = self._one_way(index, end, every, some)
            self._e.label(mixed)
            for m, bits in enumerate(masks):
                self._part(m, end, bits, self._e.op(f"xor {self._word} {bits}, -1"))
            self._enter(index, min(end.targets))
        else:
            self._go(index, end.targets[0])

    def _turning(self, copy: int) -> Turning | None:
        """Check what a loop loads in its next turns, if that is worth it."""
        turning = turns.begin(self.members, self.loops[copy])
        if turning is not None:
            self.turnings[copy] = turning
        return turning

    def _finish(self, end: Terminator) -> None:
        """All members end here."""
        e = self._e
        if not all(k.lanes(end.args[0]).full for k in self.members):
            raise CannotSpeculate
        word, count = self.members[0].context(Context.INSTRUCTIONS), self._count()
        total = e.op(f"load i64, ptr {word}")
        for m in range(len(self.members)):
            ran = e.op(f"sub i64 {count}, {e.op(f'load i64, ptr %off{m}')}")
            total = e.op(f"add i64 {total}, {ran}")
        e.do(f"store i64 {total}, ptr {word}")
        e.do(f"ret i32 {int(ThreadOutcome.END)}")

    def _pay(self, cost: int) -> None:
        left = self._e.op("load i64, ptr %left")
        self._e.do(f"store i64 {self._e.op(f'sub i64 {left}, {cost}')}, ptr %left")

    def _mask(self, k: Member, mask: Value, offset: int) -> str:
        if offset or mask.width != k.width:
            raise CannotSpeculate
        return regs.bits_of_mask(self._e, k.vector(mask), k.width, k.width)

    def _one_way(
        self, block: int, end: Terminator, every: Sequence[str], some: Sequence[str]
    ) -> str:
        """Go the first way if all lanes of all members do, the second if none does; else to the
        label that is returned, or begin again if lanes cannot part."""
        e = self._e
        then, mixed, other = (e.name(n) for n in ("then", "mixed", "else"))
        apart = e.name("apart") if isinstance(end, Diverge) else "again"
        is_rare = apart == "again" or min(end.targets) <= block  # of loops most end for all at once
        weights = ", !prof !0" if is_rare else ""
        e.do(f"br i1 {self._joined('and', every)}, label %{then}, label %{mixed}")
        e.label(mixed)
        e.do(f"br i1 {self._joined('or', some)}, label %{apart}, label %{other}{weights}")
        for label, target in zip((then, other), end.targets, strict=True):
            e.label(label)
            self._go(block, target)
        return apart

    def _joined(self, operation: str, flags: Sequence[str]) -> str:
        joined = flags[0]
        for flag in flags[1:]:
            joined = self._e.op(f"{operation} i1 {joined}, {flag}")
        return joined

    def _go(self, block: int, target: int) -> None:
        """All lanes of all members go to a block."""
        copy, turning = self.plan.copy(target), None
        if target <= block:
            turning = self._counted(copy, united(block))
            self._spend()
        if is_parted(copy):
            for m in range(len(self.members)):
                self._e.do(f"store {self._word} -1, ptr %em{m}")
        self._e.do(f"br label %{turning.label if turning else self._label(copy)}")

    def _counted(self, copy: int, latch: int) -> Turning | None:
        """Count a turn of a loop that goes on, if its turns are counted."""
        turning = self.turnings.get(copy)
        if turning is None or turning.loop.blocks[-1] != latch:
            return None
        turning.go_on(self._e)
        return turning

    def _label(self, copy: int) -> str:
        return f"cut{original(copy)}" if original(copy) in self.plan.cuts else f"b{copy}"

    # ---- copies where members have masks

    def _parted(self, copy: int, block: Block, end: Terminator, cost: int) -> None:
        """Run a block for each member that has lanes there."""
        e, word, index = self._e, self._word, original(copy)
        self._pay(cost)
        if end.name == "branch":
            e.do("store i32 0, ptr %ways")
        for m, k in enumerate(self.members):
            here, skip, on = (e.name(n) for n in ("here", "skip", "on"))
            lanes = e.op(f"load {word}, ptr %em{m}")
            e.do(f"br i1 {e.op(f'icmp ne {word} {lanes}, 0')}, label %{here}, label %{skip}")
            e.label(skip)
            off = e.op(f"load i64, ptr %off{m}")
            e.do(f"store i64 {e.op(f'add i64 {off}, {cost}')}, ptr %off{m}")
            e.do(f"br label %{on}")
            e.label(here)
            k.em, k.assured = f"%em{m}", {}
            k.enter_block(copy)
            for place, op in enumerate(block.ops):
                e.mark(op.inst)
                if not isinstance(op, Fence):
                    k.lower_at(place, op)
            self._choose(m, end)
            k.em = "%em"
            e.do(f"br label %{on}")
            e.label(on)
        self._leave(index, end)

    def _join(self, block: int) -> None:
        """The lanes of members that waited at a block run it; if those are all, nobody is left out
        from here on."""
        e, word, alone = self._e, self._word, []
        for m in range(len(self.members) if self.plan.meets(block) else 0):
            lanes = e.op(f"load {word}, ptr %em{m}")
            if block in self.plan.waiting:
                park = self._park(block, m)
                lanes = e.op(f"or {word} {lanes}, {e.op(f'load {word}, ptr {park}')}")
                e.do(f"store {word} {lanes}, ptr %em{m}")
                e.do(f"store {word} 0, ptr {park}")
            alone.append(e.op(f"icmp eq {word} {lanes}, -1"))
        if alone and united(block) in self.plan.flow.parked:
            some = e.name("some")
            self.rejoined.add(united(block))
            label = self._label(united(block))
            e.do(f"br i1 {self._joined('and', alone)}, label %{label}, label %{some}")
            e.label(some)

    def _park(self, block: int, m: int) -> str:
        if (block, m) not in self.parks:
            self.parks[block, m] = self._e.alloca(self._word, "0")
        return self.parks[block, m]

    def _part(self, m: int, end: Terminator, inside: str, outside: str) -> None:
        """Lanes of a member go two ways: those of the lower block run, others wait."""
        e, word, (then, other) = self._e, self._word, end.targets
        stay, leave = (inside, outside) if then < other else (outside, inside)
        e.do(f"store {word} {stay}, ptr %em{m}")
        self._wait(max(end.targets), m, leave)

    def _wait(self, block: int, m: int, lanes: str) -> None:
        """Lanes of a member wait at a block; where all lanes meet nobody asks which."""
        e, word = self._e, self._word
        if block in self.plan.waiting:
            park = self._park(block, m)
            old = e.op(f"load {word}, ptr {park}")
            e.do(f"store {word} {e.op(f'or {word} {old}, {lanes}')}, ptr {park}")

    def _choose(self, m: int, end: Terminator) -> None:
        """The end of a block for a member that ran it."""
        e, word, k = self._e, self._word, self.members[m]
        if end.name == "branch":
            flag = k.vector(end.args[0])
            way = e.op(f"select i1 {flag}, i32 {_THEN}, i32 {_ELSE}")
            e.do(f"store i32 {e.op(f'or i32 {way}, ' + e.op('load i32, ptr %ways'))}, ptr %ways")
        elif isinstance(end, Diverge) and len(set(end.targets)) > 1:
            bits, lanes = self._mask(k, end.args[0], end.offset), e.op(f"load {word}, ptr %em{m}")
            inside = e.op(f"and {word} {lanes}, {bits}")
            self._part(m, end, inside, e.op(f"xor {word} {lanes}, {inside}"))

    def _leave(self, block: int, end: Terminator) -> None:
        """The end of a block for all members."""
        e, waiting = self._e, self.plan.lanes.parked[block]
        if end.name == "branch":
            ways, labels = e.op("load i32, ptr %ways"), (e.name("then"), e.name("else"))
            cases = f"i32 {_THEN}, label %{labels[0]} i32 {_ELSE}, label %{labels[1]}"
            e.do(f"switch i32 {ways}, label %again [ {cases} ]")
            for label, target in zip(labels, end.targets, strict=True):
                e.label(label)
                self._move(block, target, waiting)
        elif isinstance(end, Diverge) and len(set(end.targets)) > 1:
            low, high = min(end.targets), max(end.targets)
            none, on = e.name("none"), e.name("on")
            some = self._any([f"%em{m}" for m in range(len(self.members))])
            e.do(f"br i1 {some}, label %{on}, label %{none}")
            e.label(none)
            self._dispatch(waiting | {high})
            e.label(on)
            self._move(block, low, waiting | {high})
        else:
            self._move(block, end.targets[0], waiting)

    def _any(self, names: Sequence[str]) -> str:
        """Whether any member has lanes in a variable of its own."""
        e, word = self._e, self._word
        lanes, *others = [e.op(f"load {word}, ptr {name}") for name in names]
        for some in others:
            lanes = e.op(f"or {word} {lanes}, {some}")
        return e.op(f"icmp ne {word} {lanes}, 0")

    def _enter(self, block: int, target: int) -> None:
        """Run a block; those who come may wait there."""
        if target <= block:
            self._spend()
        self._begin_at(target)

    def _begin_at(self, target: int) -> None:
        meets = united(target) in self.plan.flow.parked and not self.plan.is_partial(target)
        copy = united(target) if meets else parted(target)
        self.rejoined.add(copy)
        self._e.do(f"br label %{self._label(copy)}")

    def _move(self, block: int, target: int, waiting: frozenset[int]) -> None:
        """The lanes that run go to a block, or wait there while others run lower ones."""
        if not any(j < target for j in waiting):
            self._enter(block, target)
            return
        if target <= block:
            self._spend()
        for m in range(len(self.members)):
            self._wait(target, m, self._e.op(f"load {self._word}, ptr %em{m}"))
            self._e.do(f"store {self._word} 0, ptr %em{m}")
        self._dispatch(waiting | {target})

    def _dispatch(self, blocks: frozenset[int]) -> None:
        """Run the lowest block where lanes wait."""
        e, order = self._e, sorted(blocks)
        for block in order[:-1]:
            some = self._any([self._park(block, m) for m in range(len(self.members))])
            found, other = e.name("found"), e.name("else")
            e.do(f"br i1 {some}, label %{found}, label %{other}")
            e.label(found)
            self._begin_at(block)
            e.label(other)
        self._begin_at(order[-1])

    # ---- counting

    def _spend(self) -> None:
        """Look up now and then; whoever has to stop does that by himself."""
        e = self._e
        left = e.op("load i64, ptr %left")
        over, out, rest, on = (
            e.op(f"icmp slt i64 {left}, 0"),
            *(e.name(n) for n in ("out", "rest", "on")),
        )
        e.do(f"br i1 {over}, label %{out}, label %{on}, !prof !0")
        e.label(out)
        count = self._count()
        more = e.op(f"call {KEEPING} i64 @look.thread(ptr %ctx, i64 {count})")
        stops = e.op(f"icmp ult i64 {more}, {NO_LIMIT}")
        e.do(f"br i1 {stops}, label %again, label %{rest}, !prof !0")
        e.label(rest)
        e.do(f"store i64 {more}, ptr %limit")
        e.do(f"store i64 {e.op(f'sub i64 {more}, {count}')}, ptr %left")
        e.do(f"br label %{on}")
        e.label(on)

    def _count(self) -> str:
        limit = self._e.op("load i64, ptr %limit")
        return self._e.op(f"sub i64 {limit}, {self._e.op('load i64, ptr %left')}")

    # ---- the cuts

    def _cut(self, cut: int) -> None:
        """Write what is needed from here on into the records."""
        self._e.label(f"cut{cut}")
        count = self._count()
        for m, k in enumerate(self.members):
            ran = self._e.op(f"sub i64 {count}, {self._e.op(f'load i64, ptr %off{m}')}")
            place = self._e.op(f"mul i64 %size, {m}")
            record = self._e.op(f"getelementptr i8, ptr %rec, i64 {place}")
            hand_on(k, self.resume, cut, record, ran)
        self._e.do(f"ret i32 {stopped_at(self.resume.points.index(cut) + 1)}")
