"""The fast engine's compiled answers give the bits of the model, and are what answers."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.functions import SharedFunctions
from eumu.exec.host import Places
from eumu.messages import FlushStateCaches, SamplerMessage
from images.image_programs import elf
from images.test_checklist import Bench

POINTS = 256  # of SIMD32: eight threads
ADDRESSES = ("clamp_to_edge", "clamp_to_border", "repeat", "mirrored_repeat")
RNG = np.random.default_rng(8)


@cache
def machine(engine: str) -> eumu.Device:
    return eumu.Device("skl", engine=engine)


@cache
def program(name: str) -> eumu.Program:
    return eumu.load(elf(name, "skl"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages that the model answers."""
    found: list[Any] = []
    answer = SharedFunctions.message

    def message(self: Any, record: Any, threads: Any, mask: Any, arguments: Any) -> Any:
        found.append(record)
        return answer(self, record, threads, mask, arguments)

    monkeypatch.setattr(SharedFunctions, "message", message)
    return found


def sampled(engine: str, pixels: Any, format: str, points: Any, **how: Any) -> Any:
    device = machine(engine)
    out = device.array((POINTS, 4), np.float32)
    args = [device.image(pixels, format=format), device.sampler(**how), device.array(points), out]
    program("sampled")["f2"].launch(device, POINTS, args=args)
    return out.numpy()


@pytest.mark.parametrize("format", ["RGBA8_UNORM", "BGRA8_UNORM", "RGBA32_FLOAT", "R32_FLOAT"])
@pytest.mark.parametrize("filter", ["nearest", "linear"])
def test_sampled_images(asked: list[Any], format: str, filter: str) -> None:
    shape = (9, 5) if format == "R32_FLOAT" else (9, 5, 4)
    pixels = RNG.uniform(-2, 2, shape).astype(np.float32)
    if format.endswith("UNORM"):
        pixels = RNG.integers(0, 256, shape, dtype=np.uint8)
    else:
        pixels.flat[:3] = np.inf, -np.inf, np.nan
    points = RNG.uniform(-1.5, 2.5, (POINTS, 4)).astype(np.float32)
    points[-6:, 0] = np.nan, np.inf, -np.inf, 3e38, -0.0, 1.0
    points[-6:, 1] = 0.0, np.nan, np.inf, -3e38, 1.0, 0.5
    for address in ADDRESSES:
        how = {"address": address, "filter": filter, "border": (0.5, 0.25, -1.0, 2.0)}
        want = sampled("interp", pixels, format, points, **how)
        asked.clear()
        got = sampled("jit", pixels, format, points, **how)
        assert not asked
        assert np.array_equal(got.view(np.uint32), want.view(np.uint32)) or (
            np.array_equal(got, want, equal_nan=True)
        )


def test_unnormalized_coordinates(asked: list[Any]) -> None:
    pixels = RNG.integers(0, 256, (300, 200, 4), dtype=np.uint8)
    points = RNG.uniform(-40, 340, (POINTS, 4)).astype(np.float32)
    for address in ADDRESSES[:2]:
        how = {"normalized": False, "address": address, "filter": "linear"}
        want = sampled("interp", pixels, "RGBA8_UNORM", points, **how)
        asked.clear()
        assert (sampled("jit", pixels, "RGBA8_UNORM", points, **how) == want).all()
        assert not asked


@pytest.mark.parametrize("format", ["RGBA8_UNORM", "BGRA8_UNORM", "RGBA32_FLOAT", "R32_FLOAT"])
def test_copies(asked: list[Any], format: str) -> None:
    shape = (40, 70) if format == "R32_FLOAT" else (40, 70, 4)
    pixels = RNG.random(shape).astype(np.float32)
    if format.endswith("UNORM"):
        pixels = RNG.integers(0, 256, shape, dtype=np.uint8)
    device = machine("jit")
    image, copy = device.image(pixels, format=format), device.image(shape, format=format)
    program("plain")["copy2"].launch(device, (70, 40), (35, 4), args=[image, copy])
    assert (copy.numpy() == pixels).all()
    assert not asked


