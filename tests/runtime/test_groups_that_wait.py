"""Groups that wait for groups that come later: on a GPU many are in flight, here workers come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import Fault, Unsupported
from eumu.exec import tiered
from eumu.exec.jit import Jit
from eumu.exec.jit.host import engine, launch, reinforcements
from eumu.exec.jit.host.launch import Launch, Worker
from eumu.exec.jit.host.reinforcements import reinforced
from eumu.exec.snapshot import Preemption
from interruptions import at_every_line

SOURCE = """
kernel void meet(global int *come, global int *out) {    // a barrier of all groups
  int i = get_global_id(0), n = get_global_size(0);
  out[i] = i;
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    atomic_inc(come);
    while (atomic_add(come, 0) != get_num_groups(0));
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  out[n + i] = out[(i + 64) % n];
}
kernel void chain(global volatile int *said, global int *out) {  // each waits for the next one
  int g = get_group_id(0), n = get_global_size(0);
  if (get_local_id(0) == 0) {
    if (g != get_num_groups(0) - 1) while (said[g + 1] == 0);
    said[g] = 1;
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  out[n + get_global_id(0)] = (get_global_id(0) + 64) % n;
}
kernel void outside(global volatile int *said, global int *out) {
  if (get_group_id(0) == 3) out[1000000] = 1;
  while (said[0] == 0);
}
"""


@cache
def _program(device: str) -> Any:
    return eumu.build(SOURCE, device)


def _device(name: str, kind: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> eumu.Device:
    monkeypatch.setenv("EUMU_WORKERS", str(workers))
    return eumu.Device(name, engine=kind)


@pytest.mark.parametrize("level", ["visa", "native"])
@pytest.mark.parametrize("kernel", ["meet", "chain"])
@pytest.mark.parametrize(("kind", "workers"), [("interp", 1), ("jit", 1), ("jit", 3)])
@pytest.mark.usefixtures("ocloc")
def test_groups_wait(
    kind: str, workers: int, kernel: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than once, too: what comes again knows less of workers."""
    device, groups = _device("skl", kind, workers, monkeypatch), 20
    size = 64 * groups
    for _ in range(1 if kind == "interp" else 3):
        arrays = [device.array(np.zeros(n, np.int32)) for n in (64, 2 * size)]
        _program("skl")[kernel].launch(device, size, 64, arrays, level=level)
        assert arrays[1].numpy()[size:].tolist() == [(i + 64) % size for i in range(size)]


def _chain(device: eumu.Device, groups: int) -> None:
    arrays = [device.array(np.zeros(n, np.int32)) for n in (64, 128 * groups)]
    _program("skl")["chain"].launch(device, 64 * groups, 64, arrays, fuel=1 << 28)
    expected = [(i + 64) % (64 * groups) for i in range(64 * groups)]
    assert arrays[1].numpy()[64 * groups :].tolist() == expected


@pytest.mark.usefixtures("ocloc")
def test_code_that_takes_more_than_a_thread_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers have stacks of their own, and so have those that come later."""
    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(launch, "fits_anywhere", lambda stack: False)
    _chain(_device("skl", "jit", 2, monkeypatch), 12)


@pytest.mark.usefixtures("ocloc")
def test_better_code_does_not_come_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would run the groups that have not begun when those have ended that wait for them."""
    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(tiered, "patience", lambda function: 0.0)
    device, stopped = _device("skl", "jit", 1, monkeypatch), threading.Event()
    device.use("jit", tiered.tiered())
    stop = Preemption.stop

    def noted(preemption: Preemption) -> None:
        stop(preemption)
        stopped.set()

    more = Jit._more

    def late(self: Jit, *known: Any) -> Any:
        assert stopped.wait(60)
        return more(self, *known)

    monkeypatch.setattr(Preemption, "stop", noted)
    monkeypatch.setattr(Jit, "_more", late)
    _chain(device, 12)
    assert stopped.is_set()


@pytest.mark.usefixtures("ocloc")
def test_a_fault_of_a_group_that_came_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first group waits for ever: its fault is the launch's, as groups have an order."""
    device = _device("skl", "jit", 1, monkeypatch)
    arrays = [device.array(np.zeros(64, np.int32)) for _ in range(2)]
    with pytest.raises(Fault, match="instruction budget") as caught:
        _program("skl")["outside"].launch(device, 640, 64, arrays, fuel=1 << 20)
    assert caught.value.group == (0, 0, 0)


@pytest.mark.usefixtures("ocloc")
def test_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of workers; groups that are not begun by then keep the others waiting."""
    device, given = _device("skl", "jit", 1, monkeypatch), list[bool]()
    more = Jit._more

    def counted(self: Jit, *known: Any) -> Any:
        worker = more(self, *known)
        given.append(worker is not None)
        return worker

    monkeypatch.setattr(engine, "MOST", 5)
    monkeypatch.setattr(Jit, "_more", counted)
    arrays = [device.array(np.zeros(n, np.int32)) for n in (64, 2560)]
    with pytest.raises(Fault, match="instruction budget"):
        _program("skl")["chain"].launch(device, 1280, 64, arrays, fuel=1 << 27)
    assert given == [True] * 4 + [False]


def test_workers_come_until_there_are_no_more() -> None:
    taken, enough, asked = np.zeros(1, np.uint64), threading.Event(), list[int]()

    lock = threading.Lock()

    def work() -> None:
        with lock:
            taken[0] += np.uint64(1)
        enough.wait(10)

    def another() -> Callable[[], object] | None:
        asked.append(len(asked))
        if len(asked) == 20:
            enough.set()
            return None
        return work

    failures: list[BaseException] = []
    with reinforced(taken, 200, another, enough.set, failures.append):
        enough.wait(10)
    assert (len(asked), int(taken[0]), failures) == (20, 19, [])


@pytest.mark.parametrize("error", [MemoryError(), Unsupported("no thread")])
def test_what_goes_wrong_is_told(error: Exception) -> None:
    """But that the system has no more threads, which changes nothing."""

    asked = threading.Event()

    def another() -> None:
        asked.set()
        raise error

    failures: list[BaseException] = []
    with reinforced(np.zeros(1, np.uint64), 5, another, lambda: None, failures.append):
        assert asked.wait(10)
    assert failures == ([error] if isinstance(error, MemoryError) else [])


def test_an_interrupt_leaves_nobody_behind() -> None:
    """Wherever it comes: what is started uses memory of the launch."""
    active, lock = set[int](), threading.Lock()
    begun, left = threading.Event(), threading.Event()

    def work() -> None:
        with lock:
            active.add(threading.get_ident())
        begun.set()
        left.wait(10)
        with lock:
            active.discard(threading.get_ident())

    def launch() -> None:
        begun.clear()
        left.clear()
        with reinforced(np.zeros(1, np.uint64), 200, lambda: work, left.set, failures.append):
            assert begun.wait(10)
            left.set()

    def check() -> None:
        assert not active and not failures

    failures: list[BaseException] = []
    assert at_every_line(launch, check, ("jit/host/reinforcements",)) > 10


@pytest.mark.usefixtures("ocloc")
def test_who_comes_at_once_has_work_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the launch's own workers have not begun yet."""
    monkeypatch.setattr(reinforcements, "_EVERY", 0.0001)
    run, prepare, prepared = Launch._run, Launch.prepare, list[object]()

    def late(self: Launch, *given: Any) -> None:
        threading.Event().wait(0.05)
        run(self, *given)

    def noted(self: Launch, worker: Worker, *more: Any) -> None:
        prepared.append(worker)
        prepare(self, worker, *more)

    monkeypatch.setattr(Launch, "_run", late)
    monkeypatch.setattr(Launch, "prepare", noted)
    device, size = _device("skl", "jit", 2, monkeypatch), 640
    arrays = [device.array(np.zeros(n, np.int32)) for n in (64, 2 * size)]
    _program("skl")["meet"].launch(device, size, 64, arrays)
    assert arrays[1].numpy()[size:].tolist() == [(i + 64) % size for i in range(size)]
    assert len(prepared) == len(set(map(id, prepared))) > 2
