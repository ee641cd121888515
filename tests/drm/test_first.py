"""First launches: which kernels begin on the interpreter, and when the fast code takes over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from eumu.drm.first import Tiered, is_short
from eumu.exec.interp import Interpreter
from eumu.runtime.kernel import Kernel
from kernels.build import PROGRAMS

Jit = pytest.importorskip("eumu.exec.jit", reason="llvmlite is not installed").Jit


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
def device() -> tuple[eumu.Device, Noted, Tiered]:
    device, noted = eumu.Device("skl", "jit"), Noted()
    tiered = Tiered(Jit(), noted)
    device.use("jit", tiered)
    saxpy = kernel("saxpy")
    kernel_of[device] = lambda d, n, a: saxpy.launch(d, (n,), (64,), a, level="native")
    return device, noted, tiered


def test_a_short_kernel_begins_on_the_interpreter(
    device: tuple[eumu.Device, Noted, Tiered],
) -> None:
    gpu, noted, tiered = device
    launch(gpu, 256)
    assert noted.grids == 1
    tiered._compiler.shutdown()  # the code is there
    launch(gpu, 256)
    assert noted.grids == 1


def test_many_threads_wait_for_the_fast_code(device: tuple[eumu.Device, Noted, Tiered]) -> None:
    gpu, noted, _ = device
    launch(gpu, 1 << 16)
    assert noted.grids == 0


@pytest.mark.parametrize(("name", "short"), [("saxpy", True), ("reduce", False)])
def test_loops_wait_for_the_fast_code(name: str, short: bool) -> None:
    function = kernel(name).function(eumu.Device("skl").platform, "native")
    assert is_short(function) is short


def test_functions_are_not_kept_for_ever(
    device: tuple[eumu.Device, Noted, Tiered], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, tiered = device
    monkeypatch.setattr("eumu.drm.first._MOST_SEEN", 3)
    platform = eumu.Device("skl").platform
    functions = [kernel("saxpy").function(platform, "native") for _ in range(8)]
    for function in functions:
        tiered._seen_of(function)
    assert [seen.function for seen in tiered._seen.values()] == functions[-3:]
    assert len({id(function) for function in functions}) == 8
