"""Kernels that misbehave end with a message that says where, and the device goes on working."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from kernels import build

ENGINES = ("interp", "jit")
pytestmark = [
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.parametrize("device", build.DEVICES),
]
SIZES = {"global_size": (64,), "local_size": (64,)}


def _load(name: str, device: str) -> Any:
    return eumu.load(build.BIN / device / f"{name}.bin")


def _works(dev: Any, device: str) -> bool:
    """Whether saxpy still gives the right result on this device."""
    x, y = (dev.array(np.full(64, v, np.float32)) for v in (3, 4))
    _load("saxpy", device)["saxpy"].launch(dev, **SIZES, args=[x, y, 2.0])
    return bool((y.numpy() == 10).all())


def test_write_past_the_end(device: str, engine: str) -> None:
    dev = eumu.Device(device, engine=engine)
    out = dev.array(np.zeros(64, np.int32))
    kernel = _load("out_of_bounds", device)["write_past_end"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, **SIZES, args=[out, np.int32(64)])
    fault = caught.value
    assert fault.kernel == "write_past_end"
    assert (fault.group, fault.thread, fault.lanes) == ((0, 0, 0), 0, (5,))
    assert fault.span is not None, "the instruction's line"
    assert "256" in str(fault), "the size in bytes of the nearest allocation"
    assert _works(dev, device)


def test_read_far_away(device: str, engine: str) -> None:
    dev = eumu.Device(device, engine=engine)
    source, out = (dev.array(np.zeros(64, np.int32)) for _ in range(2))
    kernel = _load("out_of_bounds", device)["read_far_away"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, **SIZES, args=[source, out, np.int64(1 << 28)])
    assert caught.value.kernel == "read_far_away"
    assert caught.value.lanes == (3,)
    assert _works(dev, device)


def test_no_fault_within_bounds(device: str, engine: str) -> None:
    dev = eumu.Device(device, engine=engine)
    out = dev.array(np.zeros(64, np.int32))
    _load("out_of_bounds", device)["write_past_end"].launch(dev, **SIZES, args=[out, np.int32(5)])
    assert (out.numpy() == np.arange(64)).all()


def test_endless_loop_ends_with_its_fuel(device: str, engine: str) -> None:
    dev = eumu.Device(device, engine=engine)
    flag, out = (dev.array(np.zeros(64, np.int32)) for _ in range(2))
    kernel = _load("endless", device)["endless"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, **SIZES, args=[flag, out], fuel=20_000)
    assert caught.value.kernel == "endless"
    assert "fuel" in str(caught.value), "the name of the parameter that allows more"
    assert _works(dev, device)


@pytest.mark.parametrize("reaching", [20, 32])
def test_divergent_barrier(device: str, engine: str, reaching: int) -> None:
    """The second thread of the group does not reach the barrier, nor all lanes of the first."""
    dev = eumu.Device(device, engine=engine)
    out = dev.array(np.zeros(64, np.int32))
    kernel = _load("divergent_barrier", device)["divergent_barrier"]
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(dev, **SIZES, args=[out, np.int32(reaching)])
    assert caught.value.kernel == "divergent_barrier"
    assert caught.value.group == (0, 0, 0)
    assert "barrier" in caught.value.reason
    assert _works(dev, device)


def test_barrier_that_all_reach(device: str, engine: str) -> None:
    dev = eumu.Device(device, engine=engine)
    out = dev.array(np.zeros(64, np.int32))
    kernel = _load("divergent_barrier", device)["divergent_barrier"]
    kernel.launch(dev, **SIZES, args=[out, np.int32(64)])
    assert (out.numpy() == np.arange(64)[::-1]).all()


def test_syntax_error_names_its_line(device: str, engine: str, ocloc: str) -> None:
    source = "kernel void broken(global int *p) {\n    p[0] = ;\n}\n"
    with pytest.raises(eumu.BuildError, match=r"2:12: error: expected expression"):
        eumu.build(source, device=device)
