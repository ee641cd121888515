"""What a command does before it begins: only what it needs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eumu.cli.main import main
from eumu.cli.parsing import parser

ROOT = Path(__file__).resolve().parents[2]
SAXPY = str(ROOT / "examples" / "saxpy.bin")
COMMANDS = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]


@pytest.mark.parametrize("name", list(COMMANDS or {}))
def test_the_parser_of_one_command(name: str) -> None:
    """Only its options are declared, and its help is what it is beside the others."""
    (alone,) = parser(name)._subparsers._group_actions  # type: ignore[union-attr]
    assert list(alone.choices or ()) == [name]
    assert alone.choices[name].format_help() == COMMANDS[name].format_help()  # type: ignore[index]


@pytest.mark.parametrize("given", [None, "7"])
def test_programs_keep_their_blas(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread is for NumPy here; what a command starts has the setting of its user."""
    name = "OPENBLAS_NUM_THREADS"
    monkeypatch.delenv(name, raising=False)
    if given is not None:
        monkeypatch.setenv(name, given)
    assert main(["info", SAXPY]) == 0
    assert os.environ.get(name) == given
