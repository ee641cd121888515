"""Image kernels as native code: typed messages, media blocks and the sampler, against vISA."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import eumu
from images.image_programs import elf

ENGINES = ("interp", "jit")


@cache
def _program(name: str) -> eumu.Program:
    return eumu.load(elf(name, "apl"))


@pytest.mark.parametrize("engine", ENGINES)
def test_typed_messages_copy_an_image(engine: str) -> None:
    device = eumu.Device("apl", engine=engine)
    pixels = np.random.default_rng(1).integers(0, 256, (9, 13, 4), np.uint8)
    image, copy = device.image(pixels), device.image(pixels.shape)
    kernel = _program("plain")["copy2"]
    kernel.launch(device, (13, 9), args=[image, copy], level="native")
    assert (copy.numpy() == pixels).all()


def test_media_blocks_move_rectangles() -> None:
    device = eumu.Device("apl", engine="interp")
    pixels = np.random.default_rng(2).integers(0, 256, (16, 32, 4), np.uint8)
    found = []
    for level in ("visa", "native"):
        image, copy = device.image(pixels), device.image(pixels.shape)
        kernel = _program("plain")["blocks"]
        kernel.launch(device, 16, 16, args=[image, copy, 8, 3], level=level)
        found.append(copy.numpy())
    assert (found[0] == found[1]).all() and found[0].any()


@pytest.mark.parametrize("filter", ["nearest", "linear"])
def test_the_sampler_gives_what_it_gives_vISA(filter: str) -> None:
    device = eumu.Device("apl", engine="interp")
    rng = np.random.default_rng(3)
    image = device.image(rng.random((8, 8, 4), np.float32), format="RGBA32_FLOAT")
    sampler = device.sampler(filter=filter)
    points = device.array(rng.random((32, 4), np.float32) * 10 - 1)
    found = []
    for level in ("visa", "native"):
        out = device.array(np.zeros((32, 4), np.float32))
        kernel = _program("sampled")["f2"]
        kernel.launch(device, 32, args=[image, sampler, points, out], level=level)
        found.append(out.numpy())
    assert (found[0] == found[1]).all() and found[0].any()


def test_facts_come_from_the_payload() -> None:
    device = eumu.Device("apl")
    volume = device.image((3, 5, 7, 4), format="RGBA8_UNORM")
    layers = device.image((6, 5, 7), format="R32_FLOAT", layers=6)
    out = device.array(8, np.int32)
    _program("plain")["facts"].launch(device, 1, args=[volume, layers, out], level="native")
    assert out.numpy().tolist() == [7, 5, 3, 6, 0x10B5, 0x10D2, 0x10B0, 0x10DE]
