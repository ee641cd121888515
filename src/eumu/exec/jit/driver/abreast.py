"""Threads abreast: the beginning of several threads of a group in one function, block by block.

A thread of 16 or 32 lanes waits for its own sums, and loads for itself what others load, too.  Here
the members, threads of one group, run side by side: in each block one after the other, so that a
vector that all load is loaded once, and sums of one are computed while those of another wait.  At a
barrier nothing happens, as all are there.

They run so as long as all lanes of all members go the same way, accesses are as expected, and
nothing outside the group has changed.  Whatever is not so ends the function with
``ThreadOutcome.AGAIN``: the threads then run as ever, from the beginning.  At the first block that
may change something (a *cut*) what is still needed is written into the records of the members,
and each goes on from there by itself.  So every fault is found by the code that finds it always.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from eumu.exec.jit.analysis.flow import Flow
from eumu.exec.jit.codegen import merged
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.inputs import fill
from eumu.exec.jit.codegen.kernel import PASSING, KernelLowering, Place
from eumu.exec.jit.driver.speculative import CannotSpeculate
from eumu.exec.jit.driver.suspend import Resume, stopped_at
from eumu.exec.jit.interface import Special
from eumu.exec.jit.llvm.emit import Emitter
from eumu.exec.jit.llvm.layout import NO_LIMIT, SLICE, Context, Record, ThreadOutcome
from eumu.ir import Block, Function, Op, Space, Terminator, Value
from eumu.ir.operations.ends import Barrier, Diverge
from eumu.ir.operations.memory import Fence, Load, Store
from eumu.records import dataclass

MOST_OPERATIONS: Final = 6000  # of all members together
_HARMLESS: Final = PASSING - {"write_indirect"} | {"read", "write", "load"}
_SHARED: Final = (Space.FLAT, Space.SLM)
_ENDS: Final = frozenset({"jump", "branch", "diverge"})
_ALONE: Final = range(8, 12)  # bytes of a payload's header that each thread has for itself

Key = tuple[object, ...]  # what a variable is of, in whichever version


@dataclass(frozen=True, slots=True)
class Plan:
    """The blocks that `members` threads run abreast, and the cuts behind them."""

    members: int
    flow: Flow  # of these blocks and the cuts
    blocks: tuple[int, ...]
    cuts: tuple[int, ...]
    tail: frozenset[int]  # the blocks that may run from the cuts on


def plan(function: Function, flow: Flow, special: Special, *, in_rounds: bool) -> Plan | None:
    """What may run abreast, if that is worth it: it has a loop or a barrier.

    Threads `in_rounds` are all of a group: then local memory may change, which is cleared if they
    begin again.
    """
    if not special.members or not special.full_threads or special.scratch_bytes:
        return None  # each thread has scratch space of its own
    inside: set[int] = set()
    work = [0]
    while work:
        index = work.pop()
        block = function.blocks[index]
        if index not in inside and _fits(block, in_rounds):
            inside.add(index)
            work += _targets(block)
    ways = {i: set(_targets(function.blocks[i])) for i in inside}
    cuts = set().union(*ways.values()) - inside
    tail, work = set[int](), list(cuts)
    while work:
        index = work.pop()
        if index not in tail:
            tail.add(index)
            work += flow.after(index)
    ends = [function.blocks[i].end for i in inside]
    is_long = any(isinstance(end, Barrier) for end in ends)
    is_long = is_long or any(min(targets) <= i for i, targets in ways.items())
    operations = sum(len(function.blocks[i].ops) for i in inside) * special.members
    if not cuts or tail & inside or not is_long or operations > MOST_OPERATIONS:
        return None
    together = Flow(edges=ways)
    together.parked = dict.fromkeys(inside | cuts, frozenset())
    together.partial = dict.fromkeys(inside | cuts, False)
    blocks, ordered = tuple(sorted(inside)), tuple(sorted(cuts))
    return Plan(special.members, together, blocks, ordered, frozenset(tail))


def _targets(block: Block) -> tuple[int, ...]:
    return tuple(block.end.targets) if block.end is not None else ()


def _fits(block: Block, in_rounds: bool) -> bool:
    """Whether members may run a block abreast: it changes nothing, or only what is the group's."""
    end = block.end
    meets = isinstance(end, Barrier) and in_rounds and end.kind == "sync" and not end.args
    if end is None or not (meets or end.name in _ENDS):
        return False
    return all(_is_harmless(op) or (in_rounds and _is_local(op)) for op in block.ops)


