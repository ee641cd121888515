"""The page on CI: its two files and the commands of its workflow, with a mistake and without."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "ci.md").read_text()


def block(start: str) -> str:
    """The code of the page that begins so."""
    (found,) = re.findall(rf"```\w*\n({re.escape(start)}.*?)```", PAGE, re.DOTALL)
    return str(found)


def commands() -> list[str]:
    """What the workflow runs, without what it installs."""
    (job,) = yaml.safe_load(block("on:"))["jobs"].values()
    runs = [step["run"] for step in job["steps"] if "run" in step]
    return [run for run in runs if " install " not in run]


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    return subprocess.run(command, shell=True, cwd=folder, env=env, text=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scale.cl").write_text(block("kernel void"))
    (tmp_path / "test_scale.py").write_text(block("import numpy"))
    return tmp_path


def test_the_commands_of_the_workflow(folder: Path, ocloc: str) -> None:
    made = commands()
    assert len(made) == 2
    for command in made:
        done = run(folder, command)
        assert done.returncode == 0, done.stdout + done.stderr
    cases = list(ET.parse(folder / "report.xml").iter("testcase"))
    assert len(cases) == 2 and not list(ET.parse(folder / "report.xml").iter("failure"))


def test_a_mistake_fails_both(folder: Path, ocloc: str) -> None:
    source = folder / "scale.cl"
    source.write_text(source.read_text().replace("x[get_global_id(0)]", "x[get_global_id(0) + 1]"))
    tests, launch = (run(folder, command) for command in commands())
    assert tests.returncode == 1 and "scale.cl:2" in tests.stdout
    properties = [p.get("value") or "" for p in ET.parse(folder / "report.xml").iter("property")]
    assert any("out-of-bounds" in p and "scale.cl:2" in p for p in properties)
    assert launch.returncode == 3
    assert launch.stdout.startswith("::error file=scale.cl,line=2,")
