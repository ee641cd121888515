"""Native run files on both engines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from native.native_thread import Run, differences, read

FILES = sorted((Path(__file__).parent / "runs").glob("*.gen9"))
RUNS = [run for path in FILES for run in read(path)]
ENGINES = {"interp": Interpreter, "jit": Jit}


def label(run: Run) -> str:
    return f"{run.path.stem}-line{run.line}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("run", RUNS, ids=label)
def test_run(run: Run, engine: str) -> None:
    found = differences(run, ENGINES[engine]())
    assert not found, "\n".join([f"{run.path.name}:{run.line}", *found])


def test_a_wrong_expectation_is_noticed() -> None:
    run = next(r for r in RUNS if r.path.stem == "add")
    wrong = replace(run, after=tuple(replace(o, words=("12345",)) for o in run.after))
    assert differences(wrong, Interpreter())
