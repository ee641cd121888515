"""Which slots of the roots hold a pattern when a block starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from eumu.exec.jit.patterns import SCALAR, Facts, Known, State, know
from eumu.ir import Function


@dataclass(slots=True)
class Analysis:
    """Slots with a pattern at the start of each block."""

    entry: dict[int, State] = field(default_factory=dict)


def analyse(function: Function, facts: Facts) -> Analysis:
    """Iterate over reachable blocks; a slot keeps its pattern where all predecessors agree."""
    analysis = Analysis({0: dict(facts.inputs)})
    work = [0]
    while work:
        i = work.pop(0)
        state = run_block(function, i, dict(analysis.entry[i]), facts)
        end = function.blocks[i].end
        lost = facts.restored if end is not None and end.name == "ret" else frozenset()
        leaving = {
            slot: shape
            for slot, shape in state.items()
            if not shape.active and slot.root not in lost
        }
        for j in facts.flow.edges.get(i, ()):
            old = analysis.entry.get(j)
            new = leaving if old is None else _meet(old, leaving)
            if old is None or new != old:
                analysis.entry[j] = dict(new)
                if j not in work:
                    work.append(j)
    return analysis


def _meet(a: State, b: State) -> State:
    met: State = {}
    for slot, x in a.items():
        y = b.get(slot)
        if y is not None and (x.constant, x.groups, x.offsets) == (
            *(y.constant, y.groups),
            y.offsets,
        ):
            bound = None if x.bound is None or y.bound is None else max(x.bound, y.bound)
            if bound is not None and bound != x.bound:
                bound = None  # no slow climb around a loop
            met[slot] = replace(x, certain=x.certain and y.certain, bound=bound)
    return met


def run_block(function: Function, block: int, state: State, facts: Facts) -> State:
    """The slots after the operations of a block."""
    known: dict[int, Known] = {}
    for op in function.blocks[block].ops:
        result = know(op, [known[a.id] for a in op.args], state, block, facts)
        for value in op.results:
            known[value.id] = (
                result if value is op.results[0] else Known(SCALAR if value.width == 1 else None)
            )
    return state
