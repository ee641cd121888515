"""What earlier instructions left in the accumulators, as far as code runs straight on."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.errors import Severity
from eumu.isa.gen9.operands import BranchTarget
from eumu.isa.gen9.traits import Trait
from eumu.native.program import Instruction
from eumu.native.rules.rule import Finding, rule
from eumu.native.rules.subject import Held, Subject, execution_type
from eumu.types import Type


class History:
    """Follows the accumulators; forgets them where other code may come from or go."""

    def __init__(self, code: list[Instruction]) -> None:
        self._targets = {o.offset for i in code for o in i.operands if isinstance(o, BranchTarget)}
        self._held: dict[int, Held] = {}

    def before(self, instruction: Instruction) -> dict[int, Held]:
        """What the accumulators hold when an instruction begins."""
        if instruction.offset in self._targets:
            self._held = {}
        return dict(self._held)

    def after(self, subject: Subject) -> None:
        """Account for an instruction."""
        if subject.instruction.opcode.flow:
            self._held = {}
        for number, type in _written(subject):
            self._held[number] = Held(type, sum=number in dict(_read(subject)))


def _written(s: Subject) -> Iterator[tuple[int, Type]]:
    """Accumulators that an instruction writes, by name or not, and the type."""
    if not s.is_computing or s.dst is None:
        return
    if s.dst.accumulator in (0, 1):
        assert s.dst.accumulator is not None
        yield s.dst.accumulator, s.dst.type
    elif s.options.bit_28 or s.has(Trait.WRITES_ACCUMULATOR):
        yield 0, s.sources[0].type if s.sources else s.dst.type


def _read(s: Subject) -> Iterator[tuple[int, Type]]:
    if not s.is_computing:
        return
    if s.has(Trait.READS_ACCUMULATOR):
        yield 0, s.exec_type
    for v in s.sources:
        if v.accumulator in (0, 1):
            assert v.accumulator is not None
            yield v.accumulator, v.type


@rule("A9", "an accumulator is read in the type that it was written in")
def one_type(s: Subject) -> Iterator[Finding]:
    if not s.is_computing:
        return
    if s.has(Trait.READS_ACCUMULATOR) and 0 in s.held:
        held = execution_type(s.held[0].type)
        if held is not s.exec_type:
            yield Finding("dst", f":{s.exec_type} with acc0, which holds :{held}; must be the same")
    for v in s.sources:
        held_there = s.held.get(v.accumulator) if v.accumulator is not None else None
        if held_there is None or held_there.type is v.type:
            continue
        # The compiler takes integers of one size for one type.
        both = v.type.is_int and held_there.type.is_int and v.type.size == held_there.type.size
        if not (s.observed and both):
            message = f":{v.type} of acc{v.accumulator}, which holds :{held_there.type}"
            yield Finding(v.name, f"{message}; must be the same")


@rule(
    "A14",
    "sums of integers in an accumulator may have overflowed: no saturation, no condition",
    severity=Severity.WARNING,
)
def overflowed(s: Subject) -> Iterator[Finding]:
    if not s.saturate and s.instruction.operand("cond") is None:
        return
    for number, type in _read(s):
        held = s.held.get(number)
        if type.is_int and held is not None and held.sum:
            what = "saturation" if s.saturate else "a condition"
            yield Finding("dst", f"{what} of acc{number}, which holds a sum; must have none")
