"""Append counters: what each lane finds and what is left, against running sums in NumPy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.cli.main import main
from eumu.device.state.fields import StateError
from eumu.device.state.surface import AuxiliaryMode, SurfaceState
from eumu.device.surfaces.surface import Surface
from eumu.exec.jit import Jit

RNG = np.random.default_rng(41)
LANES = 32
MARK = 0xABCD_0123  # what lanes that are off keep

# Group g has row g of the array: 32 sources, a dword of predicate bits, 32 old values.
_TEXT = """.version 4.1
.kernel "text"
.decl IMAGE v_type=T num_elts=1 v_name=IMAGE
.decl ROWS v_type=G type=uq num_elts=1 align=qword
.decl AT v_type=G type=uq num_elts=1 align=qword
.decl PLACE v_type=G type=ud num_elts=1 align=dword
.decl X v_type=G type=ud num_elts=32 align=GRF
.decl BITS v_type=G type=ud num_elts=4 align=GRF
.decl OLD v_type=G type=ud num_elts=32 align=GRF
.decl P1 v_type=P num_elts=32
.input ROWS offset={grf} size=8
.input IMAGE offset={image} size=4
.kernel_attr Target="cm"
.kernel_attr SimdSize={simd}
.function "text"
    mul (M1, 1) PLACE(0,0)<1> %group_id_x(0,0)<0;1,0> 0x200:ud
    add (M1, 1) AT(0,0)<1> ROWS(0,0)<0;1,0> PLACE(0,0)<0;1,0>
    svm_block_ld (8) AT(0,0)<0;1,0> X.0
    add (M1, 1) AT(0,0)<1> AT(0,0)<0;1,0> 0x80:uq
    svm_block_ld (1) AT(0,0)<0;1,0> BITS.0
    setp (M1_NM, 32) P1 BITS(0,0)<0;1,0>
    add (M1, 1) AT(0,0)<1> AT(0,0)<0;1,0> 0x80:uq
    svm_block_ld (8) AT(0,0)<0;1,0> OLD.0
{body}
    svm_block_st (8) AT(0,0)<0;1,0> OLD.0
    ret (M1, 1)
