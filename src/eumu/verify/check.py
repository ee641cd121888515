"""Runs the rules over a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from eumu.errors import Diagnostic, Severity, Source, Span
from eumu.isa.kinds.control import ExecKind
from eumu.isa.spec import Field, Opcode
from eumu.platforms import Platform
from eumu.program import Inst, LabelMark, Module
from eumu.text import parse_with_diagnostics
from eumu.verify.compiler import BROKEN_BY_THE_COMPILER
from eumu.verify.dataflow import gather
from eumu.verify.front_end import line_ends, tolerated
from eumu.verify.graph import build
from eumu.verify.place import operand_span
from eumu.verify.rules import Finding, On, Rule, selected
from eumu.verify.subject import Subject, Use
from eumu.verify.unmodelled import unchecked


def check(
    module: Module,
    device: Platform,
    *,
    parity: bool = False,
    lints: bool = True,
    undefined: frozenset[str] = frozenset(),
) -> list[Diagnostic]:
    """Everything that is wrong or doubtful in a program on a device, in order of place.

    With `parity`, what Intel's front end refuses, and nothing else.  Lints look at kernels without
    errors; they can be left out, as for a program that could be read in part only.  `undefined` are
    names that a linker found to be defined nowhere.
    """
    found: list[Diagnostic] = []
    for kernel in module.kernels:
        subject = Subject(module, kernel, device, parity, undefined=undefined)
        found += _Run(subject, lints).run()
    return sorted(found, key=_order)


def check_text(
    source: str,
    name: str,
    device: Platform,
    *,
    parity: bool = False,
    undefined: frozenset[str] = frozenset(),
) -> list[Diagnostic]:
    """What is wrong with vISA text: what the parser finds, and the rules on what it could read."""
    module, found = parse_with_diagnostics(source, name, device.grf_bytes)
    parsed = [unchecked(d, device, parity=parity) for d in found if not (parity and tolerated(d))]
    if parity:
        parsed += line_ends(Source(name, source))
    whole = not any(d.severity is Severity.ERROR for d in found)
    rules = check(module, device, parity=parity, lints=whole, undefined=undefined)
    return sorted([*parsed, *rules], key=_order)


def _order(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span
    return (span.line, span.column) if span else (0, 0)


class _Run:
    """One kernel."""

    def __init__(self, subject: Subject, lints: bool) -> None:
        self.subject = subject
        self.lints = lints and not subject.parity
        self.found: list[Diagnostic] = []
        self._seen: set[tuple[Opcode, int]] = set()  # nothing to find; operands outlive the run
        self._notes: dict[str, tuple[int, Diagnostic | None]] = {}

    def run(self) -> list[Diagnostic]:
        subject = self.subject
        declaration_rules = tuple(selected(On.DECLARATION, parity=subject.parity))
        for declared in subject.kernel.declarations:
            for rule in declaration_rules:
                self._report(rule, rule.check(subject, declared), declared.span)
        for rule in selected(On.KERNEL, parity=subject.parity):
            self._report(rule, rule.check(subject), subject.kernel.span)
        self._instructions()
        if self.lints and not any(d.severity is Severity.ERROR for d in self.found):
            self._flow()
        for count, note in self._notes.values():
            assert note is not None
            more = (f"so do {count - 1} more in this kernel",) if count > 1 else ()
            reason = f"Intel's compiler does this: {BROKEN_BY_THE_COMPILER[note.code]}"
            self.found.append(replace(note, notes=(reason, *more)))
        return self.found

    def _instructions(self) -> None:
        part = 0
        for item in self.subject.kernel.body:
            if isinstance(item, Inst):
                self._instruction(item, part)
            elif isinstance(item, LabelMark):
                part += item.kind == "subroutine"

    def _instruction(self, inst: Inst, part: int) -> None:
        opcode, operands = inst.opcode, inst.operands
        plan = _plan(opcode, tuple(map(type, operands)), self.subject.parity)
        exec = None if plan.exec is None else operands[plan.exec]
        use = Use(self.subject, inst, exec, part)
        for rule in plan.rules:
            for finding in rule.check(use):
                self._add(rule, finding, inst.span, inst)
        if (opcode, id(exec)) not in self._seen:
            self._once(use, plan)
        for field, rule in plan.operands:
            for finding in rule.check(use, field, operands[field.index]):
                self._add(rule, finding, inst.span, inst)

    def _once(self, use: Use, plan: _Plan) -> None:
        """Rules that depend on the opcode and its execution size alone."""
        before = len(self.found), len(self._notes)
        for rule in plan.once:
            for finding in rule.check(use):
                self._add(rule, finding, use.inst.span, use.inst)
        if before == (len(self.found), len(self._notes)) and not plan.noted:
            self._seen.add((use.opcode, id(use.exec)))

    def _flow(self) -> None:
        """The lints, and the rules that need to know what instructions touch."""
        subject = self.subject
        facts = gather(subject, build(subject.kernel, subject.platform))
        for rule in selected(On.FLOW, parity=False):
            self._report(rule, rule.check(facts), subject.kernel.span)

    def _report(self, rule: Rule, findings: Iterable[str | Finding], span: Span | None) -> None:
        for finding in findings:
            self._add(rule, finding, span)

    def _add(
        self, rule: Rule, finding: str | Finding, span: Span | None, inst: Inst | None = None
    ) -> None:
        if rule.code in BROKEN_BY_THE_COMPILER and not self.subject.parity:
            self._note(rule, finding, span, inst)
            return
        if isinstance(finding, str):
            finding = Finding(finding)
        if finding.span is not None:
            span = finding.span
        elif finding.field and inst is not None:
            kernel, grf = self.subject.kernel, self.subject.grf
            span = operand_span(kernel, inst, finding.field, grf)
        page = rule.page or (inst.opcode.page if inst is not None else "")
        self.found.append(
            Diagnostic(rule.code, finding.message, span, rule.severity, finding.notes, page)
        )

    def _note(
        self, rule: Rule, finding: str | Finding, span: Span | None, inst: Inst | None
    ) -> None:
        """Say once a kernel that it breaks a rule that the compiler breaks too."""
        count, first = self._notes.get(rule.code, (0, None))
        if first is None:
            message = finding if isinstance(finding, str) else finding.message
            page = rule.page or (inst.opcode.page if inst is not None else "")
            first = Diagnostic(rule.code, message, span, Severity.NOTE, spec=page)
        self._notes[rule.code] = count + 1, first


@dataclass(frozen=True, slots=True)
class _Plan:
    """The rules that can find something in an instruction with these classes of operands.

    `noted` says that one of the rules to run once is a note, which is counted.
    """

    exec: int | None
    rules: tuple[Rule, ...]
    once: tuple[Rule, ...]
    operands: tuple[tuple[Field, Rule], ...]
    noted: bool


@cache
def _plan(opcode: Opcode, classes: tuple[type, ...], parity: bool) -> _Plan:
    rules = [
        rule
        for rule in selected(On.INSTRUCTION, parity=parity)
        if rule.applies is None or rule.applies(opcode)
    ]
    once = tuple(rule for rule in rules if rule.once)
    return _Plan(
        next((f.index for f in opcode.fields if isinstance(f.kind, ExecKind)), None),
        tuple(rule for rule in rules if not rule.once),
        once,
        tuple(_on_operands(opcode, classes, parity)),
        any(rule.code in BROKEN_BY_THE_COMPILER for rule in once),
    )


def _on_operands(
    opcode: Opcode, classes: tuple[type, ...], parity: bool
) -> Iterator[tuple[Field, Rule]]:
    for field, found in zip(opcode.fields, classes, strict=True):
        for rule in selected(On.OPERAND, parity=parity):
            if not isinstance(field.kind, rule.kinds):
                continue
            if rule.classes and found not in rule.classes:
                continue
            if rule.concerns is None or rule.concerns(opcode, field, found, parity):
                yield field, rule
