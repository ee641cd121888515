"""Diagnostics out of ocloc's log: clang's lines with their places, and the back end's without."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Final

from eumu.errors import Diagnostic, Severity, Source, Span
from eumu.records import dataclass

# clang knows the main source, which ocloc hands over in memory, as "1".
_MAIN: Final = "1"
_PLACED: Final = re.compile(
    r"(?P<file>[^\n]*?):(?P<line>\d+):(?P<column>\d+): "
    r"(?P<severity>fatal error|error|warning|note): (?P<message>.*)"
)
_PLAIN: Final = re.compile(r"(?:(?:fatal )?(?P<severity>error|warning)): (?P<message>.+)", re.I)
_KERNEL: Final = re.compile(r"in kernel: '(?P<name>.*)'")
# What ocloc says about options and devices, without the word "error".
_BARE: Final = re.compile(r"Unrecognized build options: .*|Warning : file does not look like .*")
_CARET: Final = re.compile(r"[ ~]*\^~*[ ~]*")
_SUMMARY: Final = "backend compiler failed build."
# One block of the file that the assembler of inline vISA leaves behind.
_VISA_ERROR: Final = re.compile(
    r"Error Message: (?P<message>[^\n]*)(?:.*?Violating Instruction: *(?P<text>[^\n]*))?", re.DOTALL
)


@dataclass(slots=True)
class _Finding:
    severity: Severity
    message: str
    file: str = ""
    line: int = 0
    column: int = 0  # in bytes of UTF-8, from 1
    length: int = 1
    notes: list[str] = field(default_factory=list)


def diagnostics(log: str, source: Source, visa_errors: str = "") -> tuple[Diagnostic, ...]:
    """The findings of a build log, in its order; a `note:` belongs to the finding before it.

    `source` is the program that was compiled, `visa_errors` the text of `kernel.errors.txt`.
    """
    findings = list(_findings(log.splitlines()))
    for finding in findings:
        if "inline assembly" in finding.message:
            finding.notes += _visa_notes(visa_errors)
    sources = {_MAIN: source}
    return tuple(_diagnostic(f, source.name, sources) for f in findings)


def _findings(lines: Iterable[str]) -> Iterator[_Finding]:
    last: _Finding | None = None
    for line in lines:
        if placed := _PLACED.fullmatch(line):
            if placed["severity"] == "note" and last is not None:
                where = f"{placed['file']}:{placed['line']}:{placed['column']}"
                last.notes.append(f"{where}: {placed['message']}")
                continue
            new: _Finding | None = _placed(placed)
        elif last is not None and (kernel := _KERNEL.fullmatch(line)):
            last.notes.append(f"in kernel {kernel['name']!r}")
            continue
        elif last is not None and not last.notes and _CARET.fullmatch(line):
            caret = line.index("^")
            last.length = len(line[caret:].split(" ")[0])
            continue
        else:
            new = _unplaced(line)
        if new is not None:
            if last is not None:
                yield last
            last = new
    if last is not None:
        yield last


def _placed(match: re.Match[str]) -> _Finding:
    return _Finding(
        Severity.WARNING if match["severity"] == "warning" else Severity.ERROR,
        match["message"],
        match["file"],
        int(match["line"]),
        int(match["column"]),
    )


def _unplaced(line: str) -> _Finding | None:
    if plain := _PLAIN.fullmatch(line):
        if plain["message"] == _SUMMARY:
            return None
        warning = plain["severity"].lower() == "warning"
        return _Finding(Severity.WARNING if warning else Severity.ERROR, plain["message"].strip())
    bare = _BARE.match(line)
    return _Finding(Severity.ERROR, bare[0]) if bare else None


def _visa_notes(text: str) -> Iterator[str]:
    for match in _VISA_ERROR.finditer(text):
        shown = " ".join((match["text"] or "").partition("///")[0].split())
        yield f"{match['message']}: {shown}" if shown else match["message"]


def _diagnostic(finding: _Finding, main: str, sources: dict[str, Source]) -> Diagnostic:
    notes = tuple(
        f"{main}{note.removeprefix(_MAIN)}" if note.startswith(f"{_MAIN}:") else note
        for note in finding.notes
    )
    span = None
    if finding.file:
        if finding.file not in sources:
            sources[finding.file] = _header(finding.file)
        span = _span(sources[finding.file], finding)
    return Diagnostic("opencl", finding.message, span, finding.severity, notes)


def _header(path: str) -> Source:
    # A relative path is a header of the compiler's own, which no file on this machine is.
    text = ""
    if Path(path).is_absolute():
        with contextlib.suppress(OSError):
            text = Path(path).read_text(encoding="utf-8", errors="replace")
    return Source(path, text)


def _span(source: Source, finding: _Finding) -> Span:
    before = source.line(finding.line).encode("utf-8")[: finding.column - 1]
    column = len(before.decode("utf-8", "replace")) + 1 if before else finding.column
    return Span(source, finding.line, column, finding.line, column + finding.length)
