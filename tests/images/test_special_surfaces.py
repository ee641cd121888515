"""Fields of frames, multisample control surfaces, chroma keys: what a surface's state adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.state.fields import StateError
from eumu.device.state.surface import AuxiliaryMode, SurfaceState
from eumu.device.surfaces.surface import Surface
from images import scalar_model as model
from images.samples_text import send
from images.test_typed import run

RNG = np.random.default_rng(39)
SAMPLE = "sample_lz.RGBA {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}"
LOAD = "load_lz.RGBA {lanes} 0x0:uw IMAGE RESULT.0 {params}"


@pytest.fixture(scope="module")
def device() -> eumu.Device:
    return eumu.Device("skl", engine="interp")


def changed(image: Any, **fields: Any) -> Any:
    """The image with another state in memory."""
    image.state = replace(image.state, **fields)
    image.slot.write(image.state.encode())
    return image


# ---- fields


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("tiling", ["linear", "x", "y"])
@pytest.mark.parametrize("field", [0, 1])
def test_a_field_is_every_other_row(engine: str, tiling: str, field: int) -> None:
    device = eumu.Device("skl", engine=engine)
    frame = RNG.integers(0, 256, (11, 5, 4), dtype=np.uint8)
    image = device.image(frame, format="RGBA8_UNORM", tiling=tiling)
    rows = frame[field::2]
    changed(image, vertical_line_stride=1, vertical_line_stride_offset=field, height=len(rows) - 1)
    y = np.arange(8)
    got = send(device, LOAD, image, device.sampler(), [np.full(8, 2), y])
    want = [rows[k, 2] / np.float32(255) if k < len(rows) else [0] * 4 for k in y]
    assert np.allclose(got.T, want, atol=1e-7)
    u, v = RNG.random(8).astype(np.float32), RNG.random(8).astype(np.float32)
    got = send(device, SAMPLE, image, device.sampler(filter="linear"), [u, v])

    def fetch(x: int, row: int) -> model.Texel:
        return tuple(float(c) / 255 for c in rows[row, x])

    for k in range(8):
        want_k = model.linear(
            float(u[k]), float(v[k]), 5, len(rows), "clamp_to_edge", fetch, (0.0,) * 4
        )
        assert np.abs(got[:, k] - np.array(want_k)).max() <= 4 / 256


@pytest.mark.parametrize("word", ["top", "bottom"])
def test_media_blocks_of_a_field(device: eumu.Device, word: str) -> None:
    frame = RNG.integers(0, 256, (7, 24), dtype=np.uint8)
    image = device.image(frame, format="R8_UINT")
    rows = frame[word == "bottom" :: 2]
    message = f"media_ld.{word} (8,6) IMAGE IN(0,0)<0;1,0> IN(0,1)<0;1,0> RESULT.0"
    got = run(device, message, image, np.array([4, 1], np.uint32)).view(np.uint8)[:48]
    want = [rows[min(1 + k, len(rows) - 1), 4:12] for k in range(6)]
    assert (got.reshape(6, 8) == want).all()
    data = np.zeros(20, np.uint32)
    data[:2], data[16:20] = (8, len(rows) - 1), (0x03020100, 0x07060504, 0x13121110, 0x17161514)
    message = f"media_st.{word} (8,2) IMAGE IN(0,0)<0;1,0> IN(0,1)<0;1,0> IN.64"
    run(device, message, image, data)
    rows[-1, 8:16] = range(8)  # of the other row, which there is not, nothing is written
    assert (image.numpy() == frame).all()


def test_what_cannot_be_a_field() -> None:
    plain = SurfaceState(width=7, height=7, surface_pitch=63, vertical_line_stride=1)
    assert Surface.of(plain).size == 14 * 64 + 32
    assert Surface.of(replace(plain, vertical_line_stride_offset=1)).size == 15 * 64 + 32
    with pytest.raises(StateError, match="one level and one slice"):
        Surface.of(replace(plain, surface_array=True, depth=1, surface_qpitch=4))


# ---- multisample control surfaces

BITS = {2: 1, 4: 2, 8: 4, 16: 4}
ELEMENTS = {2: "u1", 4: "u1", 8: "u4", 16: "u8"}


def compressed(
    device: eumu.Device, samples: int, shape: tuple[int, int], layers: int = 1
) -> tuple[Any, Any, Any, Any]:
    """Image, its samples [layers, samples, h, w, 4], the slice of each, which pixels are clear."""
    height, width = shape
    data = RNG.random((layers, samples, height, width, 4)).astype(np.float32)
    given = data if layers > 1 else data[0]
    image = device.image(
        given, format="RGBA32_FLOAT", samples=samples, layers=layers if layers > 1 else None
    )
    slices = RNG.integers(0, samples, (layers, height, width, samples))
    clear = RNG.random((layers, height, width)) < 0.2
    codes = sum(
        slices[..., s].astype(np.uint64) << np.uint64(BITS[samples] * s) for s in range(samples)
    )
    ones = np.uint64((1 << BITS[samples] * samples) - 1)
    clear |= codes == ones
    codes = np.where(clear, ones, codes)
    size = np.dtype(ELEMENTS[samples]).itemsize
    tiles, pitch = -(-width * size // 128), -(-height // 4) * 4
    rows = -(-((layers - 1) * pitch + height) // 32)
    memory = np.zeros(4096 * tiles * (rows + 1), np.uint8)
    for layer, y, x in np.ndindex(layers, height, width):
        row, left = layer * pitch + y, x * size
        at = 4096 * (row // 32 * tiles + left // 128) + left % 128 // 16 * 512
        at += row % 32 * 16 + left % 16
        memory[at : at + size] = np.array([codes[layer, y, x]], ELEMENTS[samples]).view(np.uint8)
    room = device.array(len(memory) + 4096, np.uint8)
    start = -room.address % 4096
    whole = room.numpy()
    whole[start : start + len(memory)] = memory
    room.write(whole)
    changed(
        image,
        auxiliary_surface_mode=AuxiliaryMode.AUX_CCS_D,
        auxiliary_surface_base_address=room.address + start,
        auxiliary_surface_pitch=tiles - 1,
        auxiliary_surface_qpitch=pitch // 4,
        **{f"{c}_clear_color": int(np.float32(k + 0.5).view(np.uint32)) for k, c in enumerate(
            ("red", "green", "blue", "alpha"))},
    )  # fmt: skip
    image.control = room
    return image, data, (slices, codes), clear


@pytest.mark.parametrize("samples", BITS)
@pytest.mark.parametrize("layers", [1, 3])
def test_samples_are_where_the_control_surface_says(
    device: eumu.Device, samples: int, layers: int
) -> None:
    shape = (37, 40)
    image, data, (slices, codes), clear = compressed(device, samples, shape, layers)
    place = [RNG.integers(0, n, 8) for n in (shape[1], shape[0], layers)]
    x, y, layer = place
    read = "load_mcs.RG {lanes} 0x0:uw IMAGE RESULT.0 {params}"
    control = send(device, read, image, device.sampler(), place, results=2, dtype="u4")
    want = codes[layer, y, x]
    assert (control[0] == want & np.uint64(0xFFFFFFFF)).all()
    assert (control[1] == want >> np.uint64(32)).all()
    load = "load_2dms_w.RGBA {lanes} 0x0:uw IMAGE RESULT.0 {params}"
    for s in range(samples):
        got = send(
            device, load, image, device.sampler(), [np.full(8, s), *control.view("i4"), *place]
        )
        for k in range(8):
            texel = data[layer[k], slices[layer[k], y[k], x[k], s], y[k], x[k]]
            expected = [0.5, 1.5, 2.5, 3.5] if clear[layer[k], y[k], x[k]] else texel
            assert (got[:, k] == expected).all(), (s, k)


def test_control_elements_of_32_bits(device: eumu.Device) -> None:
    """ld2dms brings one dword, which eight samples fill; of sixteen it is an error."""
    image, data, (slices, codes), clear = compressed(device, 8, (9, 12))
    x, y, s = RNG.integers(0, 9, 8), RNG.integers(0, 9, 8), RNG.integers(0, 8, 8)
    # Four registers there, four back, no header, SIMD8, ld2dms, surface 2.
    raw = (
        f"raw_send (M1, 8) 0x2 4 4 {4 << 25 | 4 << 20 | 1 << 17 | 30 << 12 | 2:#x}:ud IN.0 RESULT.0"
    )
    given = codes[0, y, x].astype(np.uint32).view(np.int32)
    got = send(device, raw, image, device.sampler(), [s, given, x, y])
    for k in range(8):
        texel = data[0, slices[0, y[k], x[k], s[k]], y[k], x[k]]
        assert (got[:, k] == ([0.5, 1.5, 2.5, 3.5] if clear[0, y[k], x[k]] else texel)).all()
    many = compressed(device, 16, (9, 12))[0]
    with pytest.raises(eumu.Fault, match="is 16, whose control elements only ld2dms_w takes"):
        send(device, raw, many, device.sampler(), [s, given, x, y])


def test_control_elements_outside_are_zero(device: eumu.Device) -> None:
    image = compressed(device, 4, (5, 6))[0]
    read = "load_mcs.RG {lanes} 0x0:uw IMAGE RESULT.0 {params}"
    u, v = [-1, 6, 0, 0, 100, 0, 3, 3], [0, 0, -1, 5, 0, 1 << 20, -7, 5]
    got = send(device, read, image, device.sampler(), [u, v], results=2, dtype="u4")
    assert not got.any()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"auxiliary_surface_pitch": 0}, "Auxiliary Surface Pitch .* a row has 160"),
        ({"auxiliary_surface_base_address": 1 << 40}, "Auxiliary Surface Base Address .* alloc"),
        ({"auxiliary_surface_mode": AuxiliaryMode.AUX_CCS_E}, "AUX_CCS_E"),
    ],
)
def test_wrong_control_surfaces(device: eumu.Device, fields: dict[str, Any], words: str) -> None:
    image = changed(compressed(device, 8, (5, 40))[0], **fields)
    read = "load_mcs.RG {lanes} 0x0:uw IMAGE RESULT.0 {params}"
    with pytest.raises((eumu.Fault, eumu.Unsupported), match=words):
        send(device, read, image, device.sampler(), [0, 0], results=2)


# ---- chroma keys


def test_keyed_texels_are_black_before_they_are_filtered(device: eumu.Device) -> None:
    data = RNG.integers(0, 256, (6, 7, 4), dtype=np.uint8)
    image = device.image(data, format="RGBA8_UNORM")
    low, high = (40, 0, 30, 20), (200, 255, 255, 220)  # alpha, red, green, blue
    device.chroma_key(2, *(int.from_bytes(bytes(v), "big") for v in (low, high)))
    keyed = np.ones((6, 7), bool)
    for c, k in enumerate((3, 0, 1, 2)):
        keyed &= (data[..., k] >= low[c]) & (data[..., k] <= high[c])
    assert 0 < keyed.sum() < keyed.size

    def fetch(x: int, y: int) -> model.Texel:
        return (0.0,) * 4 if keyed[y, x] else tuple(float(c) / 255 for c in data[y, x])

    sampler = device.sampler(filter="linear", address="clamp_to_border", chroma_key=2)
    u, v = (RNG.uniform(-0.2, 1.2, 8).astype(np.float32) for _ in range(2))
    got = send(device, SAMPLE, image, sampler, [u, v])
    for k in range(8):
        at = float(u[k]), float(v[k])
        want = model.linear(*at, 7, 6, "clamp_to_border", fetch, (0.0,) * 4)
        assert np.abs(got[:, k] - np.array(want)).max() <= 4 / 256


def test_keys_choose_by_index_and_kill_nothing_that_is_seen(device: eumu.Device) -> None:
    data = np.full((4, 4, 4), 9, np.uint8)
    image = device.image(data, format="RGBA8_UNORM")
    device.chroma_key(0, 0x09090909, 0x09090909)
    device.chroma_key(1, 0x0A090909, 0xFF090909)
    for more, want in (
        ({"chroma_key": 0}, 0),
        ({"chroma_key": 1}, 9),
        ({"chroma_key": 0, "chroma_mode": "kill"}, 9),
        ({}, 9),
    ):
        got = send(device, SAMPLE, image, device.sampler(**more), [0.5, 0.5])
        assert np.allclose(got, want / 255)


def test_black_of_video(device: eumu.Device) -> None:
    words = np.full((2, 2), 0x80404040, np.uint32)  # Y0, Cb, Y1, Cr
    image = device.image(words, format="YCRCB_NORMAL")
    device.chroma_key(3, 0x00804040, 0x00804040)
    got = send(device, SAMPLE, image, device.sampler(chroma_key=3), [0.3, 0.6])
    assert np.allclose(got[:3, 0] * 255, [0x80, 0x10, 0x80]) and (got[3] == 0).all()


def test_keys_of_other_formats_are_refused(device: eumu.Device) -> None:
    image = device.image(np.zeros((2, 2, 4), np.float32), format="RGBA32_FLOAT")
    with pytest.raises(eumu.Unsupported, match="chroma keys of R32G32B32A32_FLOAT"):
        send(device, SAMPLE, image, device.sampler(chroma_key=0), [0.5, 0.5])


def test_the_fast_engine_keeps_to_keys() -> None:
    """Compiled answers know no keys: after the first message of a site as before it."""
    data = RNG.integers(0, 256, (6, 7, 4), dtype=np.uint8)
    found = []
    for engine in ("interp", "jit"):
        device = eumu.Device("skl", engine=engine)
        device.chroma_key(0, 0x00000000, 0xFFFFFF80)
        image = device.image(data, format="RGBA8_UNORM")
        sampler = device.sampler(chroma_key=0)
        u = np.linspace(0.05, 0.95, 8, dtype=np.float32)
        found.append([send(device, SAMPLE, image, sampler, [u, v]) for v in (0.1, 0.5, 0.9)])
    assert np.array_equal(*found)
