"""Barriers: a thread group meets, and the diagnosis when it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault, ranges
from eumu.exec.interp import Interpreter
from eumu.ir import Space, Value
from eumu.types import UD
from exec.launching import RNE, Kernel, launch, on_both


def thread_below(k: Kernel, bound: int) -> Value:
    """A uniform mask: threads of the group whose number is below `bound`."""
    return k.b.cmp("lt", k.b.special("thread_id", UD), k.lanes(UD, bound))


@pytest.mark.parametrize("batch", [16, 200, 8192])
def test_a_tree_reduction_with_a_barrier_in_a_loop(batch: int) -> None:
    k = Kernel("entry", "loop", "work", "next", "after", "done")
    k.root("STEP", 64)
    here = k.mul(k.local_id(), k.number(UD, 4))
    k.b.store(Space.SLM, here, k.mask(), [k.input(0, k.item(64), UD)])
    k.put("STEP", k.number(UD, 32))
    k.go("barrier", "loop", kind="sync")
    k.at("loop")
    k.go("diverge", "work", "next", mask=k.b.cmp("lt", k.local_id(), k.get("STEP")))
    k.at("work")
    here = k.mul(k.local_id(), k.number(UD, 4))
    other = k.add(here, k.mul(k.get("STEP"), k.number(UD, 4)))
    (x,), (y,) = (k.b.load(Space.SLM, place, k.mask(), UD) for place in (here, other))
    k.b.store(Space.SLM, here, k.mask(), [k.add(x, y)])
    k.go("jump", "next")
    k.at("next")
    k.put("STEP", k.b.shr(k.get("STEP"), k.number(UD, 1)))
    k.go("barrier", "after", kind="sync")
    k.at("after")
    more = k.b.cmp("gt", k.get("STEP"), k.number(UD, 0))
    k.go("diverge", "loop", "done", mask=more)
    k.at("done")
    (x,) = k.b.load(Space.SLM, k.number(UD, 0), k.mask(), UD)
    k.result(1, k.item(64), x)
    k.end()
    data = np.random.default_rng(1).integers(0, 1000, 64 * 9, np.uint32)
    host, _ = launch(
        k, [data, np.zeros_like(data)], 9, 64, slm_bytes=256, engine=Interpreter(batch)
    )
    want = np.repeat(data.reshape(9, 64).sum(axis=1), 64)
    assert host.read(1).tolist() == want.tolist()


def test_no_thread_passes_before_the_slowest_arrives() -> None:
    """Thread 0 loops 50 times before it stores what the others read behind the barrier."""
    k = Kernel("entry", "loop", "store", "meet", "after")
    k.root("N", 64)
    k.go("branch", "loop", "meet", mask=thread_below(k, 1))
    k.at("loop")
    k.put("N", k.add(k.get("N"), k.number(UD, 1)))
    k.go("diverge", "loop", "store", mask=k.b.cmp("lt", k.get("N"), k.number(UD, 50)))
    k.at("store")
    k.b.store(Space.SLM, k.number(UD, 0), k.mask(), [k.get("N")])
    k.go("jump", "meet")
    k.at("meet")
    k.go("barrier", "after", kind="sync")
    k.at("after")
    (x,) = k.b.load(Space.SLM, k.number(UD, 0), k.mask(), UD)
    k.result(0, k.item(64), x)
    k.end()
    host = on_both(k, [np.zeros(128, np.uint32)], 2, 64, slm_bytes=4)
    assert (host.read(0) == 50).all()


def test_signal_and_wait_are_the_halves_of_a_barrier() -> None:
    """Thread 0 only waits after it has worked on; the others' stores come before its load."""
    k = Kernel("entry", "signalled", "after")
    place = k.mul(k.local_id(), k.number(UD, 4))
    k.b.store(Space.SLM, place, k.mask(), [k.local_id()])
    k.go("barrier", "signalled", kind="signal")
    k.at("signalled")
    k.go("barrier", "after", kind="wait")
    k.at("after")
    other = k.b.sub(k.number(UD, 63), k.local_id(), RNE)
    (x,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
    k.result(0, k.local_id(), x)
    k.end()
    host = on_both(k, [np.zeros(64, np.uint32)], 3, 64, slm_bytes=256)
    assert host.read(0).tolist() == list(range(63, -1, -1))


def test_lanes_that_ended_or_never_were_do_not_count() -> None:
    k = Kernel("entry", "rest", "after")
    k.go(
        "ret", "rest", mask=k.b.cmp("eq", k.b.and_(k.local_id(), k.number(UD, 3)), k.number(UD, 1))
    )
    k.at("rest")
    k.go("barrier", "after", kind="sync")
    k.at("after")
    k.result(0, k.local_id(), k.number(UD, 1))
    k.end()
    host = on_both(k, [np.zeros(40, np.uint32)], 1, 37)
    assert host.read(0).tolist() == [int(n % 4 != 1 and n < 37) for n in range(40)]


# ---- diagnoses


def fails(k: Kernel, groups: int = 3, local: int = 64) -> Fault:
    with pytest.raises(Fault) as caught:
        on_both(k, [np.zeros(4, np.uint32)], groups, local, slm_bytes=64)
    return caught.value


def test_lanes_that_wait_elsewhere_are_named() -> None:
    k = Kernel("entry", "then", "join", "after")
    k.inst(1)
    k.go("diverge", "then", "join", mask=k.b.cmp("lt", k.local_id(), k.number(UD, 24)))
    k.at("then")
    k.inst(2)
    k.go("barrier", "join", kind="sync")
    k.at("join")
    k.inst(3)
    k.go("jump", "after")
    k.at("after")
    k.end()
    fault = fails(k)
    assert fault.reason.startswith("barrier in divergent control flow")
    assert fault.group == (0, 0, 0) and fault.thread == 1 and fault.lanes == tuple(range(8))
    assert fault.span is not None and fault.span.line == 3
    text = str(fault)
    assert "lanes 0-7 are at the barrier" in text
    assert "lanes 8-15 wait at join (k.visaasm:4:1: inst 3)" in text


def test_a_thread_that_ended_is_named() -> None:
    k = Kernel("entry", "meet", "after")
    k.inst(1)
    k.go("branch", "after", "meet", mask=thread_below(k, 1))
    k.at("meet")
    k.inst(2)
    k.go("barrier", "after", kind="sync")
    k.at("after")
    k.end()
    fault = fails(k)
    assert "thread 0 of the group ended without reaching it" in fault.reason
    assert "threads 1-3 wait at k.visaasm:3:1: inst 2" in str(fault)
    assert fault.group == (0, 0, 0) and fault.thread == 1


@pytest.mark.parametrize("inner", [1, 3])
def test_a_barrier_that_only_some_threads_meet_once_more(inner: int) -> None:
    """if (thread < inner) barrier(); barrier(): the counts do not match."""
    k = Kernel("entry", "then", "join", "after")
    k.go("branch", "then", "join", mask=thread_below(k, inner))
    k.at("then")
    k.inst(1)
    k.go("barrier", "join", kind="sync")
    k.at("join")
    k.inst(2)
    k.go("barrier", "after", kind="sync")
    k.at("after")
    k.end()
    fault = fails(k)
    assert "threads of the group meet at different barriers" in fault.reason
    first = "thread 0 waits" if inner == 1 else "threads 0-2 wait"
    others = "threads 1-3 wait" if inner == 1 else "thread 3 waits"
    assert f"{first} at k.visaasm:2:1" in str(fault)
    assert f"{others} at k.visaasm:3:1" in str(fault)
    assert any(note.startswith("a race may decide") for note in fault.notes)


def test_waiting_for_a_signal_that_nobody_gave_is_a_deadlock() -> None:
    k = Kernel("entry", "after")
    k.inst(1)
    k.go("barrier", "after", kind="wait")
    k.at("after")
    k.end()
    fault = fails(k)
    assert "deadlock" in fault.reason and "threads 0-3" in fault.reason
    assert fault.span is not None and fault.span.line == 2


def test_lanes_of_an_outer_frame_do_not_reach_a_barrier_in_a_call() -> None:
    k = Kernel("entry", "after", "sub", "back")
    k.go("call", "sub", "after", mask=k.b.cmp("lt", k.local_id(), k.number(UD, 8)))
    k.at("after")
    k.end()
    k.at("sub")
    k.inst(1)
    k.go("barrier", "back", kind="sync")
    k.at("back")
    k.go("ret", "back", mask=k.true())
    fault = fails(k, 1, 16)
    assert "lanes 8-15 of the thread are elsewhere" in fault.reason


def test_a_barrier_inside_a_call_of_all_lanes() -> None:
    k = Kernel("entry", "after", "sub", "back")
    k.b.store(Space.SLM, k.mul(k.local_id(), k.number(UD, 4)), k.mask(), [k.local_id()])
    k.go("call", "sub", "after", mask=k.true())
    k.at("after")
    other = k.b.xor(k.local_id(), k.number(UD, 16))
    (x,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
    k.result(0, k.item(32), x)
    k.end()
    k.at("sub")
    k.go("barrier", "back", kind="sync")
    k.at("back")
    k.go("ret", "back", mask=k.true())
    host = on_both(k, [np.zeros(64, np.uint32)], 2, 32, slm_bytes=128)
    assert host.read(0).tolist() == [*range(16, 32), *range(16)] * 2


def test_ranges_are_short() -> None:
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert ranges([]) == ""
