"""Intra estimation of OpenCL C against AVC's equations, pixel by pixel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import eumu
from motion import intra_oracle as intra
from motion import oracle
from motion.test_kernels import HAAR, SAD, program, smooth

ALL = intra.LEFT | intra.TOP | intra.TOP_RIGHT | intra.CORNER


@pytest.fixture(scope="module", params=["interp", "jit"])
def device(request: pytest.FixtureRequest) -> Iterator[eumu.Device]:
    yield eumu.Device("skl", engine=request.param)


def edges_of(picture: np.ndarray[Any, Any]) -> list[int]:
    """What surrounds the macroblock at (16, 16): left, upper, upper right, corner."""
    left, upper = picture[16:32, 15], picture[15, 16:48]
    return [*map(int, left), *map(int, upper), int(picture[15, 15])]


def run(
    device: eumu.Device, picture: np.ndarray[Any, Any], flags: int, mask: int = 0, sad: int = SAD,
    shapes: int = 0, mode_penalty: int = 0, neighbours: int = 0, non_dc: int = 0,
) -> tuple[int, int, list[int]]:  # fmt: skip
    """Shape, distortion, modes."""
    image = device.image(picture, format="R8_UNORM")
    out, edges = device.array(64, np.uint32), device.array(np.array(edges_of(picture), np.uint8))
    octets = [np.uint8(v) for v in (mask, flags, sad)]
    costs = [np.uint32(shapes), np.uint8(mode_penalty), np.uint32(neighbours), np.uint32(non_dc)]
    program()["intra"].launch(device, 16, 16, args=[image, out, edges, *octets, *costs])
    words = [int(w) for w in out.numpy()[48:52]]
    modes = words[2] | words[3] << 32
    return words[1], words[0], [modes >> 4 * k & 15 for k in range(16)]


@pytest.mark.parametrize("flags", [ALL, intra.TOP, intra.LEFT, 0, ALL & ~intra.TOP_RIGHT])
@pytest.mark.parametrize("shape", range(3))
def test_a_shape(device: eumu.Device, shape: int, flags: int) -> None:
    picture = smooth(30 + shape)
    frame = intra.Frame(picture[16:32, 16:32].astype(np.int64), edges_of(picture), flags)
    found = run(device, picture, flags, mask=7 & ~(1 << shape))
    distortion, modes = intra.estimate(frame, shape, 0, 0, 0, 0)
    assert found == (shape, distortion, modes)


@pytest.mark.parametrize("seed", range(3))
def test_costs_choose_a_shape(device: eumu.Device, seed: int) -> None:
    picture = smooth(40 + seed)
    if seed == 1:
        picture[16:32, 16:32] = np.arange(16)[:, None] * 8 + np.arange(16) * 3
    given = (0x6A5C4B00, 0x33, 0x13572468, 0x00040C24)
    frame = intra.Frame(picture[16:32, 16:32].astype(np.int64), edges_of(picture), ALL)
    measure = oracle.haar if seed == 2 else oracle.sad
    ways = [intra.estimate(frame, shape, *given, measure) for shape in range(3)]
    best = min(range(3), key=lambda shape: ways[shape][0])
    found = run(device, picture, ALL, 0, HAAR if seed == 2 else SAD, *given)
    assert found == (best, *ways[best])


@pytest.mark.parametrize("flags", [ALL, intra.TOP, intra.LEFT, 0])
def test_chrominance(device: eumu.Device, flags: int) -> None:
    rng = np.random.default_rng(flags)
    luma, pairs = smooth(50), smooth(51, (24, 80)).astype(np.int64)
    colour = np.clip(pairs + rng.integers(-9, 10, pairs.shape), 0, 255).astype(np.uint8)
    planes = np.concatenate([luma[:48], colour])
    image = device.image(planes, format="PLANAR_420_8")
    chroma = planes[48:].reshape(24, 40, 2)
    near = np.zeros(33, np.uint16)
    near[:8] = chroma[8:16, 7].copy().view(np.uint16)[:, 0]
    near[16:24] = chroma[7, 8:16].copy().view(np.uint16)[:, 0]
    near[32] = chroma[7, 7].copy().view(np.uint16)[0]
    out = device.array(64, np.uint32)
    edges = device.array(np.array(edges_of(luma), np.uint8))
    args = [image, out, edges, device.array(near), np.uint8(flags), np.uint8(0x25)]
    program()["intra_chroma"].launch(device, 16, 16, args=args)
    ways: dict[int, int] = {}
    for c in (0, 1):

        def p(x: int, y: int, c: int = c) -> int | None:
            need = intra.CORNER if x < 0 and y < 0 else intra.LEFT if x < 0 else intra.TOP
            return int(chroma[8 + y, 8 + x, c]) if flags & need else None

        for mode, pixels in intra.chroma(p).items():
            here = chroma[8:16, 8:16, c].astype(np.int64)
            ways[mode] = ways.get(mode, 0) + oracle.sad(here, pixels)
    costs = {mode: cost + (0, 1, 1, 2)[mode] * oracle.u4u4(0x25) for mode, cost in ways.items()}
    best = min(sorted(costs), key=costs.__getitem__)
    assert [int(w) for w in out.numpy()[52:54]] == [costs[best], best]
