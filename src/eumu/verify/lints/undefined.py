"""Lints on bytes that are read and nothing has written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from eumu.errors import Severity
from eumu.isa.kinds.operands import ExecSize
from eumu.isa.kinds.variables import Declared, PredicateVariable, Variable
from eumu.program import Inst
from eumu.verify.dataflow import Facts, Read, State
from eumu.verify.effects import exec_index
from eumu.verify.rules import Finding, On, rule

# How far back the other half of a split instruction is looked for.
_NEAR: Final = 12


def _exec(inst: Inst) -> ExecSize | None:
    index = exec_index(inst.opcode)
    operand = None if index is None else inst.operands[index]
    return operand if isinstance(operand, ExecSize) else None


def _missing(facts: Facts, which: str) -> list[Read]:
    """Reads of bytes that are not there by `may` or `must`; found out once."""
    missing = facts.remembered.get(which)
    if missing is None:
        missing = list(_find_missing(facts, facts.may if which == "may" else facts.must))
        facts.remembered[which] = missing
    return missing


def _find_missing(facts: Facts, states: list[State | None]) -> Iterator[Read]:
    for reads, state in zip(facts.exposed, states, strict=True):
        if state is None:
            continue
        for index, declared, mask in reads:
            lacking = mask & ~state.get(declared, 0) & _inside(facts, declared)
            if lacking and not _is_own(facts.graph.instructions[index]):
                yield index, declared, lacking


def _inside(facts: Facts, declared: Declared) -> int:
    """The bytes that a variable has; of those behind it `operand-reach` speaks."""
    if isinstance(declared, Variable) and declared.name != "%null":
        return (1 << facts.subject.size(declared)) - 1
    return -1


def _is_own(inst: Inst) -> bool:
    """Whether a value is compared with itself, which the compiler does to set a predicate."""
    return inst.opcode.field("rel") is not None and inst.operand("src0") == inst.operand("src1")


def _never(facts: Facts) -> Iterator[Read]:
    """The first read of every variable of bytes that nothing writes before it on any path."""
    seen: set[Declared] = set()
    for index, declared, mask in _missing(facts, "may"):
        if declared not in seen:
            seen.add(declared)
            yield index, declared, mask


def _is_predicate(declared: Declared) -> bool:
    return isinstance(declared, PredicateVariable)


def _stretch(mask: int) -> str:
    """`bytes 64 to 127`, of a mask."""
    first, last = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    return f"{first}" if first == last else f"{first} to {last}"


def _where(inst: Inst) -> str:
    return f"line {inst.span.line}" if inst.span else str(inst.opcode)


@rule(
    "narrow-write",
    "In a kernel compiled for 32 lanes, an instruction runs as many lanes as it states: inline"
    " assembly of 16 lanes leaves the other lanes unchanged.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="3 Execution model",
    by=None,
)
def narrow_write(facts: Facts) -> Iterator[Finding]:
    for index, declared, mask in _never(facts):
        writer = _narrow_writer(facts, index, declared)
        if writer is not None:
            yield _narrow(facts, index, declared, mask, writer)


def _narrow(facts: Facts, index: int, declared: Declared, mask: int, writer: int) -> Finding:
    reader, source = facts.graph.instructions[index], facts.graph.instructions[writer]
    exec = _exec(source)
    assert exec is not None
    first, last = exec.offset, exec.offset + exec.size - 1
    unit = "bits" if _is_predicate(declared) else "bytes"
    return Finding(
        f"{source.opcode} runs lanes {first} to {last} of the kernel's {_simd(facts)};"
        f" {reader.opcode} in {_where(reader)} reads {unit} {_stretch(mask)} of"
        f" '{declared.name}', which nothing writes",
        span=source.span,
        notes=(
            f"write all lanes, as in (M1, {_simd(facts)}), or ask the compiler for sub-groups of"
            f" {exec.size}: __attribute__((intel_reqd_sub_group_size({exec.size})))",
        ),
    )


def _simd(facts: Facts) -> int:
    return facts.subject.kernel.simd_width


def _narrow_writer(facts: Facts, index: int, declared: Declared) -> int | None:
    """The instruction of too few lanes that left the bytes of a read unwritten."""
    reader = _exec(facts.graph.instructions[index])
    if reader is None or reader.nomask:
        return None
    own = _last_writer(facts, index, declared)
    if own is not None:
        writer = _exec(facts.graph.instructions[own])
        return own if writer is not None and _is_narrower(facts, writer, reader) else None
    return _half_writer(facts, index, reader)


def _is_narrower(facts: Facts, writer: ExecSize, reader: ExecSize) -> bool:
    full = reader.offset + reader.size >= min(_simd(facts), 32)
    return 1 < writer.size < reader.size and full and not writer.nomask


def _last_writer(facts: Facts, index: int, declared: Declared) -> int | None:
    for before in range(index - 1, -1, -1):
        if any(d is declared for d, _ in facts.graph.effects[before].writes):
            return before
    return None


def _half_writer(facts: Facts, index: int, reader: ExecSize) -> int | None:
    """Where a reader is one half of a split instruction: who wrote what the other half reads."""
    graph = facts.graph
    inst = graph.instructions[index]
    for before in range(index - 1, max(-1, index - _NEAR), -1):
        other, exec = graph.instructions[before], _exec(graph.instructions[before])
        halves = exec is not None and (exec.size, exec.offset) == (reader.size, 0)
        if other.opcode is not inst.opcode or not halves or not reader.offset:
            continue
        for declared, _ in graph.effects[before].reads:
            writer = _last_writer(facts, before, declared)
            if writer is not None and _is_half(facts, writer, index, reader):
                return writer
        return None
    return None


def _is_half(facts: Facts, writer: int, index: int, reader: ExecSize) -> bool:
    """Whether an instruction on the first lanes has no counterpart on the reader's."""
    inst = facts.graph.instructions[writer]
    exec = _exec(inst)
    if exec is None or exec.nomask or exec.offset or exec.size != reader.size:
        return False
    between = facts.graph.instructions[writer + 1 : index]
    return not any(
        other.opcode is inst.opcode and (e := _exec(other)) and e.offset == reader.offset
        for other in between
    )


