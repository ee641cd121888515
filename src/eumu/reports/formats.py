"""What a run or a check found, in the formats that people and machines read.

`text` for people; `json`, one object whose schema is `docs/findings.schema.json`; `sarif` for code
review; `github`, commands that a workflow shows beside the lines; `junit` for test reports.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import eumu
from eumu.errors import Finding, Place, Severity
from eumu.findings import CODES
from eumu.records import dataclass

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SCHEMA: Final = "eumu-findings-1"
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_XML: Final = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_GITHUB: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


# What is no failure of a run: a note.
FAILS: Final = frozenset({Severity.ERROR, Severity.WARNING})


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What became of one run: `findings` to be shown, and how many are not.

    `omitted` are beyond the most that were asked for, `suppressed` those that a file names;
    `status` is the exit status of the command; `facts` are what else is known, such as the device.
    `files` are those that were checked, each a test; `fails` says what a test fails for.
    """

    program: str
    kernel: str
    findings: tuple[Finding, ...]
    status: int
    omitted: int = 0
    suppressed: int = 0
    facts: Mapping[str, Any] | None = None
    files: tuple[str, ...] = ()
    fails: frozenset[Severity] = FAILS


def record(finding: Finding) -> dict[str, Any]:
    """A finding as plain data; what is not known is null, or empty."""
    f, memory = finding, finding.memory
    place = f.place
    return {
        "code": f.code,
        "severity": f.severity.value,
        "message": f.message,
        "kernel": f.kernel,
        "file": f.file,
        "line": f.line,
        "column": f.column,
        "end_line": f.span.end_line if f.span and not place else f.line,
        "function": place.function if place else "",
        "inlined": [_call(call) for call in place.inlined] if place else [],
        "global_id": _ids(f.global_id),
        "local_id": _ids(f.local_id),
        "group_id": _ids(f.group),
        "thread": f.thread,
        "lanes": list(f.lanes),
        "count": f.count,
        "address": f.address,
        "array": memory.array if memory else None,
        "array_size": memory.size if memory else None,
        "array_state": memory.state if memory else None,
        "offset": memory.offset if memory else None,
        "element": memory.element if memory else None,
        "instruction": _instruction(f),
        "notes": list(f.notes),
        "spec": f.spec,
        "related": [record(other) for other in f.related],
    }


def _ids(ids: Sequence[int] | None) -> list[int] | None:
    return None if ids is None else list(ids)


def _call(call: Place) -> dict[str, Any]:
    return {
        "file": call.file,
        "line": call.line,
        "column": call.column or 0,
        "function": call.function,
    }


def _instruction(f: Finding) -> dict[str, Any] | None:
    if f.span is None:
        return {"file": "", "line": 0, "text": f.instruction} if f.instruction else None
    return {"file": f.span.source.name, "line": f.span.line, "text": f.text}


# ---- one object


def _json(outcome: RunOutcome) -> str:
    fields = {
        "schema": SCHEMA,
        "version": eumu.__version__,
        "program": outcome.program,
        "kernel": outcome.kernel,
        "status": outcome.status,
        **(outcome.facts or {}),
        "findings": [record(f) for f in outcome.findings],
        "omitted": outcome.omitted,
        "suppressed": outcome.suppressed,
    }
    return json.dumps(fields, indent=2)


# ---- code review


def sarif(findings: Iterable[Finding]) -> dict[str, Any]:
    """A log in the Static Analysis Results Interchange Format 2.1.0."""
    results = [_result(f) for f in findings]
    codes = dict.fromkeys(r["ruleId"] for r in results)
    rules = [_rule(code) for code in codes]
    driver = {"name": "eumu", "version": eumu.__version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    from eumu.verify import RULES

    rule = RULES.get(code)
    described: dict[str, Any] = {"id": code}
    if code in CODES:
        described["shortDescription"] = {"text": CODES[code]}
    elif rule is not None:
        described["shortDescription"] = {"text": rule.why}
        described["defaultConfiguration"] = {"level": rule.severity.value}
    return described


def _result(f: Finding) -> dict[str, Any]:
    page = f" (vISA {f.spec})" if f.spec else ""
    remarks = f.remarks() if f.kernel else f.notes
    result: dict[str, Any] = {
        "ruleId": f.code,
        "level": f.severity.value,
        "message": {"text": "\n".join([f.message + page, *remarks])},
        "locations": [_location(f)] if f.file else [],
    }
    if f.related:
        result["relatedLocations"] = [
            {"id": k, "message": {"text": other.message}, **_location(other)}
            for k, other in enumerate(f.related)
        ]
    return result


def _location(f: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(f.file)}}
    if f.place is not None and f.line:
        place["region"] = {"startLine": f.line, **({"startColumn": f.column} if f.column else {})}
    elif f.span is not None:
        place["region"] = {
            "startLine": f.span.line,
            "startColumn": f.span.column,
            "endLine": f.span.end_line,
            "endColumn": f.span.end_column,
        }
    return {"physicalLocation": place}


def _sarif(outcome: RunOutcome) -> str:
    return json.dumps(sarif(outcome.findings), indent=2)


# ---- a workflow's log


def _github(outcome: RunOutcome) -> str:
    return "\n".join(_annotation(f) for f in outcome.findings)


def _annotation(f: Finding) -> str:
    places = [("file", f.file), ("line", f.line), ("col", f.column), ("title", f"eumu {f.code}")]
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in places if value)
    text = "\n".join([f.message, *f.remarks()])
    return f"::{_GITHUB[f.severity]} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# ---- test reports


def _junit(outcome: RunOutcome) -> str:
    """A test for the run, or for each file that was checked."""
    from xml.etree import ElementTree

    names = dict.fromkeys(outcome.files or (outcome.kernel or outcome.program,))
    by_name: dict[str, list[Finding]] = {name: [] for name in names}
    for f in outcome.findings:
        # What stands in another file, as one that is included, belongs to the first test.
        by_name[f.file if f.file in by_name else next(iter(by_name))].append(f)
    failed = sum(any(f.severity in outcome.fails for f in own) for own in by_name.values())
    counts = {"tests": str(len(by_name)), "failures": str(failed), "errors": "0"}
    command = "eumu check" if outcome.files else "eumu run"
    suites = ElementTree.Element("testsuites", {"name": command, **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": outcome.program, **counts})
    for name, own in by_name.items():
        _case(suite, outcome.program, name, own, outcome.fails)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)


def _case(
    suite: Element, program: str, name: str, findings: Sequence[Finding], fails: frozenset[Severity]
) -> None:
    """A test: what it fails for, and what else there is to say."""
    from xml.etree import ElementTree

    case = ElementTree.SubElement(suite, "testcase", {"classname": program, "name": name})
    for f in findings:
        if f.severity in fails:
            words = {"type": f.code, "message": re.sub(_NO_XML, "", f.message)}
            ElementTree.SubElement(case, "failure", words).text = re.sub(_NO_XML, "", str(f))
    notes = [str(f) for f in findings if f.severity not in fails]
    if notes:
        ElementTree.SubElement(case, "system-out").text = re.sub(_NO_XML, "", "\n".join(notes))


FORMATS: Final[Mapping[str, Callable[[RunOutcome], str]]] = {
    "json": _json,
    "sarif": _sarif,
    "github": _github,
    "junit": _junit,
}
