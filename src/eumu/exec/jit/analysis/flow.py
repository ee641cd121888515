"""What can be waiting where: the static side of "the lowest waiting block runs next".

A block runs with the lanes that wait at it.  For every block this finds the other blocks at which
lanes of the same frame may be waiting when it starts (its *parked* set), and whether it certainly
runs with all lanes of the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from typing import Final

from eumu.errors import InternalError, Unsupported
from eumu.ir import Function, Terminator, Value
from eumu.records import dataclass


@dataclass(slots=True)
class Flow:
    """Per block; unreachable blocks have no entry in `parked`."""

    parked: dict[int, frozenset[int]] = field(default_factory=dict)
    partial: dict[int, bool] = field(
        default_factory=dict
    )  # some lanes may have ended or wait below
    edges: dict[int, set[int]] = field(default_factory=dict)
    waiting: set[int] = field(default_factory=set)  # blocks that ever need a park mask
    rotating: frozenset[int] = frozenset()  # loop headers whose lanes may have to let others run
    stuck: frozenset[int] = frozenset()  # such headers whose lanes cannot

    def full(self, block: int) -> bool:
        """Whether the block certainly runs with every lane that the thread started with."""
        return not self.partial[block] and not self.parked[block]

    def after(self, block: int) -> Collection[int]:
        """The blocks that may run next in the thread."""
        return self.edges.get(block, ())

    def backward(self) -> list[tuple[int, int]]:
        """The jumps back, sorted: the first block that one goes to, and the one it comes from."""
        return sorted(
            (min(targets), i)
            for i, targets in self.edges.items()
            if min(targets, default=i + 1) <= i
        )

    def repeated(self) -> set[int]:
        """The blocks that may run more than once: those that some jump back goes past."""
        repeated: set[int] = set()
        first = -1
        for low, high in self.backward():
            repeated.update(range(max(low, first), high + 1))
            first = max(first, high + 1)
        return repeated


def is_call(end: Terminator | None) -> bool:
    """Whether a block ends with a call of any kind."""
    return end is not None and end.name in ("call", "call_indirect")


# Members of the sets that are made; it grows as the third power of the number of jumps that cross.
_MOST_EFFORT: Final = 10_000_000
MOST_ROTATING: Final = 1_000_000  # so that lanes that wait in vain let others run

Step = tuple[int, frozenset[int]]


def go(target: int, parked: frozenset[int], flow: Flow | None = None) -> Iterator[Step]:
    """Where control can be next when all executing lanes move to `target`."""
    lower = sorted(k for k in parked if k < target)
    if lower:
        if flow is not None:
            flow.waiting.add(target)
        yield from resume(parked | {target})
    else:
        yield target, parked - {target}


def resume(parked: frozenset[int]) -> Iterator[Step]:
    """Where control can be next when no lane executes."""
    for k in sorted(parked):
        yield k, frozenset(j for j in parked if j > k)


def rotated(target: int, parked: frozenset[int]) -> Iterator[Step]:
    """Where control can be next when the lanes that go back to `target` let others run."""
    others = sorted(parked - {target})
    for j in others:
        yield j, frozenset((*(k for k in others if k > j), target))


def analyse(
    function: Function,
    full_masks: Callable[[int, Value], bool],
    rotating: frozenset[int] = frozenset(),
    most_effort: int = _MOST_EFFORT,
) -> Flow:
    """Iterate to the fixed point; Unsupported if that takes too much effort.

    `full_masks(block, m)` says whether mask m has all lanes of the thread.
    """
    flow = Flow(rotating=rotating)
    work: list[int] = []
    effort = 0

    def enter(block: int, source: int | None, parked: frozenset[int], partial: bool) -> None:
        nonlocal effort
        effort += 1 + len(parked)
        if effort > most_effort:
            raise Unsupported(
                f"{len(flow.waiting)} places where lanes wait for each other, crosswise, in the"
                " fast engine"
            )
        if source is not None:
            flow.edges.setdefault(source, set()).add(block)
        old, was = flow.parked.get(block), flow.partial.get(block, False)
        flow.parked[block] = parked | (old or frozenset())
        flow.partial[block] = partial or was
        if old is None or flow.parked[block] != old or flow.partial[block] != was:
            work.append(block)

    enter(0, None, frozenset(), False)
    while work:
        i = work.pop()
        end = function.blocks[i].end
        if end is None:
            raise InternalError(f"IR block {function.blocks[i].label} has no terminator")
        for target, parked, partial in _exits(flow, i, end, full_masks):
            enter(target, i, parked, partial)
    _add_returns(function, flow, full_masks)
    return flow


def _exits(
    flow: Flow, i: int, end: Terminator, full_masks: Callable[[int, Value], bool]
) -> Iterator[tuple[int, frozenset[int], bool]]:
    parked, partial = flow.parked[i], flow.partial[i]
    if end.name in ("jump", "branch", "switch", "barrier"):
        for target in end.targets:
            for j, rest in go(target, parked, flow):
                yield j, rest, partial
            if end.name != "barrier":
                for j, rest in _rotations(flow, i, target, parked):
                    yield j, rest, partial
    elif end.name == "diverge":
        low, high = min(end.targets), max(end.targets)
        if low != high:
            flow.waiting.add(high)
            for j, rest in resume(parked | {high}):
                yield j, rest, partial
        parked |= {high} - {low}
        for j, rest in (*go(low, parked, flow), *_rotations(flow, i, low, parked)):
            yield j, rest, partial
    elif end.name == "ret":
        everybody = flow.full(i) and full_masks(i, end.args[0])
        for j, rest in resume(parked):
            yield j, rest, True
        if not everybody:
            for j, rest in go(end.targets[0], parked, flow):
                yield j, rest, True
    elif is_call(end):
        *callees, after = end.targets
        all_lanes = flow.full(i) and full_masks(i, end.args[0])
        for callee in callees:
            yield callee, frozenset(), partial or not all_lanes
        flow.waiting.add(after)
        for j, rest in resume(parked | {after}):
            yield j, rest, partial
    elif end.name != "trap":
        raise InternalError(f"IR terminator {end.name}")


def _rotations(flow: Flow, i: int, target: int, parked: frozenset[int]) -> Iterator[Step]:
    if target <= i and target in flow.rotating and parked - {target}:
        flow.waiting.add(target)
        yield from rotated(target, parked)


def _add_returns(function: Function, flow: Flow, full_masks: Callable[[int, Value], bool]) -> None:
    """Edges from every block that can empty a frame to what runs in the caller."""
    resumed: set[int] = set()
    calls: set[int] = set()
    for i in flow.parked:
        end = function.blocks[i].end
        if end is not None and is_call(end):
            calls.add(i)
            resumed |= {j for j, _ in resume(flow.parked[i] | {end.targets[-1]})}
    for i in flow.parked:
        end = function.blocks[i].end
        if end is not None and end.name == "ret":
            flow.edges.setdefault(i, set()).update(resumed)
    for i in calls:
        end = function.blocks[i].end
        assert end is not None
        if full_masks(i, end.args[0]):  # what follows comes from a return, never from the call
            flow.edges[i] = set(end.targets[:-1])
