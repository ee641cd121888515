"""Lanes and threads that wait for each other make progress on both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.interp.fairness import MOST_WRITES, LaneOrder
from eumu.exec.jit import Jit
from eumu.exec.jit.analysis.flow import analyse
from eumu.exec.jit.driver import module, suspend
from eumu.exec.jit.llvm.layout import SLICE
from eumu.ir import Space
from eumu.types import UD
from exec.launching import Kernel, launch, on_memory


def lock_kernel(release: bool) -> Kernel:
    """Each lane takes a lock, adds its number in a critical section of two blocks, and lets go."""
    k = Kernel("entry", "try", "first", "second", "done")
    k.go("jump", "try")
    k.at("try")
    k.inst(1)
    zero = k.number(UD, 0)
    place = k.address(0, zero, 4)
    old = k.b.atomic("cmpxchg", Space.FLAT, place, k.mask(), UD, (k.number(UD, 1), zero))
    k.go("diverge", "first", "try", mask=k.b.cmp("eq", old, zero))
    k.at("first")
    k.inst(2)
    one = k.number(UD, 1)
    x = k.input(0, one, UD)
    k.result(0, one, k.add(x, k.add(k.lane(), one)))
    k.go("jump", "second")
    k.at("second")
    k.inst(3)
    if release:
        k.b.store(Space.FLAT, k.address(0, k.number(UD, 0), 4), k.mask(), [k.number(UD, 0)])
    k.go("jump", "done")
    k.at("done")
    k.end()
    return k


def test_a_lock_that_each_lane_takes() -> None:
    for host in on_memory(lock_kernel(True), [np.zeros(2, np.uint32)], fuel=1 << 24):
        assert host.read(0).tolist() == [0, sum(range(1, 17))]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_lock_of_lanes_of_several_threads_and_groups(workers: int) -> None:
    start, engine = np.zeros(2, np.uint32), Jit(workers=workers)
    fuel = 1 << 30  # who has the lock may get no processor for seconds, and others go on asking
    host, _ = launch(lock_kernel(True), [start], 3, 64, engine=engine, fuel=fuel)
    assert host.read(0).tolist() == [0, 3 * 4 * sum(range(1, 17))]


def test_a_lock_that_nobody_releases_uses_up_the_budget() -> None:
    with pytest.raises(Fault, match="instruction budget"):
        on_memory(lock_kernel(False), [np.zeros(2, np.uint32)], 1, 16, fuel=1 << 11)


def test_code_with_many_branches_is_compiled_but_for_lanes_that_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nobody waits in vain it runs; else it is a fault that names the other engine."""
    monkeypatch.setattr(module, "MOST_ROTATING", 0)
    monkeypatch.setenv("EUMU_CACHE", "off")
    host, _ = launch(lock_kernel(True), [np.zeros(2, np.uint32)], 1, 1, engine=Jit())
    assert host.read(0).tolist() == [0, 1]
    with pytest.raises(Fault, match="lanes of the thread wait for other lanes") as caught:
        launch(lock_kernel(True), [np.zeros(2, np.uint32)], 1, 16, engine=Jit(), fuel=1 << 24)
    assert caught.value.finding.code == "endless-loop"


@pytest.mark.parametrize("says", [False, True])
def test_a_lane_waits_for_a_later_one(says: bool) -> None:
    """Lane k waits until lane k + 1 has said something; the last one begins.  A loop that stores
    the same in each turn may wait, too.
    """
    k = Kernel("entry", "wait", "say", "done")
    k.go("jump", "wait")
    k.at("wait")
    for number in (3, 4) if says else ():
        k.b.store(Space.FLAT, k.address(1, k.lane(), 4), k.mask(), [k.number(UD, number)])
    place = k.address(0, k.add(k.lane(), k.number(UD, 1)), 4)
    (seen,) = k.b.load(Space.FLAT, place, k.mask(), UD)
    k.b.fence("global")
    k.go("diverge", "say", "wait", mask=k.b.cmp("ne", seen, k.number(UD, 0)))
    k.at("say")
    k.result(0, k.lane(), k.number(UD, 5))
    k.go("jump", "done")
    k.at("done")
    k.end()
    start = np.zeros(17, np.uint32)
    start[16] = 5
    for host in on_memory(k, [start, np.zeros(16, np.uint32)], 1, 16, fuel=1 << 24):
        assert host.read(0).tolist() == [5] * 17
        assert host.read(1).tolist() == [4 * says] * 16


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("space", [Space.FLAT, Space.SLM])
def test_a_loop_that_only_loads_waits_for_another_thread(space: Space, together: bool) -> None:
    """All lanes of the first thread, or one, until the second one has stored."""
    k = Kernel("entry", "wait", "say", "done")
    k.function.together = together
    waits = k.b.cmp("lt", k.local_id(), k.number(UD, 1 if together else 16))
    k.go("diverge", "wait", "say", mask=waits)
    k.at("wait")
    place = k.number(UD, 0) if space is Space.SLM else k.address(0, k.number(UD, 0), 4)
    (seen,) = k.b.load(space, place, k.mask(), UD)
    k.go("diverge", "say", "wait", mask=k.b.cmp("ne", seen, k.number(UD, 0)))
    k.at("say")
    place = k.number(UD, 0) if space is Space.SLM else k.address(0, k.number(UD, 0), 4)
    says = k.b.cmp("eq", k.local_id(), k.number(UD, 16))
    k.b.store(space, place, says, [k.number(UD, 1)])
    k.result(1, k.local_id(), k.number(UD, 7))
    k.go("jump", "done")
    k.at("done")
    k.end()
    arrays = [np.zeros(1, np.uint32), np.zeros(32, np.uint32)]
    for host in on_memory(k, arrays, 1, 32, slm_bytes=4, fuel=1 << 20):
        assert host.read(1).tolist() == [7] * 32


