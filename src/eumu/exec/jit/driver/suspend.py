"""Suspending a thread in the middle, and resuming it.

Resume points are barriers and the headers of loops that may wait for another thread.  Variables
that some path from a resume point reads before it writes them live in the thread's record from the
start; all others stay LLVM values.  (Saving and restoring the former at each point instead made
LLVM copy them from one stack slot to another on every edge.)
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cache
from typing import Final

from eumu.exec.jit.analysis.flow import Flow, is_call
from eumu.exec.jit.analysis.liveness import live_in
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.observed import OBSERVES, WATCH
from eumu.exec.jit.codegen.registers import Event
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.layout import STOPPED_SHIFT, Record, ThreadOutcome
from eumu.ir import Block, Function, Terminator
from eumu.ir.operations.ends import Barrier
from eumu.ir.operations.memory import Atomic, Load, LoadBlock
from eumu.ir.operations.state import Indirect, OnRoot, Write, WriteFlag
from eumu.records import dataclass

# Variables times blocks: beyond, all stay in memory.  What merges where blocks meet would be more
# than the code itself, and LLVM's time grows with it.
_MOST_VALUES: Final = 600_000
_WAITS = ("atomic", "fence", "send")
_MOST_SPINNING: Final = 16  # blocks of a loop that does nothing but wait
_PAUSE: Final = 3  # slices
_WORDS: Final = 3  # behind the copy of a state: its point, and what is `observed`
_BLEND = re.compile(r"^  store (<.*>) (%\S+), ptr (%a\d+)$")
_ALLOCA = re.compile(r"^  (%a\d+) = alloca ")


Rotate = Callable[[int, frozenset[int]], None]


@cache
def _repeats() -> str:
    """Whether state is what it was when the thread gave way last, and at that point, and so is
    memory.

    A copy of it is kept behind it, and the point behind that; then what is `observed`.  If state is
    the same, the next slice is observed; if memory changed in that, not the `_PAUSE` slices after.
    """
    f = FunctionBuilder(
        "internal i1 @repeats(ptr %ctx, ptr %state, i64 %size, i64 %point) noinline cold"
    )
    size, point = f.number("%size"), f.number("%point")
    copy = f.elements(8, "%state", size)
    words = f.elements(8, copy, size)
    seen, watches, written = (f.word(words, n) for n in range(_WORDS))
    changed = f.variable()
    changed.set(f.one_if(f.differ(seen.get(), point)))
    seen.set(point)
    with f.times(size >> 3) as k:
        now, old = f.word("%state", k).get(), f.word(copy, k)
        changed.set(changed.get() | f.one_if(f.differ(now, old.get())))
        old.set(now)
    is_same, is_whole = (f.equal(x.get(), 0) for x in (changed, written))
    now = watches.get()
    repeats = is_same & is_whole & f.equal(now, OBSERVES)
    moves = f.equal(now, OBSERVES) & ~is_whole
    later = f.where(moves, f.number(str(-_PAUSE)), f.where(repeats, now, now + 1))
    watches.set(f.where(is_same, later, 0))
    written.set(0)
    f.do(f"ret {repeats.typed}")
    return f.text()


@dataclass(frozen=True, slots=True)
class Save:
    """One place where a thread is left, to go on at `target`."""

    target: int
    outcome: ThreadOutcome
    label: str
    others: frozenset[int] = frozenset()  # blocks whose lanes run if these wait in vain
    site: int = -1  # of a barrier


@dataclass(slots=True)
class Resume:
    """The resume points of a kernel; `headers` are blocks where a thread may give way.

    Threads that run `in_rounds` all stand at one resume point, which their driver keeps.  What is
    known of masks there is not kept at all.  If barriers are `halves`, threads may stand at
    several.
    """

    k: KernelLowering
    headers: frozenset[int]
    in_rounds: bool = False
    halves: bool = False
    spinning: frozenset[int] = frozenset()  # those of loops that only memory ends
    cuts: tuple[int, ...] = ()  # blocks where a thread goes on that ran abreast with others
    parks: str = ""  # the variable with all masks of lanes that wait, if there is one
    saves: list[Save] = field(default_factory=list)
    points: list[int] = field(default_factory=list)  # target block of resume point n + 1
    places: dict[str, int] = field(default_factory=dict)  # variable -> byte offset in the record
    size: int = 0  # of the record, in bytes
    rotations: list[tuple[int, frozenset[int]]] = field(default_factory=list)  # points after those
    watch: list[str] = field(default_factory=list)  # where it is said whether to observe

    def save(
        self,
        target: int,
        outcome: ThreadOutcome,
        others: frozenset[int] = frozenset(),
        site: int = -1,
    ) -> None:
        """Leave the thread; it goes on at block `target`, or at others if nothing changes there."""
        label = self.k.e.name("save")
        self.saves.append(Save(target, outcome, label, others, site))
        self.k.e.do(f"br label %{label}")

    @property
    def sites(self) -> list[int]:
        """The sites of the barriers in front of the resume points, in rounds."""
        sites = {save.target: save.site for save in self.saves}
        return [sites.get(point, -1) for point in self.points]

    @property
    def count(self) -> int:
        """How many resume points there are."""
        return len(self.points) + len(self.rotations)

    def emit(self, start: int, first: int, rotate: Rotate) -> list[str]:
        """Emit the cold blocks that save and restore masks, and move variables to the record.

        Records have room from byte `start`, roots lie there from `first` on; returns the text that
        clears the variables there.
        """
        self.size = start
        variables = self.k.registers.variables
        stay = len(variables) * len(self.k.flow.parked) > _MOST_VALUES
        if not self.saves and not self.cuts and not stay:
            return []
        self.points = sorted({save.target for save in self.saves}.union(self.cuts))
        self.rotations = sorted({(s.target, s.others) for s in self.saves if s.others}, key=str)
        self._place(sorted(variables.keys() - set(self._masks()) if stay else self._needed()))
        state = first, self.size - first
        at_start = self._move()
        if self.rotations:
            self.size = 64 * -(-(self.size + state[1] + 8 * _WORDS) // 64)
            seen = sum(state) + state[1]
            self.watch = [f"  {WATCH} = getelementptr i8, ptr %rec, i64 {seen + 8}"]
            at_start.append(f"  %seen = getelementptr i8, ptr %rec, i64 {seen}")
            at_start += [f"  store i64 0, ptr {place}" for place in ("%seen", WATCH)]
        e, word = self.k.e, f"i{self.k.width}"
        for save in self.saves:
            e.label(save.label)
            for mask in [] if self._is_full(save.target) else self._masks():
                value = e.op(f"load {word}, ptr {mask}")
                e.do(f"store {word} {value}, ptr {self._byte(self.places[mask])}, align 1")
            if self.in_rounds:
                self.k.leave(stopped_at(self.points.index(save.target) + 1))
                continue
            pc = e.op(f"getelementptr i64, ptr %rec, i64 {int(Record.PC)}")
            e.do(f"store i64 {self._next(save, *state)}, ptr {pc}")
            self.k.leave(save.outcome)
        for number in range(1, self.count + 1):
            e.label(f"resume{number}")
            if number <= len(self.points) and self._is_full(self.points[number - 1]):
                e.do(f"store {word} -1, ptr %em")
                e.do(f"br label %b{self.points[number - 1]}")
                continue
            for mask in self._masks():
                value = e.op(f"load {word}, ptr {self._byte(self.places[mask])}, align 1")
                e.do(f"store {word} {value}, ptr {mask}")
            if number <= len(self.points):
                e.do(f"br label %b{self.points[number - 1]}")
            else:
                rotate(*self.rotations[number - 1 - len(self.points)])
        return at_start

    def _needed(self) -> set[str]:
        """The variables that are read behind a resume point before they are written."""
        behind = {j for _, others in self.rotations for j in others}
        live = live_at(behind.union(self.points), self.k.flow, self.k.registers.log)
        return live | {self.parks} if self.parks else live

    def _next(self, save: Save, first: int, size: int) -> str:
        """The resume point: another one for lanes that wait in vain, as all state repeats."""
        e, number = self.k.e, self.points.index(save.target) + 1
        if not save.others:
            return str(number)
        place = self.rotations.index((save.target, save.others))
        e.support.setdefault("repeats", _repeats())
        state = e.op(f"getelementptr i8, ptr %rec, i64 {first}")
        same = e.op(f"call i1 @repeats(ptr %ctx, ptr {state}, i64 {size}, i64 {number})")
        return e.op(f"select i1 {same}, i64 {len(self.points) + 1 + place}, i64 {number}")

    def _move(self) -> list[str]:
        """Replace stack variables by places in the record."""
        e, at_start, entry = self.k.e, [], []
        masks = cleared(self.parks, self.k.registers.variables.get(self.parks, ""))
        for line in e.entry:
            declared = _ALLOCA.match(line)
            if declared and declared[1] in self.places:
                place = self.places[declared[1]]
                entry.append(f"  {declared[1]} = getelementptr i8, ptr %rec, i64 {place}")
            elif _accessed(line) in self.places:
                at_start.append(line + ", align 8")
            elif line == masks and self.parks in self.places:
                at_start.append(line)
            else:
                entry.append(line)
        e.entry[:] = entry
        for n, line in enumerate(e.lines):
            if _accessed(line) in self.places:
                blends = any(" = select " in before for before in e.lines[max(0, n - 2) : n])
                e.lines[n] = (_unmasked(line, n) if blends else line) + ", align 8"
        return at_start

    def _masks(self) -> list[str]:
        """The masks that are saved; no lane waits where its thread is at a barrier."""
        parks = [f"%park{b}" for b in sorted(self.k.flow.waiting)] if not self.parks else []
        if "%alive" in self.k.registers.variables:
            return ["%em", "%alive", *parks]
        if self.in_rounds:
            return [] if all(map(self._is_full, self.points)) else ["%em"]
        return ["%em", *parks]

    def _is_full(self, target: int) -> bool:
        """Whether all lanes that a thread can have go on at a block behind a barrier."""
        if not self.in_rounds or "%alive" in self.k.registers.variables:
            return False
        return self.k.facts.full_threads and not self.k.flow.partial[target]

    def _place(self, variables: list[str]) -> None:
        types = self.k.registers.variables
        for variable in [*self._masks(), *variables]:
            size = bytes_of(types.get(variable, f"i{self.k.width}"))
            step = min(64, max(8, size))
            self.size = -(-self.size // step) * step
            self.places[variable] = self.size
            self.size += size
        self.size = -(-self.size // 64) * 64

    def _byte(self, place: int) -> str:
        return self.k.e.op(f"getelementptr i8, ptr %rec, i64 {place}")


def stopped_at(point: int) -> int:
    """The outcome of a thread in rounds that stops at a barrier, to go on at a resume point."""
    return point << STOPPED_SHIFT | ThreadOutcome.BARRIER


def can_run_in_rounds(function: Function, flow: Flow, headers: frozenset[int]) -> bool:
    """Whether threads stop only at barriers that each of them signals once and then waits at, and
    a resume point tells which barrier it was."""
    barriers = {i: end for i in flow.parked if isinstance(end := function.blocks[i].end, Barrier)}
    targets = [end.targets[0] for end in barriers.values() if _meets(end)]
    if not targets or len(set(targets)) < len(targets) or headers:
        return False
    if any(end.args or end.kind == "pair" for end in barriers.values()):
        return False
    return has_halves(function, flow) is not None


def has_halves(function: Function, flow: Flow) -> bool | None:
    """Whether barriers are a signal and a wait behind it, and nowhere else; None if only some are.

    Threads may wait at different ones of these.
    """
    kinds: dict[str, set[int]] = {}
    for i in flow.parked:
        end = function.blocks[i].end
        if isinstance(end, Barrier):
            kinds.setdefault(end.kind, set()).add(i)
    signals, waits = kinds.pop("signal", set()), kinds.pop("wait", set())
    if not signals and not waits:
        return False
    entered = [(i, target) for i in flow.parked for target in flow.edges.get(i, ())]
    leads = sorted((i, target) for i, target in entered if i in signals or target in waits)
    paired = [i for i, _ in leads] == sorted(signals) and {j for _, j in leads} == waits - {0}
    return True if paired and len(leads) == len(waits) and not kinds else None


def _unmasked(line: str, n: int) -> str:
    """A store that LLVM does not turn into a masked one, which some processors are slow at.

    It would do so with a select between a new value and what the same place holds.
    """
    match = _BLEND.match(line)
    if match is None:
        return line
    vector, value, place = match.groups()
    return f"  %frozen{n} = freeze {vector} {value}\n  store {vector} %frozen{n}, ptr {place}"


def cleared(array: str, type: str) -> str:
    """The line that sets an array in memory to zeros, of a type such as ``[8 x i16]``."""
    size = bytes_of(type) if array else 0
    return f"  call void @llvm.memset.p0.i64(ptr {array}, i8 0, i64 {size}, i1 false)"


def bytes_of(type: str) -> int:
    """Bytes that an LLVM integer, or a vector or an array of them, takes in memory."""
    if type.startswith(("<", "[")):
        count, scalar = type[1:-1].split(" x ")
        return int(count) * bytes_of(scalar)
    return -(-int(type[1:]) // 8)


def _accessed(line: str) -> str:
    """The variable that a line loads or stores whole, or nothing."""
    start = line.rfind(", ptr %a")
    if start < 0 or not (line.startswith("  store ") or " = load " in line):
        return ""
    return line[start + len(", ptr ") :]


def live_at(points: Iterable[int], flow: Flow, log: dict[int, list[Event]]) -> set[str]:
    """The variables that are read after the start of some of these blocks before they are written.

    Sets are numbers with a bit for each variable.
    """
    bits: dict[str, int] = {}
    used: dict[int, int] = {}
    defined: dict[int, int] = {}
    for block, events in log.items():
        read = written = 0
        for event in events:
            bit = 1 << bits.setdefault(event.variable, len(bits))
            if not event.is_use:
                written |= bit
            elif not written & bit:
                read |= bit
        used[block], defined[block] = read, written
    live = live_in(
        flow.parked,
        flow.after,
        lambda block, behind: used.get(block, 0) | behind & ~defined.get(block, 0),
    )
    wanted = 0
    for point in points:
        wanted |= live.get(point, 0)
    return {name for name, digit in zip(bits, bin(wanted)[:1:-1], strict=False) if digit == "1"}


def _meets(end: Terminator | None) -> bool:
    return isinstance(end, Barrier) and end.kind != "signal"


def rotating_headers(function: Function, flow: Flow) -> frozenset[int]:
    """Headers of loops that may wait for another lane of the thread.

    An atomic operation whose result nobody uses is no way to wait.  Lanes that run together do not
    wait for each other.
    """
    if function.together:
        return frozenset()
    return _headers(function, flow, _waits_for_lanes)


def _waits_for_lanes(block: Block) -> bool:
    used = {a.id for op in block.ops for a in op.args}
    return any(
        op.name in ("fence", "send") or (op.name == "atomic" and op.result.id in used)
        for op in block.ops
    )


def waiting_headers(function: Function, flow: Flow) -> frozenset[int]:
    """Headers of loops that may wait for another thread: those with atomics or fences in them, and
    those that only memory can end."""
    has_such = _headers(function, flow, lambda block: any(op.name in _WAITS for op in block.ops))
    return has_such | spinning_headers(function, flow)


def spinning_headers(function: Function, flow: Flow) -> frozenset[int]:
    """Headers of loops that only memory can end."""
    return frozenset(low for low, high in _jumps_back(flow) if _spins(function, low, high))


def _jumps_back(flow: Flow) -> Iterator[tuple[int, int]]:
    """The target and the source of each."""
    for i in flow.parked:
        yield from ((target, i) for target in flow.edges.get(i, ()) if target <= i)


def _spins(function: Function, low: int, high: int) -> bool:
    """Whether a short loop reads memory, or calls what may, and is the same in each turn but for
    that: no register that it changes is one that it has read before."""
    blocks = function.blocks[low : high + 1]
    end = blocks[-1].end  # a call, and what returns, may go back, too
    if len(blocks) > _MOST_SPINNING or end is None or end.name == "ret" or is_call(end):
        return False
    if any(_meets(block.end) for block in blocks):
        return False
    ops = [op for block in blocks for op in block.ops]
    reads = any(isinstance(op, Atomic | Load | LoadBlock) for op in ops)
    if not (reads or any(is_call(block.end) for block in blocks)):
        return False
    read, written = set[str](), set[str]()
    for op in ops:
        if isinstance(op, Indirect):
            return False
        if isinstance(op, Write | WriteFlag):
            written.add(op.root.name)
        elif isinstance(op, OnRoot) and op.root.name not in written:
            read.add(op.root.name)
    return read.isdisjoint(written)


def _headers(function: Function, flow: Flow, waits: Callable[[Block], bool]) -> frozenset[int]:
    """Headers of loops with such a block in them; one that ends at a barrier gives way there."""
    waiting = sorted(
        i for i in flow.parked if waits(function.blocks[i]) and not _meets(function.blocks[i].end)
    )
    if not waiting:
        return frozenset()

    def is_in(low: int, high: int) -> bool:
        place = bisect_left(waiting, low)
        return place < len(waiting) and waiting[place] <= high

    return frozenset(low for low, high in _jumps_back(flow) if is_in(low, high))
