"""Statements: which one a line is, and what it does to the kernel that is being read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches

from eumu.errors import BuildError, Diagnostic, Severity, Source, Span, Unsupported
from eumu.isa.kinds.cursor import Cursor, ParseError
from eumu.isa.visa import VISA
from eumu.program import Kernel, LabelMark, Module, SourceMark
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


def parse(source: str, name: str = "<text>", grf_bytes: int | None = None) -> Module:
    """Read vISA text.

    `name` stands in messages; `grf_bytes` is what `%sizeof(GRF)` is, 32 or 64.  Raises
    `BuildError` with every error of the file; `Unsupported` if nothing is wrong but that it uses
    documented instructions that are not modelled.
    """
    module, found = parse_with_diagnostics(source, name, grf_bytes)
    errors = [d for d in found if d.severity is Severity.ERROR]
    if any(d.code != UNMODELLED for d in errors):
        raise BuildError.of(found)
    if errors:
        raise Unsupported(errors[0].message, span=errors[0].span, spec=errors[0].spec)
    return module


def parse_with_diagnostics(
    source: str, name: str = "<text>", grf_bytes: int | None = None
) -> tuple[Module, tuple[Diagnostic, ...]]:
    """What could be read of a text, with every error and warning, in order of place."""
    parser = _Parser(Source(name, source), grf_bytes)
    module = parser.run()
    return module, tuple(sorted(parser.found, key=_place))


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    return (diagnostic.span.line, diagnostic.span.column) if diagnostic.span else (0, 0)


class _Parser:
    def __init__(self, source: Source, grf_bytes: int | None) -> None:
        self.source = source
        self.found: list[Diagnostic] = []
        self._grf_bytes = grf_bytes
        self._version: tuple[int, int] | None = None
        self._first = True
        self._kernels: list[Kernel] = []
        self._draft: Draft | None = None
        self._instructions = InstructionReader(VISA)
        self._directives: dict[str, Callable[[Cursor], None]] = {
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
            self._label(cursor, label[1])
            return
        done = False
        while cursor.skip() < len(text):
            first = text[cursor.pos]
            if first in "{}":
                self._brace(cursor, first)
                continue
            if done:
                cursor.fail("expected the end of the line")
            done = True
            if first == ".":
                self._directive(cursor)
            elif first in "FL" and (found := cursor.match(_SOURCE)):
                self._directives[found[1].lower()](cursor)
            else:
                self._instruction(cursor)

    def _check_version(self, cursor: Cursor) -> None:
        self._first = False
        found = _DIRECTIVE.match(cursor.text, cursor.skip())
        if found is None or found[1] != "version":
            self._version = (0, 0)
            message = "a program begins with its version, as in '.version 4.1'"
            self.found.append(Diagnostic("version", message, cursor.span(cursor.pos)))

    def _brace(self, cursor: Cursor, brace: str) -> None:
        start = cursor.pos
        cursor.pos += 1
        draft = self._kernel_needed(cursor, start)
        if brace == "{":
            draft.open_scope(cursor.span(start))
            return
        if not draft.scopes:
            cursor.fail("this '}' has no '{'", start=start, code="scope")
        draft.close_scope()
        self._instructions.forget()

    def _instruction(self, cursor: Cursor) -> None:
        start = cursor.pos
        draft = self._draft or self._kernel_needed(cursor, start)
        if cursor.text[-1] == ":" and LABEL.fullmatch(cursor.text, start):
            cursor.fail("a label stands in the first column", start=start, code="label")
        draft.body.append(self._instructions.read(cursor, draft.names))

    def _kernel_needed(self, cursor: Cursor, start: int) -> Draft:
        if self._draft is None:
            span = cursor.span(start)
            self._begin("", span, is_function=False)
            self.found.append(Diagnostic("kernel", "there is no .kernel before this", span))
        assert self._draft is not None
        return self._draft

    def _label(self, cursor: Cursor, name: str) -> None:
        draft = self._kernel_needed(cursor, 0)
        cursor.pos = len(name)
        mark = LabelMark(name, span=cursor.span(0))
        previous = draft.labels.get(name)
        if previous is None:
            draft.labels[name] = mark
            draft.body.append(mark)
            return
        # `.function "f"` is the label of a subroutine already; `f:` after it says it again.
        if draft.body[-1] is previous and previous.kind == "subroutine":
            return
        self._duplicate_label(name, previous, mark.span)

    def _duplicate_label(self, name: str, previous: LabelMark, span: Span | None) -> None:
        where = f"; it is in line {previous.span.line} too" if previous.span else ""
        self.found.append(Diagnostic("label", f"label '{name}' is defined twice{where}", span))

    # ---- directives

    def _directive(self, cursor: Cursor) -> None:
        start = cursor.pos
        found = cursor.need(_DIRECTIVE, "a directive")
        word = found[1]
        read = self._directives.get(word)
        if read is not None:
            read(cursor)
        elif word.startswith(_IMPLICIT):
            implicit = word[len(_IMPLICIT) :]
            self._add_input(cursor, start, implicit)
        else:
            words = [*self._directives, "implicit_…"]
            close = get_close_matches(word, words, 1)
            guess = f"; did you mean '.{close[0]}'?" if close else ""
            message = f"unknown directive '.{word}'{guess}"
            cursor.fail(message, start=start, code="directive")

    def _version_directive(self, cursor: Cursor) -> None:
        if self._version is not None:
            cursor.fail(".version stands only once, first", start=cursor.pos, code="version")
        self._version = (0, 0)
        self._version = directives.parse_version(cursor)

    def _kernel(self, cursor: Cursor) -> None:
        self._object(cursor, is_function=False)

    def _global_function(self, cursor: Cursor) -> None:
        self._object(cursor, is_function=True)

    def _object(self, cursor: Cursor, *, is_function: bool) -> None:
        self._finish()
        start = cursor.skip()
        try:
            name = directives.parse_name(cursor)
        finally:
            self._begin("", cursor.span(start), is_function=is_function)
        assert self._draft is not None
        self._draft.name = name

    def _begin(self, name: str, span: Span, *, is_function: bool) -> None:
        self._draft = Draft(name, is_function, span, Visible(self._grf_bytes))
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

    def _function(self, cursor: Cursor) -> None:
        draft = self._kernel_needed(cursor, cursor.pos)
        start = cursor.skip()
        name = directives.parse_name(cursor)
        mark = LabelMark(name, "subroutine", cursor.span(start))
        previous = draft.labels.get(name)
        if previous is not None:
            self._duplicate_label(name, previous, mark.span)
            return
        draft.labels[name] = mark
        draft.body.append(mark)

    def _function_declaration(self, cursor: Cursor) -> None:
        directives.parse_string(cursor)

    def _declaration(self, cursor: Cursor) -> None:
        draft = self._draft or self._kernel_needed(cursor, cursor.pos)
        start = cursor.skip()
        declared = parse_declaration(cursor, draft.names)
        shadows = draft.names.find(declared.name)
        if wrong := draft.declare(declared):
            cursor.fail(wrong, start=start, code="redeclared")
        if shadows is not None:
            self._instructions.forget()

    def _input(self, cursor: Cursor) -> None:
        self._add_input(cursor, cursor.pos - len(".input"), "")

    def _add_input(self, cursor: Cursor, start: int, implicit: str) -> None:
        draft = self._kernel_needed(cursor, start)
        found = directives.parse_input(cursor, draft.names, implicit)
        draft.inputs.append(replace(found, span=cursor.span(start)))

    def _parameter(self, cursor: Cursor) -> None:
        start = cursor.pos - len(".parameter")
        draft = self._kernel_needed(cursor, start)
        found = directives.parse_parameter(cursor, draft.names)
        draft.inputs.append(replace(found, span=cursor.span(start)))

    def _attribute(self, cursor: Cursor) -> None:
        draft = self._kernel_needed(cursor, cursor.pos)
        start = cursor.skip()
        attribute, warning = directives.parse_attribute(cursor, draft.names)
        draft.attributes.append(attribute)
        if warning:
            span = cursor.span(start, start + len(attribute.name))
            self.found.append(Diagnostic("attribute", warning, span, Severity.WARNING))

    def _file(self, cursor: Cursor) -> None:
        draft = self._kernel_needed(cursor, cursor.pos)
        draft.body.append(SourceMark(file=directives.parse_string(cursor)))

    def _location(self, cursor: Cursor) -> None:
        draft = self._kernel_needed(cursor, cursor.pos)
        draft.body.append(directives.parse_line_number(cursor))
