"""Registers as sums: which differ from each other by constants, whatever they hold.

A *sum* says that lanes are a constant and multiples of lanes of values that were made before, all
modulo 2^bits.  Two registers whose sums differ in the constant only are as far apart in each lane.
A value is named by the operation that made it, and stands for what this made when it ran last.
Where the operation's block begins nothing is said of it: some way leads there on which it did not
run before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from heapq import heappop, heappush
from typing import Final

from eumu.exec.jit.analysis.dataflow import Visits
from eumu.exec.jit.analysis.flow import Flow, is_call
from eumu.ir import Block, Function, Op
from eumu.ir.operations.arithmetic import Convert
from eumu.ir.operations.lanes import Const, Shuffle
from eumu.ir.operations.state import Read, Write
from eumu.records import dataclass

_MOST_EFFORT: Final = 30_000  # operations that are looked at
_MOST_TERMS: Final = 4

Atom = tuple[int, int, int, tuple[int, ...]]  # block, place, number of the result; its lanes
Elements = tuple[tuple[int, ...], int]  # byte offsets, bytes of each
State = dict[str, dict[Elements, "Sum"]]  # what registers hold


@dataclass(frozen=True, slots=True)
class Sum:
    """A constant and values with their factors, modulo 2^bits."""

    terms: tuple[tuple[Atom, int], ...]
    constant: int
    bits: int

    def plus(self, other: Sum, factor: int = 1) -> Sum | None:
        total = dict(self.terms)
        for atom, count in other.terms:
            total[atom] = (total.get(atom, 0) + factor * count) % (1 << self.bits)
        terms = tuple(sorted((a, n) for a, n in total.items() if n))
        if len(terms) > _MOST_TERMS:
            return None
        return Sum(terms, (self.constant + factor * other.constant) % (1 << self.bits), self.bits)

    def moved(self, lanes: tuple[int, ...]) -> Sum:
        """Other lanes of it."""
        return _moved(self, lanes) if self.terms else self


@lru_cache(maxsize=1 << 12)
def _moved(x: Sum, lanes: tuple[int, ...]) -> Sum:
    terms = (((b, p, r, tuple(old[k] for k in lanes)), n) for (b, p, r, old), n in x.terms)
    return Sum(tuple(sorted(terms)), x.constant, x.bits)


def entries(
    function: Function, flow: Flow, visits: Visits, memory: Collection[str]
) -> dict[int, State]:
    """What registers hold where blocks begin; `memory` are roots that addresses lead to."""
    if any(is_call(function.blocks[i].end) for i in flow.parked):
        return {}
    entry: dict[int, State] = {0: {}}
    work, waiting, effort = [0], {0}, 0
    while work:
        i = heappop(work)
        waiting.discard(i)
        effort += len(function.blocks[i].ops)
        if effort > _MOST_EFFORT:
            return {}
        _, leaving = run(function.blocks[i], i, entry[i], visits, memory)
        for j in flow.edges.get(i, ()):
            new = leaving if j not in entry else _meet(entry[j], leaving)
            if j not in entry or new != entry[j]:
                entry[j] = new
                if j not in waiting:
                    waiting.add(j)
                    heappush(work, j)
    return entry


def _meet(a: State, b: State) -> State:
    met: State = {}
    for root in a.keys() & b.keys():
        x, y = a[root], b[root]
        both = {elements: sum for elements, sum in x.items() if y.get(elements) == sum}
        if both:
            met[root] = both
    return met


def run(
    block: Block, index: int, entry: State, visits: Visits, memory: Collection[str]
) -> tuple[Mapping[int, Sum], State]:
    """The sums of a block's values, and what registers hold behind it."""
    state = dict(entry)
    visit, values = visits.get(index), dict[int, Sum]()
    for place, op in enumerate(block.ops):
        if isinstance(op, Write):
            full = visit is not None and visit.known[op.args[1].id].full
            _write(op, values.get(op.args[0].id) if full else None, state, memory)
            continue
        for number, value in enumerate(op.results):
            if not value.type.is_int:
                continue
            found = _sum(op, values) if not number else None
            if isinstance(op, Read) and op.root.name not in memory:
                found = _held(op, state)
            if found is None:
                atom = index, place, number, tuple(range(value.width))
                found = Sum(((atom, 1),), 0, value.type.bits)
                if isinstance(op, Read) and op.root.name not in memory:
                    _note(op, found, state)
            values[value.id] = found
    return values, state


def _write(op: Write, sum: Sum | None, state: State, memory: Collection[str]) -> None:
    held, start, end = state.get(op.root.name, {}), min(op.offsets), op.end
    kept = {k: s for k, s in held.items() if not (min(k[0]) < end and start < max(k[0]) + k[1])}
    if sum is not None and op.root.name not in memory:
        kept[op.offsets, op.value.type.size] = sum
    state[op.root.name] = kept


def _held(op: Read, state: State) -> Sum | None:
    """What a register is known to hold."""
    wanted, size = op.offsets, op.result.type.size
    held = state.get(op.root.name, {})
    if (wanted, size) in held:
        return held[wanted, size]
    for (offsets, bytes_each), sum in held.items():
        if bytes_each == size and set(wanted) <= set(offsets):
            return sum.moved(tuple(offsets.index(o) for o in wanted))
    return None


def _note(op: Read, sum: Sum, state: State) -> None:
    """Remember what was read, for those who read it again."""
    if len(set(op.offsets)) == len(op.offsets):
        state.setdefault(op.root.name, {})
        state[op.root.name] = {**state[op.root.name], (op.offsets, op.result.type.size): sum}


def _sum(op: Op, values: Mapping[int, Sum]) -> Sum | None:
    """The sum of the first result of an operation, if it is made of those of its arguments."""
    bits = op.results[0].type.bits
    if isinstance(op, Const):
        return Sum((), op.lanes[0], bits) if len(set(op.lanes)) == 1 else None
    args = [values.get(a.id) for a in op.args]
    present = [a for a in args if a is not None]
    if not present or len(present) < len(args):
        return None
    x = present[0]
    if op.name == "splat":
        return x.moved((0,) * op.results[0].width)
    if isinstance(op, Shuffle):
        return x.moved(op.lanes)
    if isinstance(op, Convert):
        return _converted(op, x)
    if any(a.bits != bits for a in present):
        return None
    if op.name in ("add", "sub") and len(present) == 2:
        return x.plus(present[1], 1 if op.name == "add" else -1)
    if op.name == "shl" and not present[1].terms:
        return Sum((), 0, bits).plus(x, 1 << (present[1].constant % bits))
    if op.name == "mul":
        for one, other in (present, present[::-1]):
            if not other.terms:
                return Sum((), 0, bits).plus(one, other.constant)
    return None


def _converted(op: Convert, x: Sum) -> Sum | None:
    source, target = op.args[0].type, op.results[0].type
    if op.saturate:
        return None
    if source.bits == target.bits:
        return x
    if x.terms:
        return None
    number = x.constant
    if source.is_signed and number >> (source.bits - 1):
        number -= 1 << source.bits
    return Sum((), number % (1 << target.bits), target.bits)
