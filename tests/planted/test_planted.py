"""Planted faults are found with their line; `python tests/planted/run.py` plants hundreds."""

from __future__ import annotations

import pytest

from planted import run


def test_there_are_enough_kinds_and_mutants() -> None:
    made = run.sample(10_000)
    assert len(made) > 900
    assert len({mutant.operator for _, mutant, _ in made}) >= 13


@pytest.mark.parametrize("number", (0, 4, 6, 8, 10, 12))
def test_some_kinds(number: int, ocloc: str) -> None:
    clean, mutant, device = run.sample(13)[number]
    assert run.look(clean, mutant, device) == "found", f"{clean.path.name}: {mutant.name}"


def test_clean_sources_have_none(ocloc: str) -> None:
    """Else a finding would say nothing of the edit."""
    clean = next(c for c in run.sources() if c.path.name == "reduce.cl")
    assert clean.findings(clean.text, "pvc") == []
    assert not run.is_found(run.sample(1)[0][1], [])
