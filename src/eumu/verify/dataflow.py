"""Which bytes of variables hold something, and which are read later: facts for the lints.

Masks are Python integers, a bit a byte (a bit of a predicate).  A masked or predicated write counts
as a write, so nothing here depends on which lanes run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from heapq import heappop, heappush
from typing import Any

from eumu.isa.kinds.operands import AddressOf
from eumu.isa.kinds.variables import Declared
from eumu.program import Kernel
from eumu.records import dataclass
from eumu.verify.graph import Graph, Node
from eumu.verify.subject import Subject

State = dict[Declared, int]


# Instruction, variable, and the bytes that it reads and nothing before it in its block writes.
Read = tuple[int, Declared, int]


@dataclass(slots=True)
class Facts:
    """A kernel, its graph, and what holds at the beginning of every block.

    `exposed` are the reads of what comes from other blocks; of their variables, `may` has the bytes
    that some path writes and `must` those that every path writes, None for a block that no path
    reaches.  `live` are the variables that are read in a block or after it.  Variables in `escaped`
    have their address taken: anything may happen to them.  `remembered` is what lints have found
    out that others want to know too.
    """

    subject: Subject
    graph: Graph
    escaped: frozenset[Declared] = frozenset()
    exposed: list[list[Read]] = field(default_factory=list)
    may: list[State | None] = field(default_factory=list)
    must: list[State | None] = field(default_factory=list)
    live: list[set[Declared]] = field(default_factory=list)
    returned: dict[int, list[set[Declared]]] = field(default_factory=dict)
    remembered: dict[str, list[Any]] = field(default_factory=dict)

    def tracked(self, declared: Declared) -> bool:
        """Whether the program alone decides what a variable holds."""
        return (
            declared.predefined is None
            and declared.category in "GPA"
            and declared not in self.escaped
        )


def gather(subject: Subject, graph: Graph) -> Facts:
    """The facts of a kernel."""
    facts = Facts(subject, graph, _escaped(subject.kernel))
    summaries = [_summary(facts, node) for node in graph.nodes]
    facts.exposed = [reads for reads, _, _ in summaries]
    wanted = {declared for reads in facts.exposed for _, declared, _ in reads}
    written = [{d: m for d, m in w.items() if d in wanted} for _, w, _ in summaries]
    start = {d: m for d, m in _inputs(subject.kernel).items() if d in wanted}
    facts.may = _forward(graph, written, start, _union)
    facts.must = _forward(graph, written, start, _intersection)
    facts.live, facts.returned = _backward(graph, [read for _, _, read in summaries])
    return facts


def _summary(facts: Facts, node: Node) -> tuple[list[Read], State, set[Declared]]:
    """Exposed reads, bytes written, and variables read, of a block."""
    exposed: list[Read] = []
    written: State = {}
    read: set[Declared] = set()
    for index in range(node.first, node.end):
        effect = facts.graph.effects[index]
        for declared, mask in effect.reads:
            read.add(declared)
            lacking = mask & ~written.get(declared, 0)
            if lacking and facts.tracked(declared):
                exposed.append((index, declared, lacking))
        for declared, mask in effect.writes:
            written[declared] = written.get(declared, 0) | mask
    return exposed, written, read


def _escaped(kernel: Kernel) -> frozenset[Declared]:
    """Variables whose address is taken."""
    escaped = set()
    for inst in kernel.instructions:
        for operand in inst.operands:
            if type(operand) is AddressOf:
                declared = operand.variable
                escaped.add(declared.origin()[0] if hasattr(declared, "origin") else declared)
    return frozenset(escaped)


def _inputs(kernel: Kernel) -> State:
    start: State = {}
    for argument in kernel.inputs:
        declared: Declared = argument.variable
        offset = 0
        if hasattr(declared, "origin"):
            declared, offset = declared.origin()
        mask = ((1 << argument.size) - 1) << offset
        start[declared] = start.get(declared, 0) | mask
    return start


Join = Callable[[State, State], bool]


def _union(into: State, other: State) -> bool:
    """Add the bytes of `other`; whether anything changed."""
    changed = False
    for declared, mask in other.items():
        old = into.get(declared, 0)
        if mask & ~old:
            into[declared] = old | mask
            changed = True
    return changed


def _intersection(into: State, other: State) -> bool:
    """Keep the bytes that `other` has too."""
    changed = False
    for declared, old in list(into.items()):
        mask = other.get(declared, 0)
        if old & ~mask:
            changed = True
            if old & mask:
                into[declared] = old & mask
            else:
                del into[declared]
    return changed


def _forward(graph: Graph, written: list[State], start: State, join: Join) -> list[State | None]:
    """The state at the beginning of every block."""
    before: list[State | None] = [None] * len(graph.nodes)
    if not graph.nodes:
        return before
    called = _written_by_calls(graph, written)
    before[0] = dict(start)
    waiting = _Waiting([0])
    while (number := waiting.pop()) is not None:
        state = before[number]
        assert state is not None
        after = dict(state)
        _union(after, written[number])
        node = graph.nodes[number]
        edges = [(successor, after) for successor in node.successors]
        if node.after is not None:  # with what the subroutine writes, on whatever path
            returned = dict(after)
            for entry in node.successors:
                _union(returned, called[entry])
            edges.append((node.after, returned))
        for successor, leaving in edges:
            entering = before[successor]
            if entering is None:
                before[successor] = dict(leaving)
                waiting.add(successor)
            elif join(entering, leaving):
                waiting.add(successor)
    return before


def _written_by_calls(graph: Graph, written: list[State]) -> dict[int, State]:
    """What each subroutine writes, with all that it calls, by its entry."""
    by_call: dict[int, State] = {}
    callers: dict[int, list[int]] = {}
    for entry, subroutine in graph.subroutines.items():
        by_call[entry] = {}
        for block in subroutine.blocks:
            _union(by_call[entry], written[block])
        for callee in subroutine.calls:
            callers.setdefault(callee, []).append(entry)
    waiting = list(by_call)
    while waiting:
        entry = waiting.pop()
        for caller in callers.get(entry, ()):
            if _union(by_call[caller], by_call[entry]):
                waiting.append(caller)
    return by_call


class _Waiting:
    """Blocks to look at (again), the lowest first."""

    def __init__(self, blocks: Iterable[int]) -> None:
        self._heap = sorted(blocks)
        self._there = set(self._heap)

    def add(self, block: int) -> None:
        if block not in self._there:
            self._there.add(block)
            heappush(self._heap, block)

    def pop(self) -> int | None:
        if not self._heap:
            return None
        block = heappop(self._heap)
        self._there.remove(block)
        return block


def _backward(
    graph: Graph, read: list[set[Declared]]
) -> tuple[list[set[Declared]], dict[int, list[set[Declared]]]]:
    """The variables that are read in a block or after it, and after a return from a block.

    Nothing takes one away.
    """
    live = [set(r) for r in read]
    before: list[list[int]] = [[] for _ in graph.nodes]
    returned: dict[int, list[set[Declared]]] = {}
    for number, node in enumerate(graph.nodes):
        after = [] if node.after is None else [node.after]
        for successor in (*node.successors, *after):
            before[successor].append(number)
    # The end of a subroutine is a place of its own: all its returns lead there, and from there
    # control goes on behind all its calls.
    for subroutine in graph.subroutines.values():
        for resumed in set(subroutine.resumes):
            before[resumed].append(len(before))
        returns = [n for n in subroutine.blocks if graph.nodes[n].returns]
        before.append(returns)
        live.append(set())
        for number in returns:
            returned.setdefault(number, []).append(live[-1])
    waiting = _Waiting(-number for number in range(len(before)))
    while (negative := waiting.pop()) is not None:
        for predecessor in before[-negative]:
            count = len(live[predecessor])
            live[predecessor] |= live[-negative]
            if len(live[predecessor]) > count:
                waiting.add(-predecessor)
    return live[: len(graph.nodes)], returned
