"""Named barriers: teams of threads, producers and consumers, and who waits for whom."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.jit.driver import module
from eumu.ir import Region, Space, Value
from eumu.ir.operations.ends import Barrier
from eumu.types import UD
from exec.launching import RNE, Kernel, on_both

BOTH, PRODUCER, CONSUMER = range(3)


@pytest.fixture(autouse=True, params=["inlined", "called"])
def as_long(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread function of a long kernel is called, by a driver that is no code of its own."""
    if request.param == "called":
        monkeypatch.setenv("EUMU_CACHE", "off")
        monkeypatch.setattr(module, "_SHORT", 0)


def meet(k: Kernel, kind: str, target: str, *numbers: Value | int) -> None:
    """A named barrier; the numbers are the barrier, and of a signal role, producers, consumers."""
    args = [n if isinstance(n, Value) else k.b.const(UD, n) for n in numbers]
    k.b.terminate(Barrier(args, (k.labels[target],), kind=kind))


def thread(k: Kernel) -> Value:
    return k.b.special("thread_id", UD)


def slot(k: Kernel, number: Value) -> Value:
    """Where each lane of a thread keeps its dword in shared local memory."""
    first = k.b.splat(k.b.mul(number, k.b.const(UD, 16), RNE), k.width)
    return k.mul(k.add(first, k.lane()), k.number(UD, 4))


def name(k: Kernel) -> Value:
    return k.b.read(k.function.roots["NAME"], Region.scalar(0), UD, 1)


def fails(k: Kernel, local: int) -> Fault:
    with pytest.raises(Fault) as caught:
        on_both(k, [np.zeros(256, np.uint32)], 2, local, slm_bytes=1024)
    return caught.value


@pytest.mark.parametrize("rounds", [1, 3])
def test_teams_have_barriers_of_their_own(rounds: int) -> None:
    """Even threads meet at barrier 6, odd ones at 7; each adds up what its team has stored."""
    k = Kernel("entry", "loop", "wait", "read", "again", "next", "done")
    k.root("SUM", 64)
    k.root("ROUND", 64)
    odd = k.b.and_(thread(k), k.b.const(UD, 1))
    k.root("NAME", 4)
    k.put("NAME", k.b.add(odd, k.b.const(UD, 6), RNE), k.true(1))
    k.go("jump", "loop")
    k.at("loop")
    k.b.store(Space.SLM, slot(k, thread(k)), k.mask(), [k.add(k.local_id(), k.get("ROUND"))])
    meet(k, "signal", "wait", name(k), BOTH, 3, 3)
    k.at("wait")
    meet(k, "wait", "read", name(k))
    k.at("read")
    total = k.get("SUM")
    for member in range(3):
        twice = k.b.const(UD, 2 * member)
        mine = k.b.add(twice, k.b.and_(thread(k), k.b.const(UD, 1)), RNE)
        total = k.add(total, k.b.load(Space.SLM, slot(k, mine), k.mask(), UD)[0])
    k.put("SUM", total)
    k.put("ROUND", k.add(k.get("ROUND"), k.number(UD, 1)))
    meet(k, "signal", "again", name(k), BOTH, 3, 3)
    k.at("again")
    meet(k, "wait", "next", name(k))
    k.at("next")
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("ROUND"), k.number(UD, rounds)))
    k.at("done")
    k.result(0, k.local_id(), k.get("SUM"))
    k.end()
    host = on_both(k, [np.zeros(96, np.uint32)], 2, 96, slm_bytes=1024)
    want = [
        sum(16 * t + lane + r for r in range(rounds) for t in range(parity, 6, 2))
        for parity in (0, 1, 0, 1, 0, 1)
        for lane in range(16)
    ]
    assert host.read(0).tolist() == want


def test_a_producer_goes_on_and_consumers_wait() -> None:
    """Thread 0 produces for the three others, and ends before they have read."""
    k = Kernel("entry", "produce", "end", "consume", "wait", "read")
    k.go("branch", "produce", "consume", mask=k.b.cmp("eq", thread(k), k.b.const(UD, 0)))
    k.at("produce")
    k.b.store(Space.SLM, slot(k, thread(k)), k.mask(), [k.add(k.lane(), k.number(UD, 70))])
    meet(k, "signal", "end", 1, PRODUCER, 1, 3)
    k.at("end")
    k.result(0, k.local_id(), k.number(UD, 1))
    k.end()
    k.at("consume")
    meet(k, "signal", "wait", 1, CONSUMER, 1, 3)
    k.at("wait")
    meet(k, "wait", "read", 1)
    k.at("read")
    (x,) = k.b.load(Space.SLM, k.mul(k.lane(), k.number(UD, 4)), k.mask(), UD)
    k.result(0, k.local_id(), x)
    k.end()
    host = on_both(k, [np.zeros(64, np.uint32)], 1, 64, slm_bytes=256)
    assert host.read(0).tolist() == [1] * 16 + [*range(70, 86)] * 3


def test_a_deadlock_says_who_waits_for_what() -> None:
    """Threads 0 and 1 expect three producers, thread 2 ends without a signal."""
    k = Kernel("entry", "come", "wait", "end", "leave")
    k.inst(1)
    k.go("branch", "come", "leave", mask=k.b.cmp("lt", thread(k), k.b.const(UD, 2)))
    k.at("come")
    k.inst(2)
    meet(k, "signal", "wait", 5, BOTH, 3, 3)
    k.at("wait")
    k.inst(3)
    meet(k, "wait", "end", 5)
    k.at("end")
    k.end()
    k.at("leave")
    k.end()
    fault = fails(k, 48)
    assert fault.reason == "deadlock: threads 0-1 wait at barriers that will not open"
    assert fault.notes[0] == "threads 0-1 wait at k.visaasm:4:1: inst 3"
    assert fault.notes[1] == (
        "named barrier 5 has 2 of 3 producers (threads 0-1) and 2 of 3 consumers (threads 0-1)"
    )


def test_a_wait_that_nobody_signalled() -> None:
    k = Kernel("entry", "end")
    meet(k, "wait", "end", 9)
    k.at("end")
    k.end()
    fault = fails(k, 16)
    assert fault.notes[1] == "nobody has signalled named barrier 9 since it opened last"


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        ((32, BOTH, 2, 2), "there is no named barrier 32; there are 0 to 31"),
        ((1, 3, 2, 2), "3 is no role at a named barrier: 0 both, 1 producer, 2 consumer"),
        ((1, PRODUCER, 1, 1), "more threads come to named barrier 1 than its 1 producers and"),
    ],
)
def test_signals_that_cannot_be(numbers: tuple[int, ...], reason: str) -> None:
    k = Kernel("entry", "end")
    meet(k, "signal", "end", *numbers)
    k.at("end")
    k.end()
    assert fails(k, 32).reason.startswith(reason)


def test_threads_must_agree_on_the_counts() -> None:
    k = Kernel("entry", "end")
    count = k.b.add(thread(k), k.b.const(UD, 3), RNE)
    meet(k, "signal", "end", 1, BOTH, count, count)
    k.at("end")
    k.end()
    fault = fails(k, 32)
    assert fault.thread == 1
    assert fault.reason == (
        "named barrier 1 has 3 producers and 3 consumers;"
        " this thread says 4 producers and 4 consumers"
    )
