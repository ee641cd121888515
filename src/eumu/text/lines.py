"""From characters to statements: comments, line ends, continued lines.

A statement is a line.  It goes on where a line ends in a blank and `\\`, and where a `/* */`
comment spans the line end.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from eumu.errors import Diagnostic, Source, Span
from eumu.isa.kinds.cursor import Cursor

TOKEN = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_BLANKS = " \t\r"


class ContinuedCursor(Cursor):
    """A statement of several lines, joined; spans point into the line they began on."""

    __slots__ = ("_starts",)

    def __init__(self, source: Source, line: int, parts: list[str]) -> None:
        super().__init__(source, line, "".join(parts).rstrip(_BLANKS))
        self._starts = [0]
        for part in parts[:-1]:
            self._starts.append(self._starts[-1] + len(part))

    def span(self, start: int, end: int | None = None) -> Span:
        stop = max(self.pos if end is None else end, start + 1)
        first, last = self._place(start), self._place(stop - 1)
        return Span(self.source, *first, last[0], last[1] + 1)

    def _place(self, pos: int) -> tuple[int, int]:
        index = bisect_right(self._starts, pos) - 1
        return self.line + index, pos - self._starts[index] + 1


def plain_text(text: str) -> str:
    """A text without carriage returns and byte order mark, every token still in its place."""
    text = text.replace("\r\n", "\n") if "\r" in text else text
    # The mark is what editors on Windows write.
    return " " + text[1:] if text.startswith("\ufeff") else text


def without_comments(source: Source, diagnostics: list[Diagnostic]) -> str:
    """The text with comments blanked out, every token still in its place.

    A line end inside a comment becomes a continuation.
    """
    text = plain_text(source.text)
    if "//" not in text and "/*" not in text:
        return text

    def blank(token: re.Match[str]) -> str:
        comment = token[0]
        if comment[0] == '"':
            return comment
        if comment[1] == "/":
            return ""
        if len(comment) < 4 or not comment.endswith("*/"):
            diagnostics.append(_open_comment(source, text, token.start()))
        return " \\\n".join(" " * len(line) for line in comment.split("\n"))

    return TOKEN.sub(blank, text)


def _open_comment(source: Source, text: str, start: int) -> Diagnostic:
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    span = Span(source, line, column, line, column + 2)
    return Diagnostic("comment", "this comment is not closed with '*/'", span)


def statements(source: Source, code: str) -> Iterator[Cursor]:
    """A cursor for every line, or joined lines, that holds more than blanks."""
    lines = code.split("\n")
    number = 0
    while number < len(lines):
        first = number
        text = lines[number]
        number += 1
        if not (text.endswith("\\") and _continues(text)):
            if statement := text.rstrip(_BLANKS):
                yield Cursor(source, first + 1, statement)
            continue
        parts = [text[:-1]]
        while number < len(lines):
            text = lines[number]
            number += 1
            parts.append(text[:-1] if _continues(text) else text.rstrip(_BLANKS))
            if not _continues(text):
                break
        if any(part.strip(_BLANKS) for part in parts):
            yield ContinuedCursor(source, first + 1, parts)


def _continues(text: str) -> bool:
    return text.endswith("\\") and (len(text) == 1 or text[-2] in " \t")
