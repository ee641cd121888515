"""Barriers that not all reach, and loops that do not end: who is where, on both sides."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import eumu

SOURCE = Path(__file__).parent / "barriers.cl"


@cache
def program() -> eumu.Program:
    return eumu.load(SOURCE, device="pvc")


def fault(name: str, engine: str, check: str | bool = False) -> eumu.Finding:
    device = eumu.Device("pvc", engine=engine, check=check)
    with pytest.raises(eumu.Fault) as caught:
        program()[name].launch(device, 64, 64, [device.array(128, np.int32)], fuel=20_000)
    return caught.value.finding


@pytest.mark.parametrize("name", ["lanes", "threads_differ", "two_barriers", "spins"])
def test_both_engines_say_the_same(name: str, ocloc: str) -> None:
    assert str(fault(name, "interp")) == str(fault(name, "jit"))


def test_lanes(ocloc: str) -> None:
    found = fault("lanes", "jit")
    (other,) = found.related
    assert (found.code, found.line, found.global_id) == ("divergent-barrier", 6, (1, 0, 0))
    assert (other.line, other.global_id, other.work_items) == (8, (0, 0, 0), 16)
    assert other.reason.startswith("lanes 0, 2, 4") and other.reason.endswith("wait here")


def test_threads(ocloc: str) -> None:
    found = fault("two_barriers", "jit")
    (other,) = found.related
    assert {found.line, other.line} == {27, 31}
    assert {found.local_id, other.local_id} == {(0, 0, 0), (32, 0, 0)}


def test_threads_that_have_ended(ocloc: str) -> None:
    found = fault("threads_differ", "jit")
    assert (found.line, found.local_id) == (16, (0, 0, 0))
    assert "without it ended work item (32, 0, 0), local id (32, 0, 0), and 31 more" in found.notes


def test_who_waits_while_a_loop_does_not_end(ocloc: str) -> None:
    found = fault("spins", "jit")
    (other,) = found.related
    assert (found.code, found.line) == ("endless-loop", 38)
    assert (other.line, other.thread) == (40, 1)
    assert other.reason == "thread 1 waits here for the others of the group"


@pytest.mark.parametrize("name", ["two_barriers", "threads_differ"])
def test_a_race_may_decide(name: str, ocloc: str) -> None:
    """As in CHAI's TRNS and BFS; who looks for races already is not told to."""
    assert any("--check=races" in note for note in fault(name, "jit").notes)
    assert not any("--check=races" in note for note in fault(name, "jit", "races").notes)
