"""Lints on work whose result nobody uses, and on code that never runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.errors import Severity
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.kinds.variables import Declared, Variable
from eumu.program import Inst
from eumu.verify.dataflow import Facts
from eumu.verify.effects import Effect, exec_index
from eumu.verify.graph import Node
from eumu.verify.rules import Finding, On, rule


def _kept(facts: Facts, declared: Declared) -> bool:
    """Whether somebody beside the kernel's instructions may read a variable."""
    return not facts.tracked(declared) or declared in _outputs(facts)


def _outputs(facts: Facts) -> list[Declared]:
    """The variables that are declared as outputs, or that such an alias lies in; found out once."""
    roots = facts.remembered.get("outputs")
    if roots is None:
        output = {"Output", "Input_Output"}
        declared = facts.subject.kernel.declarations
        outputs = [d for d in declared if any(name in output for name, _ in d.attrs)]
        roots = [d.origin()[0] for d in outputs if isinstance(d, Variable)]
        facts.remembered["outputs"] = roots = outputs + roots
    return roots


_MOVE: Final = "MOV"


@rule(
    "dead-write",
    "A result that nothing reads is a mistake or a waste.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="3 Execution model",
    by=None,
    unnecessary=True,
)
def dead_write(facts: Facts) -> Iterator[Finding]:
    return (finding for inst, finding in _dead(facts) if inst.opcode.page != _MOVE)


@rule(
    "dead-move",
    "A copy that nothing reads is a waste; the compiler leaves some behind.",
    on=On.FLOW,
    severity=Severity.NOTE,
    page=_MOVE,
    by=None,
    unnecessary=True,
)
def dead_move(facts: Facts) -> Iterator[Finding]:
    return (finding for inst, finding in _dead(facts) if inst.opcode.page == _MOVE)


def _dead(facts: Facts) -> list[tuple[Inst, Finding]]:
    """Pure instructions whose variables nothing reads any more; found out once."""
    dead = facts.remembered.get("dead")
    if dead is None:
        dead = facts.remembered["dead"] = list(_find_dead(facts))
    return dead


def _find_dead(facts: Facts) -> Iterator[tuple[Inst, Finding]]:
    """The last such instruction of each variable."""
    graph = facts.graph
    seen: set[Declared] = set()
    for number, node in enumerate(graph.nodes):
        if facts.may[number] is None or not graph.known:
            continue
        after = [] if node.after is None else [node.after]
        later = [facts.live[n] for n in (*node.successors, *after)]
        later += facts.returned.get(number, ())
        read: set[Declared] = set()  # in the rest of the block
        for index in range(node.end - 1, node.first - 1, -1):
            effect = graph.effects[index]
            if _is_dead(facts, effect, read, later) and effect.writes[0][0] not in seen:
                name, inst = effect.writes[0][0].name, graph.instructions[index]
                seen.add(effect.writes[0][0])
                message = f"nothing reads what {inst.opcode} writes to '{name}'"
                yield inst, Finding(message, span=inst.span)
            read.update(declared for declared, _ in effect.reads)


def _is_dead(facts: Facts, effect: Effect, read: set[Declared], later: list[set[Declared]]) -> bool:
    if not effect.shape.pure or not effect.writes:
        return False
    for declared, _ in effect.writes:
        if declared in read or any(declared in live for live in later) or _kept(facts, declared):
            return False
    return True


def _exec(inst: Inst) -> ExecSize | None:
    index = exec_index(inst.opcode)
    operand = None if index is None else inst.operands[index]
    return operand if isinstance(operand, ExecSize) else None


@rule(
    "overwritten",
    "Two instructions write the same lanes one after the other, so the first result is lost.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="3 Execution model",
    by=None,
    unnecessary=True,
)
def overwritten(facts: Facts) -> Iterator[Finding]:
    """Within a block: a result is written again by an instruction on at least the same lanes."""
    for node in facts.graph.nodes:
        yield from _overwritten_in(facts, node)


def _overwritten_in(facts: Facts, node: Node) -> Iterator[Finding]:
    graph = facts.graph
    last: dict[Declared, tuple[int, int]] = {}  # variable -> who wrote it last, which bytes
    for index in range(node.first, node.end):
        effect, inst = graph.effects[index], graph.instructions[index]
        if not effect.shape.known or effect.shape.indirect:
            last.clear()
        for declared, mask in effect.reads:
            if declared in last and last[declared][1] & mask:
                del last[declared]
        for declared, mask in effect.writes:
            if declared in last and _covers(graph.instructions[last[declared][0]], inst):
                earlier, bytes_ = last[declared]
                if not bytes_ & ~mask and not _kept(facts, declared):
                    yield _overwritten_finding(facts, earlier, index, declared)
            last.pop(declared, None)
            if effect.shape.pure and len(effect.writes) == 1:
                last[declared] = index, mask


def _overwritten_finding(facts: Facts, earlier: int, index: int, declared: Declared) -> Finding:
    first, second = (facts.graph.instructions[k] for k in (earlier, index))
    line = f" in line {second.span.line}" if second.span else ""
    return Finding(
        f"{first.opcode} writes '{declared.name}', and {second.opcode}{line} writes it again before"
        " anything reads it",
        span=first.span,
    )


def _covers(first: Inst, second: Inst) -> bool:
    """Whether the second instruction writes every lane that the first one did."""
    one, other = _exec(first), _exec(second)
    if one is None or other is None or any(second.operand(n) for n in ("pred", "cond")):
        return False
    lanes = other.offset <= one.offset and one.offset + one.size <= other.offset + other.size
    return other.nomask or (not one.nomask and lanes)


@rule(
    "unreachable",
    "No branch leads here, and nothing falls into it.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="3 Execution model",
    by=None,
    unnecessary=True,
)
def unreachable(facts: Facts) -> Iterator[Finding]:
    graph = facts.graph
    before = True  # only the first of several blocks in a row
    for node, state in zip(graph.nodes, facts.may, strict=True):
        if state is None and before and node.end > node.first:
            yield Finding("this is never executed", span=graph.instructions[node.first].span)
        if node.end > node.first:
            before = state is not None
