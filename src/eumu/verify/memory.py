"""What earlier checks of a program that is being edited have found out about its instructions."""

from __future__ import annotations

from typing import Any

from eumu.isa.kinds.variables import Declared
from eumu.program import Inst
from eumu.records import dataclass
from eumu.verify.effects import Effect
from eumu.verify.rules import Finding, Rule

Findings = list[tuple[Rule, str | Finding]]


@dataclass(slots=True)
class KnownFacts:
    """What is known of an instruction, or of a declaration; None where nobody has asked yet.

    `findings` are those of the rules that look at nothing else of the program.
    """

    kept: Any  # so that nothing else gets its id
    findings: Findings | None = None
    effect: Effect | None = None


class FactCache:
    """Facts by identity, for one device: of instructions by their operands, of declarations.

    Rules on an instruction look at the instruction, the device, the SIMD size, and whether it is in
    a function; those on branches also at labels, and are not remembered.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[Any, ...], KnownFacts] = {}
        self._now: dict[tuple[Any, ...], KnownFacts] = {}

    def of_instruction(self, inst: Inst, simd: int, *, is_function: bool) -> KnownFacts:
        """What is known of an instruction of a kernel."""
        return self._of((id(inst.operands), inst.opcode, simd, is_function), inst.operands)

    def of_declaration(self, declared: Declared) -> KnownFacts:
        """What is known of a declaration."""
        return self._of((id(declared),), declared)

    def _of(self, key: tuple[Any, ...], kept: Any) -> KnownFacts:
        facts = self._now.get(key) or self._last.get(key) or KnownFacts(kept)
        self._now[key] = facts
        return facts

    def forget_the_rest(self) -> None:
        """Keep what was asked for since the last call."""
        self._last, self._now = self._now, {}