"""


def launch(
    device: eumu.Device, body: str, image: Any, sources: Any, bits: Any, simd: int = 16
) -> np.ndarray[Any, Any]:
    """The old values [groups, 32] of groups with sources [groups, 32] and bits [groups]."""
    grf = device.platform.grf_bytes
    rows = np.zeros((len(sources), 128), np.uint32)
    rows[:, :LANES], rows[:, 32], rows[:, 64:96] = sources, bits, MARK
    text = _TEXT.format(grf=grf, image=grf + 8, simd=simd, body=f"    {body}")
    array = device.array(rows)
    kernel = eumu.load(text.encode(), device=device.platform.name)["text"]
    kernel.launch(device, len(rows), args=[array, image])
    return array.numpy()[:, 64:96]


def surface(device: eumu.Device, counter: Any = 0, **more: Any) -> Any:
    """A typed buffer with an append counter."""
    return device.image((64,), format="R32_UINT", kind="buffer", counter=counter, **more)


def message(name: str, size: int, dst: str = "OLD", at: str = "bti(0x1)") -> str:
    return f"lsc_apndctr_atomic_{name}.ugm (M1, {size}) {dst}:d32  {at}  X:d32"


@pytest.fixture(scope="module", params=["interp", "jit"])
def pvc(request: pytest.FixtureRequest) -> eumu.Device:
    return eumu.Device("pvc", engine=request.param)


def wanted(name: str, start: int, x: Any, on: Any) -> tuple[np.ndarray[Any, Any], int]:
    """Old values of the lanes that are on, and what the counter is then, modulo 2^32."""
    steps = np.where(on, x, 0).astype(np.int64) * (1 if name == "add" else -1)
    sums = (start + np.r_[0, np.cumsum(steps)]) & 0xFFFF_FFFF
    return np.where(on, sums[:-1], MARK), int(sums[-1])


@pytest.mark.parametrize("name", ["add", "sub"])
@pytest.mark.parametrize("size", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("bits", [0xFFFF_FFFF, 0, 0x8421_5AB7])
def test_lanes_count_in_their_order(pvc: eumu.Device, name: str, size: int, bits: int) -> None:
    """Sources and starts are large enough to wrap around."""
    x = RNG.integers(0, 1 << 32, LANES, dtype=np.uint32)
    start = int(RNG.integers(1 << 32))
    image = surface(pvc, start)
    got = launch(pvc, f"(P1) {message(name, size)}", image, x[None], [bits], min(size, 32))[0]
    on = (bits >> np.arange(LANES) & 1 == 1) & (np.arange(LANES) < size)
    old, left = wanted(name, start, x, on)
    assert got.tolist() == old.tolist()
    assert image.counter.numpy().tolist() == [left]
    assert not image.numpy().any()


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("platform", ["dg2", "mtl"])
def test_messages_of_half_a_register(engine: str, platform: str) -> None:
    device = eumu.Device(platform, engine=engine)
    image, x = surface(device, 7), np.arange(LANES)
    got = launch(device, message("sub", 8), image, x[None], [0], 8)[0]
    old, left = wanted("sub", 7, x, np.arange(LANES) < 8)
    assert (got.tolist(), image.counter.numpy()[0]) == (old.tolist(), left)


def test_nothing_is_returned_to_null(pvc: eumu.Device) -> None:
    image, x = surface(pvc, 100), np.arange(LANES)
    got = launch(pvc, message("add", 16, "%null"), image, x[None], [0])[0]
    assert (got == MARK).all() and image.counter.numpy()[0] == 100 + sum(range(16))


@pytest.mark.parametrize("model", ["ss", "bss"])
def test_a_surface_by_the_offset_of_its_state(pvc: eumu.Device, model: str) -> None:
    image, other = surface(pvc, 3), surface(pvc, 50)
    body = message("add", 16, at=f"{model}(BITS)")
    got = launch(pvc, body, other, np.full((1, LANES), 2), [image.slot.offset])[0]
    assert got[:16].tolist() == list(range(3, 35, 2))
    assert (image.counter.numpy()[0], other.counter.numpy()[0]) == (35, 50)


def test_surfaces_of_one_counter(pvc: eumu.Device) -> None:
    first = surface(pvc, 5)
    second = pvc.image((4, 4), format="R8_UNORM", counter=first.counter)
    for image in (first, second, first):
        launch(pvc, message("add", 16), image, np.ones((1, LANES)), [0])
    assert first.counter.numpy()[0] == 5 + 3 * 16
    third = surface(pvc)  # another one at the same place of the binding table
    launch(pvc, message("add", 16), third, np.ones((1, LANES)), [0])
    assert (first.counter.numpy()[0], third.counter.numpy()[0]) == (53, 16)


def test_texels_are_as_without_a_counter(pvc: eumu.Device) -> None:
    image = surface(pvc, 9)
    body = "lsc_atomic_iadd.tgm (M1, 16)  OLD:d32  bti(0x1)[X]:a32  X  %null"
    launch(pvc, body, image, np.arange(LANES)[None], [0])
    assert image.numpy().tolist() == [*range(16), *[0] * 48]
    assert image.counter.numpy()[0] == 9


def with_workers(workers: int) -> eumu.Device:
    """A device whose fast engine has so many; with 0, of the interpreter."""
    device = eumu.Device("pvc", engine="jit" if workers else "interp")
    if workers:
        device._engines["jit"] = Jit(workers=workers)
    return device


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_groups_never_lose_an_update(workers: int, name: str) -> None:
    """Every old value is there once, and each lane's follows from the lane before it."""
    device = with_workers(workers)
    image, groups = surface(device), 10000
    x = RNG.integers(1, 5, (groups, LANES), dtype=np.uint32)
    bits = RNG.integers(0, 1 << 16, groups, dtype=np.uint32)
    got = launch(device, f"(P1) {message(name, 16)}", image, x, bits)
    on = (bits[:, None] >> np.arange(LANES) & 1 == 1) & (np.arange(LANES) < 16)
    assert (got[~on] == MARK).all()
    sign = 1 if name == "add" else -1
    old, step = got[on].astype(np.int64) * sign % (1 << 32), x[on].astype(np.int64)
    order = np.argsort(old)
    assert (old[order] == np.r_[0, np.cumsum(step[order])[:-1]]).all()
    assert image.counter.numpy()[0] == sign * step.sum() % (1 << 32)
    rows = np.repeat(np.arange(groups), on.sum(1))
    assert (np.diff(old)[np.diff(rows) == 0] > 0).all()


@pytest.mark.parametrize("workers", [2, 4])
def test_sums_of_workers_are_exact(workers: int) -> None:
    """Half a million messages that meet, 22 of a thread's add and 12 subtract."""
    device, groups = with_workers(workers), 15000
    image = surface(device)
    x = RNG.integers(0, 1 << 16, (groups, LANES), dtype=np.uint32)
    lines = [*[message("add", 16, "%null")] * 22, *[message("sub", 16, "%null")] * 12]
    launch(device, "\n    ".join(lines), image, x, np.zeros(groups))
    assert image.counter.numpy()[0] == 10 * int(x[:, :16].sum()) & 0xFFFF_FFFF


# ---- what is wrong


def test_a_surface_without_a_counter(pvc: eumu.Device) -> None:
    image = pvc.image((64,), format="R32_UINT", kind="buffer")
    with pytest.raises(eumu.Fault) as caught:
        launch(pvc, message("add", 16), image, np.ones((1, LANES)), [0])
    text = str(caught.value)
    assert "Auxiliary Surface Mode (dword 6 bits 2:0) is AUX_NONE" in text
    assert "an append counter needs AUX_APPEND" in text and "lsc_apndctr_atomic_add" in text
    launch(pvc, f"(P1) {message('add', 16)}", image, np.ones((1, LANES)), [0])  # no lane asks