def _is_harmless(op: Op) -> bool:
    """Whether an operation changes nothing but registers, and members need nothing of their own."""
    return op.name in _HARMLESS and not (isinstance(op, Load) and op.space not in _SHARED)


def _is_local(op: Op) -> bool:
    """Whether an operation changes, or orders, nothing but local memory."""
    if isinstance(op, Fence):
        return op.scope == "local"
    return isinstance(op, Store) and op.space is Space.SLM


def behind(flow: Flow, tail: frozenset[int]) -> Flow:
    """The flow from the cuts on."""
    return Flow(
        {i: flow.parked[i] for i in tail},
        {i: flow.partial[i] for i in tail},
        {i: flow.edges[i] for i in tail if i in flow.edges},
        flow.waiting,
        flow.rotating,
        flow.stuck,
    )


class Member(KernelLowering):
    """A thread that runs abreast: it has no faults."""

    __slots__ = ()

    def fault(self, *_: object) -> None:
        raise CannotSpeculate

    def lose(self, faulty: str) -> None:
        raise CannotSpeculate


def everywhere(function: Function, blocks: Iterable[int]) -> frozenset[Place]:
    """All places of some blocks, their ends included."""
    return frozenset((b, p) for b in blocks for p in range(len(function.blocks[b].ops) + 1))


# ---- what members hand on


def keys(k: KernelLowering) -> dict[str, Key]:
    """The variables of a version, and what each is of."""
    found: dict[str, Key] = {}
    for name, parts in k.registers.parts.items():
        for part in parts:
            if part.variable:
                found[part.variable] = ("part", name, part.start, part.llvm)
    for name, variable in k.registers.flags.items():
        found[variable] = ("flag", name)
    for (slot, shape), (heads, sure) in k.shadows.items():
        for n, head in enumerate(heads):
            found[head] = ("head", slot, shape, n)
        found[sure] = ("sure", slot, shape)
    return found


