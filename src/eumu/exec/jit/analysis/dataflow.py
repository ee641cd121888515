"""Which slots of the roots hold an affine form when a block starts."""

from __future__ import annotations

from dataclasses import field, replace
from heapq import heappop, heappush
from typing import Final

from eumu.exec.jit.analysis.affine_forms import know, of_results
from eumu.exec.jit.analysis.slots import BlockState, Facts, KnownValue
from eumu.exec.jit.llvm.lanes import Shape
from eumu.ir import Function
from eumu.ir.operations.state import Read, Write
from eumu.records import dataclass

# Operations looked at and edges followed, for what is certain and what is likely: two seconds.
# Beyond, nothing is known but where a function begins; code is slower then.
_MOST_EFFORT: Final = 300_000
_MOST_LIKELY: Final = 100_000


@dataclass(frozen=True, slots=True)
class Visit:
    """What is known of a block's values if it begins with these slots, and the slots behind it."""

    entry: BlockState
    full: bool  # it runs with all lanes of the thread
    known: dict[int, KnownValue]
    leaving: BlockState

    def holds(self, block: int, state: BlockState, facts: Facts) -> bool:
        """Whether a block that begins with such slots has this to be known."""
        return self.full == facts.flow.full(block) and self.entry == state


Visits = dict[int, Visit]
Own = dict[int, set[str]]  # see `_own`


@dataclass(slots=True)
class Analysis:
    """Slots with an affine form at the start of each block.

    `likely` are those that have it if the lanes that execute are those that executed when they were
    written, as in most loops; code must test that.  `visits` are of blocks, the last of each.
    """

    entry: dict[int, BlockState] = field(default_factory=dict)
    likely: dict[int, BlockState] = field(default_factory=dict)
    visits: Visits = field(default_factory=dict)


def analyse(function: Function, facts: Facts, visits: Visits | None = None) -> Analysis:
    """What is certain, and what is likely; `visits` are what another version's blocks had.

    Of a long function nothing is known but where it begins.
    """
    analysis = Analysis(visits=dict(visits or {}))
    if facts.is_long:
        analysis.entry = {0: BlockState(facts.inputs)}
        return analysis
    own = _own(function, facts)
    analysis.entry = _entries(function, facts, own, analysis.visits, active=False)
    if any(op.name == "exec_mask" for block in function.blocks for op in block.ops):
        analysis.likely = _entries(function, facts, own, analysis.visits, active=True)
    return analysis


def _entries(
    function: Function, facts: Facts, own: Own, visits: Visits, *, active: bool
) -> dict[int, BlockState]:
    """Iterate over reachable blocks; a slot keeps its affine form where all predecessors agree.

    A block that begins as in `visits` is not looked at again; certain ones are noted there.  Behind
    a block nothing is known of its `own` roots.
    """
    entry: dict[int, BlockState] = {0: BlockState(facts.inputs)}
    work, effort = [0], 0
    waiting = {0}
    while work:
        i = heappop(work)  # the first in program order: what leads to it has mostly been there
        waiting.discard(i)
        effort += len(facts.flow.edges.get(i, ()))
        visit = visits.get(i)
        if visit is None or not visit.holds(i, entry[i], facts):
            effort += len(function.blocks[i].ops)
            if effort > (_MOST_LIKELY if active else _MOST_EFFORT):
                return {0: BlockState(facts.inputs)}
            visit = run_block(function, i, entry[i].copy(), facts)
            if not active:
                visits[i] = visit
        leaving = visit.leaving.copy()
        leaving.forget(own.get(i, ()))
        end = function.blocks[i].end
        if end is not None and end.name == "ret":
            leaving.forget(facts.restored)
        if not active:
            leaving.forget_active()
        for j in facts.flow.edges.get(i, ()):
            old = entry.get(j)
            new = leaving if old is None else _meet(old, leaving)
            if old is None or new != old:
                entry[j] = new.copy()
                if j not in waiting:
                    waiting.add(j)
                    heappush(work, j)
    return entry


def _own(function: Function, facts: Facts) -> Own:
    """The roots that nothing reads behind each block: it alone accesses them, and runs once.

    Blocks that the flow does not have count, too: there it may end, and another version go on.
    """
    users: dict[str, set[int]] = {}
    for index, block in enumerate(function.blocks):
        for op in block.ops:
            if isinstance(op, (Read, Write)):
                users.setdefault(op.root.name, set()).add(index)
    own: Own = {}
    repeated = facts.flow.repeated()
    for name, blocks in users.items():
        if len(blocks) == 1 and not blocks & repeated:
            own.setdefault(min(blocks), set()).add(name)
    return own


def _meet(a: BlockState, b: BlockState) -> BlockState:
    met = BlockState()
    for root in a.roots():
        x, y = a.of(root), b.of(root)
        if x is y:
            met.share(root, a)
            continue
        for slot, shape in x.items():
            other = y.get(slot)
            both = None if other is None else _both(shape, other)
            if both is not None:
                met[slot] = both
    return met


def _both(x: Shape, y: Shape) -> Shape | None:
    """What holds of lanes of which one or the other holds."""
    if x is y or x == y:
        return x
    if (x.constant, x.groups, x.offsets) != (y.constant, y.groups, y.offsets):
        return None
    bound = None if x.bound is None or y.bound is None else max(x.bound, y.bound)
    if bound is not None and bound != x.bound:
        bound = None  # no slow climb around a loop
    certain, active = x.certain and y.certain, x.active or y.active
    return replace(x, active=active, certain=certain, bound=bound)


def run_block(function: Function, block: int, state: BlockState, facts: Facts) -> Visit:
    """What is known of the values of a block that begins with these slots, which change."""
    entry, values = state.copy(), dict[int, KnownValue]()
    for op in function.blocks[block].ops:
        result = know(op, [values[a.id] for a in op.args], state, block, facts)
        if op.results:
            values.update(of_results(op, result))
    return Visit(entry, facts.flow.full(block), values, state)
