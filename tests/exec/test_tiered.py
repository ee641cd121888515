"""First launches: which kernels begin on the interpreter, and when the fast code takes over."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.exec.grid import Grid, RunStats
from eumu.exec.interp import Interpreter
from eumu.exec.snapshot import Snapshot
from eumu.exec.tiered import _COMPILERS, Tiered, how_tried, patience
from eumu.ir import Block, Function, Op
from eumu.platforms import platform
from eumu.runtime.kernel import Kernel
from kernels.build import PROGRAMS

Jit = pytest.importorskip("eumu.exec.jit", reason="llvmlite is not installed").Jit
host = pytest.importorskip("eumu.exec.jit.host.target").host


class Noted:
    """An engine that notes what it runs."""

    name = "interp"

    def __init__(self) -> None:
        self.engine, self.grids = Interpreter(), 0

    def run(self, *arguments: Any) -> Any:
        self.grids += 1
        return self.engine.run(*arguments)


def kernel(name: str) -> Kernel:
    return eumu.load(next(p for p in PROGRAMS if p.name == name).elf("skl"))[name]


def launch(device: eumu.Device, items: int) -> None:
    y = device.array(np.ones(items, np.float32))
    x = device.array(np.arange(items, dtype=np.float32))
    kernel_of[device](device, items, [x, y, 2.0])
    assert (y.numpy() == 1 + 2 * np.arange(items)).all()


kernel_of: dict[eumu.Device, Any] = {}


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> tuple[eumu.Device, Noted, Tiered]:
    monkeypatch.setenv("EUMU_CACHE", "off")
    device, noted = eumu.Device("skl", "jit"), Noted()
    tiered = Tiered(Jit(), Jit(processor=host().hasty()), noted)
    device.use("jit", tiered)
    saxpy = kernel("saxpy")
    kernel_of[device] = lambda d, n, a: saxpy.launch(d, (n,), (64,), a, level="native")
    return device, noted, tiered


def settle(tiered: Tiered) -> None:
    """Wait for the code that is asked for."""
    for seen in [*tiered._seen.values()]:
        for made in [*seen.asked.values()]:
            made.exception(60)


def test_a_short_kernel_begins_on_the_interpreter(
    device: tuple[eumu.Device, Noted, Tiered],
) -> None:
    gpu, noted, tiered = device
    for _ in range(3):
        launch(gpu, 256)
        settle(tiered)
    assert noted.grids == 2  # many kernels are launched only once


def test_what_an_earlier_process_made_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also for a short kernel: to read it takes less than the interpreter does."""
    monkeypatch.delenv("EUMU_CACHE", raising=False)
    monkeypatch.setenv("EUMU_CACHE_DIR", str(tmp_path))
    saxpy, fast, hasty = kernel("saxpy"), Told(), Told(processor=host().hasty())
    tiered = Tiered(fast, hasty, Noted())
    for engine in (None, tiered):
        device = eumu.Device("skl", "jit")
        if engine is not None:
            device.use("jit", engine)
        x = device.array(np.ones(256, np.float32))
        saxpy.launch(device, (256,), (64,), [x, x, 2.0], level="native")

    assert (fast.begun, hasty.begun) == ([0], [])


def test_many_threads_wait_for_the_fast_code(device: tuple[eumu.Device, Noted, Tiered]) -> None:
    gpu, noted, _ = device
    launch(gpu, 1 << 16)
    assert noted.grids == 0


class Told(Jit):
    """A fast engine that notes the first group of what it runs; `wait` is called before."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.begun: list[int] = []
        self.wait: Callable[[], object] = bool

    def run(
        self, grid: Any, host: Any, snapshot: Snapshot | None = None, stop: Any = None
    ) -> RunStats:
        self.begun.append(snapshot.first if snapshot else 0)
        self.wait()
        return super().run(grid, host, snapshot, stop)


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> tuple[eumu.Device, Told, Told, Tiered]:
    """A device on which a kernel with a loop is launched, its engines."""
    monkeypatch.setenv("EUMU_CACHE", "off")
    device, fast, hasty = eumu.Device("skl", "jit"), Told(), Told(processor=host().hasty())
    tiered = Tiered(fast, hasty, Noted())
    device.use("jit", tiered)
    return device, fast, hasty, tiered


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter begins nothing."""
    monkeypatch.setattr("eumu.exec.tiered._MOST_THREADS", 0)


