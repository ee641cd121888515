"""Statements: which one a line is, and what it does to the kernel that is being read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches
from typing import NamedTuple

from eumu.errors import BuildError, Diagnostic, Severity, Source, Span, Unsupported
from eumu.isa.kinds.cursor import Cursor, ParseError
from eumu.isa.kinds.kind import Names
from eumu.isa.kinds.literals import quoted
from eumu.isa.kinds.variables import Declared
from eumu.isa.visa import VISA
from eumu.program import (
    Attribute,
    Inst,
    Kernel,
    KernelInput,
    LabelMark,
    Module,
    ScopeMark,
    SourceMark,
)
from eumu.records import dataclass
from eumu.text import directives
from eumu.text.declarations import parse_declaration
from eumu.text.draft import Draft, Visible
from eumu.text.instruction import UNMODELLED, InstructionReader
from eumu.text.lines import statements, without_comments
from eumu.text.names import LABEL

_DIRECTIVE = re.compile(r"\.([A-Za-z_]\w*)", re.ASCII)
_SOURCE = re.compile(r"(FILE|LOC)\b")
_DECLARED = re.compile(r"[ \t]*\.decl[ \t]+(\w+)")
_IMPLICIT = "implicit_"


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive that makes nothing in a body: `.version`, `.kernel`, `.funcdecl` …

    `value` is what follows the word, as it is printed.
    """

    word: str
    value: str


Read = Directive | Declared | KernelInput | Attribute | Inst | LabelMark | SourceMark | ScopeMark


class Statement(NamedTuple):
    """What one statement was read as: an `Inst`, a declaration …; `span` is where it stands."""

    read: Read
    span: Span


def parse(source: str, name: str = "<text>", grf_bytes: int | None = None) -> Module:
    """Read vISA text.

    `name` stands in messages; `grf_bytes` is what `%sizeof(GRF)` is, 32 or 64.  Raises
    `BuildError` with every error of the file; `Unsupported` if nothing is wrong but that it uses
    documented instructions that are not modelled.
    """
    module, diagnostics = parse_with_diagnostics(source, name, grf_bytes)
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    if any(d.code != UNMODELLED for d in errors):
        raise BuildError.of(diagnostics)
    if errors:
        raise Unsupported(errors[0].message, span=errors[0].span, spec=errors[0].spec)
    return module


def parse_with_diagnostics(
    source: str, name: str = "<text>", grf_bytes: int | None = None
) -> tuple[Module, tuple[Diagnostic, ...]]:
    """What could be read of a text, with every error and warning, in order of place."""
    parser = Parser(Source(name, source), grf_bytes)
    module = parser.run()
    return module, in_order(parser.found)


