"""Rules: a number, a title, and a function that finds where an instruction breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eumu.errors import InternalError, Severity
from eumu.native.rules.subject import Subject

Check = Callable[[Subject], Iterator["Finding"]]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with which operand, and what would be right."""

    operand: str
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the hardware.

    Numbers up to 8 and SR are those of the manual's section on register regions, A those of its
    accumulators; G are Gen9 rules that stand elsewhere and that public validators enforce.
    """

    id: str
    title: str
    check: Check
    severity: Severity = Severity.ERROR


RULES: dict[str, Rule] = {}


def rule(id: str, title: str, *, severity: Severity = Severity.ERROR) -> Callable[[Check], Check]:
    """Declare a rule."""

    def register(check: Check) -> Check:
        if id in RULES:
            raise InternalError(f"two rules are called {id}")
        RULES[id] = Rule(id, title, check, severity)
        return check

    return register
