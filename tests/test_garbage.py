"""Garbage is looked for seldom while kernels are made, and as before then."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest

from eumu.garbage import SELDOM, seldom_collected


@pytest.fixture(autouse=True)
def threshold() -> Iterator[int]:
    before = gc.get_threshold()
    gc.set_threshold(700, *before[1:])
    yield 700
    gc.set_threshold(*before)


def test_the_threshold_is_restored(threshold: int) -> None:
    with pytest.raises(ValueError, match="left"), seldom_collected():
        assert gc.get_threshold()[0] == SELDOM
        raise ValueError("left by an error")
    assert gc.get_threshold()[0] == threshold


def test_threads_that_leave_in_another_order(threshold: int) -> None:
    entered, first_left = Barrier(2), Barrier(2)
    seen = []

    def longer() -> None:
        with seldom_collected():
            entered.wait(60)
            first_left.wait(60)
            seen.append(gc.get_threshold()[0])

    other = Thread(target=longer)
    with seldom_collected():
        other.start()
        entered.wait(60)
    first_left.wait(60)
    other.join(60)
    assert seen == [SELDOM]
    assert gc.get_threshold()[0] == threshold


@pytest.mark.parametrize("own", [0, SELDOM + 1])
def test_who_looks_still_more_seldom_goes_on_so(own: int) -> None:
    gc.set_threshold(own)
    with seldom_collected():
        assert gc.get_threshold()[0] == own
    assert gc.get_threshold()[0] == own


def test_what_the_program_sets_meanwhile_stays() -> None:
    with seldom_collected():
        gc.set_threshold(1234)
    assert gc.get_threshold()[0] == 1234


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_has_nobody_inside(threshold: int) -> None:
    entered, leave = Barrier(2), Barrier(2)

    def inside() -> None:
        with seldom_collected():
            entered.wait(60)
            leave.wait(60)

    other = Thread(target=inside)
    other.start()
    entered.wait(60)
    child = os.fork()
    if not child:
        before = gc.get_threshold()[0]
        with seldom_collected():
            within = gc.get_threshold()[0]
        told = (before, within, gc.get_threshold()[0])
        os._exit(0 if told == (threshold, SELDOM, threshold) else 1)
    leave.wait(60)
    other.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
