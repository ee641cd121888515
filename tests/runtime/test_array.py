"""Arrays in device memory."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import ArgumentError, LaunchError, OutOfMemory


@pytest.fixture
def dev() -> eumu.Device:
    return eumu.Device("pvc", memory_bytes=1 << 24)


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (np.arange(6.0).reshape(2, 3), "float64", (2, 3)),
        (np.arange(12).reshape(3, 4)[:, ::2], "int64", (3, 2)),
        ([1.0, 2.0], "float32", (2,)),
        ([1, 2], "int32", (2,)),
        (np.float16(1), "float16", ()),
        (np.zeros(3, "f4,i4"), np.zeros(0, "f4,i4").dtype, (3,)),
        (np.array([True, False]), "bool", (2,)),
    ],
)
def test_a_copy_of_data(dev: eumu.Device, data: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    a = dev.array(data)
    assert (a.dtype, a.shape) == (np.dtype(dtype), shape)
    assert a.nbytes == a.numpy().nbytes
    assert (a.numpy() == np.asarray(data)).all()


def test_zeros_of_a_shape(dev: eumu.Device) -> None:
    assert dev.array((2, 3), np.int16).numpy().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert len(dev.array(5, "f4")) == 5
    with pytest.raises(ArgumentError, match=r"Device.array\(5\): a shape needs a dtype"):
        dev.array(5)


def test_numpy_is_a_copy_and_memory_is_not(dev: eumu.Device) -> None:
    a = dev.array([1, 2, 3])
    copy = a.numpy()
    a.memory[0] = 9
    assert copy.tolist() == [1, 2, 3]
    assert np.asarray(a).tolist() == [9, 2, 3]


def test_fill_and_write(dev: eumu.Device) -> None:
    a = dev.array((2, 2), np.float32)
    a.fill(1.5)
    assert a.numpy().tolist() == [[1.5, 1.5], [1.5, 1.5]]
    a.write(np.eye(2))
    assert a.numpy().tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ArgumentError, match=r"has shape \(2, 2\), the data \(4,\)"):
        a.write(np.zeros(4))
    with pytest.raises(ArgumentError, match="Cannot cast"):
        dev.array([1, 2]).write([0.5, 0.5])


def test_views_share_memory_and_keep_it(dev: eumu.Device) -> None:
    a = dev.array(np.arange(4, dtype=np.uint32))
    address = a.address
    b = a.view(np.uint8)
    assert b.shape == (16,)
    del a
    gc.collect()
    assert b.address == address
    assert b.view(np.float32, (2, 2)).shape == (2, 2)
    with pytest.raises(ArgumentError, match=r"has 16 bytes; float32 of shape \(5,\) has 20"):
        b.view(np.float32, 5)
    with pytest.raises(ArgumentError, match="rows of 6 bytes do not divide into int32"):
        dev.array(6, np.uint8).view(np.int32)


def test_memory_comes_back(dev: eumu.Device) -> None:
    for _ in range(20):
        dev.array(4 << 20, np.uint8)
        gc.collect()
    keep = [dev.array(4 << 20, np.uint8) for _ in range(3)]
    with pytest.raises(OutOfMemory):
        dev.array(8 << 20, np.uint8)
    keep[0].free()
    with pytest.raises(LaunchError, match="has been freed"):
        keep[0].numpy()
    assert "freed" in repr(keep[0])


@pytest.mark.parametrize(
    ("data", "dtype", "message"),
    [
        (["a", "b"], None, "cannot hold"),
        ([None], None, "cannot hold object"),
        ((-1, 2), "f4", r"cannot have the shape \(-1, 2\)"),
    ],
)
def test_refused(dev: eumu.Device, data: Any, dtype: Any, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        dev.array(data, dtype)


def test_a_negative_local_size() -> None:
    with pytest.raises(LaunchError, match=r"Local\(-1\)"):
        eumu.Local(-1)


def test_names_in_messages(dev: eumu.Device) -> None:
    named, plain = dev.array([1], name="mass"), dev.array([1])
    assert "array 'mass'" in dev.memory.describe(named.address)
    plain.label("x")
    named.label("x")
    assert "array 'x'" in dev.memory.describe(plain.address)
    assert "array 'mass'" in dev.memory.describe(named.address)


def test_unknown_engine_and_device() -> None:
    with pytest.raises(ValueError, match="unknown engine 'fast'; the engines are jit, interp"):
        eumu.Device("pvc", "fast")
    with pytest.raises(eumu.UnknownDevice):
        eumu.Device("voodoo")
    with pytest.raises(eumu.UnknownDevice, match="a device is a name or a Platform, not NoneType"):
        eumu.Device(None)  # type: ignore[arg-type]
    with pytest.raises(eumu.ArgumentError, match="eumu checks no int"):
        eumu.check(3)  # type: ignore[arg-type]
