"""Rules: a number, a title, and a function that finds where an instruction breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from eumu.errors import InternalError, Severity
from eumu.native.rules.subject import Subject
from eumu.records import dataclass

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
    severity: Severity
    page: str  # document and section


_VOLUME: Final = "Broxton PRM, Volume 6: 3D-Media-GPGPU"
_VALIDATOR: Final = "Mesa, the validator of EU instructions (brw_eu_validate.c)"
# By what a number begins with.
_SECTIONS: Final = {
    **{str(n): f"{_VOLUME}: Register Region Restrictions, rule" for n in range(1, 9)},
    "SR": f"{_VOLUME}: Register Region Restrictions, special restriction",
    "A": f"{_VOLUME}: Accumulator Registers, rule",
    "G": f"{_VALIDATOR}: rule",
}

RULES: dict[str, Rule] = {}


def rule(id: str, title: str, *, severity: Severity = Severity.ERROR) -> Callable[[Check], Check]:
    """Declare a rule."""

    def register(check: Check) -> Check:
        if id in RULES:
            raise InternalError(f"two rules are called {id}")
        RULES[id] = Rule(id, title, check, severity, page_of(id))
        return check

    return register


def page_of(id: str) -> str:
    """Where a rule stands; InternalError for a number of no section."""
    letters = "".join(c for c in id.partition(".")[0] if c.isupper())
    section = _SECTIONS.get(letters or id[0])
    if section is None:
        raise InternalError(f"rule {id} belongs to no section; _SECTIONS in native/rules/rule.py")
    return f"{section} {id}"
