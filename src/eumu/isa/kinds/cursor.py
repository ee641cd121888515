"""A position in the text of one statement, and the one way a parser can fail."""

from __future__ import annotations

import re
from typing import NoReturn

from eumu.errors import Diagnostic, Source, Span

_LONGEST = 4000  # digits, of which Python takes 4300
_DIGITS = re.compile(rf"\d{{{_LONGEST}}}")
_SPACE = re.compile(r"[ \t]*")
_TOKEN = re.compile(r"[A-Za-z_%$@?][\w%$@?]*|\d\w*|\S")


class ParseError(Exception):
    """Carries the diagnostic of one statement; the parser collects them and goes on."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


class Cursor:
    """Reads one line of a source from left to right; blanks between tokens mean nothing."""

    __slots__ = ("line", "pos", "source", "text")

    def __init__(self, source: Source, line: int, text: str, pos: int = 0) -> None:
        self.source, self.line, self.text, self.pos = source, line, text, pos

    def skip(self) -> int:
        """Skip blanks; return the position of the next token."""
        pos, text = self.pos, self.text
        if pos < len(text) and text[pos] in " \t":
            match = _SPACE.match(text, pos)
            assert match is not None
            self.pos = pos = match.end()
        return pos

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take what `pattern` matches after blanks, if it does."""
        result = pattern.match(self.text, self.skip())
        if result:
            self._take(result.end())
        return result

    def adjacent(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take what `pattern` matches right here, without blanks before it."""
        match = pattern.match(self.text, self.pos)
        if match:
            self._take(match.end())
        return match

    def _take(self, end: int) -> None:
        start, self.pos = self.pos, end
        if end - start > _LONGEST and _DIGITS.search(self.text, start, end):
            self.fail(f"a number has at most {_LONGEST} digits", start=start)

    def take(self, literal: str) -> bool:
        """Take a literal if it comes next."""
        if self.text.startswith(literal, self.skip()):
            self.pos += len(literal)
            return True
        return False

    def ahead(self, literal: str) -> bool:
        """Whether a literal comes next."""
        return self.text.startswith(literal, self.skip())

    def expect(self, literal: str, where: str = "") -> None:
        """Take a literal or fail."""
        if not self.take(literal):
            self.fail(f"expected '{literal}'{f' {where}' if where else ''}")

    def need(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Take what `pattern` matches or fail with "expected `what`"."""
        match = self.match(pattern)
        if match is None:
            self.fail(f"expected {what}")
        return match

    def at_end(self) -> bool:
        """Whether nothing is left on the line."""
        return self.skip() >= len(self.text)

    def span(self, start: int, end: int | None = None) -> Span:
        """The span of a stretch of this line; the end defaults to the current position."""
        stop = self.pos if end is None else end
        return Span(self.source, self.line, start + 1, self.line, max(stop, start + 1) + 1)

    def fail(
        self, message: str, *, start: int | None = None, code: str = "parse", found: bool = True
    ) -> NoReturn:
        """Raise a diagnostic at the token that comes next, or at the one that began at `start`."""
        begin = self.skip() if start is None else start
        token = _TOKEN.match(self.text, begin)
        if start is None and found:
            message += f", found '{token.group()}'" if token else ", found the end of the line"
        end = token.end() if token else begin + 1
        raise ParseError(Diagnostic(code, message, self.span(begin, end)))
