"""Lints on control flow: barriers and jumps where the lanes of a thread are apart."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from eumu.errors import Severity
from eumu.verify.branches import targets
from eumu.verify.dataflow import Facts
from eumu.verify.rules import Finding, On, rule

# Uniform branches; a goto of one lane gives way to lanes that wait before its target.
_JUMPS: Final = frozenset({"JMP", "SWITCHJMP"})


@rule(
    "barrier-divergent",
    "If the lanes of a thread have diverged, the thread reaches the barrier once for each part.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="BARRIER",
    by=None,
)
def barrier_divergent(facts: Facts) -> Iterator[Finding]:
    graph = facts.graph
    for number, node in enumerate(graph.nodes):
        if not graph.divergent[number] or facts.may[number] is None:
            continue
        for index in range(node.first, node.end):
            if graph.effects[index].shape.flow == "barrier":
                inst = graph.instructions[index]
                yield Finding(
                    f"{inst.opcode} where some lanes may wait elsewhere{_branch(facts, number)}",
                    span=inst.span,
                )


def _branch(facts: Facts, number: int) -> str:
    """The branch that parts the lanes, in words."""
    graph = facts.graph
    for at in range(bisect_right(graph.joins, (number, len(graph.nodes))) - 1, -1, -1):
        first, last = graph.joins[at]
        if number > last:
            continue
        for candidate in (first - 1, last):
            node = graph.nodes[candidate]
            inst = graph.instructions[node.end - 1] if node.end > node.first else None
            if inst is not None and inst.span and graph.effects[node.end - 1].shape.flow:
                return f": {inst.opcode} in line {inst.span.line} parts them"
        break
    return ""


@rule(
    "jump-across-join",
    "A jump moves the whole thread, even if lanes wait at a label in between.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="JMP",
    by=None,
)
def jump_across_join(facts: Facts) -> Iterator[Finding]:
    graph = facts.graph
    places = {name: n for n, node in enumerate(graph.nodes) for name in node.labels}
    for number, node in enumerate(graph.nodes):
        if node.end == node.first or facts.may[number] is None:
            continue
        inst, effect = graph.instructions[node.end - 1], graph.effects[node.end - 1]
        if effect.shape.flow == "" or inst.opcode.page not in _JUMPS:
            continue
        for name in targets(inst):
            crossed = _crossed(facts, number, places.get(name, number))
            if crossed:
                yield Finding(
                    f"{inst.opcode} to '{name}' jumps across '{crossed}', where lanes of the"
                    " thread may wait",
                    span=inst.span,
                )


def _crossed(facts: Facts, number: int, target: int) -> str:
    """The label of a join between a uniform jump and its target, empty if there is none.

    A stretch that begins where the jump stands and ends before its target has its join in between.
    """
    for first, last in facts.graph.joins:
        join = last + 1
        forward = number < join < target
        if first <= number <= last and forward and join < len(facts.graph.nodes):
            labels = facts.graph.nodes[join].labels
            if labels:
                return labels[0]
    return ""
