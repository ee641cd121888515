"""Which slots of the roots hold a pattern when a block starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Final

from eumu.exec.jit.patterns import know, of_results
from eumu.exec.jit.slots import Facts, Known, State
from eumu.ir import Function

# Operations looked at and edges followed, for what is certain and what is likely: two seconds.
# Beyond, nothing is known but where a function begins; code is slower then.
_MOST_EFFORT: Final = 300_000
_MOST_LIKELY: Final = 100_000


@dataclass(slots=True)
class Analysis:
    """Slots with a pattern at the start of each block.

    `likely` are those that have it if the lanes that execute are those that executed when they were
    written, as in most loops; code must test that.
    """

    entry: dict[int, State] = field(default_factory=dict)
    likely: dict[int, State] = field(default_factory=dict)


def analyse(function: Function, facts: Facts) -> Analysis:
    """What is certain, and what is likely."""
    certain = _entries(function, facts, active=False)
    masked = any(op.name == "exec_mask" for block in function.blocks for op in block.ops)
    return Analysis(certain, _entries(function, facts, active=True) if masked else {})


def _entries(function: Function, facts: Facts, *, active: bool) -> dict[int, State]:
    """Iterate over reachable blocks; a slot keeps its pattern where all predecessors agree."""
    entry: dict[int, State] = {0: State(facts.inputs)}
    work, own, effort = [0], _own(function, facts), 0
    while work:
        i = heappop(work)  # the first in program order: what leads to it has mostly been there
        effort += len(function.blocks[i].ops) + len(facts.flow.edges.get(i, ()))
        if effort > (_MOST_LIKELY if active else _MOST_EFFORT):
            return {0: State(facts.inputs)}
        leaving = run_block(function, i, entry[i].copy(), facts)
        leaving.forget(own.get(i, ()))
        end = function.blocks[i].end
        if end is not None and end.name == "ret":
            leaving.forget(facts.restored)
        if not active:
            leaving = State({slot: shape for slot, shape in leaving.items() if not shape.active})
        for j in facts.flow.edges.get(i, ()):
            old = entry.get(j)
            new = leaving if old is None else _meet(old, leaving)
            if old is None or new != old:
                entry[j] = new.copy()
                if j not in work:
                    heappush(work, j)
    return entry


def _own(function: Function, facts: Facts) -> dict[int, set[str]]:
    """The roots that nothing reads behind each block: it alone accesses them, and runs once."""
    users: dict[str, set[int]] = {}
    for index in facts.flow.parked:
        for op in function.blocks[index].ops:
            if op.name in ("read", "write"):
                users.setdefault(op.attrs["root"].name, set()).add(index)
    own: dict[int, set[str]] = {}
    repeated = facts.flow.repeated()
    for name, blocks in users.items():
        if len(blocks) == 1 and not blocks & repeated:
            own.setdefault(min(blocks), set()).add(name)
    return own


def _meet(a: State, b: State) -> State:
    met = State()
    for slot, x in a.items():
        y = b.get(slot)
        if y is not None and (x.constant, x.groups, x.offsets) == (
            *(y.constant, y.groups),
            y.offsets,
        ):
            bound = None if x.bound is None or y.bound is None else max(x.bound, y.bound)
            if bound is not None and bound != x.bound:
                bound = None  # no slow climb around a loop
            certain, active = x.certain and y.certain, x.active or y.active
            met[slot] = replace(x, active=active, certain=certain, bound=bound)
    return met


def run_block(function: Function, block: int, state: State, facts: Facts) -> State:
    """The slots after the operations of a block."""
    known: dict[int, Known] = {}
    for op in function.blocks[block].ops:
        result = know(op, [known[a.id] for a in op.args], state, block, facts)
        known.update(of_results(op, result))
    return state
