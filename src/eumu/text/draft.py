"""The kernel that is being read: its scopes, labels and items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from functools import cache

from eumu.errors import Diagnostic, Span
from eumu.isa.kinds.control import LabelKind
from eumu.isa.kinds.kind import Names
from eumu.isa.kinds.variables import NUMBERED, PREDEFINED, Declared, Scope
from eumu.isa.spec import Opcode
from eumu.program import Attribute, Inst, Item, Kernel, KernelInput, LabelMark, ScopeMark
from eumu.records import dataclass

Report = Callable[[Diagnostic], None]

# Looking for a similar name costs milliseconds in a large kernel.
_SUGGESTIONS = 20


class Visible(Names):
    """What operands may ask about names.

    `broken` are names whose declaration had an error: using them is no second error.
    """

    def __init__(self, grf_bytes: int | None, version: tuple[int, int]) -> None:
        self.scope = Scope(None, grf_bytes)
        self.version = version
        self.broken: set[str] = set()
        self._suggestions = _SUGGESTIONS

    def find(self, name: str) -> Declared | None:
        return self.scope.find(name)

    def suggest(self, name: str) -> str:
        if name in self.broken or self._suggestions == 0:
            return ""
        self._suggestions -= 1
        return self.scope.suggest(name)

    def size_of(self, name: str) -> int | None:
        return self.scope.size_of(name)


@dataclass(slots=True)
class Draft:
    """A kernel or function while its statements come in."""

    name: str
    is_function: bool
    span: Span
    names: Visible
    declarations: list[Declared] = field(default_factory=list)
    inputs: list[KernelInput] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    body: list[Item] = field(default_factory=list)
    labels: dict[str, LabelMark] = field(default_factory=dict)
    scopes: list[Span] = field(default_factory=list)  # the braces that are open

    def declare(self, variable: Declared) -> str:
        """Make a name visible; says what is wrong with that, or nothing."""
        if variable.name in PREDEFINED or variable.name in NUMBERED:
            return f"'{variable.name}' is predefined"
        previous = self.names.scope.declare(variable)
        if previous is None:
            self.declarations.append(variable)
            return ""
        self.names.scope.declare(previous)
        where = f" in line {previous.span.line}" if previous.span else ""
        return f"'{variable.name}' is already declared{where}"

    def twin(self, variable: Declared) -> Declared | None:
        """The same declaration in this kernel, outside braces.

        The compiler's text has the variables of inline assembly without the braces around them.
        """
        twin = None if self.scopes else self.names.scope.find(variable.name)
        return twin if twin is not None and _are_alike(twin, variable) else None

    def open_scope(self, span: Span) -> ScopeMark:
        self.scopes.append(span)
        self.names.scope = Scope(self.names.scope)
        mark = ScopeMark(True)
        self.body.append(mark)
        return mark

    def close_scope(self) -> ScopeMark:
        self.scopes.pop()
        outer = self.names.scope.outer
        assert outer is not None
        self.names.scope = outer
        mark = ScopeMark(False)
        self.body.append(mark)
        return mark

    def finish(self, report: Report) -> Kernel:
        """The kernel; reports open scopes and labels that are used and not defined."""
        for span in self.scopes:
            report(Diagnostic("scope", "this '{' has no '}'", span))
        for item in self.body:
            if isinstance(item, Inst) and item.opcode.flow:
                self._check_labels(item, report)
        return Kernel(
            self.name,
            tuple(self.declarations),
            tuple(self.inputs),
            tuple(self.attributes),
            tuple(self.body),
            self.is_function,
            self.span,
        )

    def _check_labels(self, inst: Inst, report: Report) -> None:
        for index in label_fields(inst.opcode):
            operand = inst.operands[index]
            for name in (operand,) if isinstance(operand, str) else operand:
                if name not in self.labels:
                    report(Diagnostic("label", f"label '{name}' is not defined", inst.span))


@cache
def label_fields(opcode: Opcode) -> tuple[int, ...]:
    """Which operands of an instruction are a label or several."""
    return tuple(f.index for f in opcode.fields if isinstance(f.kind, LabelKind))


def _are_alike(a: Declared, b: Declared) -> bool:
    """Whether two declarations say the same of a variable."""
    said = [f.name for f in fields(a) if f.compare and f.name != "span"]
    return type(a) is type(b) and all(getattr(a, name) == getattr(b, name) for name in said)
