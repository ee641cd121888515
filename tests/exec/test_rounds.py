"""Threads that stop only at barriers run in rounds: what is known where they go on, and faults."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.ir import Space, Value
from eumu.types import UD, UQ
from exec.launching import Kernel, on_both
from exec.test_barriers import thread_below

THREADS = 4


def of_thread(k: Kernel, thread: int) -> Value:
    """A mask: the lanes of one thread."""
    return k.b.cmp("eq", k.b.shr(k.local_id(), k.number(UD, 4)), k.number(UD, thread))


def turns(k: Kernel, count: int, *, leave: int | None = None) -> None:
    """A loop around a barrier; lanes with this number of four end in front of it."""
    k.root("TURN", 64)
    k.root("SUM", 64)
    if leave is not None:
        four = k.b.and_(k.local_id(), k.number(UD, 3))
        k.go("ret", "loop", mask=k.b.cmp("eq", four, k.number(UD, leave)))
    else:
        k.go("jump", "loop")
    k.at("loop")
    place = k.mul(k.local_id(), k.number(UD, 4))
    k.b.store(Space.SLM, place, k.mask(), [k.add(k.local_id(), k.get("TURN"))])
    k.go("barrier", "behind", kind="sync")
    k.at("behind")
    other = k.b.xor(k.local_id(), k.number(UD, 32))
    (x,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
    k.put("SUM", k.add(k.get("SUM"), x))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("barrier", "next", kind="sync")
    k.at("next")
    more = k.b.cmp("lt", k.get("TURN"), k.number(UD, count))
    k.go("diverge", "loop", "done", mask=more)
    k.at("done")


@pytest.mark.parametrize("local", [64, 61])
@pytest.mark.parametrize("leave", [None, 0, 3])
def test_lanes_that_ended_before_stay_away(local: int, leave: int | None) -> None:
    k = Kernel("entry", "loop", "behind", "next", "done")
    turns(k, 5, leave=leave)
    k.result(0, k.item(64), k.get("SUM"))
    k.end()
    on_both(k, [np.zeros(3 * 64, np.uint32)], 3, local, slm_bytes=256)


@pytest.mark.parametrize("turn", [0, 1, 4])
@pytest.mark.parametrize("thread", range(THREADS))
def test_a_fault_between_barriers_is_that_of_its_thread(turn: int, thread: int) -> None:
    """One thread loads outside all memory in one turn; what it says of others is the same, too."""
    k = Kernel("entry", "loop", "behind", "next", "done")
    k.root("TURN", 64)
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    k.go("barrier", "behind", kind="sync")
    k.at("behind")
    k.inst(2)
    now = k.b.cmp("eq", k.get("TURN"), k.number(UD, turn))
    bad = k.b.and_(of_thread(k, thread), now)
    k.b.load(Space.FLAT, k.number(UQ, 64), k.b.and_(bad, k.mask()), UD)
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.inst(3)
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, 6)))
    k.at("done")
    k.end()
    with pytest.raises(Fault) as caught:
        on_both(k, [np.zeros(64, np.uint32)], 2, 64, slm_bytes=64)
    assert caught.value.thread == thread and caught.value.group == (0, 0, 0)


@pytest.mark.parametrize("inner", [1, 3])
def test_barriers_that_lead_to_one_place_are_two(inner: int) -> None:
    """A resume point does not tell which of them it was."""
    k = Kernel("entry", "one", "two", "after")
    k.go("branch", "one", "two", mask=thread_below(k, inner))
    k.at("one")
    k.inst(1)
    k.go("barrier", "after", kind="sync")
    k.at("two")
    k.inst(2)
    k.go("barrier", "after", kind="sync")
    k.at("after")
    k.end()
    with pytest.raises(Fault) as caught:
        on_both(k, [np.zeros(4, np.uint32)], 1, 64, slm_bytes=64)
    assert "threads of the group meet at different barriers" in caught.value.reason


@pytest.mark.parametrize("ends", range(THREADS))
def test_one_thread_that_ends_a_turn_early(ends: int) -> None:
    k = Kernel("entry", "loop", "behind", "done")
    k.root("TURN", 64)
    k.put("TURN", k.number(UD, 1), of_thread(k, ends))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    k.go("barrier", "behind", kind="sync")
    k.at("behind")
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, 3)))
    k.at("done")
    k.end()
    with pytest.raises(Fault) as caught:
        on_both(k, [np.zeros(4, np.uint32)], 1, 64, slm_bytes=64)
    assert f"thread {ends} of the group ended without reaching it" in caught.value.reason
