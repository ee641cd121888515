"""What the runner of others' suites takes for a pass, and what for a skip."""

from __future__ import annotations

import pytest

from drivers.suites import ended_well, is_skipped

HEAD = "Device latest conformance version passed: v2022-04-22-00\n"


@pytest.mark.parametrize(
    ("said", "skipped"),
    [
        ("atomic_add passed\nPASSED sub-test.\nPASSED test.\n", False),
        ("Skipping half: no such channel\n1D passed\nPASSED test.\n", False),
        ("work_group_all test not supported\nPASSED test.\n", True),
        ("get_ils skipped (requires at least Device version 2.2, but it has 2.0)\n", True),
        ("Test skipped while initialization\nSKIPPED 5 of 5 tests.\n", True),
    ],
)
def test_a_skip_is_no_pass(said: str, skipped: bool) -> None:
    assert is_skipped(HEAD + said) == skipped


def test_of_tests_that_share_a_process_each_has_an_end() -> None:
    said = (
        "a...\na passed\nb...\nERROR: wrong\nb FAILED\nc test not supported\n"
        "d skipped (requires at least Device version 2.2, but it has 2.0)\nbuffer passed\ne...\n"
    )
    ends = ended_well(HEAD + said, ["a", "b", "c", "d", "e"])
    assert ends == {"a": "passed", "c": "skipped", "d": "skipped"}
