"""No instruction that is executed is without a run on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

import coverage_of_opcodes as coverage
from eumu import binary
from eumu.errors import BuildError
from eumu.platforms import platform
from eumu.text import parse, print_module
from runfile import read


def test_a_missing_run_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "in_run_files", frozenset)
    assert "lsc_store" in coverage.without_a_run()


@pytest.mark.parametrize("path", sorted(coverage.RUNS.rglob("*.visa")), ids=lambda p: p.stem)
def test_run_files_are_printed_and_encoded(path: Path) -> None:
    """The text is read and printed again; so is the object file, where there is a form for it."""
    file = read(path)
    grf = platform(file.platforms[-1]).grf_bytes
    printed = print_module(module := parse(path.read_text(encoding="utf-8"), path.name, grf))
    assert print_module(parse(printed, "again", grf)) == printed
    if path.stem in coverage.TEXT_ONLY:
        with pytest.raises(BuildError, match=coverage.WITHOUT_A_FORM):
            binary.write(module, grf)
        return
    again = binary.read(binary.write(module, grf), "object", grf)
    assert _words(print_module(again)) == _words(printed)


def _words(text: str) -> list[str]:
    """What each line begins with: an object file keeps no names of labels."""
    return [line.split()[0] for line in text.splitlines() if line.startswith("    ")]
