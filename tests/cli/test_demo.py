"""`eumu demo`, and what a wheel holds for it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from eumu.cli.demo import EXAMPLES
from eumu.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    assert capsys.readouterr().out.count(": right\n") == 2


def test_the_examples_are_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--copy", str(tmp_path)]) == 0
    copied = {p.name for p in (tmp_path / "examples").iterdir()}
    assert {"saxpy.bin", "saxpy.cl", "out_of_bounds.bin", "picture.bin"} <= copied
    assert main(["demo", "--copy", str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err


def test_a_wheel_has_the_examples() -> None:
    """They are where an installed package looks for them."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert build["targets"]["wheel"]["force-include"] == {"examples": "eumu/examples"}
    assert EXAMPLES.name == "examples"


def test_the_description_of_the_package_needs_no_other_file() -> None:
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["readme"]
    assert "](" not in (ROOT / name).read_text()
