"""The table of rules, and how a rule is written.

A rule is a small function with a stable code.  It gets one subject at a time and yields what is
wrong in words: the place is that of the subject, or of an operand that `Finding` names.  Its
severity, the page it stands on and a line of why belong to the declaration, so that the
documentation comes from the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, TypeVar

from eumu.errors import InternalError, Severity, Span
from eumu.isa.kinds.kind import Kind
from eumu.isa.limits import By
from eumu.isa.spec import Field, Opcode
from eumu.records import dataclass
from eumu.verify.compiler import BROKEN_BY_THE_COMPILER


class On(Enum):
    """What a rule looks at."""

    DECLARATION = "declaration"
    KERNEL = "kernel"
    INSTRUCTION = "instruction"
    OPERAND = "operand"
    FLOW = "flow"  # a kernel without errors, with the reach and the order of its instructions


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where it is not simply the subject: an operand by name, or any span."""

    message: str
    field: str = ""
    span: Span | None = None
    notes: tuple[str, ...] = ()


Check = Callable[..., Iterable[str | Finding]]
CheckT = TypeVar("CheckT", bound=Check)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `by` says whose it is, None a lint that no document states.

    What an `unnecessary` one finds could as well be left out: editors dim it.
    """

    code: str
    severity: Severity
    page: str
    why: str
    by: By | None
    on: On
    check: Check
    kinds: tuple[type[Kind], ...] = ()
    classes: tuple[type, ...] = ()
    applies: Callable[[Opcode], bool] | None = None
    concerns: Callable[[Opcode, Field, type, bool], bool] | None = None
    once: bool = False
    unnecessary: bool = False


RULES: dict[str, Rule] = {}


def rule(
    code: str,
    why: str,
    *,
    on: On,
    page: str = "",
    severity: Severity = Severity.ERROR,
    by: By | None = By.BOTH,
    kinds: tuple[type[Kind], ...] = (),
    classes: tuple[type, ...] = (),
    applies: Callable[[Opcode], bool] | None = None,
    concerns: Callable[[Opcode, Field, type, bool], bool] | None = None,
    once: bool = False,
    unnecessary: bool = False,
) -> Callable[[CheckT], CheckT]:
    """Put a function into the table.

    An empty `page` is the page of the instruction.  Rules on operands say which kinds and classes
    of operands they look at (no classes: all), or whether a class in a field concerns them; rules
    on instructions say to which they apply.  A rule that looks `once` at an opcode with an
    execution size depends on nothing else.  What is `unnecessary` could as well be left out.
    """

    def register(check: CheckT) -> CheckT:
        if code in RULES:
            raise InternalError(f"two rules are called '{code}'")
        least = Severity.NOTE if code in BROKEN_BY_THE_COMPILER else severity
        RULES[code] = Rule(
            *(code, least, page, why, by, on, check, kinds, classes, applies, concerns, once),
            unnecessary=unnecessary,
        )
        return check

    return register


def selected(on: On, *, parity: bool) -> Iterator[Rule]:
    """The rules on a class of subjects: those of the front end, or all others."""
    skipped = By.DOCUMENTS if parity else By.FRONT_END
    for rule in RULES.values():
        if rule.on is on and rule.by is not skipped and not (parity and rule.by is None):
            yield rule


def listed(values: Iterable[Any]) -> str:
    """`1, 2, 4` or `:b :uw`, in the order given."""
    return ", ".join(str(value) for value in values)