def test_a_counter_outside_memory(pvc: eumu.Device) -> None:
    image = surface(pvc)
    image.state = replace(image.state, auxiliary_surface_base_address=0x7FFF_0000_0000)
    image.slot.write(image.state.encode())
    with pytest.raises(eumu.Fault, match="0x7fff00000000") as caught:
        launch(pvc, f"(P1) {message('sub', 16)}", image, np.ones((1, LANES)), [0xC])
    assert "lanes 2-3" in str(caught.value) and "lsc_apndctr_atomic_sub" in str(caught.value)
    freed = surface(pvc)
    freed.counter.free()
    with pytest.raises(eumu.Fault, match="freed"):
        launch(pvc, message("add", 16), freed, np.ones((1, LANES)), [0])


def test_a_null_surface(pvc: eumu.Device) -> None:
    image = surface(pvc)
    image.slot.write(replace(image.state, surface_type=7).encode())
    with pytest.raises(eumu.Fault, match=r"Surface Type .* is NULL; there is no append counter"):
        launch(pvc, message("add", 16), image, np.ones((1, LANES)), [0])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("lsc_apndctr_atomic_add.slm (M1, 16) OLD:d32 bti(0x1) X:d32", "in .slm"),
        ("lsc_apndctr_atomic_add.ugm (M1, 16) OLD:d64 bti(0x1) X:d64", "d64.* it is a dword"),
        ("lsc_apndctr_atomic_add.ugm (M1, 16) OLD:d32 bti(0x1) X:d16c32", "it is a dword"),
        ("lsc_apndctr_atomic_sub.ugm (M1, 16) OLD:d32 bti(0x1) %null:d32", "without the source"),
    ],
)
def test_what_is_no_append_counter(pvc: eumu.Device, body: str, words: str) -> None:
    with pytest.raises(eumu.Unsupported, match=words):
        launch(pvc, body, surface(pvc), np.ones((1, LANES)), [0])


# ---- the state


def test_the_bytes_of_the_state(pvc: eumu.Device) -> None:
    image = surface(pvc, 11)
    words = np.frombuffer(image.state.encode(), "<u4")
    address = image.counter.address
    assert words[6] & 7 == 2 and address % 4096 == 0
    assert int(words[10]) | int(words[11]) << 32 == address
    found = SurfaceState.decode(words.tobytes())
    assert found == image.state and Surface.of(found).counter == address
    assert Surface.of(replace(found, auxiliary_surface_base_address=0x1000)).counter == 0x1000
    with pytest.raises(StateError, match="not a multiple of 4096"):
        replace(found, auxiliary_surface_base_address=address + 4).encode()
    with pytest.raises(StateError, match="AUX_CCS_E; an append counter needs AUX_APPEND"):
        _ = replace(Surface.of(found), state=_ccs(found)).counter
    assert image.counter.name.startswith("the counter of image #")
    assert pvc.image((4,), format="R32_UINT").counter is None


def test_the_state_in_words(
    pvc: eumu.Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image, file = surface(pvc), tmp_path / "state.bin"
    file.write_bytes(image.state.encode())
    assert main(["state", str(file), "--as", "surface"]) == 0
    out = capsys.readouterr().out
    assert "AUX_APPEND (2)" in out and f"{image.counter.address:#x}" in out
    assert "not modelled" not in out


def _ccs(state: SurfaceState) -> SurfaceState:
    return replace(state, auxiliary_surface_mode=AuxiliaryMode.AUX_CCS_E)


def test_what_can_be_no_counter(pvc: eumu.Device) -> None:
    for number in (-1, 1 << 32):
        with pytest.raises(eumu.ArgumentError, match="an append counter has 32 bits"):
            surface(pvc, number)
    with pytest.raises(StateError, match=r"Auxiliary Surface Mode .* does not exist"):
        pvc.image((6, 4), format="PLANAR_420_8", counter=0)
    array = pvc.array(2048, np.uint32)
    assert array.address % 4096
    with pytest.raises(eumu.ArgumentError, match=r"is no append counter.*multiple of 4096"):
        surface(pvc, array)
    with pytest.raises(eumu.ArgumentError, match="image's device"):
        surface(eumu.Device("pvc"), surface(pvc).counter)


def test_who_changes_the_state_in_memory(pvc: eumu.Device) -> None:
    """The bytes count, not what `state` says; cached answers are forgotten with them."""
    first, second = surface(pvc, 1), surface(pvc, 1000)
    for image, n in ((first, 1), (second, 1000)):
        first.slot.write(
            replace(first.state, auxiliary_surface_base_address=image.counter.address).encode()
        )
        got = launch(pvc, message("add", 16), first, np.ones((1, LANES)), [0])[0]
        assert got[:16].tolist() == list(range(n, n + 16))
