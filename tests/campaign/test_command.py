"""Command lines of `eumu campaign` that are refused before a worker is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu.cli.main import main
from eumu.cli.status import FAILED, USAGE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["files"], "a folder is given to the kind files"),
        (["random-visa", "folder"], "a folder is given to the kind files"),
        (["random-visa", "--count", "0"], "--count is from 1 to 10000000"),
        (["random-visa", "--count", "9" * 15], "--count is from 1 to 10000000"),
        (["random-visa", "--workers", "0"], "--workers is from 1 to 4096"),
        (["random-visa", "--limit", "x"], "--limit 'x' is not an integer"),
        (["random-visa", "--devices", "gen7"], "gen7"),
        (["random-visa", "--explained", "none"], "none: No such file"),
        (["files", "none"], "none: no such folder"),
    ],
)
def test_wrong_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", *words, "--store", ":memory:"]) == USAGE
    assert said in capsys.readouterr().err


def test_a_damaged_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sqlite"
    path.write_text("not a store " * 100)
    assert main(["campaign", "random-visa", "--store", str(path)]) == FAILED
    assert "s.sqlite is damaged or no store: " in capsys.readouterr().err
