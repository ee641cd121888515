"""The canonical layout of a text: every statement as it is printed, its comments where they were.

A comment on lines of its own stays above the statement that follows it; one that begins on a line
of a statement ends that line.  Single blank lines stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from eumu.errors import BuildError, InternalError, Severity, Unsupported
from eumu.isa.kinds.variables import Declared
from eumu.program import Attribute, Inst, KernelInput, LabelMark, ScopeMark, SourceMark, difference
from eumu.records import dataclass
from eumu.text.instruction import UNMODELLED
from eumu.text.lines import TOKEN, plain_text
from eumu.text.parser import Directive, Read, Statement, parse_statements
from eumu.text.printer import print_attribute, print_declaration, print_input, print_item

_OBJECTS: Final = ("kernel", "global_function")
_GAP: Final = "  "  # before a comment behind a statement


@dataclass(slots=True)
class _Comment:
    """Where a comment begins (line from 1, column from 0) and its lines."""

    line: int
    column: int
    lines: list[str]

    @property
    def end_line(self) -> int:
        return self.line + len(self.lines) - 1


def format_text(source: str, name: str = "<text>") -> str:
    """vISA text in its canonical layout; raises what `parse` raises."""
    module, diagnostics, statements = parse_statements(source, name)
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    if any(d.code != UNMODELLED for d in errors):
        raise BuildError.of(diagnostics)
    if errors:
        raise Unsupported(errors[0].message, span=errors[0].span, spec=errors[0].spec)
    text = plain_text(source)
    formatted = "\n".join(_Layout(text, statements).lines()) + "\n"
    again, wrong, _ = parse_statements(formatted, name)
    if any(d.severity is Severity.ERROR for d in wrong) or difference(module, again):
        raise InternalError(f"formatting {name} changes the program: {difference(module, again)}")
    return formatted


def print_statement(read: Read) -> str:
    """The line of one statement, with its indent."""
    match read:
        case Directive():
            return f".{read.word} {read.value}"
        case Declared():
            return print_declaration(read)
        case KernelInput():
            return print_input(read)
        case Attribute():
            return print_attribute(read)
        case Inst() | LabelMark() | SourceMark() | ScopeMark():
            return print_item(read)


def _comments(text: str) -> Iterator[_Comment]:
    for match in TOKEN.finditer(text):
        if match[0][0] != '"':
            start = match.start()
            column = start - (text.rfind("\n", 0, start) + 1)
            lines = [line.rstrip() for line in match[0].split("\n")]
            yield _Comment(text.count("\n", 0, start) + 1, column, lines)


def _groups(statements: Iterable[Statement]) -> Iterator[list[Statement]]:
    """Statements that share a line: braces around something."""
    group: list[Statement] = []
    for statement in statements:
        if group and statement.span.line > group[-1].span.end_line:
            yield group
            group = []
        group.append(statement)
    if group:
        yield group


class _Layout:
    def __init__(self, text: str, statements: list[Statement]) -> None:
        self._comments = list(_comments(text))
        self._groups = list(_groups(statements))
        self._blank = [not line.strip() for line in text.split("\n")]
        self._lines: list[str] = []
        self._line = 0  # of the source, the last that is printed
        self._next = 0  # comment

    def lines(self) -> list[str]:
        for group in self._groups:
            self._group(group)
        self._above(self._take(None), "")
        return self._lines

    def _take(self, line: int | None, column: int = 0) -> list[_Comment]:
        """The comments that begin before a place (None: all that are left)."""
        first = self._next
        while self._next < len(self._comments):
            comment = self._comments[self._next]
            if line is not None and (comment.line, comment.column) >= (line, column):
                break
            self._next += 1
        return self._comments[first : self._next]

    def _group(self, group: list[Statement]) -> None:
        first, last = group[0].span, group[-1].span
        printed = [print_statement(s.read) for s in group]
        place = len(self._lines)
        self._above(self._take(first.line, first.column - 1), _indent(printed[0]))
        self._gap(first.line)
        if _stands_apart(group[0].read) and place and "" not in self._lines[place - 1 : place + 1]:
            self._lines.insert(place, "")
        self._line = last.end_line
        if behind := self._take(last.end_line + 1):
            main = next((k for k, s in enumerate(group) if not isinstance(s.read, ScopeMark)), -1)
            printed[main] += _GAP + _behind(behind)
            self._line = max(self._line, behind[-1].end_line)
        self._lines += printed
        if _begins_object(group[-1].read):
            self._lines.append("")

    def _above(self, comments: list[_Comment], indent: str) -> None:
        for comment in comments:
            self._gap(comment.line)
            self._lines += _moved(comment, indent)
            self._line = max(self._line, comment.end_line)

    def _gap(self, line: int) -> None:
        """A blank line if there are some in the source before a line."""
        blank = any(self._blank[self._line : line - 1])
        if blank and self._lines and self._lines[-1] != "":
            self._lines.append("")


def _stands_apart(read: Read) -> bool:
    """Whether there is always a blank line before a statement."""
    return isinstance(read, LabelMark) or _begins_object(read)


def _begins_object(read: Read) -> bool:
    return isinstance(read, Directive) and read.word in _OBJECTS


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


_BLANKS: Final = re.compile(r"[ \t]*")


def _moved(comment: _Comment, indent: str) -> Iterator[str]:
    """A comment's lines, as far from one another as they were."""
    shift = len(indent) - comment.column
    yield indent + comment.lines[0]
    for line in comment.lines[1:]:
        match = _BLANKS.match(line)
        assert match is not None
        width = match.end()
        yield " " * max(0, width + shift) + line[width:] if line else ""


def _behind(comments: list[_Comment]) -> str:
    """What ends the line of a statement."""
    return " ".join("\n".join(comment.lines) for comment in comments)
