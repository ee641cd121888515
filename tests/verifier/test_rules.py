"""Every rule finds what its file breaks, and nothing in the file's neighbour."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu.errors import Severity
from eumu.isa.limits import By
from eumu.platforms import Platform
from eumu.verify import BROKEN_BY_THE_COMPILER, RULES
from verifier.checkfile import CheckFile, differences, findings, read

HERE = Path(__file__).parent
FILES = [read(path) for path in sorted(HERE.glob("*.visa"))]
CASES = [(file, device) for file in FILES for device in file.devices]


def label(value: object) -> str:
    return value.path.stem if isinstance(value, CheckFile) else str(value)


@pytest.mark.parametrize(("file", "device"), CASES, ids=label)
def test_findings(file: CheckFile, device: Platform) -> None:
    wrong = differences(file, findings(file, device))
    assert not wrong, "\n".join([f"on {device}", *wrong])


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_a_file_and_a_neighbour(code: str) -> None:
    broken, kept = (
        read(HERE / f"{code}{suffix}.visa") if (HERE / f"{code}{suffix}.visa").exists() else None
        for suffix in ("", ".ok")
    )
    assert broken is not None, f"no {code}.visa"
    assert kept is not None, f"no {code}.ok.visa"
    assert not kept.expected
    codes = {d.code for device in broken.devices for d in findings(broken, device)}
    assert code in codes, f"{code}.visa does not break the rule"


def test_no_file_without_a_rule() -> None:
    assert {f.path.name.removesuffix(".visa").removesuffix(".ok") for f in FILES} <= set(RULES)


def test_an_unexpected_finding_is_noticed() -> None:
    file = read(HERE / "types.visa")
    blind = CheckFile(file.path, file.text, file.devices, file.parity, ())
    assert differences(blind, findings(blind, file.devices[0]))


def test_a_missing_finding_is_noticed() -> None:
    file = read(HERE / "types.ok.visa")
    other = read(HERE / "types.visa")
    mixed = CheckFile(file.path, file.text, file.devices, file.parity, other.expected)
    assert differences(mixed, findings(mixed, file.devices[0]))


@pytest.mark.parametrize("code", BROKEN_BY_THE_COMPILER)
def test_what_the_compiler_breaks_is_a_note_of_the_documents(code: str) -> None:
    assert RULES[code].severity is Severity.NOTE
    assert RULES[code].by is By.DOCUMENTS


@pytest.mark.parametrize("code", RULES)
def test_a_rule_says_why(code: str) -> None:
    rule = RULES[code]
    assert rule.why.endswith(".") and len(rule.why) < 200
    assert code == code.lower() and " " not in code
