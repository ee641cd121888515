"""Runs the rules over a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from eumu.errors import Diagnostic, Severity, Source, Span
from eumu.isa.kinds.control import ExecKind
from eumu.isa.spec import Field, Opcode
from eumu.platforms import Platform
from eumu.program import Inst, LabelMark, Module
from eumu.records import dataclass
from eumu.text import Statement, parse_with_diagnostics
from eumu.text import again as text_again
from eumu.verify.compiler import BROKEN_BY_THE_COMPILER
from eumu.verify.dataflow import gather
from eumu.verify.effects import Effect, Effects
from eumu.verify.front_end import line_ends, tolerated
from eumu.verify.graph import build
from eumu.verify.memory import FactCache, Findings, KnownFacts
from eumu.verify.place import DeclaredNames, operand_span
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
    memory: FactCache | None = None,
) -> list[Diagnostic]:
    """Everything that is wrong or doubtful in a program on a device, in order of place.

    With `parity`, what Intel's front end refuses, and nothing else.  Lints look at kernels without
    errors; they can be left out, as for a program that could be read in part only.  `undefined` are
    names that a linker found to be defined nowhere.  A `memory` is of earlier checks on the same
    device of a program that is being edited.
    """
    diagnostics: list[Diagnostic] = []
    for kernel in module.kernels:
        subject = Subject(module, kernel, device, parity, undefined=undefined)
        diagnostics += _Run(subject, lints, memory).run()
    return sorted(diagnostics, key=_order)


def check_text(
    source: str,
    name: str,
    device: Platform,
    *,
    parity: bool = False,
    undefined: frozenset[str] = frozenset(),
) -> list[Diagnostic]:
    """What is wrong with vISA text: what the parser finds, and the rules on what it could read."""
    module, diagnostics = parse_with_diagnostics(source, name, device.grf_bytes)
    parsed = [unchecked(d, parity=parity) for d in diagnostics if not (parity and tolerated(d))]
    if parity:
        parsed += line_ends(Source(name, source))
    whole = not any(d.severity is Severity.ERROR for d in diagnostics)
    rules = check(module, device, parity=parity, lints=whole, undefined=undefined)
    return sorted([*parsed, *rules], key=_order)


class Editing:
    """A text that is being edited, on a device: `check` gives what `check_text` gives, sooner.

    `module` and `statements` are those of the last check; the one before is not valid any more.
    """

    def __init__(self, name: str, device: Platform) -> None:
        self.name, self.device = name, device
        self.module = Module((0, 0), ())
        self.statements: list[Statement] = []
        self._read, self._checked = text_again.LastReading(), FactCache()

    def check(self, source: str) -> list[Diagnostic]:
        """The findings in the text as it is now."""
        device = self.device
        self.module, diagnostics, self.statements = text_again.parse_again(
            source, self.name, device.grf_bytes, self._read
        )
        whole = not any(d.severity is Severity.ERROR for d in diagnostics)
        rules = check(self.module, device, lints=whole, memory=self._checked)
        self._checked.forget_the_rest()
        return sorted([*(unchecked(d, parity=False) for d in diagnostics), *rules], key=_order)


def _order(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span
    return (span.line, span.column) if span else (0, 0)


class _Run:
    """One kernel."""

    def __init__(self, subject: Subject, lints: bool, memory: FactCache | None) -> None:
        self.subject, self._memory = subject, memory
        self.lints = lints and not subject.parity
        self.found: list[Diagnostic] = []
        self._seen: set[tuple[Opcode, int]] = set()  # nothing to find; operands outlive the run
        self._notes: dict[str, tuple[int, Diagnostic | None]] = {}
        self._names: DeclaredNames | None = None
        self._effects = Effects(subject.platform)

    def run(self) -> list[Diagnostic]:
        subject = self.subject
        self._declarations()
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

    def _declarations(self) -> None:
        subject, memory = self.subject, self._memory
        rules = tuple(selected(On.DECLARATION, parity=subject.parity))
        for declared in subject.kernel.declarations:
            kept = None if memory is None else memory.of_declaration(declared)
            findings = None if kept is None else kept.findings
            if findings is None:
                findings = [(rule, f) for rule in rules for f in rule.check(subject, declared)]
                if kept is not None:
                    kept.findings = findings
            for rule, finding in findings:
                self._add(rule, finding, declared.span)

    def _instructions(self) -> None:
        part = 0
        for item in self.subject.kernel.body:
            if isinstance(item, Inst):
                self._instruction(item, part)
            elif isinstance(item, LabelMark):
                part += item.kind == "subroutine"

    def _instruction(self, inst: Inst, part: int) -> None:
        kept = None if inst.opcode.flow else self._known(inst)
        findings = kept.findings if kept is not None else None
        if findings is None:
            findings = self._findings(inst, part)
            if kept is not None:
                kept.findings = findings
        for rule, finding in findings:
            self._add(rule, finding, inst.span, inst)

    def _known(self, inst: Inst) -> KnownFacts | None:
        if self._memory is None:
            return None
        is_function = self.subject.kernel.is_function
        return self._memory.of_instruction(inst, self.subject.simd, is_function=is_function)

    def _findings(self, inst: Inst, part: int) -> Findings:
        """What the rules on instructions and operands find."""
        opcode, operands = inst.opcode, inst.operands
        plan = _plan(opcode, tuple(map(type, operands)), self.subject.parity)
        exec = None if plan.exec is None else operands[plan.exec]
        use = Use(self.subject, inst, exec, part)
        findings = [(rule, finding) for rule in plan.rules for finding in rule.check(use)]
        # Some depend on the opcode and its execution size alone.
        if (opcode, id(exec)) not in self._seen:
            once = [(rule, finding) for rule in plan.once for finding in rule.check(use)]
            findings += once
            if not once:
                self._seen.add((opcode, id(exec)))
        for field, rule in plan.operands:
            for finding in rule.check(use, field, operands[field.index]):
                findings.append((rule, finding))
        return findings

    def _effect(self, inst: Inst) -> Effect:
        kept = self._known(inst)
        effect = None if kept is None else kept.effect
        if effect is None:
            effect = self._effects.of(inst)
            if kept is not None:
                kept.effect = effect
        return effect

    def _flow(self) -> None:
        """The lints, and the rules that need to know what instructions touch."""
        subject = self.subject
        facts = gather(subject, build(subject.kernel, self._effect))
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
            span = operand_span(self._declared_names(), inst, finding.field)
        page = rule.page or (inst.opcode.page if inst is not None else "")
        self.found.append(
            Diagnostic(rule.code, finding.message, span, rule.severity, finding.notes, page)
        )

    def _declared_names(self) -> DeclaredNames:
        if self._names is None:
            self._names = DeclaredNames(self.subject.kernel, self.subject.grf)
        return self._names

    def _note(
        self, rule: Rule, finding: str | Finding, span: Span | None, inst: Inst | None
    ) -> None:
        """Say once a kernel that it breaks a rule that the compiler breaks too."""
        count, first = self._notes.get(rule.code, (0, None))
        if first is None:
            message = finding if isinstance(finding, str) else finding.message
            if isinstance(finding, Finding) and finding.span is not None:
                span = finding.span
            page = rule.page or (inst.opcode.page if inst is not None else "")
            first = Diagnostic(rule.code, message, span, Severity.NOTE, spec=page)
        self._notes[rule.code] = count + 1, first


@dataclass(frozen=True, slots=True)
class _Plan:
    """The rules that can find something in an instruction with these classes of operands."""

    exec: int | None
    rules: tuple[Rule, ...]
    once: tuple[Rule, ...]
    operands: tuple[tuple[Field, Rule], ...]


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
    )


def _on_operands(
    opcode: Opcode, classes: tuple[type, ...], parity: bool
) -> Iterator[tuple[Field, Rule]]:
    for field, allowed in zip(opcode.fields, classes, strict=True):
        for rule in selected(On.OPERAND, parity=parity):
            if not isinstance(field.kind, rule.kinds):
                continue
            if rule.classes and allowed not in rule.classes:
                continue
            if rule.concerns is None or rule.concerns(opcode, field, allowed, parity):
                yield field, rule
