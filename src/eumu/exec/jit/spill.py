"""Leaving a thread in the middle and coming back.

Resume points are barriers and the headers of loops that may wait for another thread.  Variables
that some path from a resume point reads before it writes them live in the thread's record from the
start; all others stay LLVM values.  (Saving and restoring the former at each point instead made
LLVM copy them from one stack slot to another on every edge.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from eumu.exec.jit.flow import Flow
from eumu.exec.jit.kernel import Kernel
from eumu.exec.jit.layout import Outcome, Record
from eumu.exec.jit.registers import Event
from eumu.ir import Function, Terminator

_WAITS = ("atomic", "fence")
_ACCESS = re.compile(r"^  (?:%\S+ = load .*|store .*), ptr (%a\d+)$")
_BLEND = re.compile(r"^  store (<.*>) (%\S+), ptr (%a\d+)$")
_ALLOCA = re.compile(r"^  (%a\d+) = alloca ")


@dataclass(frozen=True, slots=True)
class Save:
    """One place where a thread is left, to go on at `target`."""

    target: int
    outcome: Outcome
    label: str


@dataclass(slots=True)
class Resume:
    """The resume points of a kernel; `headers` are blocks where a thread may give way."""

    k: Kernel
    headers: frozenset[int]
    saves: list[Save] = field(default_factory=list)
    points: list[int] = field(default_factory=list)  # target block of resume point n + 1
    places: dict[str, int] = field(default_factory=dict)  # variable -> byte offset in the record
    size: int = 0  # of the record, in bytes

    def save(self, target: int, outcome: Outcome) -> None:
        """Leave the thread; it goes on at block `target`."""
        label = self.k.e.name("save")
        self.saves.append(Save(target, outcome, label))
        self.k.e.do(f"br label %{label}")

    def emit(self, start: int) -> list[str]:
        """Emit the cold blocks that save and restore masks, and move variables to the record.

        Records have room from byte `start`; returns the text that clears the variables there.
        """
        self.size = start
        if not self.saves:
            return []
        live = liveness(self.k.flow, self.k.registers.log)
        self.points = sorted({save.target for save in self.saves})
        self._place(sorted({v for p in self.points for v in live.get(p, ())}))
        cleared = self._move()
        e, word = self.k.e, f"i{self.k.width}"
        for save in self.saves:
            e.label(save.label)
            for mask in self._masks():
                value = e.op(f"load {word}, ptr {mask}")
                e.do(f"store {word} {value}, ptr {self._byte(self.places[mask])}, align 1")
            pc = e.op(f"getelementptr i64, ptr %rec, i64 {int(Record.PC)}")
            e.do(f"store i64 {self.points.index(save.target) + 1}, ptr {pc}")
            self.k.leave(save.outcome)
        for number, target in enumerate(self.points, 1):
            e.label(f"resume{number}")
            for mask in self._masks():
                value = e.op(f"load {word}, ptr {self._byte(self.places[mask])}, align 1")
                e.do(f"store {word} {value}, ptr {mask}")
            e.do(f"br label %b{target}")
        return cleared

    def _move(self) -> list[str]:
        """Replace stack variables by places in the record."""
        e, cleared, entry = self.k.e, [], []
        for line in e.entry:
            declared, stored = _ALLOCA.match(line), _ACCESS.match(line)
            if declared and declared[1] in self.places:
                place = self.places[declared[1]]
                entry.append(f"  {declared[1]} = getelementptr i8, ptr %rec, i64 {place}")
            elif stored and stored[1] in self.places:
                cleared.append(line + ", align 8")
            else:
                entry.append(line)
        e.entry[:] = entry
        for n, line in enumerate(e.lines):
            found = _ACCESS.match(line)
            if found and found[1] in self.places:
                blends = any(" = select " in before for before in e.lines[max(0, n - 2) : n])
                e.lines[n] = (_unmasked(line, n) if blends else line) + ", align 8"
        return cleared

    def _masks(self) -> list[str]:
        alive = ["%alive"] if "%alive" in self.k.registers.variables else []
        return ["%em", *alive, *(f"%park{b}" for b in sorted(self.k.flow.waiting))]

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


def _unmasked(line: str, n: int) -> str:
    """A store that LLVM does not turn into a masked one, which some processors are slow at.

    It would do so with a select between a new value and what the same place holds.
    """
    found = _BLEND.match(line)
    if found is None:
        return line
    vector, value, place = found.groups()
    return f"  %frozen{n} = freeze {vector} {value}\n  store {vector} %frozen{n}, ptr {place}"


def bytes_of(type: str) -> int:
    """Bytes that an LLVM integer or vector of integers takes in memory."""
    if type.startswith("<"):
        count, scalar = type[1:-1].split(" x ")
        return int(count) * bytes_of(scalar)
    return -(-int(type[1:]) // 8)


def liveness(flow: Flow, log: dict[int, list[Event]]) -> dict[int, set[str]]:
    """The variables that are read after the start of each block before they are written."""
    used: dict[int, set[str]] = {}
    defined: dict[int, set[str]] = {}
    for block, events in log.items():
        used[block], defined[block] = set(), set()
        for event in events:
            if not event.is_use:
                defined[block].add(event.variable)
            elif event.variable not in defined[block]:
                used[block].add(event.variable)
    live = {block: set(used.get(block, ())) for block in flow.parked}
    changed = True
    while changed:
        changed = False
        for block in sorted(live, reverse=True):
            behind: set[str] = set()
            for target in flow.edges.get(block, ()):
                behind |= live[target]
            found = live[block] | (behind - defined.get(block, set()))
            if found != live[block]:
                live[block], changed = found, True
    return live


def _meets(end: Terminator | None) -> bool:
    return end is not None and end.name == "barrier" and end.attrs["kind"] != "signal"


def waiting_headers(function: Function, flow: Flow) -> frozenset[int]:
    """Headers of loops with atomics or fences in them, which may wait for another thread.

    A block that ends at a barrier gives way there.
    """
    waits = {
        i
        for i in flow.parked
        if any(op.name in _WAITS for op in function.blocks[i].ops)
        and not _meets(function.blocks[i].end)
    }
    return frozenset(
        target
        for i in flow.parked
        for target in flow.edges.get(i, ())
        if target <= i and any(target <= w <= i for w in waits)
    )
