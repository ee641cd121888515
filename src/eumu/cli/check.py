"""`eumu check`: what is wrong or doubtful in programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any, Final

import eumu
from eumu.checking import check
from eumu.cli.status import FAILED, FINE
from eumu.cli.terminal import Paint
from eumu.errors import BuildError, Diagnostic, Severity, render
from eumu.verify import RULES

__all__ = ["command"]

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def command(options: argparse.Namespace) -> int:
    """Check every file; the exit status is 1 if one has an error."""
    found: list[tuple[str, Diagnostic]] = []
    for file in options.files:
        found += ((file, d) for d in _check(file, options))
    if options.format == "json":
        print(json.dumps([_record(file, d) for file, d in found], indent=2))
    elif options.format == "sarif":
        print(json.dumps(_sarif(found), indent=2))
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


# ---- for machines


def _record(file: str, diagnostic: Diagnostic) -> dict[str, Any]:
    span = diagnostic.span
    return {
        "file": span.source.name if span else file,
        "line": span.line if span else 0,
        "column": span.column if span else 0,
        "end_line": span.end_line if span else 0,
        "severity": diagnostic.severity.value,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "spec": diagnostic.spec,
    }


def _sarif(found: Iterable[tuple[str, Diagnostic]]) -> dict[str, Any]:
    """A log in the Static Analysis Results Interchange Format 2.1.0."""
    results = [_result(file, d) for file, d in found]
    codes = dict.fromkeys(r["ruleId"] for r in results)
    driver = {
        "name": "eumu",
        "version": eumu.__version__,
        "rules": [_rule(code) for code in codes],
    }
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    rule = RULES.get(code)
    described: dict[str, Any] = {"id": code}
    if rule is not None:
        described["shortDescription"] = {"text": rule.why}
        described["defaultConfiguration"] = {"level": _LEVELS[rule.severity]}
    return described


def _result(file: str, diagnostic: Diagnostic) -> dict[str, Any]:
    page = f" (vISA {diagnostic.spec})" if diagnostic.spec else ""
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": "\n".join([diagnostic.message + page, *diagnostic.notes])},
    }
    span = diagnostic.span
    place: dict[str, Any] = {"artifactLocation": {"uri": span.source.name if span else file}}
    if span is not None:
        place["region"] = {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
    result["locations"] = [{"physicalLocation": place}]
    return result
