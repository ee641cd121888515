"""Images by the newest compiler, whose surfaces and samplers are all bindless, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.errors import Severity
from eumu.platforms import platform
from eumu.text import parse, print_module

ENGINES = ("interp", "jit")
DEVICES = ("dg2", "bmg", "nvlp")
SOURCE = Path(__file__).with_name("kernels") / "newest_features" / "images.cl"
pytestmark = pytest.mark.slow
TEXELS = np.random.default_rng(1).integers(0, 256, (4, 4, 4)).astype(np.uint8)
WANTED = TEXELS / 255.0


@pytest.fixture(autouse=True)
def _newest(newest_ocloc: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("EUMU_OCLOC", newest_ocloc)
    yield


@cache
def _program(device: str) -> eumu.Program:
    return eumu.build(SOURCE, device)


def _run(device: str, engine: str, kernel: str, size: tuple[int, ...], make: Any) -> list[Any]:
    dev = eumu.Device(device, engine=engine)
    args: list[Any] = make(dev)
    report = _program(device)[kernel].launch(dev, size, size, args)
    assert report.engine == engine
    return args


def _linear(x: float, y: float) -> Any:
    """The bilinear filter at a place in texels, the edge beyond it."""
    (i, a), (j, b) = divmod(x - 0.5, 1), divmod(y - 0.5, 1)
    columns = np.clip([i, i + 1], 0, 3).astype(int)
    rows = np.clip([j, j + 1], 0, 3).astype(int)
    four = WANTED[np.ix_(rows, columns)]
    return np.einsum("j,i,jic->c", [1 - b, b], [1 - a, a], four)


FILTERED = np.array([[_linear(x + 0.75, y + 1) for x in range(4)] for y in range(4)])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_reads(device: str, engine: str) -> None:
    _, out = _run(
        *(device, engine, "plain", (4, 4)),
        lambda dev: [dev.image(TEXELS), dev.array((4, 4, 4), np.float32)],
    )
    assert np.allclose(out.numpy(), WANTED, atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_a_sampler_of_the_source(device: str, engine: str) -> None:
    _, out = _run(
        *(device, engine, "inside", (4, 4)),
        lambda dev: [dev.image(TEXELS), dev.array((4, 4, 4), np.float32)],
    )
    assert np.allclose(out.numpy(), FILTERED, atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_samplers_as_arguments(device: str, engine: str) -> None:
    """Two of them: a linear one, and one that gives a colour beyond the edge."""
    colour = (0.25, 0.5, 0.75, 1.0)

    def make(dev: eumu.Device) -> list[Any]:
        linear = dev.sampler(normalized=False, filter="linear")
        edge = dev.sampler(normalized=False, address="clamp_to_border", border=colour)
        return [dev.image(TEXELS), linear, edge, dev.array((2, 4, 4, 4), np.float32)]

    out = _run(device, engine, "given", (4, 4), make)[-1].numpy()
    assert np.allclose(out[0], FILTERED, atol=1e-6)
    shifted = np.full((4, 4, 4), colour)
    shifted[1:, 1:] = WANTED[:3, :3]
    assert np.allclose(out[1], shifted, atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_writes_and_layers(device: str, engine: str) -> None:
    (image,) = _run(
        *(device, engine, "written", (4, 4)),
        lambda dev: [dev.image(np.zeros((4, 4, 4), np.float32), format="RGBA32_FLOAT")],
    )
    y, x = np.mgrid[:4, :4]
    assert (image.numpy() == np.stack([x, y, x * 0 + 1, x * 0 + 4], -1)).all()
    texels = np.random.default_rng(2).random((2, 4, 4, 4)).astype(np.float32)

    def make(dev: eumu.Device) -> list[Any]:
        deep = dev.image(texels, format="RGBA32_FLOAT")
        flat = dev.image(texels, format="RGBA32_FLOAT", layers=2)
        return [deep, flat, dev.array((4, 4), np.float32)]

    out = _run(device, engine, "layers", (4,), make)[-1].numpy()
    assert np.allclose(out, texels[0, 1] + 2 * texels[1, 1])


@pytest.mark.parametrize("device", DEVICES)
def test_the_text_reads_prints_and_checks_clean(device: str) -> None:
    """Also the operand that names no second surface."""
    program = _program(device)
    assert program.elf is not None
    grf = platform(device).grf_bytes
    for kernel in program.elf.kernels:
        printed = print_module(parse(kernel.visaasm, kernel.name, grf))
        assert print_module(parse(printed, kernel.name, grf)) == printed
        assert printed.count(" %null.0 V") == kernel.visaasm.count(" %null.0 V")
    assert not [d for d in eumu.check(program, device) if d.severity is Severity.ERROR]
