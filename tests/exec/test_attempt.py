"""Runs that may be thrown away: which kernels, when, and that nobody has seen anything of them."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.exec.attempt import Attempt, attempt
from eumu.exec.grid import RunStats
from eumu.exec.interp import Interpreter, machine
from eumu.exec.race_instrumentation import followed
from eumu.exec.snapshot import Preempted, Preemption
from eumu.exec.state import DONE
from eumu.platforms import platform

SOURCE = """
#define I get_global_id(0)
#define L get_local_id(0)
#define BEGIN global int *x, global int *o, int n) { int s = 0;
#define SUM for (int k = 0; k < n; k++) s += x[(I * 7 + k) & 127] * k;

kernel void plain(BEGIN if (x[I] & 1) o[I] = x[I] + n; else o[I] = 3; }
kernel void sums(BEGIN SUM o[I] = s; }
kernel void uneven(BEGIN for (int k = 0; k < (x[I] & 31); k++) s += x[k] * n; o[I] = s; }
kernel void lanes_first(BEGIN if (I % 3 == 0) atomic_xchg(o + I, -1); else { SUM o[I] = s; } }
kernel void groups_first(BEGIN if (get_group_id(0) & 1) { o[I] = -1; return; } SUM o[I] = s; }
kernel void reduced(BEGIN
  local int t[32];
  t[L] = x[I];
  for (int k = 16; k; k /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (L < k) t[L] += t[L + k];
  }
  if (L == 0) o[get_group_id(0)] = t[0] + n;
}
kernel void counted(BEGIN
  local int t;
  if (L == 0) t = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < n; k++) atomic_add(&t, x[I] + k);
  barrier(CLK_LOCAL_MEM_FENCE);
  o[I] = t;
}
kernel void polls(BEGIN
  while (*(global volatile int *)o);
  o[I] = x[I];
}
kernel void steps(BEGIN for (int k = 0; k < n; k++) o[(I + k) & 127] = k + x[k]; }
kernel void later(BEGIN o[I] = 1; SUM o[I + 128] = s; }
kernel void counts(BEGIN for (int k = 0; k < n; k++) atomic_add(o, x[k]); }
int f(global int *x, int n) __attribute__((noinline));
int f(global int *x, int n) { int s = 0; SUM return s; }
kernel void calls(BEGIN o[I] = f(x, n); }
"""
MAY = ("plain", "sums", "uneven", "lanes_first", "groups_first", "reduced", "counted", "polls")
MAY_NOT = ("steps", "later", "counts", "calls")
LEVELS = [("skl", "visa"), ("skl", "native"), ("pvc", "visa")]
SIZE = 256

pytestmark = pytest.mark.usefixtures("ocloc")


@cache
def _program(device: str) -> Any:
    return eumu.build(SOURCE, device)


@pytest.mark.parametrize(("device", "level"), LEVELS)
@pytest.mark.parametrize("name", [*MAY, *MAY_NOT])
def test_what_follows_a_loop_is_seen_by_nobody_before(name: str, device: str, level: Any) -> None:
    function = _program(device)[name].function(platform(device), level)
    assert (attempt(function, 1) is not None) is (name in MAY)


def test_lanes_that_wait_in_front_of_a_loop() -> None:
    """Others of their thread may be at a lower block that is seen, and run first."""
    plan = Attempt(frozenset({0, 2}), np.array([False, True, False]), 1)
    assert plan.ends_soon(np.array([[0, 2], [DONE, 0]], np.int32))
    assert not plan.ends_soon(np.array([[0, 1], [DONE, 0]], np.int32))


@pytest.mark.parametrize("name", MAY)
def test_findings_are_told_of_all_groups(name: str) -> None:
    """None of a launch that looks for races, or for what is undefined, is thrown away."""
    function = _program("skl")[name].function(platform("skl"))
    assert attempt(followed(function), 1) is None


class Attempts:
    """An engine that gives up after so many blocks, and then runs what is left.

    `left` has the first group that was left, each time.
    """

    name = "jit"

    def __init__(self, blocks: int, lanes: int) -> None:
        self.blocks, self.lanes, self.left = blocks, lanes, list[int]()

    def run(self, grid: Any, host: Any, *_: object) -> RunStats:
        before = _memory(host)
        plan = attempt(grid.function, self.blocks)
        assert plan is not None
        try:
            return Interpreter(self.lanes).run(grid, host, None, Preemption(attempt=plan))
        except Preempted as stopped:
            left, after = stopped.snapshot, _memory(host)
        for (start, end), bytes in before.items():
            host.arena[start:end] = bytes
        if left.first:
            with pytest.raises(Preempted):
                Interpreter().run(grid, host, None, Preemption(groups=left.first))
        now = _memory(host)
        assert left.groups == 0 and all((after[place] == now[place]).all() for place in after)
        self.left.append(left.first)
        return Interpreter().run(grid, host, left)


def _memory(host: Any) -> dict[tuple[int, int], Any]:
    """A copy of all arrays, by where in the arena they begin and end."""
    starts, ends = (edges - host.base for edges in host.extents())
    places = zip(starts.tolist(), ends.tolist(), strict=True)
    return {(start, end): host.arena[start:end].copy() for start, end in places}


@pytest.fixture
def _blocks_as_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(machine, "thread_time", lambda: next(ticks))


def _run(device: str, level: Any, name: str, engine: Any) -> list[int]:
    gpu = eumu.Device(device, "jit")
    gpu.use("jit", engine)
    x = gpu.array(np.arange(SIZE, dtype=np.int32) * 37 % 101)
    o = gpu.array(np.zeros(SIZE, np.int32))
    _program(device)[name].launch(gpu, SIZE, 32, [x, o, 9], level=level)
    return o.numpy().tolist()


@pytest.mark.usefixtures("_blocks_as_seconds")
@pytest.mark.parametrize(("device", "level"), LEVELS)
@pytest.mark.parametrize("name", MAY)
def test_nobody_sees_what_is_thrown_away(name: str, device: str, level: Any) -> None:
    """Wherever it is; groups at once, and two batches of them."""
    right = _run(device, level, name, Interpreter())
    left = set()
    for lanes in (1 << 14, SIZE // 2):
        for blocks in range(1000):
            engine = Attempts(blocks, lanes)
            assert _run(device, level, name, engine) == right
            if not engine.left:
                break
            left.update(engine.left)
        else:
            raise AssertionError("it is thrown away after each block")
    assert left >= {0, SIZE // 2 // 32}


@pytest.mark.parametrize(("device", "level"), LEVELS)
@pytest.mark.parametrize("name", MAY)
def test_no_loop_follows_what_is_seen(
    name: str, device: str, level: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of the same lanes nor of others: those would take as long as they like."""
    plan = attempt(_program(device)[name].function(platform(device), level), 1000)
    assert plan is not None
    blocks, step = list[int](), machine.Machine._step

    def noted(self: Any, block: int, rows: Any) -> int:
        blocks.append(block)
        return step(self, block, rows)

    class Trying:
        name = "jit"

        def run(self, grid: Any, host: Any, *_: object) -> RunStats:
            stop = Preemption(attempt=plan)
            try:
                return Interpreter().run(grid, host, None, stop)
            except Preempted:
                return RunStats(0, 0, 0)

    monkeypatch.setattr(machine.Machine, "_step", noted)
    _run(device, level, name, Trying())
    first = next((k for k, block in enumerate(blocks) if block in plan.visible), len(blocks))
    assert not plan.looping[blocks[first:]].any()


