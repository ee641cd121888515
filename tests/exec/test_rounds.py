"""Threads that stop only at barriers run in rounds: what is known where they go on, and faults."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.interface import HostTarget, Special
from eumu.ir import Space, Value
from eumu.ir.passes import fold_modes
from eumu.types import UD, UQ
from exec.launching import RNE, Kernel, on_both
from exec.test_barriers import thread_below

THREADS = 4


HALVES = pytest.mark.parametrize("halves", [False, True])
SPECIAL = Special(True, (), 0, 0, range(0), 1 << 16, 0, (0,) * 16)


def kernel(*labels: str, halves: bool) -> Kernel:
    """A kernel of these blocks; a barrier of two halves is in front of those with a star."""
    blocks: list[str] = []
    for label in labels:
        name = label.removeprefix("*")
        blocks += [f"wait_{name}", name] if halves and name != label else [name]
    return Kernel(*blocks)


def meet(k: Kernel, behind: str, inst: int, *, halves: bool) -> None:
    """A barrier: at once, or a signal and a wait."""
    k.inst(inst)
    if halves:
        k.go("barrier", f"wait_{behind}", kind="signal")
        k.at(f"wait_{behind}")
        k.inst(inst + 100)
    k.go("barrier", behind, kind="wait" if halves else "sync")
    k.at(behind)


def runs_in_rounds(k: Kernel) -> bool:
    text = build(fold_modes(k.function), SPECIAL, HostTarget()).text
    return "@tell.barriers(" in text


def of_thread(k: Kernel, thread: int) -> Value:
    """A mask: the lanes of one thread."""
    return k.b.cmp("eq", k.b.shr(k.local_id(), k.number(UD, 4)), k.number(UD, thread))


def turns(count: int, *, leave: int | None, halves: bool) -> Kernel:
    """A loop around two barriers; lanes with this number of four end in front of it."""
    k = kernel("entry", "loop", "*behind", "*next", "done", halves=halves)
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
    meet(k, "behind", 1, halves=halves)
    other = k.b.xor(k.local_id(), k.number(UD, 32))
    (x,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
    k.put("SUM", k.add(k.get("SUM"), x))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    meet(k, "next", 2, halves=halves)
    more = k.b.cmp("lt", k.get("TURN"), k.number(UD, count))
    k.go("diverge", "loop", "done", mask=more)
    k.at("done")
    return k


@HALVES
@pytest.mark.parametrize("local", [64, 61])
@pytest.mark.parametrize("leave", [None, 0, 3])
def test_lanes_that_ended_before_stay_away(local: int, leave: int | None, halves: bool) -> None:
    k = turns(5, leave=leave, halves=halves)
    k.result(0, k.item(64), k.get("SUM"))
    k.end()
    assert runs_in_rounds(k)
    on_both(k, [np.zeros(3 * 64, np.uint32)], 3, local, slm_bytes=256)


@HALVES
@pytest.mark.parametrize("turn", [0, 1, 4])
@pytest.mark.parametrize("thread", range(THREADS))
def test_a_fault_between_barriers_is_that_of_its_thread(
    turn: int, thread: int, halves: bool
) -> None:
    """One thread loads outside all memory in one turn; what it says of others is the same, too."""
    k = kernel("entry", "loop", "*behind", "*next", "done", halves=halves)
    k.root("TURN", 64)
    k.go("jump", "loop")
    k.at("loop")
    meet(k, "behind", 1, halves=halves)
    k.inst(2)
    now = k.b.cmp("eq", k.get("TURN"), k.number(UD, turn))
    bad = k.b.and_(of_thread(k, thread), now)
    k.b.load(Space.FLAT, k.number(UQ, 64), k.b.and_(bad, k.mask()), UD)
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    meet(k, "next", 3, halves=halves)
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


@pytest.mark.parametrize("inner", [1, 3])
def test_halves_of_different_barriers_meet(inner: int) -> None:
    """Who waits does not ask where others signalled: threads go on behind different barriers."""
    k = kernel("entry", "one", "*first", "two", "*second", "after", halves=True)
    k.root("MINE", 64)
    place = k.mul(k.local_id(), k.number(UD, 4))
    k.b.store(Space.SLM, place, k.mask(), [k.local_id()])
    k.go("branch", "one", "two", mask=thread_below(k, inner))
    for block, behind, number in (("one", "first", 1000), ("two", "second", 2000)):
        k.at(block)
        meet(k, behind, number, halves=True)
        k.put("MINE", k.number(UD, number))
        k.go("jump", "after")
    k.at("after")
    other = k.b.sub(k.number(UD, 63), k.local_id(), RNE)
    (x,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
    k.result(0, k.item(64), k.add(k.get("MINE"), x))
    k.end()
    assert runs_in_rounds(k)
    host = on_both(k, [np.zeros(128, np.uint32)], 2, 64, slm_bytes=256)
    mine = [1000 if n // 16 < inner else 2000 for n in range(64)]
    assert host.read(0).tolist() == [mine[n] + 63 - n for n in range(64)] * 2


@pytest.mark.parametrize(
    "kinds", ["signal signal wait wait", "signal wait signal", "wait signal", "signal wait sync"]
)
def test_halves_that_are_no_pairs_are_not_met_in_rounds(kinds: str) -> None:
    k = Kernel("entry", *(f"after_{n}" for n, _ in enumerate(kinds.split())))
    for n, kind in enumerate(kinds.split()):
        k.go("barrier", f"after_{n}", kind=kind)
        k.at(f"after_{n}")
    k.end()
    assert not runs_in_rounds(k)


@HALVES
@pytest.mark.parametrize("ends", range(THREADS))
def test_one_thread_that_ends_a_turn_early(ends: int, halves: bool) -> None:
    k = kernel("entry", "loop", "*behind", "done", halves=halves)
    k.root("TURN", 64)
    k.put("TURN", k.number(UD, 1), of_thread(k, ends))
    k.go("jump", "loop")
    k.at("loop")
    meet(k, "behind", 1, halves=halves)
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, 3)))
    k.at("done")
    k.end()
    with pytest.raises(Fault) as caught:
        on_both(k, [np.zeros(4, np.uint32)], 1, 64, slm_bytes=64)
    assert f"thread {ends} of the group ended without reaching it" in caught.value.reason
