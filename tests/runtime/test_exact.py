"""Launches with exactly the same arguments: they do what they did, though little is looked at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.exec.grid import RunStats
from eumu.exec.jit.host import again as engine_again
from eumu.exec.jit.host import engine
from eumu.exec.jit.host.launch import Launch
from eumu.exec.snapshot import Preemption
from kernels import build

F32 = np.float32
_AT = """
kernel void count(global const int *at, global int *out) { out[at[get_global_id(0)]] += 1; }
kernel void follow(global const ulong *to, global int *out) { *out = *(global int *)*to; }
kernel void other(global int *after) { after[0] += 1; }
"""
_KEPT = 8  # launches until one is kept for certain: setups are tried first


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """For each launch that is kept: whether it ran that way."""
    ran: list[bool] = []
    run = engine_again.Again.run

    def noted(self: Any, stop: Any) -> Any:
        ran.append(False)
        stats = run(self, stop)
        ran[-1] = stats is not None
        return stats

    monkeypatch.setattr(engine_again.Again, "run", noted)
    yield ran


@pytest.fixture
def device() -> eumu.Device:
    return eumu.Device("pvc", engine="jit")


def saxpy() -> eumu.Kernel:
    return eumu.load(build.BIN / "pvc" / "saxpy.bin")["saxpy"]


def arrays(device: eumu.Device, size: int = 256) -> list[eumu.Array]:
    return [device.array(np.ones(size, F32)), device.array(np.zeros(size, F32))]


@pytest.mark.parametrize("size", [64, 1 << 16])
def test_reports_are_those_of_other_launches(
    device: eumu.Device, quick: list[bool], size: int
) -> None:
    """With one worker, and with all of them."""
    kernel, (x, y) = saxpy(), arrays(device, size)
    reports = [kernel.launch(device, size, 64, [x, y, F32(2)]) for _ in range(3)]
    args = [x, y, 2.0]
    reports += [kernel.launch(device, size, 64, args) for _ in range(12)]
    assert quick and all(quick)
    said = {(r.instructions, r.threads, r.groups, r.engine, r.printf, str(r)[:5]) for r in reports}
    assert len(said) == 1
    assert (y.numpy() == 2 * len(reports)).all()


@pytest.mark.parametrize("tiny", [0.0, 60.0])
def test_better_code_is_made_of_what_is_launched_often(
    device: eumu.Device, quick: list[bool], monkeypatch: pytest.MonkeyPatch, tiny: float
) -> None:
    """Of launches that are not timed; not of those that take no longer than any."""
    monkeypatch.setattr(engine, "_TINY", tiny)
    jit = engine.Jit(workers=1, patience=3600)
    device.use("jit", jit)
    a, b, c = (device.array(np.ones(1024, F32)) for _ in range(3))
    kernel = eumu.load(build.BIN / "pvc" / "sgemm.bin")["sgemm"]
    args = [a, b, c, 32, 32, 1.0, 0.0]

    def launch() -> None:
        c.fill(0)
        kernel.launch(device, (32, 32), (16, 16), args)
        assert (c.numpy() == 32).all()

    for _ in range(_KEPT):
        launch()
    assert quick and all(quick)
    (ready,) = jit._ready.values()
    ready.seconds = 3600
    for _ in range(3):
        launch()
        jit.settle()
    (ready,) = jit._ready.values()
    sites = {site.what for site in ready.compiled.module.sites}
    assert all(quick) == bool(tiny) and ("abreast" in sites) != bool(tiny)


def test_native_launches_are_kept_beside_those_of_visa(quick: list[bool]) -> None:
    device = eumu.Device("apl", engine="jit")
    kernel = eumu.load(build.BIN / "apl" / "saxpy.bin")["saxpy"]
    args = [*arrays(device), 2.0]
    counts: dict[str, set[int]] = {"visa": set(), "native": set()}
    for _ in range(12):
        for level, seen in counts.items():
            seen.add(kernel.launch(device, 256, 64, args, level=level).instructions)
    assert len(quick) > 12 and all(quick)
    assert [len(seen) for seen in counts.values()] == [1, 1]
    assert counts["visa"] != counts["native"]
    assert (args[1].numpy() == 48).all()
    with pytest.raises(eumu.errors.LaunchError, match="level 'spirv'"):
        kernel.launch(device, 256, 64, args, level="spirv")


def test_what_arrays_hold_is_looked_at(device: eumu.Device, quick: list[bool]) -> None:
    kernel, (x, y) = saxpy(), arrays(device)
    args = (x, y, 1.0)
    for n in range(_KEPT):
        x.write(np.full(256, n, F32))
        y.write(np.zeros(256, F32))
        kernel.launch(device, 256, 64, args)
        assert (y.numpy() == n).all()
    assert quick


@pytest.mark.parametrize("which", [0, 1])
def test_freed_arrays_are_refused(device: eumu.Device, quick: list[bool], which: int) -> None:
    kernel, args = saxpy(), [*arrays(device), 1.0]
    for _ in range(_KEPT):
        kernel.launch(device, 256, 64, args)
    assert quick
    args[which].free()
    ran = len(quick)
    for _ in range(2):
        with pytest.raises(eumu.EumuError, match="freed"):
            kernel.launch(device, 256, 64, args)
    assert len(quick) == ran


def test_what_is_freed_is_no_memory_though_it_was(device: eumu.Device, quick: list[bool]) -> None:
    """Code has seen where the array lies, which is no argument."""
    kernel, hidden = eumu.build(_AT, device)["follow"], device.array(np.full(64, 7, np.int32))
    to, out = device.array(np.array([hidden.address], np.uint64)), device.array(1, np.int32)
    for _ in range(_KEPT):
        kernel.launch(device, 1, 1, [to, out])
    assert quick and out.numpy()[0] == 7
    hidden.free()
    for _ in range(2 * _KEPT):
        with pytest.raises(eumu.Fault, match="freed"):
            kernel.launch(device, 1, 1, [to, out])


def test_arrays_and_kernels_are_not_kept_alive(device: eumu.Device, quick: list[bool]) -> None:
    """Others may have their identity then."""
    spare = device.array(np.zeros(256, F32))
    for n in range(5):
        kernel, (x, y) = saxpy(), arrays(device)
        view = y.view(F32)
        del y
        for _ in range(_KEPT):
            kernel.launch(device, 256, 64, [x, view, 1.0])
        assert (view.numpy() == _KEPT).all(), n
        del x, view, kernel
        gc.collect()
    assert quick
    assert len(device.memory.live) == 1 and device.memory.live[0].start == spare.address


def test_another_view_of_the_same_memory_is_another_argument(device: eumu.Device) -> None:
    kernel, (x, y) = saxpy(), arrays(device)
    for _ in range(32):
        half = y.view(F32, (2, 128))  # at once gone, and its identity is free
        kernel.launch(device, 128, 64, [x, half, 1.0])
        del half
    assert (y.numpy()[:128] == 32).all()
    assert not y.numpy()[128:].any()


@pytest.mark.parametrize("size", [64.0, (64.0,), "64", True])
def test_sizes_are_whole_numbers_again(device: eumu.Device, size: Any) -> None:
    kernel, args = saxpy(), [*arrays(device), 1.0]
    first: Any = None
    for launched in range(2 * _KEPT):
        try:
            kernel.launch(device, size, None, args)
            said = ""
        except eumu.EumuError as error:
            said = str(error)
        assert launched == 0 or said == first
        first = said
        kernel.launch(device, 1 if size is True else (64,) if type(size) is tuple else 64, 1, args)
        kernel.launch(
            device, 1 if size is True else (64,) if type(size) is tuple else 64, None, args
        )
    for fuel, seed in ((1e6, 0), (None, 0.0)):
        with pytest.raises(eumu.EumuError, match="whole number"):
            kernel.launch(device, 64, None, args, fuel=fuel, seed=seed)  # type: ignore[arg-type]


def test_a_fault_is_that_of_any_launch(device: eumu.Device, quick: list[bool]) -> None:
    program = eumu.build(_AT, device)
    at, out = device.array(np.arange(256, dtype=np.int32)), device.array(np.zeros(256, np.int32))
    args = [at, out]
    for _ in range(_KEPT):
        program["count"].launch(device, 256, 64, args)
    ran = len(quick)
    assert ran
    said = []
    for lane in (0, 77, 255):
        places = np.arange(256, dtype=np.int32)
        places[lane] = 1 << 20
        at.write(places)
        program["other"].launch(device, 1, args=[out])  # which calls the array otherwise
        for given in (args, (at, out.view(np.int32))):  # the second is another argument
            with pytest.raises(eumu.Fault, match="array 'out'") as caught:
                program["count"].launch(device, 256, 64, given)
            said.append(str(caught.value))
        assert said[-1] == said[-2]
        at.write(np.arange(256, dtype=np.int32))
        program["count"].launch(device, 256, 64, args)
    assert len(set(said)) == 3
    assert len(quick) > ran


def test_what_a_device_is_asked_for_counts(device: eumu.Device, quick: list[bool]) -> None:
    kernel, args = saxpy(), [*arrays(device, 1 << 12), 1.0]

    def launch() -> eumu.Report:
        return kernel.launch(device, 1 << 12, 64, args)

    for _ in range(_KEPT):
        launch()
    ran, told = len(quick), list[int]()
    assert ran
    device.memory.progress = lambda done, groups: told.append(done)
    launch()
    assert told
    device.memory.progress = None
    device.preempt(groups=1)
    assert launch().preempted
    device.resume()
    device.check = True
    launch()
    device.check = False
    device.strict_bounds = False
    launch()
    device.strict_bounds = True
    assert len(quick) == ran
    launch()
    assert len(quick) == ran + 1
    assert (args[1].numpy() == _KEPT + 5).all()


def test_it_can_be_stopped(
    device: eumu.Device, quick: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another thread, while it runs, and before it takes its first group."""
    kernel, args = saxpy(), [*arrays(device, 1 << 12), 1.0]
    for _ in range(_KEPT):
        kernel.launch(device, 1 << 12, 64, args)
    attach = Preemption.attach

    def stopped(self: Any, tell: Any) -> None:
        attach(self, tell)
        device.preempt()

    monkeypatch.setattr(Preemption, "attach", stopped)
    for kept in device.latest.kept.values():  # as if the last one had counted the same
        kept.again._stats = RunStats(0, 0, 0)  # type: ignore[attr-defined]
    ran = len(quick)
    report = kernel.launch(device, 1 << 12, 64, args)
    assert report.preempted and report.groups == 0 and len(quick) == ran + 1
    monkeypatch.setattr(Preemption, "attach", attach)
    assert device.resume().groups == (1 << 12) // 64
    assert (args[1].numpy() == _KEPT + 1).all()


