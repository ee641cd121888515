"""SIMD4x2: two lanes with four channels each, against the same messages of eight lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from images.samples_text import send

RNG = np.random.default_rng(42)
SIMD4X2 = 1 << 22
# Message types, the plain message, and the parameters dword by dword.
MESSAGES: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "sample_lz": (24, "sample_lz.RGBA {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}", ("u", "v")),
    "sample_l": (
        2, "sample_l.RGBA {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}",
        ("u", "v", "", "", "lod"),
    ),
    "sample_l_c": (
        6, "sample_l_c.RGBA {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}",
        ("u", "v", "", "", "ref", "lod"),
    ),
    "sample_d": (
        4, "sample_d.RGBA {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}",
        ("u", "v", "", "", "dudx", "dudy", "dvdx", "dvdy"),
    ),
    "gather4": (8, "sample4.G {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}", ("u", "v")),
    "gather4_po": (
        17, "sample4_po.G {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}",
        ("u", "v", "", "", "offu", "offv"),
    ),
    "ld": (7, "load_3d.RGBA {lanes} 0x0:uw IMAGE RESULT.0 {params}", ("x", "y", "", "level")),
    "ld_lz": (26, "load_lz.RGBA {lanes} 0x0:uw IMAGE RESULT.0 {params}", ("x", "y")),
    "resinfo": (10, "resinfo.RGBA {lanes}  IMAGE IN.0 RESULT.0", ("level",)),
    "sampleinfo": (11, "sampleinfo.RGBA {lanes}  IMAGE RESULT.0", ()),
}  # fmt: skip
ORDER = {
    "sample_l": ("lod", "u", "v"), "sample_l_c": ("ref", "lod", "u", "v"),
    "sample_d": ("u", "dudx", "dudy", "v", "dvdx", "dvdy"),
    "gather4_po": ("u", "v", "offu", "offv"), "ld": ("x", "y", "level"),
}  # fmt: skip
LOADS = {"ld", "ld_lz", "resinfo", "sampleinfo"}


def values() -> dict[str, Any]:
    """Parameters of the two lanes."""
    found: dict[str, Any] = {n: RNG.uniform(-0.3, 1.3, 2).astype(np.float32) for n in ("u", "v")}
    found |= {
        n: RNG.uniform(0, 0.4, 2).astype(np.float32) for n in ("dudx", "dudy", "dvdx", "dvdy")
    }
    found["lod"], found["ref"] = RNG.uniform(0, 2, 2).astype(np.float32), np.float32([0.3, 0.6])
    found |= {n: RNG.integers(-3, 4, 2).astype(np.int32) for n in ("offu", "offv")}
    found |= {"x": np.int32([3, 9]), "y": np.int32([1, 0]), "level": np.int32([1, 0])}
    return found


def pairs(
    device: eumu.Device, name: str, image: Any, sampler: Any, given: dict[str, Any], word: int
) -> np.ndarray[Any, Any]:
    """The response [lane, channel] as bits; what is not written is 0."""
    number, _, layout = MESSAGES[name]
    registers = -(-len(layout) // 4)
    rows = np.zeros((1 + max(registers, 0), 8), np.int32)
    rows[0, 2] = word
    for k, parameter in enumerate(layout):
        if parameter:
            rows[1 + k // 4, [k % 4, 4 + k % 4]] = given[parameter].view(np.int32)
    descriptor = (1 + registers) << 25 | 1 << 20 | 1 << 19 | number << 12 | 2
    text = (
        "mov (M1_NM, 8) RESULT(0,0)<1> 0x0:ud\n    mov (M1_NM, 1) IN(0,3)<1> %r0(0,3)<0;1,0>\n"
        f"    raw_send (M1, 8) 0x2 {1 + registers} 1 {descriptor:#x}:ud IN.0 RESULT.0"
    )
    got = send(device, text, image, sampler, list(rows), results=1, dtype="u4")
    return got.reshape(2, 4)


@pytest.fixture(scope="module")
def device() -> eumu.Device:
    return eumu.Device("skl", engine="interp")


def pictures(device: eumu.Device, name: str) -> tuple[Any, Any]:
    data = RNG.random((8, 16, 4)).astype(np.float32)
    image = device.image(data, format="RGBA32_FLOAT", levels=3)
    for level in (1, 2):
        image.write(RNG.random((8 >> level, 16 >> level, 4)).astype(np.float32), level)
    compare = "less" if name.endswith("_c") else None
    return image, device.sampler(
        filter="linear", mip_filter="linear", address="repeat", compare=compare
    )


@pytest.mark.parametrize("name", MESSAGES)
def test_two_lanes_get_what_eight_get(device: eumu.Device, name: str) -> None:
    image, sampler = pictures(device, name)
    _, text, layout = MESSAGES[name]
    for _ in range(3):
        given = values()
        names = ORDER.get(name, tuple(n for n in layout if n))
        rows = [np.resize(given[n], 8) for n in names]
        if name == "gather4_po":  # integers beside floats, as bits
            rows = [r.view(np.float32) for r in rows]
        dtype = "u4"
        want = send(device, text, image, sampler, rows or [np.zeros(8, np.int32)], dtype=dtype)
        word = SIMD4X2 | (1 << 16 if "gather" in name else 0)
        got = pairs(device, name, image, sampler, given, word)
        assert (got == want[:, :2].T).all()


def test_masked_channels_keep_what_they_had(device: eumu.Device) -> None:
    image, sampler = pictures(device, "sample_lz")
    given = values()
    full = pairs(device, "sample_lz", image, sampler, given, SIMD4X2)
    part = pairs(device, "sample_lz", image, sampler, given, SIMD4X2 | 0b0101 << 12)
    assert (part[:, [1, 3]] == full[:, [1, 3]]).all() and not part[:, [0, 2]].any()
    assert full.all()


def test_both_engines_give_the_same() -> None:
    given, found = values(), []
    data = RNG.random((5, 9, 4)).astype(np.float32)
    for engine in ("interp", "jit"):
        device = eumu.Device("skl", engine=engine)
        image = device.image(data, format="RGBA32_FLOAT")
        sampler = device.sampler(filter="linear")
        found.append(pairs(device, "sample_l", image, sampler, given, SIMD4X2))
    assert (found[0] == found[1]).all() and found[0].any()


@pytest.mark.parametrize(
    ("name", "word", "words"),
    [("ld", 0, "SIMD8D"), ("ld", SIMD4X2 | 1 << 23, "null mask of SIMD4x2")],
)
def test_other_forms_are_refused(device: eumu.Device, name: str, word: int, words: str) -> None:
    image, sampler = pictures(device, name)
    with pytest.raises(eumu.Unsupported, match=words):
        pairs(device, name, image, sampler, values(), word)


def test_a_lane_needs_neighbours(device: eumu.Device) -> None:
    image, sampler = pictures(device, "sample")
    MESSAGES["sample"] = 0, "", ("u", "v")
    with pytest.raises(eumu.Unsupported, match="sampler: sample': this form"):
        pairs(device, "sample", image, sampler, values(), SIMD4X2)
    del MESSAGES["sample"]
