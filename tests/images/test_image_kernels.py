"""Image kernels of OpenCL C, as Intel's compiler emits them, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from images.image_programs import elf
from native_launches import natively

# Device, engine, level.
MACHINES = (
    *(("skl", "interp", "visa"), ("skl", "jit", "visa"), ("apl", "jit", "visa")),
    *(("skl", "interp", "native"), ("apl", "jit", "native")),
)
RNG = np.random.default_rng(5)


@pytest.fixture(scope="module", params=MACHINES, ids="-".join)
def device(request: pytest.FixtureRequest) -> Iterator[eumu.Device]:
    name, engine, level = request.param
    with natively() if level == "native" else nullcontext():
        yield eumu.Device(name, engine=engine)


@cache
def load(name: str, device: str) -> eumu.Program:
    return eumu.load(elf(name, device))


def program(device: eumu.Device, name: str) -> eumu.Program:
    return load(name, "skl" if device.platform.name == "skl" else "apl")


def data(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    if dtype.startswith("f"):
        return RNG.random(shape).astype(dtype)
    return RNG.integers(0, 100, shape).astype(dtype)


FLOATS = (
    ("RGBA8_UNORM", 4, "u1"),
    ("RGBA8_SNORM", 4, "i1"),
    ("BGRA8_UNORM", 4, "u1"),
    ("RGBA16_UNORM", 4, "u2"),
    ("RG16_SNORM", 2, "i2"),
    ("RGBA16_FLOAT", 4, "f2"),
    ("R32_FLOAT", 1, "f4"),
    ("RG32_FLOAT", 2, "f4"),
    ("RGBA32_FLOAT", 4, "f4"),
    ("R8_UNORM", 1, "u1"),
    ("A8_UNORM", 1, "u1"),
    ("R10G10B10A2_UNORM", 0, "u4"),
    ("B5G6R5_UNORM", 0, "u2"),
    ("R11G11B10_FLOAT", 0, "u4"),
)


@pytest.mark.parametrize(("format", "channels", "dtype"), FLOATS, ids=[f[0] for f in FLOATS])
def test_a_copy_keeps_every_bit(
    device: eumu.Device, format: str, channels: int, dtype: str
) -> None:
    shape = (9, 13, *([channels] if channels > 1 else []))
    pixels = data(shape, dtype)
    image = device.image(pixels, format=format)
    copy = device.image(shape, format=format)
    program(device, "plain")["copy2"].launch(device, (13, 9), args=[image, copy])
    assert (copy.numpy() == pixels).all()


@pytest.mark.parametrize("tiling", ["x", "y"])
def test_tiles_change_nothing(device: eumu.Device, tiling: str) -> None:
    pixels = data((70, 150, 4), "u1")
    image = device.image(pixels, tiling=tiling)
    copy = device.image(pixels.shape, tiling="y" if tiling == "x" else "x")
    program(device, "plain")["copy2"].launch(device, (150, 70), args=[image, copy])
    assert (copy.numpy() == pixels).all()


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_integers_are_clamped_when_they_are_written(device: eumu.Device, bits: int) -> None:
    programs = program(device, "plain")
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    pixels = RNG.integers(low, high, (5, 6, 4), endpoint=True).astype(f"i{bits // 8}")
    image = device.image(pixels, format=f"RGBA{bits}_SINT")
    copy = device.image(pixels.shape, format=f"RGBA{bits}_SINT")
    programs["copy2i"].launch(device, (6, 5), args=[image, copy, 77])
    wide = pixels.astype(np.int64) + 77
    want = np.clip(wide, low, high) if bits < 32 else wide.astype(np.int32)
    assert (copy.numpy() == want).all()
    unsigned = pixels.view(f"u{bits // 8}")
    image = device.image(unsigned, format=f"RGBA{bits}_UINT")
    copy = device.image(pixels.shape, format=f"RGBA{bits}_UINT")
    programs["copy2u"].launch(device, (6, 5), args=[image, copy, 99])
    total = unsigned.astype(np.uint64) + 99
    want_u = np.minimum(total, (1 << bits) - 1) if bits < 32 else total.astype(np.uint32)
    assert (copy.numpy() == want_u).all()


@pytest.mark.parametrize(
    ("kernel", "shape", "more"),
    [
        ("copy1", (37, 4), {}),
        ("copy3", (3, 5, 7, 4), {}),
        ("copy1a", (4, 9, 4), {"layers": 4}),
        ("copy2a", (3, 5, 7, 4), {"layers": 3}),
        ("copyb", (50, 4), {"kind": "buffer"}),
    ],
)
def test_every_kind_of_image(
    device: eumu.Device, kernel: str, shape: tuple[int, ...], more: dict[str, Any]
) -> None:
    pixels = data(shape, "f4")
    image = device.image(pixels, format="RGBA32_FLOAT", **more)
    copy = device.image(shape, format="RGBA32_FLOAT", **more)
    size = tuple(reversed(shape[:-1]))
    program(device, "plain")[kernel].launch(device, size, args=[image, copy])
    assert (copy.numpy() == pixels).all()


def test_facts(device: eumu.Device) -> None:
    volume = device.image((3, 5, 7, 4), format="RGBA8_UNORM")
    layers = device.image((6, 5, 7), format="R32_FLOAT", layers=6)
    out = device.array(8, np.int32)
    program(device, "plain")["facts"].launch(device, 1, args=[volume, layers, out])
    assert out.numpy().tolist() == [7, 5, 3, 6, 0x10B5, 0x10D2, 0x10B0, 0x10DE]


def test_an_image_that_is_read_and_written(device: eumu.Device) -> None:
    pixels = data((6, 8, 4), "u2")
    image = device.image(pixels, format="RGBA16_UINT")
    program(device, "plain")["update"].launch(device, (8, 6), args=[image])
    assert (image.numpy() == pixels * 3).all()


def test_media_blocks(device: eumu.Device) -> None:
    pixels = data((20, 64), "u4")
    image = device.image(pixels, format="R32_UINT")
    copy = device.image(pixels.shape, format="R32_UINT")
    kernel = program(device, "plain")["blocks"]
    kernel.launch(device, 16, 16, args=[image, copy, 8, 3])
    width = kernel.simd_width
    assert (copy.numpy()[:4, :width] == pixels[3:7, 2 : 2 + width]).all()
    assert not copy.numpy()[4:].any()


def test_blocks_repeat_the_edge(device: eumu.Device) -> None:
    pixels = data((4, 16), "u4")
    image, copy = (device.image(pixels, format="R32_UINT") for _ in range(2))
    kernel = program(device, "plain")["blocks"]
    kernel.launch(device, 16, 16, args=[image, copy, -8, 2])
    width = min(kernel.simd_width, 16)
    x = np.clip(np.arange(width) - 2, 0, 15)
    y = np.clip(np.arange(4) + 2, 0, 3)
    assert (copy.numpy()[:, :width] == pixels[y][:, x]).all()


def test_samples_of_a_pixel(device: eumu.Device) -> None:
    pixels = data((4, 3, 5, 4), "u1")
    image = device.image(pixels, format="RGBA8_UNORM", samples=4)
    programs = program(device, "samples")
    out = device.array((3, 5, 4), np.float32)
    for sample in range(4):
        programs["each"].launch(device, (5, 3), args=[image, out, sample])
        assert (out.numpy() == (pixels[sample] / 255.0).astype(np.float32)).all()
    count = device.array(1, np.int32)
    programs["count"].launch(device, 1, args=[image, count])
    assert count.numpy()[0] == 4


def test_levels_of_detail(device: eumu.Device) -> None:
    big = data((8, 16, 4), "f4")
    levels = [data((8 >> k, max(1, 16 >> k), 4), "f4") for k in (1, 2, 3)]
    image = device.image(big, format="RGBA32_FLOAT", levels=levels)
    for k, part in enumerate([big, *levels]):
        assert (image.numpy(k) == part).all()
    programs = program(device, "mipmaps")
    count = device.array(1, np.int32)
    programs["count"].launch(device, 1, args=[image, count])
    assert count.numpy()[0] == 4
    points = RNG.random((64, 4)).astype(np.float32)
    points[:, 2] = np.repeat([0.0, 1.0, 2.0, 9.0], 16)
    sampler = device.sampler(filter="nearest", mip_filter="nearest")
    out = device.array((64, 4), np.float32)
    args = [image, sampler, device.array(points), out]
    programs["levels"].launch(device, 64, args=args)
    for n in range(64):
        part = [big, *levels][min(3, int(points[n, 2]))]
        y, x = int(points[n, 1] * part.shape[0]), int(points[n, 0] * part.shape[1])
        assert (out.numpy()[n] == part[y, x]).all()


def test_wrong_arguments_say_what_is_needed(device: eumu.Device) -> None:
    copy = program(device, "plain")["copy2"]
    image = device.image((4, 4, 4))
    volume = device.image((4, 4, 4, 4))
    with pytest.raises(eumu.ArgumentError, match=r"argument 1 'b' is image2d_t: a 2d image"):
        copy.launch(device, (4, 4), args=[image, volume])
    with pytest.raises(eumu.ArgumentError, match=r"an image is needed, from Device.image"):
        copy.launch(device, (4, 4), args=[image, device.array(4, np.int32)])
    with pytest.raises(eumu.ArgumentError, match="memory of another device"):
        copy.launch(device, (4, 4), args=[image, eumu.Device("skl").image((4, 4, 4))])
    sampled = program(device, "sampled")["f2"]
    with pytest.raises(eumu.ArgumentError, match=r"a sampler is needed"):
        out = device.array((4, 4), np.float32)
        sampled.launch(device, 4, args=[image, image, out, out])


def test_tables_are_given_back() -> None:
    """More launches and images than the heaps have room for at once."""
    device = eumu.Device("skl", engine="jit", memory_bytes=64 << 20)
    kernel = program(device, "plain")["copy2"]
    target = device.image((4, 4, 4))
    for n in range(1500):
        source = device.image(np.full((4, 4, 4), n % 256, np.uint8))
        if n % 5 == 0:
            kernel.launch(device, (4, 4), args=[source, target])
            assert target.numpy()[3, 3, 3] == n % 256