def parse_statements(
    source: str, name: str = "<text>", grf_bytes: int | None = None
) -> tuple[Module, tuple[Diagnostic, ...], list[Statement]]:
    """`parse_with_diagnostics`, and every statement without an error in the order of the text."""
    parser = Parser(Source(name, source), grf_bytes, statements=[])
    module = parser.run()
    return module, in_order(parser.found), parser.statements or []


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Diagnostics by place."""
    return tuple(sorted(diagnostics, key=_place))


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    return (diagnostic.span.line, diagnostic.span.column) if diagnostic.span else (0, 0)


class Parser:
    """Reads one text; `statements` collects what they are read as."""

    def __init__(
        self, source: Source, grf_bytes: int | None, statements: list[Statement] | None = None
    ) -> None:
        self.source = source
        self.found: list[Diagnostic] = []
        self.statements = statements
        self._grf_bytes = grf_bytes
        self._version: tuple[int, int] | None = None
        self._first = True
        self._kernels: list[Kernel] = []
        self._draft: Draft | None = None
        self._instructions = InstructionReader(VISA)
        self._directives: dict[str, Callable[[Cursor], Read]] = {
            "version": self._version_directive,
            "kernel": self._kernel,
            "global_function": self._global_function,
            "function": self._function,
            "funcdecl": self._function_declaration,
            "decl": self._declaration,
            "input": self._input,
            "parameter": self._parameter,
            "kernel_attr": self._attribute,
            "file": self._file,
            "loc": self._location,
        }

    def run(self) -> Module:
        code = without_comments(self.source, self.found)
        for cursor in statements(self.source, code):
            try:
                self._statement(cursor)
            except ParseError as error:
                self._report(error.diagnostic, cursor)
        self._finish()
        end = Span(self.source, 1, 1, 1, 2)
        if self._first:
            self.found.append(Diagnostic("version", "the text is empty; it needs .version", end))
        elif not self._kernels and not self.found:
            self.found.append(Diagnostic("kernel", "the text has no .kernel", end))
        return Module(self._version or (0, 0), tuple(self._kernels), self.source.name)

    def _report(self, diagnostic: Diagnostic, cursor: Cursor) -> None:
        if self._draft is not None:
            names = self._draft.names
            # What follows from a declaration that has an error itself is not said again.
            if declared := _DECLARED.match(cursor.text):
                if names.find(declared[1]) is None:
                    names.broken.add(declared[1])
            elif diagnostic.code == "undeclared" and diagnostic.span is not None:
                span = diagnostic.span
                line = self.source.line(span.line)
                if line[span.column - 1 : span.end_column - 1] in names.broken:
                    return
        self.found.append(diagnostic)

    # ---- one statement

    def _statement(self, cursor: Cursor) -> None:
        text = cursor.text
        if self._first:
            self._check_version(cursor)
        if text[-1] == ":" and (label := LABEL.fullmatch(text)):
            self._keep(self._label(cursor, label[1]), cursor, 0)
            return
        done = False
        while (start := cursor.skip()) < len(text):
            first = text[start]
            if first in "{}":
                self._keep(self._brace(cursor, first), cursor, start)
                continue
            if done:
                cursor.fail("expected the end of the line")
            done = True
            read: Read
            if first == ".":
                read = self._directive(cursor)
            elif first in "FL" and (match := cursor.match(_SOURCE)):
                read = self._directives[match[1].lower()](cursor)
            else:
                read = self._instruction(cursor)
            self._keep(read, cursor, start)

    def _keep(self, read: Read, cursor: Cursor, start: int) -> None:
        if self.statements is not None:
            own = read.span if isinstance(read, Inst) else None
            self.statements.append(Statement(read, own or cursor.span(start)))

    def _check_version(self, cursor: Cursor) -> None:
        self._first = False
        match = _DIRECTIVE.match(cursor.text, cursor.skip())
        if match is None or match[1] != "version":
            self._version = (0, 0)
            message = "a program begins with its version, as in '.version 4.1'"
            self.found.append(Diagnostic("version", message, cursor.span(cursor.pos)))

    def _brace(self, cursor: Cursor, brace: str) -> ScopeMark:
        start = cursor.pos
        cursor.pos += 1
        draft = self._kernel_needed(cursor, start)
        if brace == "{":
            return draft.open_scope(cursor.span(start))
        if not draft.scopes:
            cursor.fail("this '}' has no '{'", start=start, code="scope")
        self._instructions.forget()
        return draft.close_scope()

    def _instruction(self, cursor: Cursor) -> Inst:
        start = cursor.pos
        draft = self._draft or self._kernel_needed(cursor, start)
        if cursor.text[-1] == ":" and LABEL.fullmatch(cursor.text, start):
            cursor.fail("a label stands in the first column", start=start, code="label")
        inst = self._instructions.read(cursor, draft.names)
        draft.body.append(inst)
        return inst

    def _kernel_needed(self, cursor: Cursor, start: int) -> Draft:
        if self._draft is None:
            span = cursor.span(start)
            self._begin("", span, is_function=False)
            self.found.append(Diagnostic("kernel", "there is no .kernel before this", span))
        assert self._draft is not None
        return self._draft

    def _label(self, cursor: Cursor, name: str) -> LabelMark:
        draft = self._kernel_needed(cursor, 0)
        cursor.pos = len(name)
        mark = LabelMark(name, span=cursor.span(0))
        previous = draft.labels.get(name)
        if previous is None:
            draft.labels[name] = mark
            draft.body.append(mark)
        # `.function "f"` is the label of a subroutine already; `f:` after it says it again.
        elif draft.body[-1] is not previous or previous.kind != "subroutine":
            self._duplicate_label(name, previous, mark.span)
        return mark

    def _duplicate_label(self, name: str, previous: LabelMark, span: Span | None) -> None:
        where = f"; it is in line {previous.span.line} too" if previous.span else ""
        self.found.append(Diagnostic("label", f"label '{name}' is defined twice{where}", span))

    # ---- directives

    def _directive(self, cursor: Cursor) -> Read:
        start = cursor.pos
        match = cursor.need(_DIRECTIVE, "a directive")
        word = match[1]
        read = self._directives.get(word)
        if read is not None:
            return read(cursor)
        if word.startswith(_IMPLICIT):
            return self._add_input(cursor, start, word[len(_IMPLICIT) :])
        words = [*self._directives, "implicit_…"]
        close = get_close_matches(word, words, 1)
        guess = f"; did you mean '.{close[0]}'?" if close else ""
        message = f"unknown directive '.{word}'{guess}"
        cursor.fail(message, start=start, code="directive")

    def _version_directive(self, cursor: Cursor) -> Directive:
        if self._version is not None:
            cursor.fail(".version stands only once, first", start=cursor.pos, code="version")
        self._version = (0, 0)
        self._version = major, minor = directives.parse_version(cursor)
        return Directive("version", f"{major}.{minor}")

    def _kernel(self, cursor: Cursor) -> Directive:
        return Directive("kernel", quoted(self._object(cursor, is_function=False)))

    def _global_function(self, cursor: Cursor) -> Directive:
        return Directive("global_function", quoted(self._object(cursor, is_function=True)))

    def _object(self, cursor: Cursor, *, is_function: bool) -> str:
        self._finish()
        start = cursor.skip()
        try:
            name = directives.parse_name(cursor)
        finally:
            self._begin("", cursor.span(start), is_function=is_function)
        assert self._draft is not None
        self._draft.name = name
        return name

    def _begin(self, name: str, span: Span, *, is_function: bool) -> None:
        self._draft = Draft(
            name, is_function, span, Visible(self._grf_bytes, self._version or (0, 0))
        )
        self._instructions.forget()

    def _finish(self) -> None:
        draft, self._draft = self._draft, None
        if draft is None:
            return
        kernel = draft.finish(self.found.append)
        self._kernels.append(kernel)
        if not kernel.body and not self.found:
            message = f"kernel '{kernel.name}' is empty"
            self.found.append(Diagnostic("kernel", message, kernel.span))

    def _function(self, cursor: Cursor) -> LabelMark:
        draft = self._kernel_needed(cursor, cursor.pos)
        start = cursor.skip()
        name = directives.parse_name(cursor)
        mark = LabelMark(name, "subroutine", cursor.span(start))
        previous = draft.labels.get(name)
        if previous is not None:
            self._duplicate_label(name, previous, mark.span)
            return mark
        draft.labels[name] = mark
        draft.body.append(mark)
        return mark

    def _function_declaration(self, cursor: Cursor) -> Directive:
        return Directive("funcdecl", quoted(directives.parse_string(cursor)))

    def _declaration(self, cursor: Cursor) -> Declared:
        draft = self._draft or self._kernel_needed(cursor, cursor.pos)
        start = cursor.skip()
        declared = self._read_declaration(cursor, draft.names)
        if (twin := draft.twin(declared)) is not None:
            self._note_twin(twin, cursor.span(start))
            return twin
        shadows = draft.names.find(declared.name)
        if wrong := draft.declare(declared):
            cursor.fail(wrong, start=start, code="redeclared")
        if shadows is not None:
            self._instructions.forget()
        return declared

    def _note_twin(self, twin: Declared, span: Span) -> None:
        where = f" in line {twin.span.line}" if twin.span else ""
        message = f"'{twin.name}' is declared in the same way{where}: one variable is read as both"
        why = "the compiler leaves out the braces that inline assembly had around its variables"
        self.found.append(Diagnostic("redeclared", message, span, Severity.NOTE, (why,)))

    def _read_declaration(self, cursor: Cursor, names: Names) -> Declared:
        return parse_declaration(cursor, names)

    def _input(self, cursor: Cursor) -> KernelInput:
        return self._add_input(cursor, cursor.pos - len(".input"), "")

    def _add_input(self, cursor: Cursor, start: int, implicit: str) -> KernelInput:
        draft = self._kernel_needed(cursor, start)
        declared = directives.parse_input(cursor, draft.names, implicit)
        draft.inputs.append(replace(declared, span=cursor.span(start)))
        return declared

    def _parameter(self, cursor: Cursor) -> KernelInput:
        start = cursor.pos - len(".parameter")
        draft = self._kernel_needed(cursor, start)
        declared = directives.parse_parameter(cursor, draft.names)
        draft.inputs.append(replace(declared, span=cursor.span(start)))
        return declared

    def _attribute(self, cursor: Cursor) -> Attribute:
        draft = self._kernel_needed(cursor, cursor.pos)
        start = cursor.skip()
        attribute, warning = directives.parse_attribute(cursor, draft.names)
        draft.attributes.append(attribute)
        if warning:
            span = cursor.span(start, start + len(attribute.name))
            self.found.append(Diagnostic("attribute", warning, span, Severity.WARNING))
        return attribute

    def _file(self, cursor: Cursor) -> SourceMark:
        draft = self._kernel_needed(cursor, cursor.pos)
        mark = SourceMark(file=directives.parse_string(cursor))
        draft.body.append(mark)
        return mark

    def _location(self, cursor: Cursor) -> SourceMark:
        draft = self._kernel_needed(cursor, cursor.pos)
        mark = directives.parse_line_number(cursor)
        draft.body.append(mark)
        return mark
