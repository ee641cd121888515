"""Launches that come again reuse their grid, and only those; numbers are put into their places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.runtime import payload_layout
from eumu.runtime.repeated import argument_key
from kernels import build

F32 = np.float32

DIFFERENT: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1, True),
    (F32(1), np.float64(1)),
    (np.int32(1), np.uint32(1)),
    (eumu.Local(4), eumu.Local(8)),
    (b"a", "a"),
    (0, None),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_keys_tell_apart(one: Any, other: Any) -> None:
    assert argument_key([one]) == argument_key([one]) != argument_key([other])


@pytest.mark.parametrize("values", [(0.0, -0.0), (b"a", b"b"), ([1, 2], [3, 4])])
def test_numbers_of_one_type_are_alike(values: tuple[Any, Any]) -> None:
    assert argument_key(values[:1]) == argument_key(values[1:])


def test_keys_of_arrays() -> None:
    dev = eumu.Device("pvc", engine="interp")
    a, b = dev.array(np.zeros(4, F32)), dev.array(np.zeros(4, F32))
    keys = [argument_key([x]) for x in (a, b, a.view(np.int32), a.view(F32, (2, 2)))]
    assert len(set(keys)) == 4


@pytest.fixture(params=["interp", "jit"])
def device(request: pytest.FixtureRequest) -> eumu.Device:
    return eumu.Device("pvc", engine=request.param)


def test_a_launch_with_anything_else_is_another(device: eumu.Device) -> None:
    kernel = eumu.load(build.BIN / "pvc" / "saxpy.bin")["saxpy"]
    x, y = device.array(np.ones(256, F32)), device.array(np.zeros(256, F32))
    expected = np.zeros(256, F32)
    for size, factor in ((256, 1.0), (256, 1.0), (128, 1.0), (256, 2.0), (64, 2.0), (256, 1.0)):
        kernel.launch(device, size, 32, [x, y, factor])
        expected[:size] += factor
    z = device.array(np.ones(256, F32))
    kernel.launch(device, 256, 32, [x, z, 1.0])
    assert (y.numpy() == expected).all()
    assert (z.numpy() == 2).all()
    x.free()
    with pytest.raises(eumu.EumuError, match="freed"):
        kernel.launch(device, 256, 32, [x, y, 1.0])


def test_the_sign_of_zero_is_a_number(device: eumu.Device) -> None:
    kernel = eumu.load(build.BIN / "pvc" / "saxpy.bin")["saxpy"]
    x = device.array(np.full(32, -1.0, F32))
    for factor, negative in ((0.0, True), (-0.0, False), (0.0, True)):
        y = np.full(32, -0.0, F32)
        out = device.array(y)
        kernel.launch(device, 32, 32, [x, out, factor])
        assert (np.signbit(out.numpy()) == negative).all()


def test_wrong_numbers_are_refused_again(device: eumu.Device) -> None:
    kernel = eumu.load(build.BIN / "pvc" / "saxpy.bin")["saxpy"]
    x, y = device.array(np.ones(32, F32)), device.array(np.zeros(32, F32))
    for _ in range(2):
        kernel.launch(device, 32, 32, [x, y, 1.0])
        with pytest.raises(eumu.EumuError, match="does not fit"):
            kernel.launch(device, 32, 32, [x, y, 1e39])
    assert (y.numpy() == 2).all()


def test_arrays_of_another_device_are_refused_again(device: eumu.Device) -> None:
    """Its arrays have the same addresses."""
    kernel = eumu.load(build.BIN / "pvc" / "saxpy.bin")["saxpy"]
    other = eumu.Device("pvc", engine=device.engine)
    mine = [dev.array(np.ones(32, F32)) for dev in (device, device)]
    foreign = [other.array(np.ones(32, F32)) for _ in range(2)]
    assert [a.address for a in mine] == [a.address for a in foreign]
    kernel.launch(device, 32, 32, [*mine, 1.0])
    with pytest.raises(eumu.EumuError, match="another device"):
        kernel.launch(device, 32, 32, [mine[0], foreign[1], 1.0])
    kernel.launch(other, 32, 32, [*foreign, 3.0])
    kernel.launch(device, 32, 32, [*mine, 1.0])
    assert (mine[1].numpy() == 3).all()
    assert (foreign[1].numpy() == 4).all()


def test_a_fault_names_the_array_by_this_launch(device: eumu.Device) -> None:
    """Another kernel has called it otherwise meanwhile."""
    program = eumu.build(
        "kernel void first(global int *before, int n) { before[get_global_id(0) + n] = 1; }"
        "kernel void other(global int *after) { after[0] = 1; }",
        device,
    )
    array = device.array(np.zeros(32, np.int32))
    for n in (0, 1 << 20):
        program["other"].launch(device, 1 + (n > 0), args=[array])  # for the first time
        if not n:
            program["first"].launch(device, 32, args=[array, n])
            continue
        with pytest.raises(eumu.Fault, match="'before'"):
            program["first"].launch(device, 32, args=[array, n])


_MANY = """
typedef struct { char a; short b; long c; float4 d; int e[5]; } many;
kernel void store(char a, many m, global many *out, short3 v, global long *rest, long d, uchar u)
{
    *out = m;
    rest[0] = a; rest[1] = v.x; rest[2] = v.y; rest[3] = v.z; rest[4] = d; rest[5] = u;
}
"""


@pytest.mark.parametrize("name", ["skl", "dg2", "pvc"])
def test_every_byte_has_its_place(name: str) -> None:
    """Whatever registers and inline data do with it."""
    dev = eumu.Device(name, engine="interp")
    kernel = eumu.build(_MANY, dev)["store"]
    size = kernel.args[1].size
    out, rest = dev.array(size, np.uint8), dev.array(6, np.int64)
    random = np.random.default_rng(5)
    for turn in range(4):
        record = random.integers(0, 256, size, np.uint8).tobytes()
        number = (turn << 40) - 3
        values = [-turn, record, out, [turn, -turn, 7], rest, number, 200 + turn]
        kernel.launch(dev, 1, 1, values)
        held = np.arange(size)
        used = (held != 1) & ~((held > 3) & (held < 8)) & (held < 52)  # without padding
        assert (out.numpy() == np.frombuffer(record, np.uint8))[used].all()
        assert rest.numpy().tolist() == [-turn, turn, -turn, 7, number, 200 + turn]


@pytest.mark.parametrize("inline", [0, 32, 64, 50, 78])
def test_places_are_where_data_is_put(inline: int) -> None:
    """Data that comes with the thread has a register of its own; a value may lie on both sides."""
    target = eumu.Device("pvc", engine="interp").platform
    info = eumu.build(_MANY, target)["store"].info
    info = replace(info, execution_env=replace(info.execution_env, inline_data_payload_size=inline))
    slots = [s for s in info.payload_arguments if s.arg_type == "arg_byvalue"]
    data = bytes(range(max(s.offset + s.size for s in info.payload_arguments)))
    laid = payload_layout.with_inline_register(data, info, target, ())
    wanted = [data[s.offset : s.offset + s.size] for s in slots]
    found = [
        laid[p.offset : p.offset + p.size] for p in payload_layout.value_places(info, target, ())
    ]
    assert b"".join(found) == b"".join(wanted)
    assert (len(found) > len(wanted)) == (inline in (50, 78))