@dataclass(slots=True)
class Abreast:
    """Emits the function; `resume` says where a version that goes on keeps its variables."""

    plan: Plan
    members: Sequence[Member]
    resume: Resume
    special: Special

    def emit(self) -> list[str]:
        """The lines of the function."""
        self._declare()
        self._start()
        function = self.members[0].function
        for index in self.plan.blocks:
            block = function.blocks[index]
            self._e.label(f"b{index}")
            self._operations(index, block)
            instructions = {op.inst for op in block.ops} | (
                {block.end.inst} if block.end else set()
            )
            if block.end is not None:
                self._end(index, block.end, len(instructions - {-1}) or 1)
        for cut in self.plan.cuts:
            self._cut(cut)
        self._e.label("again")
        self._e.do(f"ret i32 {int(ThreadOutcome.AGAIN)}")
        return [*self._begin(), *self._e.lines]

    def _operations(self, index: int, block: Block) -> None:
        """Emit the operations of a block, each for all members."""
        for k in self.members:
            merged.require(k, index)
            k.enter_block(index)
        for place, op in enumerate(block.ops):
            self._e.mark(op.inst)
            for k in self.members if not isinstance(op, Fence) else ():
                k.lower_at(place, op)

    @property
    def _e(self) -> Emitter:
        return self.members[0].e

    # ---- begin

    def _declare(self) -> None:
        e = self._e
        word = f"i{self.members[0].width}"
        e.entry += [f"  %em = alloca {word}", "  %left = alloca i64", "  %limit = alloca i64"]
        e.entry.append(f"  store {word} -1, ptr %em")
        for k in self.members:
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
            "  br label %start",
        ]

    def _start(self) -> None:
        """The payloads of the members: what all have is loaded once."""
        e = self._e
        e.label("start")
        for m, k in enumerate(self.members):
            place = e.op(f"mul i64 %pitch, {m}")
            own = e.op(f"getelementptr i8, ptr %payload, i64 {place}")
            fill(k, partial(self._payload, own))
        e.do("br label %b0")

    def _payload(self, own: str, low: int, high: int) -> str:
        """Where bytes of a member's payload are: in the first one's if all have the same."""
        common, header = self.special.common, 4 * len(self.special.r0)
        if low in common and high - 1 in common:
            return "%payload"
        is_own = high > header or (low < _ALONE.stop and _ALONE.start < high)
        return own if is_own else "%payload"

    # ---- ends of blocks

    def _end(self, block: int, end: Terminator, cost: int) -> None:
        e = self._e
        left = e.op("load i64, ptr %left")
        e.do(f"store i64 {e.op(f'sub i64 {left}, {cost}')}, ptr %left")
        if end.name == "branch":
            flags = [k.vector(end.args[0]) for k in self.members]
            self._one_way(block, end, flags, flags)
        elif isinstance(end, Diverge):
            masks = [self._mask(k, end.args[0], end.offset) for k in self.members]
            every = [e.op(f"icmp eq {word} {bits}, -1") for word, bits in masks]
            some = [e.op(f"icmp ne {word} {bits}, 0") for word, bits in masks]
            self._one_way(block, end, every, some)
        else:
            self._go(block, end.targets[0])

    def _mask(self, k: Member, mask: Value, offset: int) -> tuple[str, str]:
        if offset or mask.width != k.width:
            raise CannotSpeculate
        word = f"i{k.width}"
        return word, regs.bits_of_mask(self._e, k.vector(mask), k.width, k.width)

    def _one_way(
        self, block: int, end: Terminator, every: Sequence[str], some: Sequence[str]
    ) -> None:
        """Go the first way if all lanes of all members do, the second if none does."""
        e = self._e
        then, mixed, other = (e.name(n) for n in ("then", "mixed", "else"))
        e.do(f"br i1 {self._joined('and', every)}, label %{then}, label %{mixed}")
        e.label(mixed)
        e.do(f"br i1 {self._joined('or', some)}, label %again, label %{other}, !prof !0")
        for label, target in zip((then, other), end.targets, strict=True):
            e.label(label)
            self._go(block, target)

    def _joined(self, operation: str, flags: Sequence[str]) -> str:
        joined = flags[0]
        for flag in flags[1:]:
            joined = self._e.op(f"{operation} i1 {joined}, {flag}")
        return joined

    def _go(self, block: int, target: int) -> None:
        e = self._e
        if target <= block:
            self._spend()
        e.do(f"br label %{'cut' if target in self.plan.cuts else 'b'}{target}")

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
        more = e.op(f"call preserve_allcc i64 @look.thread(ptr %ctx, i64 {count})")
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
        e, point = self._e, self.resume.points.index(cut) + 1
        e.label(f"cut{cut}")
        count = self._count()
        for m, k in enumerate(self.members):
            place = e.op(f"mul i64 %size, {m}")
            record = e.op(f"getelementptr i8, ptr %rec, i64 {place}")
            word = e.op(f"getelementptr i64, ptr {record}, i64 {int(Record.COUNT)}")
            e.do(f"store i64 {count}, ptr {word}")
            for kind, value, offset in self._state(k, cut):
                there = e.op(f"getelementptr i8, ptr {record}, i64 {offset}")
                e.do(f"store {kind} {value}, ptr {there}, align 8")
        e.do(f"ret i32 {stopped_at(point)}")

    def _state(self, k: Member, cut: int) -> Iterator[tuple[str, str, int]]:
        """Type, value and place of each variable that goes on."""
        other = self.resume.k
        names, own = keys(other), {key: variable for variable, key in keys(k).items()}
        kept = _kept(k, other, cut)
        for variable, offset in self.resume.places.items():
            key = names.get(variable)
            if variable == self.resume.parks:
                yield self.resume.k.registers.variables[variable], "zeroinitializer", offset
                continue
            if key is None:  # a mask
                waits = variable.startswith("%park")
                yield f"i{k.width}", "0" if waits else "-1", offset
                continue
            mine = own.get(key)
            if mine is not None:
                kind = k.registers.variables[mine]
                yield kind, self._e.op(f"load {kind}, ptr {mine}"), offset
            elif key[0] in ("part", "flag") or key[1:3] in kept:
                raise CannotSpeculate


def _kept(k: Member, other: KernelLowering, cut: int) -> set[Key]:
    """The affine forms that the other version knows at the cut: members must know them, too."""
    kept = set[Key]()
    entry = k.analysis.entry.get(cut)
    for slot, shape in other.analysis.entry[cut].items():
        if shape.constant is not None:
            continue
        mine = entry.get(slot) if entry is not None else None
        same = mine is not None and (mine.groups, mine.offsets, mine.constant) == (
            *(shape.groups, shape.offsets),
            None,
        )
        if mine is None or not same or (shape.certain and not mine.certain):
            raise CannotSpeculate
        kept.add((slot, type(shape)(shape.groups, shape.offsets)))
    return kept