@pytest.mark.usefixtures("_blocks_as_seconds")
def test_who_is_early_waits_for_who_loops() -> None:
    """Else a loop would follow what somebody has seen; threads that starve go on, otherwise."""
    starving = Attempts(100_000, 1 << 14)
    gpu = eumu.Device("skl", "jit")
    gpu.use("jit", starving)
    x, o = gpu.array(np.zeros(SIZE, np.int32)), gpu.array(np.zeros(SIZE, np.int32))
    _program("skl")["groups_first"].launch(gpu, SIZE, 32, [x, o, 3000])
    odd = np.arange(SIZE) // 32 % 2
    assert starving.left in ([], [0]) and (o.numpy() == -odd).all()


@pytest.mark.parametrize(("device", "level"), LEVELS)
def test_what_nobody_ends_is_left(device: str, level: Any) -> None:
    """It polls memory that nobody writes: the next engine says so, with its own budget."""

    class Left(Attempts):
        def run(self, grid: Any, host: Any, *_: object) -> RunStats:
            plan = attempt(grid.function, 0.05)
            with pytest.raises(Preempted):
                Interpreter().run(grid, host, None, Preemption(attempt=plan))
            raise StopIteration

    gpu = eumu.Device(device, "jit")
    gpu.use("jit", Left(0, 0))
    x, o = gpu.array(np.ones(SIZE, np.int32)), gpu.array(np.ones(SIZE, np.int32))
    with pytest.raises(StopIteration):
        _program(device)["polls"].launch(gpu, SIZE, 32, [x, o, 1], level=level)
    assert (o.numpy() == 1).all()