def test_numbers_are_rounded_to_texels_as_the_model_does() -> None:
    values = RNG.uniform(-0.5, 1.5, (40, 70, 4)).astype(np.float32)
    values.flat[:5] = np.nan, np.inf, -np.inf, 0.5 / 255, 1.5 / 255
    results = []
    for engine in ("interp", "jit"):
        device = machine(engine)
        image, copy = device.image(values, format="RGBA32_FLOAT"), device.image((40, 70, 4))
        program("plain")["copy2"].launch(device, (70, 40), (35, 4), args=[image, copy])
        results.append(copy.numpy())
    assert (results[0] == results[1]).all()


def test_what_lies_outside_is_not_touched() -> None:
    """More work items than texels: reads give 0, writes are dropped."""
    device = machine("jit")
    image = device.image(np.full((5, 7, 4), 9, np.uint8))
    guard = device.array(np.full(4096, 7, np.uint8))
    copy = device.image((5, 7, 4))
    program("plain")["copy2"].launch(device, (64, 64), args=[image, copy])
    assert (copy.numpy() == 9).all() and (guard.numpy() == 7).all()


_COUNT = """.version 4.1
.kernel "count"
.decl IMAGE v_type=T num_elts=1
.decl U v_type=G type=ud num_elts=8 align=GRF
.decl V v_type=G type=ud num_elts=8 align=GRF
.decl OLD v_type=G type=ud num_elts=8 align=GRF
.input IMAGE offset=32 size=4
.kernel_attr SimdSize=8
main:
    mov (M1_NM, 8) U(0,0)<1> 0x11001100:uv
    mov (M1_NM, 8) V(0,0)<1> 0x0:ud
    typed_atomic.inc (M1, 8) IMAGE U.0 V.0 %null.0 %null.0 %null.0 %null.0 OLD.0
    ret (M1, 1)
"""


def test_atomics_of_many_threads_are_all_counted() -> None:
    device = eumu.Device("skl", engine="jit")
    kernel = eumu.load(_COUNT.encode(), device="skl")["count"]
    image = device.image(np.zeros((2, 2), np.uint32), format="R32_UINT")
    for _ in range(3):
        kernel.launch(device, 8 * 20000, 8, args=[image])
    assert image.numpy().tolist() == [[3 * 4 * 20000, 3 * 4 * 20000], [0, 0]]


def test_records_are_tried_in_turn_until_states_are_flushed() -> None:
    bench = Bench()
    smooth = bench.device.sampler(filter="linear", address="repeat")
    bench.tables = bench.make({3: bench.sampler, 5: smooth})
    caches = bench.device.heaps.caches
    functions = SharedFunctions(bench.device.memory, bench.tables.pointers, caches)
    message = SamplerMessage("sample_lz", 8, 2, False, 4)
    point = np.full((1, 8), 0.4, np.float32)

    def arguments(sampler: int) -> list[Any]:
        numbers = [np.array([[n]], np.uint32) for n in (bench.bti, sampler)]
        return [*numbers, point, point]

    places = Places((0, 8, 16, 24, 56), (88, 120, 152, 184))
    made = [functions.inline_cache(message, arguments(n), places) for n in (3, 5)]
    assert made[0] is not None and made[1] is not None
    first, second = (m.record for m in made if m)
    ctypes.c_uint64.from_address(first + 8).value = second
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
    run = function(ctypes.c_uint64.from_address(first).value)

    def ask(sampler: int) -> tuple[int, float]:
        data = np.zeros(216, np.uint8)
        data[:8] = 1
        for x, start in zip(arguments(sampler), places.arguments[1:], strict=True):
            data[start : start + x.nbytes] = x.view(np.uint8).reshape(-1)
        code = run(first, data.ctypes.data)
        return code, float(data[88:92].view(np.float32)[0])

    for sampler in (3, 5):
        want = functions.message(message, np.array([0]), np.ones((1, 8), bool), arguments(sampler))
        assert ask(sampler) == (0, float(want[0].view(np.float32)[0, 0]))
    assert ask(9)[0] == 1
    functions.message(FlushStateCaches(), np.array([0]), np.ones((1, 1), bool), [])
    assert ask(3)[0] == ask(5)[0] == 1
