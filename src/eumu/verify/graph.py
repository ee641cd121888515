"""The flow graph of a kernel: blocks, edges, and where lanes may be off.

A lane waits at a block and the lowest waiting block runs next, so a forward branch of some lanes
leaves the lanes apart up to its target, and a backward one from its target on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from eumu.isa.kinds.operands import (
    ExecSize,
    General,
    Immediate,
    Predicate,
    PredicateOperand,
)
from eumu.isa.kinds.variables import Declared
from eumu.program import Inst, Kernel, LabelMark
from eumu.records import dataclass
from eumu.types import Kind
from eumu.verify.branches import targets
from eumu.verify.effects import Effect, exec_index


@dataclass(slots=True)
class Node:
    """A block: instructions `first` .. `end`-1, and the blocks that run after it.

    A call's successor is the callee; `after` is where it goes on when that returns.
    """

    first: int
    end: int = 0
    labels: list[str] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    after: int | None = None
    returns: bool = False


@dataclass(slots=True)
class Subroutine:
    """What begins at one block: its own blocks, the subroutines it calls, where it is called from.

    `calls` are entries of others; `resumes` are the blocks in which callers go on.
    """

    blocks: set[int]
    calls: set[int]
    resumes: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Graph:
    """The instructions of a kernel in order, their effects, and the blocks that they make."""

    kernel: Kernel
    instructions: list[Inst]
    effects: list[Effect]
    nodes: list[Node]
    divergent: list[bool]  # by block: some lanes of the thread may wait elsewhere
    joins: list[tuple[int, int]]  # first and last block of a stretch that lanes leave early
    known: bool  # every effect is known
    subroutines: dict[int, Subroutine] = field(default_factory=dict)  # by the block of their entry
    unmarked: list[int] = field(default_factory=list)  # a block that is not divergent from here on

    def node_of(self, index: int) -> int:
        """The block of an instruction."""
        low, high = 0, len(self.nodes) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.nodes[middle].first <= index:
                low = middle
            else:
                high = middle - 1
        return low


def build(kernel: Kernel, effect_of: Callable[[Inst], Effect]) -> Graph:
    """The graph of a kernel without errors."""
    instructions: list[Inst] = []
    effects: list[Effect] = []
    nodes = [Node(0)]
    labels: dict[str, int] = {}
    for item in kernel.body:
        if isinstance(item, LabelMark):
            if len(instructions) > nodes[-1].first:
                _close(nodes, len(instructions))
            nodes[-1].labels.append(item.name)
            labels[item.name] = len(nodes) - 1
        elif isinstance(item, Inst):
            instructions.append(item)
            effect = effect_of(item)
            effects.append(effect)
            if item.opcode.flow and effect.shape.flow not in ("", "barrier"):
                _close(nodes, len(instructions))
    nodes[-1].end = len(instructions)
    graph = Graph(
        kernel,
        instructions,
        effects,
        nodes,
        [False] * len(nodes),
        [],
        all(e.shape.known for e in effects),
    )
    graph.unmarked = list(range(len(nodes) + 1))
    _connect(graph, labels, _uniform(instructions))
    graph.joins.sort()
    return graph


def _close(nodes: list[Node], end: int) -> None:
    nodes[-1].end = end
    nodes.append(Node(end))


def _uniform(instructions: list[Inst]) -> frozenset[Declared]:
    """Predicates whose bits are all the same: every comparison that sets them is of scalars."""
    sets: dict[Declared, list[Inst]] = {}
    for inst in instructions:
        if inst.opcode.field("rel") is not None:
            dst = inst.operand("dst")
            if isinstance(dst, PredicateOperand):
                sets.setdefault(dst.variable, []).append(inst)
    others = {
        inst.operand("dst").variable
        for inst in instructions
        if inst.opcode.field("rel") is None and isinstance(inst.operand("dst"), PredicateOperand)
    }
    return frozenset(
        declared
        for declared, writers in sets.items()
        if declared not in others
        and all(_is_scalar(w.operand(n)) for w in writers for n in ("src0", "src1"))
    )


def _is_scalar(operand: object) -> bool:
    if isinstance(operand, General):
        return operand.vstride == 0 == operand.hstride
    return isinstance(operand, Immediate) and operand.type.kind is not Kind.PACKED


def _connect(graph: Graph, labels: dict[str, int], uniform: frozenset[Declared]) -> None:
    for number, node in enumerate(graph.nodes):
        following = number + 1 if number + 1 < len(graph.nodes) else None
        if node.end == node.first:
            node.successors = [] if following is None else [following]
            continue
        last = graph.instructions[node.end - 1]
        flow = graph.effects[node.end - 1].shape.flow
        places = [labels[name] for name in targets(last) if name in labels]
        conditional = last.operand("cond") is not None
        match flow:
            case "call" if places:
                node.successors, node.after = places, following
            case "ret":
                node.returns = True
                partial = conditional or not _has_every_lane(graph.kernel, last)
                node.successors = _some(following) if partial else []
                if partial and _is_wide(last):
                    _separate(graph, number, [len(graph.nodes)])
            case "jump":
                node.successors = places
            case "diverge" if not conditional and _has_every_lane(graph.kernel, last):
                node.successors = places
                if graph.divergent[number]:
                    _separate(graph, number, places)
            case _:
                node.successors = places + _some(following)
                if flow == "diverge" and not _is_uniform(last, uniform):
                    _separate(graph, number, places)
    _find_subroutines(graph)


def _some(node: int | None) -> list[int]:
    return [] if node is None else [node]


def _has_every_lane(kernel: Kernel, inst: Inst) -> bool:
    """Whether a branch moves every active lane of a thread; one lane stands for all."""
    exec = _exec(inst)
    return exec.size == 1 or (not exec.offset and exec.size >= kernel.simd_width)


def _is_uniform(inst: Inst, uniform: frozenset[Declared]) -> bool:
    """Whether all lanes go the same way."""
    cond = inst.operand("cond")
    return isinstance(cond, Predicate) and (bool(cond.combine) or cond.variable in uniform)


def _is_wide(inst: Inst) -> bool:
    return _exec(inst).size > 1


def _exec(inst: Inst) -> ExecSize:
    index = exec_index(inst.opcode)
    operand = None if index is None else inst.operands[index]
    return operand if isinstance(operand, ExecSize) else ExecSize(1)


def _separate(graph: Graph, number: int, places: list[int]) -> None:
    """Mark the blocks between a branch of some lanes and where they meet again."""
    for place in places:
        if place > number:
            first, last = number + 1, place - 1
        else:
            first, last = place, number
        if first <= last:
            graph.joins.append((first, last))
            _mark(graph, first, last)


def _mark(graph: Graph, first: int, last: int) -> None:
    """Mark the blocks of a stretch; what is marked already is passed over."""
    block = _unmarked(graph.unmarked, first)
    while block <= last:
        graph.divergent[block] = True
        graph.unmarked[block] = block + 1
        block = _unmarked(graph.unmarked, block)


def _unmarked(following: list[int], block: int) -> int:
    """The first block from this one on that is not marked."""
    target = block
    while following[target] != target:
        target = following[target]
    while following[block] != target:  # the next search gets there at once
        following[block], block = target, following[block]
    return target


def _find_subroutines(graph: Graph) -> None:
    for call in graph.nodes:
        if call.after is None:
            continue
        for entry in call.successors:
            if entry not in graph.subroutines:
                graph.subroutines[entry] = _subroutine(graph, entry)
            graph.subroutines[entry].resumes.append(call.after)


def _subroutine(graph: Graph, entry: int) -> Subroutine:
    """The blocks that control passes between a call and the return from it."""
    subroutine = Subroutine({entry}, set())
    waiting = [entry]
    while waiting:
        node = graph.nodes[waiting.pop()]
        following = node.successors
        if node.after is not None:
            subroutine.calls.update(node.successors)
            following = [node.after]
        fresh = [s for s in following if s not in subroutine.blocks]
        subroutine.blocks.update(fresh)
        waiting += fresh
    return subroutine