def test_a_loop_that_counts_does_not_wait() -> None:
    """There a thread need not give way, which other code pays for."""
    k = Kernel("entry", "count", "done")
    k.root("TURN", 64)
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "count")
    k.at("count")
    k.put("TURN", k.add(k.get("TURN", UD), k.input(0, k.lane(), UD)))
    mask = k.b.cmp("ge", k.get("TURN", UD), k.number(UD, 9))
    k.go("diverge", "done", "count", mask=mask)
    k.at("done")
    k.end()
    flow = analyse(k.function, lambda block, mask: False)
    assert not suspend.waiting_headers(k.function, flow)


def meeting(turns: int, *, together: bool) -> Kernel:
    """The first lane waits until one of the second thread has counted turns; the others of its
    thread wait for it in front of a barrier."""
    k = Kernel("entry", "wait", "others", "count", "met", "done")
    k.function.together = together
    zero = k.number(UD, 0)
    k.go("diverge", "wait", "others", mask=k.b.cmp("eq", k.local_id(), zero))
    k.at("wait")
    (seen,) = k.b.load(Space.FLAT, k.address(0, k.number(UD, 0), 4), k.mask(), UD)
    k.b.fence("global")
    k.go("diverge", "met", "wait", mask=k.b.cmp("eq", seen, k.number(UD, turns)))
    k.at("others")
    k.go("diverge", "count", "met", mask=k.b.cmp("eq", k.local_id(), k.number(UD, 16)))
    k.at("count")
    place, one = k.address(0, k.number(UD, 0), 4), k.number(UD, 1)
    old = k.b.atomic("add", Space.FLAT, place, k.mask(), UD, (one,))
    k.go("diverge", "met", "count", mask=k.b.cmp("eq", old, k.number(UD, turns - 1)))
    k.at("met")
    k.inst(1)
    k.go("barrier", "done", kind="sync")
    k.at("done")
    k.result(1, k.local_id(), k.number(UD, 7))
    k.end()
    return k


@pytest.mark.parametrize(("engine", "turns"), [(Interpreter, 1000), (Jit, 400_000)])
def test_lanes_that_run_together_wait_for_one_that_waits_for_another_thread(
    engine: type[Engine], turns: int
) -> None:
    """Threads have enough turns of their own for the lane to have waited in vain."""
    arrays = [np.zeros(1, np.uint32), np.zeros(32, np.uint32)]
    more = {"engine": engine(), "fuel": 1 << 24}
    host, _ = launch(meeting(turns, together=True), arrays, 1, 32, **more)
    assert host.read(0).tolist() == [turns] and host.read(1).tolist() == [7] * 32
    with pytest.raises(Fault, match="lanes 0 of the thread are elsewhere"):
        launch(meeting(turns, together=False), arrays, 1, 32, **more)


def test_lanes_that_run_together_do_not_wait_for_each_other() -> None:
    """As on hardware; only the budget ends that."""
    kernel = lock_kernel(True)
    kernel.function.together = True
    with pytest.raises(Fault, match="instruction budget"):
        on_memory(kernel, [np.zeros(2, np.uint32)], 1, 16, fuel=1 << 11)


def counting(turns: int, way: str, *, fenced: bool = False) -> Kernel:
    """Each lane counts in memory up to a number of its own; all meet at a barrier then.

    Registers are the same in each turn.  With a fence in it, a loop may wait for other lanes.
    """
    k = Kernel("entry", "count", "met", "done")
    space = Space.SLM if way == "local" else Space.FLAT
    k.go("jump", "count")
    k.at("count")
    k.inst(1)
    own = k.mul(k.lane(), k.number(UD, 4)) if way == "local" else k.address(0, k.lane(), 4)
    one = k.number(UD, 1)
    if fenced:
        k.b.fence("global")
    if way == "atomic":
        k.b.atomic("add", space, own, k.mask(), UD, (one,))
    if way == "used":
        count = k.add(k.b.atomic("add", space, own, k.mask(), UD, (one,)), one)
    else:
        (count,) = k.b.load(space, own, k.mask(), UD)
    if way not in ("atomic", "used"):
        count = k.add(count, one)
        k.b.store(space, own, k.mask(), [count])
    if way == "twice":  # the last store of a turn leaves what the first one of the next overwrites
        k.b.store(space, own, k.mask(), [k.number(UD, 0)])
        k.b.store(space, own, k.mask(), [count])
    last = k.mul(k.add(k.lane(), one), k.number(UD, turns))
    k.go("diverge", "met", "count", mask=k.b.cmp("eq", count, last))
    k.at("met")
    k.inst(2)
    k.go("barrier", "done", kind="sync")
    k.at("done")
    k.result(1, k.lane(), k.number(UD, 7))
    k.end()
    return k


