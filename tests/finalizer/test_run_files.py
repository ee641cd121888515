"""Every run file of skl through Intel's finalizer: its native code does what the text says."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from eumu.compare.differential import Pair, pairs
from eumu.compare.finalizer import Refusal
from eumu.errors import BuildError, Fault, Unsupported
from finalizer.explained import REFUSED, RUN_FILES, WITHOUT_END
from finalizer.witness import Trial, compared, trials
from runfile import read

RUNS = Path(__file__).parents[1] / "runs"
FILES = [f for f in map(read, sorted(RUNS.rglob("*.visa"))) if "skl" in f.platforms]
TRIALS = [t for f in FILES if f.path.stem not in WITHOUT_END for t in trials(f)]


@cache
def finalized() -> tuple[Pair, ...]:
    return tuple(pairs(t.harness for t in TRIALS))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(TRIALS)), ids=lambda k: TRIALS[k].name)
def test_native_code_does_what_the_text_says(number: int, genx_ir: str) -> None:
    trial, pair = TRIALS[number], finalized()[number]
    if isinstance(pair.native, Refusal):
        assert REFUSED.get(trial.name) in pair.native.message, pair.native.message
        return
    assert trial.name not in REFUSED
    found = _findings(trial, pair)
    if trial.name in RUN_FILES:
        assert found, "it does not differ any more"
    else:
        assert not found, "\n".join(found[:6])


def _findings(trial: Trial, pair: Pair) -> list[str]:
    if trial.name not in RUN_FILES:
        return compared(trial, pair)
    try:
        return compared(trial, pair)
    except (BuildError, Fault, Unsupported) as error:
        return [str(error)]


def test_no_row_is_left_over() -> None:
    names = {f.path.stem for f in FILES}
    assert {*RUN_FILES, *REFUSED, *WITHOUT_END} <= names
