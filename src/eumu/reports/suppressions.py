"""Findings that are known and not wanted: rules of a file.

A line is a code, and what else must fit, each with `*` and `?` as in file names::

    race kernel=histogram line=histogram.cl:12   # benign: all write 1
    undefined kernel=legacy_*
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from eumu.errors import BuildError, Diagnostic, Finding, FormatError, Source, Span
from eumu.records import dataclass

_KEYS = ("kernel", "line")


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings of a `code`, in a `kernel`, at a `line` (FILE:LINE, or LINE alone)."""

    code: str
    kernel: str = "*"
    line: str = "*"

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is one of these."""
        if not fnmatchcase(finding.code, self.code) or not fnmatchcase(finding.kernel, self.kernel):
            return False
        number = str(finding.line)
        names = (finding.file, PurePath(finding.file).name)
        places = (number, *(f"{name}:{number}" for name in names))
        return any(fnmatchcase(place, self.line) for place in places)


def parse(path: Path) -> tuple[Suppression, ...]:
    """The rules of a file; BuildError with the line of what is none, FormatError for no text."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{path} is no text in UTF-8") from None
    source, suppressions, wrong = Source(str(path), text), [], []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        code, *rest = words
        pairs = dict(word.partition("=")[::2] for word in rest)
        if "=" in code or not all(pairs.values()) or not set(pairs) <= set(_KEYS):
            span = Span(source, number, 1, number, len(line) + 1)
            what = "a suppression is CODE [kernel=NAME] [line=FILE:LINE]"
            wrong.append(Diagnostic("suppression", what, span))
            continue
        suppressions.append(Suppression(code, **pairs))
    if wrong:
        raise BuildError.of(wrong)
    return tuple(suppressions)


def kept(findings: Iterable[Finding], rules: Sequence[Suppression]) -> tuple[Finding, ...]:
    """The findings that no rule covers."""
    return tuple(f for f in findings if not any(rule.covers(f) for rule in rules))
