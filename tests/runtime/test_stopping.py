"""Launches that stop on the fast engine, and walkers of a batch that stop in the middle.

P1, P3, P5 and P6 of the checklist of the PRM chapter "GPGPU Context Switch".
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.commands import Stop, mi, packets, render
from eumu.errors import LaunchError
from eumu.exec.jit import Jit
from kernels.case import Case
from runtime.test_batches import Driver, saxpy
from runtime.test_preemption import MARKED, check, whole
from test_kernels import _argument, _load

ENGINES = ["interp", "jit"]


@pytest.mark.parametrize(("device", "resumed_on"), [("apl", "interp"), ("pvc", "jit")])
@pytest.mark.parametrize("case", MARKED)
def test_stopped_between_groups_on_the_fast_engine(
    case: Case, device: str, resumed_on: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shared local memory, barriers, divergence, atomics: half on one engine, half on another."""
    setup, full, expected = whole(case, device)
    dev = eumu.Device(device, engine="jit")
    args = [_argument(dev, a) for a in setup.args]
    kernel = _load(case.program, device)[case.kernel]
    dev.preempt(groups=full.groups // 2)
    report = kernel.launch(dev, case.global_size, case.local_size, args)
    assert report.preempted == (full.groups > 0) and report.engine == "jit"
    assert report.groups == full.groups // 2
    held = dev.suspended
    assert held is not None and held.image is None
    dev._engine = resumed_on
    report = dev.resume()
    assert report.engine == resumed_on
    assert (report.instructions, report.groups) == (full.instructions, full.groups)
    assert sorted(report.printf) == sorted(full.printf)
    check(setup, args, expected)


def test_the_rest_of_a_stopped_launch_goes_to_the_fast_engine() -> None:
    """Groups that stopped in the middle end on the interpreter, the others are compiled."""
    dev = eumu.Device("apl", engine="jit")
    x, out = dev.array(np.ones(8192, np.float32)), dev.array(np.zeros(64, np.float32))
    kernel = _load("reduce", "apl")["reduce"]
    dev.preempt(after=300)
    first = kernel.launch(dev, (8192,), (128,), [x, out, eumu.Local(512)])
    assert first.preempted and (first.engine, first.groups) == ("interp", 0)
    dev.preempt(groups=50)
    second = dev.resume()
    assert second.preempted and (second.engine, second.groups) == ("jit", 50)
    assert (out.numpy() == [128] * 50 + [0] * 14).all()
    last = dev.resume()
    assert (last.engine, last.groups) == ("jit", 64) and (out.numpy() == 128).all()


def stopped_by_another_thread(dev: eumu.Device, launch: Any, seconds: float) -> Any:
    """The report of a launch that another thread stopped after about so long."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(launch()))
    thread.start()
    while dev._flight() is None and thread.is_alive():
        time.sleep(0)
    time.sleep(seconds)
    dev.preempt()
    thread.join()
    dev._wanted = None  # where the launch had ended before
    return found[0]


@pytest.mark.parametrize(("engine", "workers"), [("interp", 1), ("jit", 1), ("jit", 2)])
def test_another_thread_stops_a_launch(engine: str, workers: int) -> None:
    """A histogram: a group that ran twice, or never, would show."""
    groups, each = (4096, 1024) if engine == "jit" else (512, 256)
    dev = eumu.Device("pvc", engine=engine)
    if engine == "jit":
        dev._engines["jit"] = Jit(workers)
    data = np.random.default_rng(5).integers(0, 256, groups * each, np.uint8)
    want = np.bincount(data, minlength=256)
    source, bins = dev.array(data), dev.array(np.zeros(256, np.uint32))
    kernel = _load("histogram", "pvc")["histogram"]

    def launch() -> Any:
        bins.write(np.zeros(256, np.uint32))
        return kernel.launch(dev, (128 * groups,), (128,), [source, bins, data.size])

    launch()
    whole = launch()
    # On a busy machine a launch may be over before this thread has its turn.
    for share in (0.4, 0.2, 0.1, 0.05, *[0.0] * 60):
        report = stopped_by_another_thread(dev, launch, share * whole.seconds)
        if report.preempted:
            break
    assert report.preempted and report.groups < whole.groups
    assert (bins.numpy() != want).any()
    dev.preempt(groups=report.groups + 1)
    report = dev.resume()
    assert report.preempted
    report = dev.resume()
    assert (bins.numpy() == want).all()
    assert (report.instructions, report.groups) == (whole.instructions, whole.groups)


def test_a_request_before_the_launch_has_begun_to_run() -> None:
    """It stops where it would begin, on either engine."""
    for engine in ENGINES:
        dev = eumu.Device("pvc", engine=engine)
        y = dev.array(np.ones(256, np.float32))
        dev.preempt(groups=0)
        report = _load("saxpy", "pvc")["saxpy"].launch(dev, (256,), (64,), [y, y, 1.0])
        assert report.preempted and (report.groups, report.engine) == (0, engine)
        assert (y.numpy() == 1).all()
        assert dev.resume().groups == 4 and (y.numpy() == 2).all()


@pytest.mark.parametrize("how", [{"after": 40}, {"groups": 1}, {"groups": 3}], ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_checked_run_found_is_kept(engine: str, how: dict[str, int]) -> None:
    """The compiler builds `mul (M1, 16)` into a SIMD32 kernel: a mistake in each of four groups."""
    found = []
    kernel = _load("asm_simd16_in_simd32", "pvc")["half_done"]
    for stops in (False, True):
        dev = eumu.Device("pvc", engine, check=True)
        data = dev.array(np.arange(192, dtype=np.float32))
        if stops:
            dev.preempt(**how)
        report = kernel.launch(dev, 192, 48, [data])
        assert report.preempted == stops
        if stops:
            report = dev.resume()
        found.append([(f.reason, f.span, f.count, f.group) for f in report.findings])
    assert found[0] == found[1] and found[0][0][2] == 4


# ---- walkers of a batch


def reduction(driver: Driver) -> tuple[Any, Any]:
    dev = driver.device
    x, out = dev.array(np.ones(2048, np.float32)), dev.array(np.zeros(16, np.float32))
    kernel = _load("reduce", "apl")["reduce"]
    launch = kernel.submit(dev, (2048,), (128,), [x, out, eumu.Local(512)])
    driver.kept += [x, launch]
    return out, launch


@pytest.mark.parametrize("base", [False, True], ids=["own memory", "GPGPU_CSR_BASE_ADDRESS"])
def test_p1_p6_a_walker_stops_at_any_instruction(base: bool) -> None:
    driver = Driver("apl")
    out, launch = reduction(driver)
    commands = [p.packet for p in packets(launch.bytes)][:-1]
    image = 0
    if base:
        image = driver.place(bytes(1 << 20), "the context image")
        commands.insert(0, gpgpu_csr(image))
    batch = driver.batch(*commands)
    driver.queue.preempt(after=300)
    report = driver.queue.submit(batch)
    stops = 0
    while report.stop is Stop.PREEMPTED:
        stops += 1
        if base:
            memory = driver.device.memory
            start = image - memory.base
            slm = memory.arena[start : start + 512].view(np.float32)
            slot = memory.arena[start + 0x20000 : start + 0x20004].view(np.uint32)
            assert stops > 1 or (slm.any() and slot[0] > 0)
        with pytest.raises(LaunchError, match=r"resume\(\) continues"):
            driver.queue.submit(batch)
        driver.queue.preempt(after=300 * (stops + 1))
        report = driver.queue.resume()
    assert stops >= 3 and report.stop is Stop.END and report.groups == 16
    assert (out.numpy() == 128).all()
    assert not [a for a in driver.device.memory.live if a.name == "the context image"] or base


def gpgpu_csr(address: int) -> render.GpgpuCsrBaseAddress:
    return render.GpgpuCsrBaseAddress(gpgpu_csr_base_address=address)


def test_p6_the_image_must_have_room() -> None:
    driver = Driver("apl")
    _, launch = reduction(driver)
    commands = [p.packet for p in packets(launch.bytes)][:-1]
    small = driver.place(bytes(4096), "a small buffer")
    driver.queue.preempt(after=300)
    with pytest.raises(LaunchError, match=r"the context takes 0x.*a small buffer"):
        driver.queue.submit(driver.batch(gpgpu_csr(small), *commands))


def test_p5_nothing_stops_without_arbitration() -> None:
    driver = Driver("apl")
    out, launch = reduction(driver)
    commands = [p.packet for p in packets(launch.bytes)][:-1]
    driver.queue.preempt(after=300)
    off = mi.MiArbOnOff(arbitration_enable=False)
    assert driver.queue.submit(driver.batch(off, *commands)).stop is Stop.END
    assert (out.numpy() == 128).all()


def test_native_walkers_stop_too() -> None:
    driver = Driver("apl")
    _, y, submit = saxpy(driver)
    driver.queue.preempt(after=20)
    assert driver.queue.submit(submit().batch).stop is Stop.PREEMPTED
    assert driver.queue.resume().stop is Stop.END
    assert (y.numpy() == 1 + 2 * np.arange(256)).all()
