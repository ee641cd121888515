"""How long the response to a raw sampler message is, and messages that have no lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from images.samples_text import send
from images.test_special_surfaces import BITS, compressed

MASK = 1 << 23  # of the header's M0.2
TEXELS = np.arange(1, 33, dtype=np.float32).reshape(2, 4, 4)
SAMPLE_LZ, LD2DSS = 0x18, 0x1F
IMAGE = 2  # the index of the image in the binding table


@pytest.fixture(params=["interp", "jit"])
def device(request: pytest.FixtureRequest) -> eumu.Device:
    return eumu.Device("skl", engine=request.param)


def descriptor(type: int, sent: int, received: int, simd: int, *, header: bool = False) -> int:
    mode = {8: 1, 16: 2}[simd]
    return sent << 25 | received << 20 | header << 19 | mode << 17 | type << 12 | IMAGE


def sampled(device: eumu.Device, simd: int, registers: int, word: int | None) -> Any:
    """sample_lz at the centres of texels, with a header if M0.2 is given: 5 rows of lanes."""
    u, v = (np.full(simd, x, np.float32).view(np.int32) for x in (0.375, 0.75))
    head = [] if word is None else [0, 0, word, 0, 0, 0, 0, 0]
    words = np.array([*head, *u, *v], np.int32)
    rows = np.zeros(-(-len(words) // simd) * simd, np.int32)
    rows[: len(words)] = words
    desc = descriptor(SAMPLE_LZ, len(words) // 8, registers, simd, header=word is not None)
    raw = f"raw_send (M1, {simd}) 0x2 {len(words) // 8} {registers} {desc:#x}:ud IN.0 RESULT.0"
    image = device.image(TEXELS, format="RGBA32_FLOAT")
    sampler = device.sampler(filter="nearest", address="clamp_to_edge")
    found = send(
        device, raw, image, sampler, list(rows.reshape(-1, simd)), results=5, simd=simd, dtype="u4"
    )
    return found.reshape(-1, 8)


@pytest.mark.parametrize("simd", [8, 16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_the_last_channels_need_not_come(device: eumu.Device, simd: int, channels: int) -> None:
    """Intel's finalizer asks for fewer registers where it wants the first channels only."""
    each = simd // 8
    found = sampled(device, simd, channels * each, None).view(np.float32)
    want = np.repeat(TEXELS[1, 1, :channels], each)
    assert (found[: channels * each] == want[:, None]).all()


@pytest.mark.parametrize(("simd", "registers"), [(8, 5), (16, 9)])
def test_the_null_mask_is_one_register(device: eumu.Device, simd: int, registers: int) -> None:
    found = sampled(device, simd, registers, MASK)
    assert found[registers - 1, 0] == (1 << simd) - 1
    assert (found[: simd // 8].view(np.float32) == TEXELS[1, 1, 0]).all()


@pytest.mark.parametrize(("simd", "registers"), [(8, 4), (16, 8), (16, 10)])
def test_a_null_mask_without_its_register(device: eumu.Device, simd: int, registers: int) -> None:
    with pytest.raises(eumu.Fault, match="the response has 5 parts, the last of them a register"):
        sampled(device, simd, registers, MASK)


@pytest.mark.parametrize(("simd", "registers"), [(8, 5), (16, 9), (16, 10)])
def test_registers_for_which_nothing_comes(device: eumu.Device, simd: int, registers: int) -> None:
    with pytest.raises(eumu.Fault, match="the response has 4 parts, the message expects 5"):
        sampled(device, simd, registers, None)


def test_ld2dss_reads_samples_as_they_lie(device: eumu.Device) -> None:
    """Sample, then coordinates; a control surface says nothing here."""
    rng = np.random.default_rng(3)
    for samples in BITS:
        image, data, _, _ = compressed(device, samples, (9, 12))
        x, y, s = rng.integers(0, 12, 8), rng.integers(0, 9, 8), rng.integers(0, samples, 8)
        raw = f"raw_send (M1, 8) 0x2 3 4 {descriptor(LD2DSS, 3, 4, 8):#x}:ud IN.0 RESULT.0"
        got = send(device, raw, image, device.sampler(), [s, x, y])
        assert (got == data[0, s, y, x].T).all()


def test_a_cache_flush_is_no_load(device: eumu.Device) -> None:
    """Type 31 of SIMD mode 3: what was cached of states is forgotten."""
    image = device.image(np.zeros((4, 4), np.float32), format="R32_FLOAT")
    desc = 1 << 25 | 1 << 20 | 1 << 19 | 3 << 17 | 0x1F << 12
    raw = f"raw_send (M1, 8) 0x2 1 1 {desc:#x}:ud IN.0 RESULT.0"
    load = "load_lz.R {lanes} 0x0:uw IMAGE RESULT.0 {params}"
    send(device, load, image, device.sampler(), [1, 1], results=1)
    assert len(device.heaps.caches.surfaces)
    send(device, raw, image, device.sampler(), [0], results=1)
    assert not len(device.heaps.caches.surfaces)


def test_headers_while_threads_may_be_stopped() -> None:
    """What is stopped in the middle of a thread needs headers, also of raw messages."""
    device = eumu.Device("skl", engine="interp")
    device.preempt(after=1 << 40)
    with pytest.raises(eumu.Fault, match="needs a header while pre-emption is enabled"):
        sampled(device, 8, 4, None)
    device.preempt(after=1 << 40)
    assert sampled(device, 8, 4, 0).any()
