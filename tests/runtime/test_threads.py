"""The contract for threads in `Device`'s docstring, under load."""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import eumu
from eumu.ir import Function
from eumu.runtime.facts import Facts
from test_kernels import _load

ENGINES = ["jit", "interp"]


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(count: int, work: Callable[[int], None]) -> None:
    wrong: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if wrong:
        raise wrong[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_launches_from_many_threads(engine: str) -> None:
    """Programs are loaded, arrays made, kernels launched and memory freed at the same time."""
    device = eumu.Device("pvc", engine=engine)
    shared = _load("saxpy", "pvc")["saxpy"]

    def work(number: int) -> None:
        choose = random.Random(number)
        own = _load("saxpy", "pvc")["saxpy"]
        for turn in range(8):
            n = choose.choice((16, 256, 1024))
            x = device.array(np.full(n, number, np.float32))
            y = device.array(np.full(n, turn, np.float32))
            kernel = choose.choice((own, shared))
            report = kernel.launch(device, n, 16, [x, y, 2.0])
            assert report.groups == n // 16
            assert (y.numpy() == 2 * number + turn).all()
            if choose.random() < 0.3:
                x.free()
                gc.collect(0)

    in_threads(5, work)
    assert device.memory.live == ()


def test_images_from_many_threads() -> None:
    """State heaps and caches; slots come back."""
    device = eumu.Device("skl", engine="interp")

    def work(number: int) -> None:
        for turn in range(60):
            pixels = np.full((4, 4, 4), number * 30 + turn % 30, np.uint8)
            image = device.image(pixels)
            assert (image.numpy() == pixels).all()
            device.heaps.caches.surfaces.get(turn % 7, bytes([turn % 7]), bytes)
            device.invalidate_states()

    in_threads(6, work)
    taken = device.heaps.surfaces
    with taken._lock:
        taken._settle()
    assert all(claim is None for _, claim in taken._taken.values())


def test_one_of_many_launches_is_stopped() -> None:
    device = eumu.Device("pvc", engine="interp")
    kernel = _load("saxpy", "pvc")["saxpy"]
    device.preempt(groups=2)
    reports = []

    def work(number: int) -> None:
        x, y = (device.array(np.ones(64, np.float32)) for _ in range(2))
        reports.append(kernel.launch(device, 64, 16, [x, y, 2.0]))

    in_threads(4, work)
    assert sorted(r.groups for r in reports) == [2, 4, 4, 4]
    assert device.resume().groups == 4


def test_a_second_launch_is_not_stopped_in_the_place_of_the_first() -> None:
    device = eumu.Device("pvc", engine="interp")
    kernel = _load("saxpy", "pvc")["saxpy"]
    x, y = (device.array(np.ones(64, np.float32)) for _ in range(2))
    device.preempt(groups=2)
    assert kernel.launch(device, 64, 16, [x, y, 2.0]).preempted
    device.preempt(groups=1)
    with pytest.raises(eumu.LaunchError, match="resume it before another"):
        kernel.launch(device, 64, 16, [x, y, 2.0])
    assert device.resume().preempted


def test_facts_of_functions_do_not_pile_up() -> None:
    facts = Facts(lambda function: function.name)
    for n in range(1000):
        assert facts.of(Function(f"f{n}", 16, 64)) == f"f{n}"
    assert len(facts) <= 256


def test_a_sink_that_fails_does_not_hide_a_fault() -> None:
    def sink(text: str) -> None:
        raise ValueError("full")

    device = eumu.Device("pvc", engine="interp", sink=sink)
    kernel = _load("print_values", "pvc").kernels[0]
    kinds = {"float*": np.float32, "int*": np.int32, "uint*": np.uint32}
    arguments = [
        device.array(64, kinds[p.type_name]) if p.type_name in kinds else 1 for p in kernel.args
    ]
    with pytest.raises(ValueError, match="full"):
        kernel.launch(device, 16, 16, arguments)
    with pytest.raises(eumu.Fault) as raised:
        kernel.launch(device, 16, 16, arguments, fuel=1)
    assert "full" in "".join(raised.value.__notes__)
