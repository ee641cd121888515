"""Launches that come again reuse their grid, and only those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from eumu.runtime.repeated import argument_key
from kernels import build

F32 = np.float32

DIFFERENT: list[tuple[Any, Any]] = [
    (0.0, -0.0),
    (1, 1.0),
    (1, True),
    (F32(1), np.float64(1)),
    (F32(0.0), F32(-0.0)),
    (np.int32(1), np.uint32(1)),
    (eumu.Local(4), eumu.Local(8)),
    (b"a", b"b"),
    (0, None),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_keys_tell_apart(one: Any, other: Any) -> None:
    assert argument_key([one]) == argument_key([one]) != argument_key([other])


@pytest.mark.parametrize("value", [[1, 2], np.zeros(2), np.zeros((), "i4,i4")[()]])
def test_no_key_for_what_can_change(value: Any) -> None:
    assert argument_key([value]) is None


def test_keys_of_arrays() -> None:
    dev = eumu.Device("pvc", engine="interp")
    a, b = dev.array(np.zeros(4, F32)), dev.array(np.zeros(4, F32))
    keys = [argument_key([x]) for x in (a, b, a.view(np.int32), a.view(F32, (2, 2)))]
    assert len(set(keys)) == 4


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_launch_with_anything_else_is_another(engine: str) -> None:
    dev = eumu.Device("pvc", engine=engine)
    kernel = eumu.load(build.BIN / "pvc" / "saxpy.bin")["saxpy"]
    x, y = dev.array(np.ones(256, F32)), dev.array(np.zeros(256, F32))
    expected = np.zeros(256, F32)
    for size, factor in ((256, 1.0), (256, 1.0), (128, 1.0), (256, 2.0), (64, 2.0), (256, 1.0)):
        kernel.launch(dev, size, 32, [x, y, factor])
        expected[:size] += factor
    z = dev.array(np.ones(256, F32))
    kernel.launch(dev, 256, 32, [x, z, 1.0])
    assert (y.numpy() == expected).all()
    assert (z.numpy() == 2).all()
    x.free()
    with pytest.raises(eumu.EumuError, match="freed"):
        kernel.launch(dev, 256, 32, [x, y, 1.0])
