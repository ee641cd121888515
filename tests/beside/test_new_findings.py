"""Each mistake at a place is told once."""

from __future__ import annotations

from eumu.beside.new_findings import New
from eumu.errors import Finding, Place


def count(*findings: Finding) -> int:
    return len(list(New().of(findings)))


def race(reason: str, line: int = 3, other: int = 4) -> Finding:
    related = (Finding("race", "the other", place=Place("k.cl", other)),)
    return Finding("race", reason, "k", place=Place("k.cl", line), related=related)


def test_numbers_and_buffers_of_a_launch_make_no_new_mistake() -> None:
    assert count(race("byte 8 of buffer #1"), race("byte 0x40 of buffer #22")) == 1


def test_another_place_kind_or_partner_is_another_mistake() -> None:
    first = race("store and load")
    assert count(first, race("store and load", line=5), race("store and load", other=9)) == 3
    assert count(first, race("store and store")) == 2


def test_a_call_has_no_place_and_its_numbers_count() -> None:
    calls = [Finding("api", f"{size} bytes") for size in (4, 8, 4)]
    assert count(*calls) == 2
