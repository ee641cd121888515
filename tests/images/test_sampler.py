"""The sampler against a scalar model: what OpenCL's implementations on CPUs do not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.state.codes import SurfaceFormat
from eumu.device.surfaces.formats import texel_format
from eumu.device.surfaces.texels import encode
from images import scalar_model as model
from images.samples_text import send

RNG = np.random.default_rng(11)
SAMPLE = "sample_lz.RGBA {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}"
ADDRESSES = (
    "clamp_to_edge",
    "clamp_to_border",
    "repeat",
    "mirrored_repeat",
    "mirror_clamp_to_edge",
    "half_border",
)
BORDER = (0.25, -1.0, 0.5, 0.75)


@pytest.fixture(scope="module")
def device() -> eumu.Device:
    return eumu.Device("skl", engine="interp")


def close(got: np.ndarray[Any, Any], want: list[Any], bound: float) -> None:
    error = np.abs(got.T - np.array(want, np.float32)).max()
    assert error <= bound, f"{error} > {bound}: {got.T} is not {want}"


def coordinates(count: int = 16) -> list[np.ndarray[Any, Any]]:
    return [RNG.uniform(-1.8, 2.8, count).astype(np.float32) for _ in range(3)]


@pytest.mark.parametrize("filter", ["nearest", "linear"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses(device: eumu.Device, address: str, filter: str) -> None:
    data = RNG.uniform(-1, 1, (5, 7, 4)).astype(np.float32)
    image = device.image(data, format="RGBA32_FLOAT")
    sampler = device.sampler(address=address, filter=filter, border=BORDER)
    u, v, _ = coordinates()
    got = send(device, SAMPLE, image, sampler, [u, v], simd=16)
    how = model.nearest if filter == "nearest" else model.linear

    def fetch(x: int, y: int) -> model.Texel:
        return tuple(float(c) for c in data[y, x])

    want = [
        how(float(a), float(b), 7, 5, address, fetch, BORDER) for a, b in zip(u, v, strict=True)
    ]
    close(got, want, 0 if filter == "nearest" else 2 * 2 / 256)


def test_layers_of_a_1d_array(device: eumu.Device) -> None:
    data = RNG.random((4, 9, 4)).astype(np.float32)
    image = device.image(data, format="RGBA32_FLOAT", layers=4)
    where = np.array([-3, -0.5, 0.49, 0.5, 1.5, 2.6, 3.2, 9], np.float32)
    got = send(device, SAMPLE, image, device.sampler(), [0.5, where])
    close(got, [data[min(max(int(np.rint(w)), 0), 3), 4] for w in where], 0)


def test_srgb(device: eumu.Device) -> None:
    data = RNG.integers(0, 256, (4, 4, 4), dtype=np.uint8)
    image = device.image(data, format="RGBA8_UNORM_SRGB")
    u, v = (RNG.random(8).astype(np.float32) for _ in range(2))
    got = send(device, SAMPLE, image, device.sampler(), [u, v])
    want = []
    for a, b in zip(u, v, strict=True):
        *colour, alpha = (float(c) / 255 for c in data[int(b * 4), int(a * 4)])
        want.append([*map(model.srgb_to_linear, colour), alpha])
    close(got, want, 1e-6)


def test_formats_with_fields(device: eumu.Device) -> None:
    words = RNG.integers(0, 1 << 32, 8, dtype=np.uint32)
    u = (np.arange(8, dtype=np.float32) + 0.5) / 8
    sampler = device.sampler()

    def read(format: str, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return send(device, SAMPLE, device.image(data, format=format), sampler, [u]).T

    got = read("R10G10B10A2_UNORM", words)
    for row, n in zip(got, map(int, words), strict=True):
        fields = [n & 1023, n >> 10 & 1023, n >> 20 & 1023, n >> 30]
        assert np.allclose(row, [f / t for f, t in zip(fields, (1023, 1023, 1023, 3), strict=True)])
    got = read("R11G11B10_FLOAT", words & np.uint32(0x77DF_BBEF))  # no infinities
    for row, n in zip(got, map(int, words & np.uint32(0x77DF_BBEF)), strict=True):
        parts = ((n & 2047, 6), (n >> 11 & 2047, 6), (n >> 22, 5))
        assert row.tolist() == [*(model.small_float(*p) for p in parts), 1.0]
    got = read("R9G9B9E5_SHAREDEXP", words)
    for row, n in zip(got, map(int, words), strict=True):
        scale = 2.0 ** ((n >> 27) - 24)
        assert row.tolist() == [(n >> s & 511) * scale for s in (0, 9, 18)] + [1.0]
    halves = (words & 0xFFFF).astype(np.uint16)
    got = read("B5G6R5_UNORM", halves)
    for row, n in zip(got, map(int, halves), strict=True):
        assert np.allclose(row, [(n >> 11) / 31, (n >> 5 & 63) / 63, (n & 31) / 31, 1])
    got = read("A4B4G4R4_UNORM", halves)
    for row, n in zip(got, map(int, halves), strict=True):
        assert np.allclose(row, [(n >> s & 15) / 15 for s in (12, 8, 4, 0)])
    got = read("L8A8_UNORM", np.stack([halves & 255, halves >> 8], 1).astype(np.uint8))
    for row, n in zip(got, map(int, halves), strict=True):
        assert np.allclose(row, [(n & 255) / 255] * 3 + [(n >> 8) / 255])


def test_swizzles(device: eumu.Device) -> None:
    data = np.array([[[0.1, 0.2, 0.3, 0.4]]], np.float32)
    image = device.image(data, format="RGBA32_FLOAT", swizzle="B01R")
    got = send(device, SAMPLE, image, device.sampler(), [0.5, 0.5])
    assert got[:, 0].tolist() == [np.float32(0.3), 0, 1, np.float32(0.1)]


# ---- cubes


@pytest.mark.parametrize("filter", ["nearest", "linear"])
def test_cubes(device: eumu.Device, filter: str) -> None:
    data = RNG.random((6, 8, 8, 4)).astype(np.float32)
    image = device.image(data, format="RGBA32_FLOAT", kind="cube")
    sampler = device.sampler(filter=filter)
    x, y, z = (RNG.uniform(-1, 1, 16).astype(np.float32) for _ in range(3))
    got = send(device, SAMPLE, image, sampler, [x, y, z], simd=16)
    how = model.nearest if filter == "nearest" else model.linear
    want = []
    for d in zip(x, y, z, strict=True):
        number, s, t = model.face(*map(float, d))
        want.append(
            how(s, t, 8, 8, "clamp_to_edge", lambda i, j, f=number: tuple(data[f, j, i]), BORDER)  # type: ignore[misc]
        )
    close(got, want, 1e-6 if filter == "nearest" else 2 / 256)


def test_faces_of_a_cube_go_on_in_their_neighbours(device: eumu.Device) -> None:
    """On an edge, both faces give half; a texel of the other face is beyond the edge."""
    data = np.zeros((6, 4, 4, 4), np.float32)
    data[0], data[4] = 1.0, 3.0  # +X and +Z
    image = device.image(data, format="RGBA32_FLOAT", kind="cube")
    sampler = device.sampler(filter="linear", address="cube")
    got = send(device, SAMPLE, image, sampler, [1.0, 0.0, np.float32(0.999999)])
    assert abs(got[0, 0] - 2.0) < 0.02


def test_arrays_of_cubes(device: eumu.Device) -> None:
    data = np.arange(12, dtype=np.float32)[:, None, None] * np.ones((12, 4, 4), np.float32)
    image = device.image(data, format="R32_FLOAT", kind="cube", layers=12)
    got = send(device, SAMPLE, image, device.sampler(), [0.0, -1.0, 0.1, np.float32(1.0)])
    assert got[0, 0] == 6 + 3


# ---- levels of detail


@pytest.fixture(scope="module")
def mipmap(device: eumu.Device) -> eumu.runtime.images.Image:
    """Level k is k everywhere."""
    levels = [np.full((max(1, 16 >> k), 32 >> k), k, np.float32) for k in range(6)]
    return device.image(levels[0], format="R32_FLOAT", levels=levels[1:])


@pytest.mark.parametrize("bias", [0.0, 0.75, -1.5])
def test_levels_between_levels(device: eumu.Device, mipmap: Any, bias: float) -> None:
    sampler = device.sampler(
        filter="linear", mip_filter="linear", lod_bias=bias, lod=(0.5, 3.25), address="repeat"
    )
    lods = np.array([-3, 0, 0.3, 1.5, 2.25, 3, 4.9, 40], np.float32)
    got = send(device, SAMPLE.replace("_lz", "_l"), mipmap, sampler, [lods, np.float32(0.3), 0.4])
    want = np.clip(lods + bias, 0.5, 3.25)
    assert np.abs(got[0] - want).max() <= 1 / 256


def test_the_nearest_level(device: eumu.Device, mipmap: Any) -> None:
    sampler = device.sampler(mip_filter="nearest")
    lods = np.array([0, 0.49, 0.5, 1.4, 1.6, 4.5, 7, -1], np.float32)
    message = SAMPLE.replace("_lz", "_l")
    got = send(device, message, mipmap, sampler, [lods, np.float32(0.3), 0.4])
    assert got[0].tolist() == [0, 0, 1, 1, 2, 5, 5, 0]


def test_levels_of_gradients(device: eumu.Device, mipmap: Any) -> None:
    sampler = device.sampler(mip_filter="linear")
    dudx, dvdy = RNG.uniform(0.001, 0.5, (2, 8)).astype(np.float32)
    parameters = [np.float32(0.5), dudx, 0.0, 0.5, 0.0, dvdy]
    got = send(device, SAMPLE.replace("_lz", "_d"), mipmap, sampler, parameters)
    want = [
        model.lod((float(a) * 32, 0.0), (0.0, float(b) * 16))
        for a, b in zip(dudx, dvdy, strict=True)
    ]
    assert np.abs(got[0] - np.clip(want, 0, 5)).max() <= 1 / 256
    # The same from four neighbouring lanes, and with a bias.
    u = np.array([0, dudx[0], 0, dudx[0]] * 2, np.float32)
    v = np.array([0, 0, dvdy[0], dvdy[0]] * 2, np.float32)
    message = "sample_3d.RGBA {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}"
    got = send(device, message, mipmap, sampler, [u, v])
    assert np.abs(got[0] - np.clip(want[0], 0, 5)).max() <= 1 / 256
    got = send(device, message.replace("_3d", "_b"), mipmap, sampler, [1.0, u, v])
    assert np.abs(got[0] - np.clip(want[0] + 1, 0, 5)).max() <= 1 / 256
    got = send(device, "lod.RG {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}", mipmap, sampler,
               [u, v], results=2)  # fmt: skip
    assert np.abs(got[1] - want[0]).max() < 1e-5
    assert np.abs(got[0] - np.clip(want[0], 0, 5)).max() <= 1 / 256


def test_filters_of_large_and_small(device: eumu.Device) -> None:
    data = np.array([[0, 1]], np.float32)
    image = device.image(data, format="R32_FLOAT", levels=2)
    sampler = device.sampler(filter="linear", mag_filter="nearest")
    message = SAMPLE.replace("_lz", "_l")
    lods = np.array([0, 0.5, -1, 1, 0, 0.5, 0, 0.5], np.float32)
    got = send(device, message, image, sampler, [lods, np.float32(0.5), 0.5])
    assert got[0].tolist() == [1, 0.5, 1, 0.5, 1, 0.5, 1, 0.5]


def test_anisotropic_filters_take_the_shorter_gradient(device: eumu.Device, mipmap: Any) -> None:
    sampler = device.sampler(filter="anisotropic", mip_filter="linear", anisotropy=8)
    parameters = [np.float32(0.5), np.float32(8 / 32), 0.0, 0.5, 0.0, np.float32(1 / 16)]
    got = send(device, SAMPLE.replace("_lz", "_d"), mipmap, sampler, parameters)
    assert abs(got[0, 0] - 0.0) <= 1 / 256  # 8 to 1: eight samples of one texel each


# ---- comparisons, reductions, gathers

COMPARISONS = (
    *("never", "less", "equal", "less_equal"),
    *("greater", "not_equal", "greater_equal", "always"),
)


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons(device: eumu.Device, op: str) -> None:
    data = RNG.integers(0, 4, (6, 6)).astype(np.float32) / 4
    image = device.image(data, format="R32_FLOAT")
    references = (RNG.integers(0, 4, 8) / 4).astype(np.float32)
    u, v = (RNG.uniform(0, 1, 8).astype(np.float32) for _ in range(2))
    for filter in ("nearest", "linear"):
        sampler = device.sampler(filter=filter, compare=op)
        message = SAMPLE.replace("_lz", "_c_lz")
        got = send(device, message, image, sampler, [references, u, v])
        how = model.nearest if filter == "nearest" else model.linear
        for k in range(8):
            want = how(
                *(float(u[k]), float(v[k]), 6, 6, "clamp_to_edge"),
                lambda x, y, k=k: (model.compare(op, references[k], data[y, x]), 0, 0, 1),  # type: ignore[misc]
                BORDER,
            )
            assert abs(got[0, k] - want[0]) <= 2 / 256


def test_reductions(device: eumu.Device) -> None:
    data = RNG.random((5, 5)).astype(np.float32)
    image = device.image(data, format="R32_FLOAT")
    for word, choose in (("minimum", np.min), ("maximum", np.max)):
        sampler = device.sampler(filter="linear", reduction=word)
        got = send(device, SAMPLE, image, sampler, [np.float32(0.5), 0.45])
        assert got[0, 0] == choose(data[1:3, 2:3])  # u meets texel 2 exactly
        got = send(device, SAMPLE, image, sampler, [np.float32(0.57), 0.45])
        assert got[0, 0] == choose(data[1:3, 2:4])


def test_samples_make_zeros_of_denormal_numbers(device: eumu.Device) -> None:
    """Those of a linear filter, too; loads and gathers have the bits as they lie."""
    codes = (1, 0x8000_0001, 0x807F_FFFF, 0x0080_0000, 0, 0x3F80_0000, 1, 0x8000_0001)
    bits = np.array(codes, np.uint32)
    image = device.image(bits.view(np.float32), format="R32_FLOAT")
    u = (np.arange(8, dtype=np.float32) + 0.5) / 8
    want = [0, 0x8000_0000, 0x8000_0000, *bits[3:6], 0, 0x8000_0000]
    for filter in ("nearest", "linear"):  # in the middle of a texel
        got = send(device, SAMPLE, image, device.sampler(filter=filter), [u], dtype="u4")
        assert got[0].tolist() == want
    load = "load_lz.RGBA {lanes} 0x0:uw IMAGE RESULT.0 {params}"
    got = send(device, load, image, device.sampler(), [np.arange(8)], dtype="u4")
    assert got[0].tolist() == bits.tolist()
    gather = "sample4.R {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}"
    got = send(device, gather, image, device.sampler(), [u], dtype="u4")
    assert got[3].tolist() == bits.tolist()


def test_gathers(device: eumu.Device) -> None:
    data = RNG.random((5, 6, 4)).astype(np.float32)
    image = device.image(data, format="RGBA32_FLOAT")
    sampler = device.sampler(address="repeat")
    u, v = (RNG.uniform(0, 1, 8).astype(np.float32) for _ in range(2))
    for channel, letter in enumerate("RGBA"):
        message = f"sample4.{letter} {{lanes}} 0x0:uw STATE IMAGE RESULT.0 {{params}}"
        got = send(device, message, image, sampler, [u, v])
        for k in range(8):
            i, j = int(np.floor(u[k] * 6 - 0.5)), int(np.floor(v[k] * 5 - 0.5))
            square = [(i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j)]
            assert got[:, k].tolist() == [data[y % 5, x % 6, channel] for x, y in square]


def test_gathers_with_offsets_and_comparisons(device: eumu.Device) -> None:
    data = np.arange(30, dtype=np.float32).reshape(5, 6)
    image = device.image(data, format="R32_FLOAT")
    sampler = device.sampler(address="repeat", compare="less")
    moved = np.arange(-4, 4, dtype=np.int32).view(np.float32)
    parameters = [np.full(8, 0.5, np.float32), np.full(8, 0.5, np.float32), moved, np.float32(0)]
    message = "sample4_po.R {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}"
    got = send(device, message, image, sampler, parameters)
    assert got[3].tolist() == [data[2, (2 + k) % 6] for k in range(-4, 4)]
    message = "sample4_c.R {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}"
    got = send(device, message, image, sampler, [np.float32(14.5), 0.5, 0.5])
    assert got[:, 0].tolist() == [1.0, 1.0, 1.0, 0.0]  # 20, 21, 15 and 14


# ---- loads and facts


def test_loads(device: eumu.Device, mipmap: Any) -> None:
    data = RNG.integers(0, 255, (3, 4, 5, 4)).astype(np.uint8)
    image = device.image(data, format="RGBA8_UINT")
    message = "load_3d.RGBA {lanes} 0x0:uw IMAGE RESULT.0 {params}"
    u = np.array([0, 1, 4, 5, -1, 2, 2, 2])
    v = np.array([0, 3, 1, 1, 1, 4, 1, 1])
    r = np.array([0, 1, 2, 1, 1, 1, 3, 2])
    got = send(device, message, image, device.sampler(), [u, v, 0, r], dtype="u4")
    for k in range(8):
        inside = 0 <= u[k] < 5 and v[k] < 4 and r[k] < 3
        want = data[r[k], v[k], u[k]].tolist() if inside else [0, 0, 0, 0]
        assert got[:, k].tolist() == want
    lods = np.arange(8)
    got = send(device, message, mipmap, device.sampler(), [0, 0, lods])
    assert got[0].tolist() == [0, 1, 2, 3, 4, 5, 0, 0]


def test_resinfo(device: eumu.Device, mipmap: Any) -> None:
    message = "resinfo.RGBA {lanes} IMAGE {params} RESULT.0"
    got = send(device, message, mipmap, device.sampler(), [np.arange(8)], dtype="i4")
    assert got[0].tolist() == [32, 16, 8, 4, 2, 1, 0, 0]
    assert got[1].tolist() == [16, 8, 4, 2, 1, 1, 0, 0]
    assert got[3].tolist() == [6] * 8
    volume = device.image((3, 5, 7), format="R32_FLOAT")
    got = send(device, message, volume, device.sampler(), [0], dtype="i4")
    assert got[:, 0].tolist() == [7, 5, 3, 1]
    samples = device.image((8, 4, 4), format="R32_FLOAT", samples=8)
    message = "sampleinfo.RGBA {lanes} IMAGE RESULT.0"
    got = send(device, message, samples, device.sampler(), [], dtype="i4")
    assert got[0, 0] == 8


def test_sample_unorm(device: eumu.Device) -> None:
    data = RNG.integers(0, 256, (8, 16, 4), dtype=np.uint8)
    image = device.image(data)
    message = (
        "sample_unorm.RG.16-full STATE IMAGE IN(0,0)<0;1,0> IN(0,1)<0;1,0> IN(0,2)<0;1,0>"
        " IN(0,3)<0;1,0> RESULT.0"
    )
    corner = np.array([2.5 / 16, 1.5 / 8, 1 / 16, 1 / 8, 0, 0, 0, 0], np.float32)
    got = send(device, message, image, device.sampler(), [corner], dtype="u2")
    want = np.rint(data[1:5, 2:10, :2] / 255 * 65535).astype(np.uint16)
    assert (got.reshape(2, 2, 16).reshape(2, 4, 8) == np.moveaxis(want, 2, 0)).all()


def test_a_null_surface_reads_as_zero(device: eumu.Device) -> None:
    from eumu.device.state.surface import SurfaceState, SurfaceType

    image = device.image(np.ones((4, 4), np.float32), format="R32_FLOAT")
    image.slot.write(SurfaceState(surface_type=SurfaceType.NULL).encode())
    got = send(device, SAMPLE, image, device.sampler(), [np.float32(0.5), 0.5])
    assert not got.any()


# The bytes of two texels.
PACKED = {
    "YCRCB_NORMAL": "Y0 Cb Y1 Cr",
    "YCRCB_SWAPUVY": "Cr Y0 Cb Y1",
    "YCRCB_SWAPUV": "Y0 Cr Y1 Cb",
    "YCRCB_SWAPY": "Cb Y0 Cr Y1",
}


@pytest.mark.parametrize("format", PACKED)
def test_packed_video_formats(device: eumu.Device, format: str) -> None:
    """Cr is red, luma green, Cb blue; pairs of texels share their chrominance."""
    words = RNG.integers(0, 256, (4, 3, 4), dtype=np.uint8)
    image = device.image(words.view(np.uint32)[..., 0], format=format)
    x, y = RNG.integers(0, 6, 8), RNG.integers(0, 4, 8)
    place = [((v + 0.5) / n).astype(np.float32) for v, n in ((x, 6), (y, 4))]
    got = np.rint(send(device, SAMPLE, image, device.sampler(), place).T * 255).astype(int)
    for k in range(8):
        named = dict(zip(PACKED[format].split(), words[y[k], x[k] // 2].tolist(), strict=True))
        assert got[k].tolist() == [named["Cr"], named[f"Y{x[k] % 2}"], named["Cb"], 255]


def test_planar_video(device: eumu.Device) -> None:
    """Squares of texels share their chrominance."""
    luma = RNG.integers(0, 256, (4, 6), dtype=np.uint8)
    pairs = RNG.integers(0, 256, (2, 6), dtype=np.uint8)  # Cb, Cr, Cb, Cr, ...
    planar = device.image(np.concatenate([luma, pairs]), format="PLANAR_420_8")
    x, y = RNG.integers(0, 6, 8), RNG.integers(0, 4, 8)
    place = [((v + 0.5) / n).astype(np.float32) for v, n in ((x, 6), (y, 4))]
    got = np.rint(send(device, SAMPLE, planar, device.sampler(), place).T * 255).astype(int)
    for k in range(8):
        cb, cr = pairs[y[k] // 2, x[k] // 2 * 2 :][:2]
        assert got[k].tolist() == [cr, luma[y[k], x[k]], cb, 255]
    assert (planar.numpy()[:4] == luma).all() and planar.texels().shape == (4, 6, 4)


def test_numbers_too_large_for_a_small_float_become_infinity() -> None:
    values = np.array([[65024.0, 1e6, 3e38, 1.0], [1e19, 1e20, -3e38, 1.0]], np.float32)
    code = encode(texel_format(SurfaceFormat.R11G11B10_FLOAT), values).view("<u4")[:, 0]
    parts = np.stack([code & 0x7FF, code >> 11 & 0x7FF, code >> 22], 1)
    assert parts.tolist() == [[0x7BF, 0x7C0, 0x3E0], [0x7C0, 0x7C0, 0]]