def reduce(device: eumu.Device, reducing: Kernel) -> eumu.LaunchReport:
    x, out = device.array(np.arange(4096, dtype=np.float32)), device.array(np.zeros(32, np.float32))
    report = reducing.launch(device, (4096,), (128,), [x, out, eumu.Local(512)], level="native")
    if report.preempted:
        assert not out.numpy()[20:].any()
        report = device.resume()
    assert (out.numpy() == np.arange(4096).reshape(32, 128).sum(1)).all()
    return report


@pytest.mark.usefixtures("_at_once")
def test_a_loop_begins_with_code_that_is_quickly_made(
    loops: tuple[eumu.Device, Told, Told, Tiered], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eumu.exec.tiered._LONG_S", 1000)
    device, fast, hasty, tiered = loops
    reducing = kernel("reduce")
    for _ in range(3):
        reduce(device, reducing)
    settle(tiered)
    assert not fast._kernels  # it has run for a moment
    assert (fast.begun, hasty.begun) == ([], [0, 0, 0])


@pytest.mark.usefixtures("_at_once")
def test_many_short_launches_are_worth_the_best_code(
    loops: tuple[eumu.Device, Told, Told, Tiered], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eumu.exec.tiered._LONG_S", 1000)
    device, fast, hasty, tiered = loops
    reducing = kernel("reduce")
    reduce(device, reducing)
    (seen,) = tiered._seen.values()
    assert 0 < seen.seconds < 1000
    seen.seconds = 1000
    reduce(device, reducing)  # the best code may take it over
    settle(tiered)
    assert len(fast._kernels) == 1
    reduce(device, reducing)
    assert fast.begun[-1] == 0 and hasty.begun == [0, 0]


def test_code_that_takes_longer_to_make_is_made_later() -> None:
    """An FFT of 47 000 operations ran 2 ms a launch, and its best code took 15 s to make."""
    short = kernel("saxpy").function(platform("skl"))
    long = replace(short, blocks=[Block("begin", [Op("const", (), ())] * 50_000)])
    assert patience(short) == 0.05
    assert patience(long) == pytest.approx(2.5)


@pytest.mark.usefixtures("_at_once")
def test_a_long_launch_is_taken_over(
    loops: tuple[eumu.Device, Told, Told, Tiered], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eumu.exec.tiered._LONG_S", 0)
    device, fast, hasty, _ = loops
    made = threading.Event()
    real = fast.compile

    def compile(grid: Grid) -> Any:
        found = real(grid)
        threading.Timer(0.1, made.set).start()  # after whoever waits has been told
        return found

    monkeypatch.setattr(fast, "compile", compile)
    hasty.wait = lambda: made.wait(60)
    report = reduce(device, kernel("reduce"))
    assert (fast.begun, hasty.begun) == ([0], [0]) and report.groups == 32


@pytest.mark.usefixtures("_at_once")
def test_a_stop_of_the_users_is_none_for_better_code(
    loops: tuple[eumu.Device, Told, Told, Tiered],
) -> None:
    device, fast, hasty, _ = loops
    device.preempt(groups=20)
    assert reduce(device, kernel("reduce")).groups == 32
    assert fast.begun == [] and hasty.begun == [0, 20]


def test_what_takes_the_interpreter_too_long_goes_on_as_code(
    loops: tuple[eumu.Device, Told, Told, Tiered], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody tries again."""
    monkeypatch.setattr("eumu.exec.tiered._LONG_S", 1000)
    monkeypatch.setattr("eumu.exec.tiered._TRIED_S", -1)
    monkeypatch.setattr("eumu.exec.tiered._TRIED_S_PER_OPERATION", 0)
    device, _, hasty, tiered = loops
    reducing = kernel("reduce")
    reduce(device, reducing)
    (seen,) = tiered._seen.values()
    assert hasty.begun == [0] and seen.attempt is None
    reduce(device, reducing)
    assert hasty.begun == [0, 0] and tiered._interpreter.grids == 1


def test_a_stop_of_the_users_is_heeded_there(
    loops: tuple[eumu.Device, Told, Told, Tiered],
) -> None:
    device, _, hasty, tiered = loops
    device.preempt(groups=20)
    assert reduce(device, kernel("reduce")).groups == 32
    assert hasty.begun == [20] and tiered._interpreter.grids == 1


@pytest.mark.usefixtures("ocloc")
def test_much_private_memory_is_not_tried(loops: tuple[eumu.Device, Told, Told, Tiered]) -> None:
    """It is cleared, before anybody looks at the clock."""
    source = """kernel void k(global int *o, int n) {
        int a[5000]; for (int i = 0; i < n; i++) a[(i * 7) % 5000] = i;
        o[get_global_id(0)] = a[o[get_global_id(0)]]; }"""
    device, _, _, tiered = loops
    kernel, o = eumu.build(source, "skl")["k"], device.array(np.zeros(2048, np.int32))
    for items, tries in ((64, 1), (2048, 1)):
        kernel.launch(device, items, 64, [o, 5])
        assert tiered._interpreter.grids == tries


def test_long_functions_are_not_tried() -> None:
    """To prepare them takes the interpreter long, and it looks at the clock only between blocks."""
    short = kernel("saxpy").function(platform("skl"))
    long = replace(short, blocks=[Block("begin", [Op("const", (), ())] * 20_001)])
    assert how_tried(short).seconds == 0.04
    assert how_tried(long) is None


def test_functions_are_not_kept_for_ever(
    device: tuple[eumu.Device, Noted, Tiered], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, tiered = device
    monkeypatch.setattr("eumu.exec.tiered._MOST_SEEN", 3)
    platform = eumu.Device("skl").platform
    kernels = [kernel("saxpy") for _ in range(8)]
    functions = [one.function(platform, "native") for one in kernels]
    for function in functions:
        tiered._seen_of(function)
    assert [seen.function for seen in tiered._seen.values()] == functions[-3:]
    assert len({id(function) for function in functions}) == 8


@pytest.mark.parametrize("is_tiered", [True, False])
def test_functions_go_with_their_kernels(
    device: tuple[eumu.Device, Noted, Tiered], is_tiered: bool
) -> None:
    """A program that is released takes its code along: hundreds of MB in a long process."""
    ran = device[0] if is_tiered else eumu.Device("skl", "jit")
    x, y = ran.array(np.ones(64, np.float32)), ran.array(np.ones(64, np.float32))

    def functions() -> int:
        gc.collect()
        alive = (o for o in gc.get_objects() if isinstance(o, Function))
        return sum(f.name == "saxpy" for f in alive)

    before = functions()
    for _ in range(12):
        saxpy = kernel("saxpy")
        for n in range(12):  # the same launches come to be kept
            saxpy.launch(ran, (64,), (64,), [x, y, 2.0 + n // 11])
        del saxpy
        assert functions() <= before + 3  # until the next one


@pytest.fixture
def _without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")


def test_the_engine_without_a_name_begins_sooner() -> None:
    """One that is named, or that checks, is that engine from the first launch on."""
    kinds = [eumu.Device("skl")._get("jit")]
    kinds += [eumu.Device("skl", "jit")._get("jit"), eumu.Device("skl", check=True)._get("jit")]
    assert [type(engine) for engine in kinds] == [Tiered, Jit, Jit]


@pytest.mark.usefixtures("_without_cache")
def test_launches_from_python_are_timed() -> None:
    """So only the first one is the interpreter's; what comes again runs with little Python."""
    device, saxpy = eumu.Device("skl"), kernel("saxpy")
    tiered = device._get("jit")
    assert isinstance(tiered, Tiered)
    x, y = device.array(np.ones(64, np.float32)), device.array(np.zeros(64, np.float32))
    made = []
    for _ in range(60):
        saxpy.launch(device, 64, 64, [x, y, 1.0])
        made.append(len(tiered._jit._kernels))
    assert made == [0] + [1] * 59 and len(device.latest.kept) == 1
    assert (y.numpy() == 60).all()


@pytest.mark.usefixtures("_without_cache")
def test_a_child_process_makes_code() -> None:
    """None of its parent's threads is there, which may be about to make it."""
    device, saxpy = eumu.Device("skl"), kernel("saxpy")
    tiered = Tiered(Jit(), Jit(processor=host().hasty()), Interpreter())
    device.use("jit", tiered)
    x, y = device.array(np.ones(64, np.float32)), device.array(np.zeros(64, np.float32))
    held = threading.Event()
    for _ in range(_COMPILERS):
        tiered._compiler.submit(held.wait)
    for _ in range(2):
        saxpy.launch(device, 64, 64, [x, y, 1.0])
    child = os.fork()
    if child == 0:
        with tiered._lock:
            made = all(
                future.result(60) for s in tiered._seen.values() for future in s.asked.values()
            )
        for _ in range(2):
            saxpy.launch(device, 64, 64, [x, y, 1.0])
        settle(tiered)
        os._exit(0 if made and tiered._hasty._kernels else 1)
    held.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
