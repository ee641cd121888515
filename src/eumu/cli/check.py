"""`eumu check`: what is wrong or doubtful in programs."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from typing import Any

from eumu.checking import check
from eumu.cli.status import FAILED, FINE
from eumu.cli.terminal import Paint
from eumu.errors import BuildError, Diagnostic, Finding, Place, Severity, render
from eumu.reports.formats import record, sarif


def command(options: argparse.Namespace) -> int:
    """Check every file; the exit status is 1 if one has an error."""
    found: list[tuple[str, Diagnostic]] = []
    for file in options.files:
        found += ((file, d) for d in _check(file, options))
    if options.format == "json":
        print(json.dumps([_record(file, d) for file, d in found], indent=2))
    elif options.format == "sarif":
        print(json.dumps(sarif(_found(file, d) for file, d in found), indent=2))
    else:
        _show([d for _, d in found], notes=options.notes)
    return FAILED if any(d.severity is Severity.ERROR for _, d in found) else FINE


def _check(file: str, options: argparse.Namespace) -> list[Diagnostic]:
    """The findings of one file; what the compiler says of it is among them."""
    try:
        return check(file, options.device, parity=options.parity, options=options.build_options)
    except BuildError as error:
        if not any(d.severity is Severity.ERROR for d in error.diagnostics):
            raise
        return list(error.diagnostics)


def _show(found: list[Diagnostic], *, notes: bool) -> None:
    paint = Paint.for_stream(sys.stdout)
    for diagnostic in found:
        if notes or diagnostic.severity is not Severity.NOTE:
            print(paint.error(_with_code(diagnostic)))
    counts = [(s, sum(d.severity is s for d in found)) for s in Severity]
    words = [f"{count} {s.value}{'s' * (count != 1)}" for s, count in counts if count]
    hidden = any(d.severity is Severity.NOTE for d in found) and not notes
    if words:
        print(", ".join(words) + ("; --notes shows the notes" if hidden else ""), file=sys.stderr)


def _with_code(diagnostic: Diagnostic) -> str:
    """The rendered finding, its code at the end of the first line."""
    first, _, rest = render(diagnostic).partition("\n")
    return f"{first} [{diagnostic.code}]" + (f"\n{rest}" if rest else "")


def _record(file: str, diagnostic: Diagnostic) -> dict[str, Any]:
    """What a check knows of the record of a finding, and what only a check knows."""
    span = diagnostic.span
    known = record(Finding.of(diagnostic))
    return {
        "file": known["file"] or file,
        "line": known["line"],
        "column": known["column"],
        "end_line": span.end_line if span else 0,
        "severity": known["severity"],
        "code": known["code"],
        "message": known["message"],
        "spec": diagnostic.spec,
    }


def _found(file: str, diagnostic: Diagnostic) -> Finding:
    """The record; a finding without a place is of the file."""
    found = Finding.of(diagnostic)
    return found if found.file else replace(found, place=Place(file, 0))