@rule(
    "undefined-read",
    "A variable has no value at entry; the read gives what another kernel left in the register.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="4 vISA header",
    by=None,
)
def undefined_read(facts: Facts) -> Iterator[Finding]:
    for index, declared, mask in _never(facts):
        if _is_predicate(declared) or _narrow_writer(facts, index, declared) is not None:
            continue
        inst = facts.graph.instructions[index]
        yield Finding(
            f"{inst.opcode} reads bytes {_stretch(mask)} of '{declared.name}', which nothing"
            " writes before",
            span=inst.span,
        )


@rule(
    "predicate-narrow",
    "Bits of a predicate that no comparison has set have arbitrary values.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="5 Operands",
    by=None,
)
def predicate_narrow(facts: Facts) -> Iterator[Finding]:
    for index, declared, mask in _never(facts):
        if not _is_predicate(declared) or _narrow_writer(facts, index, declared) is not None:
            continue
        inst = facts.graph.instructions[index]
        yield Finding(
            f"{inst.opcode} uses bits {_stretch(mask)} of '{declared.name}', which nothing sets"
            " before",
            span=inst.span,
        )


@rule(
    "undefined-path",
    "On the path that the notes show, the variable has no value yet.",
    on=On.FLOW,
    severity=Severity.WARNING,
    page="4 vISA header",
    by=None,
)
def undefined_path(facts: Facts) -> Iterator[Finding]:
    doubtful = {(index, declared): mask for index, declared, mask in _missing(facts, "may")}
    seen: set[Declared] = set()
    for index, declared, mask in _missing(facts, "must"):
        rest = mask & ~doubtful.get((index, declared), 0)
        if not rest or declared in seen:
            continue
        seen.add(declared)
        inst = facts.graph.instructions[index]
        unit = "bits" if _is_predicate(declared) else "bytes"
        yield Finding(
            f"{inst.opcode} reads {unit} {_stretch(rest)} of '{declared.name}', which are not"
            " written on every path",
            span=inst.span,
            notes=_path(facts, index, declared, rest),
        )


def _path(facts: Facts, index: int, declared: Declared, mask: int) -> tuple[str, ...]:
    """The lines of a path from the entry to an instruction that does not write all the bytes."""
    graph = facts.graph
    goal = graph.node_of(index)
    came: dict[int, int] = {0: -1}
    waiting = deque([0])
    while waiting:
        number = waiting.popleft()
        if number == goal:
            break
        node = graph.nodes[number]
        written = 0
        for k in range(node.first, node.end):
            written |= sum(m for d, m in graph.effects[k].writes if d is declared)
        if mask & ~written == 0:
            continue
        for successor in node.successors:
            if successor not in came:
                came[successor] = number
                waiting.append(successor)
    if goal not in came:
        return ()
    lines, number = [], came[goal]
    while number >= 0:
        node = graph.nodes[number]
        if len(node.successors) > 1:
            lines.append(_where(graph.instructions[node.end - 1]))
        number = came[number]
    return (f"the path passes {', '.join(reversed(lines))}",) if lines else ()