_WAYS = ["global", "local", "atomic", "used", "twice"]


@pytest.mark.parametrize("way", _WAYS)
def test_a_loop_that_counts_in_memory_does_not_wait(way: str) -> None:
    arrays = [np.zeros(16, np.uint32), np.zeros(16, np.uint32)]
    for host in on_memory(counting(60, way), arrays, slm_bytes=64, fuel=1 << 16):
        assert host.read(1).tolist() == [7] * 16


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("way", _WAYS)
def test_a_lane_counts_in_memory_for_many_slices(
    way: str, is_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on for longer than compiled code lets a lane run before others of its thread."""
    if is_long:
        monkeypatch.setattr(module, "_LONG", 0)
    arrays = [np.zeros(16, np.uint32), np.zeros(16, np.uint32)]
    kernel = counting(6 * SLICE, way, fenced=True)
    host, stats = launch(kernel, arrays, slm_bytes=64, engine=Jit(workers=1), fuel=1 << 22)
    assert stats.instructions > 90 * SLICE
    assert host.read(1).tolist() == [7] * 16


@pytest.mark.parametrize("turns", [0, 6 * SLICE])
@pytest.mark.parametrize("lanes", [1, 3])
def test_a_lane_that_changes_memory_back_waits(lanes: int, turns: int) -> None:
    """The first lanes count; then they take a lock, look whether a later lane has said something,
    and one of them lets go."""
    k = Kernel("entry", "count", "try", "say", "done")
    k.go("diverge", "count", "say", mask=k.b.cmp("lt", k.lane(), k.number(UD, lanes)))
    k.at("count")
    k.inst(1)
    old = k.b.atomic("add", Space.FLAT, k.address(1, k.lane(), 4), k.mask(), UD, (k.number(UD, 1),))
    k.go("diverge", "try", "count", mask=k.b.cmp("ge", old, k.number(UD, turns)))
    k.at("try")
    k.inst(2)
    lock = k.address(0, k.number(UD, 0), 4)
    k.b.atomic("xchg", Space.FLAT, lock, k.mask(), UD, (k.number(UD, 1),))
    (seen,) = k.b.load(Space.FLAT, k.address(0, k.number(UD, 1), 4), k.mask(), UD)
    k.b.fence("global")
    first = k.b.cmp("eq", k.lane(), k.number(UD, 0))
    k.b.store(Space.FLAT, lock, first, [k.number(UD, 0)])
    k.go("diverge", "say", "try", mask=k.b.cmp("ne", seen, k.number(UD, 0)))
    k.at("say")
    k.result(0, k.number(UD, 1), k.number(UD, 5))
    k.go("jump", "done")
    k.at("done")
    k.end()
    arrays = [np.zeros(2, np.uint32), np.zeros(16, np.uint32)]
    for engine in (Jit(workers=1), *([] if turns else [Interpreter()])):
        host, _ = launch(k, arrays, engine=engine, fuel=1 << 22)
        assert host.read(0).tolist() == [0, 5]
        assert host.read(1).tolist() == [turns + 1] * lanes + [0] * (16 - lanes)


def test_what_a_thread_writes_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lanes leave one loop, in which it is looked at, and store in the next one."""
    most, writes = 0, LaneOrder.writes

    def counted(self: LaneOrder, *given: Any) -> None:
        nonlocal most
        writes(self, *given)
        most = max(most, *map(len, self._overwritten.values()), 0)

    monkeypatch.setattr(LaneOrder, "writes", counted)
    turns = MOST_WRITES + 400
    k = Kernel("entry", "part", "store", "done")
    k.root("TURN", 64)
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "part")
    for name, following, last in (("part", "store", 130), ("store", "done", turns)):
        k.at(name)
        k.put("TURN", k.add(k.get("TURN", UD), k.number(UD, 1)))
        if name == "store":
            k.result(0, k.lane(), k.get("TURN", UD))
        limit = k.mul(k.number(UD, last), k.lane() if name == "part" else k.number(UD, 1))
        mask = k.b.cmp("ge", k.get("TURN", UD), limit)
        k.go("diverge", following, name, mask=mask)
    k.at("done")
    k.end()
    host, _ = launch(k, [np.zeros(2, np.uint32)], 1, 2, engine=Interpreter(), fuel=1 << 16)
    assert host.read(0).tolist() == [turns] * 2
    assert 0 < most <= MOST_WRITES
