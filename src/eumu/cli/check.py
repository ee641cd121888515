"""`eumu check`: what is wrong or doubtful in programs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from eumu.checking import check
from eumu.cli.telling import Teller
from eumu.errors import BuildError, Diagnostic, Finding, Place, Severity


def command(options: argparse.Namespace) -> int:
    """Check every file; the exit status is 1 if one has an error."""
    teller = Teller.of(options)
    findings: list[Finding] = []
    for file in options.files:
        findings += (_found(file, d) for d in _check(file, options))
    wanted = [f for f in findings if options.notes or f.severity is not Severity.NOTE]
    status = teller.tell("", wanted, {})
    if teller.is_text:
        _count(findings, hidden=len(wanted) < len(findings))
    return status


def _check(file: str, options: argparse.Namespace) -> list[Diagnostic]:
    """The findings of one file; what the compiler says of it is among them."""
    try:
        return check(file, options.device, parity=options.parity, options=options.build_options)
    except BuildError as error:
        if not any(d.severity is Severity.ERROR for d in error.diagnostics):
            raise
        return list(error.diagnostics)


def _count(findings: list[Finding], *, hidden: bool) -> None:
    counts = [(s, sum(f.severity is s for f in findings)) for s in Severity]
    words = [f"{count} {s.value}{'s' * (count != 1)}" for s, count in counts if count]
    if words:
        print(", ".join(words) + ("; --notes shows the notes" if hidden else ""), file=sys.stderr)


def _found(file: str, diagnostic: Diagnostic) -> Finding:
    """The record; a finding without a place is of the file."""
    finding = Finding.of(diagnostic)
    return finding if finding.file else replace(finding, place=Place(file, 0))
