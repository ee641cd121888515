"""Every run file on every engine and every platform it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from runfile import Run, RunFile, read, run

RUNS = Path(__file__).parent / "runs"
FILES = sorted(RUNS.rglob("*.visa"))
ENGINES = {"interp": Interpreter, "jit": Jit}


def cases() -> list[tuple[RunFile, Run, str, str]]:
    return [
        (file, line, name, engine)
        for file in map(read, FILES)
        for line in file.runs
        for name in file.platforms
        for engine in file.engines
    ]


def label(value: object) -> str | None:
    if isinstance(value, RunFile):
        return str(value.path.relative_to(RUNS))
    return f"line{value.line}" if isinstance(value, Run) else None


@pytest.mark.parametrize(("file", "line", "name", "engine"), cases(), ids=label)
def test_run(file: RunFile, line: Run, name: str, engine: str) -> None:
    differences = run(file, line, name, ENGINES[engine]())
    assert not differences, "\n".join([f"{file.path.name}:{line.line} on {name}", *differences])


def test_a_wrong_expectation_is_noticed() -> None:
    file = read(RUNS / "add.visa")
    line = file.runs[0]
    wrong = Run(line.before, {k: ["12345"] for k in line.after}, line.lanes, line.line)
    assert run(file, wrong, "skl", Interpreter())