def test_a_launch_may_come_in_the_midst_of_itself(
    device: eumu.Device, quick: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a signal handler, say: it has workers and tables of its own."""
    kernel, args = saxpy(), [*arrays(device), 1.0]
    for _ in range(_KEPT):
        kernel.launch(device, 256, 64, args)
    deep = list[int]()

    def nested(run: Any) -> Any:
        def first(self: Any, *given: Any) -> Any:
            deep.append(1)
            if len(deep) < 3:
                reports.append(kernel.launch(device, 256, 64, args))
            return run(self, *given)

        return first

    reports = [kernel.launch(device, 256, 64, args)]
    for name in ("run_alone", "prepare"):  # with a worker that knows the launch, and without
        monkeypatch.setattr(Launch, name, nested(getattr(Launch, name)))
    ran = len(quick)
    reports.append(kernel.launch(device, 256, 64, args))
    assert len(deep) == 3
    assert len(quick) > ran
    assert len({r.instructions for r in reports}) == 1
    assert (args[1].numpy() == _KEPT + 4).all()


def test_a_worker_of_the_same_tables_gets_other_numbers(device: eumu.Device) -> None:
    kernel, (x, y) = saxpy(), arrays(device)
    for n in range(12):
        y.write(np.zeros(256, F32))
        kernel.launch(device, 256, 64, [x, y, float(n // 2)])
        assert (y.numpy() == n // 2).all()


def test_other_numbers_are_all_that_changes(
    device: eumu.Device, quick: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two launches that differ in a number, in turns: neither prepares a worker anew."""
    kernel, (x, y) = saxpy(), arrays(device)
    both = [[x, y, 1.0], [x, y, 16.0]]
    for _ in range(_KEPT):
        for args in both:
            kernel.launch(device, 256, 64, args)
    ran, prepared = len(quick), list[int]()
    prepare = Launch.prepare

    def noted(self: Any, *given: Any) -> None:
        prepared.append(1)
        prepare(self, *given)

    monkeypatch.setattr(Launch, "prepare", noted)
    y.write(np.zeros(256, F32))
    for args in (*both, both[0], both[0], both[1]):
        kernel.launch(device, 256, 64, args)
    assert len(quick) == ran + 5 and all(quick[ran:])
    assert not prepared
    assert (y.numpy() == 3 * 1 + 2 * 16).all()


@pytest.mark.parametrize("size", [(256,), (256, 1), 256])
def test_equal_sizes_of_other_identity_are_the_same(
    device: eumu.Device, quick: list[bool], size: Any
) -> None:
    kernel, args = saxpy(), [*arrays(device), 1.0]
    for _ in range(_KEPT):
        kernel.launch(device, size, 64, args)
    ran = len(quick)
    other = tuple([*size]) if isinstance(size, tuple) else size
    kernel.launch(device, other, 64, args)
    assert len(quick) == ran + 1
    floats = tuple(map(float, size)) if isinstance(size, tuple) else float(size)
    with pytest.raises(eumu.EumuError):
        kernel.launch(device, floats, 64, args)  # type: ignore[arg-type]
    assert len(quick) == ran + 1


def test_numbers_of_other_types_are_others(device: eumu.Device, quick: list[bool]) -> None:
    """Also if an object has the identity that another one had."""
    kernel, (x, y) = saxpy(), arrays(device)
    total = 0.0
    for n in range(200):
        for value in (float(n), F32(n), n, np.int64(n), [n]):
            y.write(np.zeros(256, F32))
            try:
                kernel.launch(device, 256, 64, [x, y, value])
                assert (y.numpy() == n).all()
            except eumu.EumuError:
                assert isinstance(value, list)
            total += n
    assert total
