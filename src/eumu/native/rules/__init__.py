"""The rules of the hardware for native code.

Execution never depends on them: it follows the instruction words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from eumu.errors import BuildError, Diagnostic, Severity, Source, Span
from eumu.isa.gen9.operands import BranchTarget
from eumu.native.program import Instruction
from eumu.native.rules import (
    accumulators,
    addressing,
    conversions,
    encodings,
    history,
    mixed,
    regions,
)
from eumu.native.rules.rule import RULES, Finding, Rule, page_of
from eumu.native.rules.subject import Subject
from eumu.native.text import print_instruction
from eumu.native.words import Wrong, field_kind, native_platform, scan
from eumu.platforms import Platform

__all__ = ["GROUPS", "RULES", "Rule", "check"]

GROUPS = (regions, conversions, mixed, addressing, accumulators, history, encodings)
Profile = Literal["strict", "observed"]


def check(
    data: bytes, platform: str | Platform = "bxt", profile: Profile = "strict", name: str = ""
) -> list[Diagnostic]:
    """Every place of native code that breaks a rule; the code of a finding is the rule's number.

    `strict` takes the manual literally; `observed` also allows what the compiler is seen to do.
    Words that are no instructions are findings, too (code `encoding`).  `BuildError` for platforms
    other than Gen9's.
    """
    target = native_platform(platform)
    if target.generation != "gen9":
        raise BuildError(f"the rules are those of Gen9; {target} ({target.title}) has others")
    items = list(scan(data))
    starts = {item.offset for item in items if isinstance(item, Instruction)} | {len(data)}
    diagnostics: list[Diagnostic] = []
    past = history.History([item for item in items if isinstance(item, Instruction)])
    for item in items:
        if isinstance(item, Wrong):
            diagnostics.append(item.diagnostic(name))
            continue
        subject = Subject(item, target, profile == "observed", past.before(item))
        diagnostics += [_diagnostic(rule, f, item, name) for rule, f in _findings(subject)]
        diagnostics += _targets(item, starts, name)
        past.after(subject)
    return diagnostics


def _findings(subject: Subject) -> Iterator[tuple[Rule, Finding]]:
    for rule in RULES.values():
        for finding in rule.check(subject):
            yield rule, finding


def _targets(instruction: Instruction, starts: set[int], name: str) -> Iterator[Diagnostic]:
    title = "a branch goes to an instruction"
    rule = Rule("G.target", title, lambda subject: iter(()), Severity.ERROR, page_of("G.target"))
    for field, operand in zip(instruction.opcode.fields, instruction.operands, strict=True):
        if isinstance(operand, BranchTarget) and operand.offset not in starts:
            message = f"byte {operand.offset}; must be the start of an instruction"
            yield _diagnostic(rule, Finding(field.name, message), instruction, name)


def _diagnostic(rule: Rule, finding: Finding, instruction: Instruction, name: str) -> Diagnostic:
    line = print_instruction(instruction).strip()
    start, end = _place(instruction, finding.operand, line)
    source = Source(f"{name or 'code'}+{instruction.offset:#x}", line)
    return Diagnostic(
        rule.id,
        f"{finding.operand}: {finding.message}",
        Span(source, 1, start + 1, 1, end + 1),
        rule.severity,
        (f"rule {rule.id}: {rule.title}",),
    )


def _place(instruction: Instruction, operand: str, line: str) -> tuple[int, int]:
    """Where the operand stands in the line; all of it if it is not shown."""
    at = 0
    for field, value in zip(instruction.opcode.fields, instruction.operands, strict=True):
        text = field_kind(field.kind).print(value)
        column = line.find(text, at) if text else -1
        if field.name == operand and column >= 0:
            return column, column + len(text)
        at = column + len(text) if column >= 0 else at
    return 0, len(line)
