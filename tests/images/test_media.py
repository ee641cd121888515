"""The media sampler against a scalar model: video analytics and the scaler, on both engines."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.state.fields import StateError
from eumu.device.state.media import MediaFormat
from images import media_model as model
from images.media_text import ask

RNG = np.random.default_rng(68)
PLACE = "{p0} {p1}"
SAMPLED = f"IMAGE STATE {PLACE}"
NUMBERS = {
    "Y8_UNORM_VA": (np.uint8, 0, 256),
    "Y16_SNORM": (np.int16, -32768, 32768),
    "Y16_UNORM_VA": (np.uint16, 0, 65536),
}
FOLDS: dict[str, Callable[[int, int], int]] = {"clamp": model.clamp, "mirror": model.mirror}


@pytest.fixture(scope="module")
def device() -> eumu.Device:
    return eumu.Device("skl", engine="interp")


class Picture:
    """Random pixels, as an image and as a function of their place."""

    def __init__(
        self, device: eumu.Device, format: str, shape: tuple[int, int] = (11, 23),
        address: str = "clamp", tiling: str = "linear",
    ) -> None:  # fmt: skip
        dtype, low, high = NUMBERS.get(format, (bool, 0, 2))
        self.data = RNG.integers(low, high, shape).astype(dtype)
        self.image = device.media_image(self.data, format=format, address=address, tiling=tiling)
        self.fold = FOLDS[address]

    def pixel(self, x: int, y: int) -> int:
        rows, columns = self.data.shape
        return int(self.data[self.fold(y, rows), self.fold(x, columns)])

    def at(self, x: int, y: int) -> tuple[float, float]:
        """Normalized coordinates of a pixel."""
        rows, columns = self.data.shape
        return x / columns, y / rows


def block(
    corner: tuple[int, int], rows: int, columns: int, value: Callable[[int, int], Any]
) -> Any:
    x, y = corner
    return [[value(x + j, y + i) for j in range(columns)] for i in range(rows)]


def coefficients(*shape: int) -> np.ndarray[Any, Any]:
    """Numbers with twelve fractional bits."""
    return RNG.integers(-(1 << 13), 1 << 13, shape) / 4096


# ---- convolution


@pytest.mark.parametrize("address", FOLDS)
@pytest.mark.parametrize("format", NUMBERS)
def test_convolution(device: eumu.Device, format: str, address: str) -> None:
    picture = Picture(device, format, address=address)
    for shape, corner, shift, bits in (
        *(((1, 1), (-5, 9), 0, 16), ((5, 2), (20, -3), 3, 8), ((9, 15), (0, 0), 4, 16)),
    ):
        kernel = coefficients(*shape)
        state = device.media_sampler(convolve=kernel, scale_down=shift, coefficient_bits=bits)

        def value(
            x: int, y: int, kernel: Any = kernel, shift: int = shift, bits: int = bits
        ) -> int:
            return model.convolved(picture.pixel, x, y, kernel.tolist(), shift, bits)

        for word, rows in (("VA_CONV_16x4", 4), ("VA_CONV_16x1", 1)):
            text = f"va.convolve {SAMPLED} {word} 15x15 RESULT.0"
            got = ask(
                device, text, picture.image, state, picture.at(*corner), size=32 * rows, dtype="i2"
            )
            assert got.reshape(rows, 16).tolist() == block(corner, rows, 16, value)


def test_a_large_kernel(device: eumu.Device) -> None:
    picture = Picture(device, "Y8_UNORM_VA", (40, 40))
    kernel = coefficients(31, 17)
    state = device.media_sampler(convolve=kernel, scale_down=2)
    text = f"va.convolve {SAMPLED} VA_CONV_16x1 31x31 RESULT.0"
    got = ask(device, text, picture.image, state, picture.at(7, 11), size=32, dtype="i2")
    want = [model.convolved(picture.pixel, 7 + j, 11, kernel.tolist(), 2, 16) for j in range(16)]
    assert got.tolist() == want


def test_products_are_floored_and_clamped(device: eumu.Device) -> None:
    for low, kernel, want in ((-1, 1 / 4096, -1), (-1, 0.5, -1), (32767, 7.5, 32767)):
        image = device.media_image(np.full((4, 16), low, np.int16), format="Y16_SNORM")
        state = device.media_sampler(convolve=[[kernel]])
        text = f"va.convolve {SAMPLED} VA_CONV_16x1 15x15 RESULT.0"
        assert (ask(device, text, image, state, size=32, dtype="i2") == want).all()


@pytest.mark.parametrize("tiling", ["linear", "x", "y"])
@pytest.mark.parametrize("name", ["CONV_1D_HORIZONTAL", "CONV_1D_VERTICAL"])
def test_convolution_of_lines(device: eumu.Device, name: str, tiling: str) -> None:
    picture = Picture(device, "Y8_UNORM_VA", tiling=tiling)
    for count in (1, 6, 15, 16):
        row = coefficients(count)
        state = device.media_sampler(line=row)
        # Intel's printer has the names of the two the wrong way.
        kernel = row[None] if name == "CONV_1D_VERTICAL" else row[:, None]

        def value(x: int, y: int, kernel: Any = kernel) -> int:
            return model.convolved(picture.pixel, x, y, kernel.tolist(), 0, 16)

        for word, rows in (("4x16", 4), ("1x16", 1)):
            text = f"va_skl_plus.{name} {SAMPLED} {word} RESULT.0"
            got = ask(
                device, text, picture.image, state, picture.at(3, 2), size=32 * rows, dtype="i2"
            )
            assert got.reshape(rows, 16).tolist() == block((3, 2), rows, 16, value)


def test_convolution_of_single_pixels(device: eumu.Device) -> None:
    picture = Picture(device, "Y16_UNORM_VA")
    kernel = coefficients(3, 4)
    state = device.media_sampler(convolve=kernel, scale_down=1)
    offsets = RNG.integers(-30, 30, (16, 2))

    def value(x: int, y: int) -> int:
        return model.convolved(picture.pixel, x, y, kernel.tolist(), 1, 16)

    text = f"va_skl_plus.CONV_1PIXEL {SAMPLED} 1x16 OFFSETS.0 RESULT.0"
    got = ask(
        device, text, picture.image, state, picture.at(5, 6), size=32, dtype="i2", offsets=offsets
    )
    assert got.tolist() == [value(5 + x, 6 + y) for x, y in offsets.tolist()]
    text = f"va_skl_plus.CONV_1PIXEL {SAMPLED} 1x1 OFFSETS.0 RESULT.0"
    got = ask(device, text, picture.image, state, picture.at(5, 6), size=2, dtype="i2")
    assert got.tolist() == [value(5, 6)]


# ---- morphology and extremes


@pytest.mark.parametrize("name", ["erode", "dilate"])
@pytest.mark.parametrize("address", FOLDS)
def test_morphology(device: eumu.Device, name: str, address: str) -> None:
    picture = Picture(device, "Y1_UNORM", (9, 83), address)
    every: Callable[[list[int]], bool] = all if name == "erode" else any
    for places in (np.ones((1, 2), int), RNG.integers(0, 2, (3, 4)) | np.eye(3, 4, dtype=int)):
        state = device.media_sampler(places=places)

        def value(x: int, y: int, places: Any = places) -> int:
            return int(every(model.named(picture.pixel, x, y, places.tolist())))  # type: ignore[arg-type]

        for word, rows, columns, size in (
            ("VA_ED_64x4", 4, 64, 32), ("VA_ED_32x4", 4, 32, 32),
            ("VA_ED_64x1", 1, 64, 8), ("VA_ED_32x1", 1, 32, 4),
        ):  # fmt: skip
            text = f"va.{name} {SAMPLED} {word} RESULT.0"
            got = ask(device, text, picture.image, state, picture.at(29, 3), size=size)
            bits = np.unpackbits(got, bitorder="little").reshape(rows, -1)
            want = block((29, 3), rows, columns, value)
            assert bits[:, :columns].tolist() == want
            assert not bits[:, columns:].any()


@pytest.mark.parametrize("format", NUMBERS)
def test_minimum_and_maximum_filter(device: eumu.Device, format: str) -> None:
    picture = Picture(device, format)
    places = [[1, 0, 1], [0, 0, 1]]
    state = device.media_sampler(places=places)
    dtype = np.dtype(NUMBERS[format][0])
    word = "AVS_8_FULL" if dtype.itemsize == 1 else "AVS_16_FULL"
    for shape, rows, columns in (("16x4", 4, 16), ("16x1", 1, 16), ("1x1", 1, 1)):
        width = 2 if shape == "1x1" and dtype.itemsize == 1 else columns
        found = block((4, 4), rows, width, lambda x, y: model.named(picture.pixel, x, y, places))
        least = np.array([[min(p) for p in row] for row in found])
        greatest = np.array([[max(p) for p in row] for row in found])
        for mode, number in (("both", "0x0:ub"), ("max", "0x1:ub"), ("min", "0x2:ub")):
            text = f"va.minmaxfilter {SAMPLED} {word} VA_MMF_{shape} {number} RESULT.0"
            size = 2 * rows * width * dtype.itemsize
            got = ask(device, text, picture.image, state, picture.at(4, 4), size=size)
            pairs = got.view(dtype).reshape(rows, -1)
            low, high = least * (mode != "max"), greatest * (mode != "min")
            if dtype.itemsize == 1:  # of two pixels, both minima come first
                for k in range(width):
                    at = 4 * (k // 2) + k % 2
                    assert (pairs[:, at] == low[:, k]).all()
                    assert (pairs[:, at + 2] == high[:, k]).all()
            else:
                assert (pairs[:, 0::2] == low).all() and (pairs[:, 1::2] == high).all()


# ---- to another surface


def written(device: eumu.Device, text: str, picture: Picture, state: Any, format: str) -> Any:
    """A surface of zeros with what an instruction wrote at byte 4 of row 2."""
    target = device.image((24, 64), format=format)
    full = text.replace("{to}", "TARGET 0x4:ud 0x2:ud")
    ask(device, full, picture.image, state, picture.at(1, 2), target=target)
    return target.numpy()


@pytest.mark.parametrize(("word", "format"), [("Y16", "R16_SINT"), ("Y8", "R8_UINT")])
def test_numbers_go_to_another_surface(device: eumu.Device, word: str, format: str) -> None:
    """H1, H2, H4, H6: the header says where, and in which format."""
    picture = Picture(device, "Y8_UNORM_VA")
    kernel, row, places = coefficients(2, 3), coefficients(4), [[1, 1, 1]]
    offsets = np.zeros((16, 2), int)
    first = 4 // (1 + (word == "Y16"))

    def number(x: int, y: int, kernel: Any) -> int:
        found = model.convolved(picture.pixel, x, y, kernel.tolist(), 0, 16)
        return found if word == "Y16" else min(max(found, 0), 255)

    def check(text: str, state: Any, rows: int, columns: int, value: Any) -> None:
        got = written(device, text, picture, state, format)
        want = np.zeros_like(got)
        want[2 : 2 + rows, first : first + columns] = block((1, 2), rows, columns, value)
        assert (got == want).all(), text

    tail = f"VA_{word}_FORMAT"
    name = "va_skl_plus.HDC_CONVOLVE"
    state = device.media_sampler(convolve=kernel)
    check(
        f"{name}_2D {SAMPLED} {tail} 15x15 {{to}}", state, 4, 16, lambda x, y: number(x, y, kernel)
    )
    check(
        f"{name}_1P {SAMPLED} {tail} OFFSETS.0 {{to}}", state, 1, 16,
        lambda x, y: number(1 + int(offsets[x - 1, 0]), y, kernel),
    )  # fmt: skip
    line = device.media_sampler(line=row)
    check(
        f"{name}_1D_H {SAMPLED} {tail} {{to}}", line, 16, 4,
        lambda x, y: number(x, y, row[None]),
    )  # fmt: skip
    check(
        f"{name}_1D_V {SAMPLED} {tail} {{to}}", line, 4, 16,
        lambda x, y: number(x, y, row[:, None]),
    )  # fmt: skip
    extremes = device.media_sampler(places=places)
    for mode, choose in (("VA_MAX_ENABLE", max), ("VA_MIN_ENABLE", min)):
        text = f"va_skl_plus.HDC_MIN_MAX_FILTER {SAMPLED} {tail} {mode} {{to}}"
        check(
            text, extremes, 4, 16,
            lambda x, y, c=choose: c(model.named(picture.pixel, x, y, places)),
        )  # fmt: skip


@pytest.mark.parametrize("name", ["ERODE", "DILATE"])
def test_bits_go_to_another_surface(device: eumu.Device, name: str) -> None:
    picture = Picture(device, "Y1_UNORM", (9, 83))
    state = device.media_sampler(places=[[1, 1], [1, 0]])
    every: Any = all if name == "ERODE" else any
    got = written(device, f"va_skl_plus.HDC_{name} {SAMPLED} {{to}}", picture, state, "R8_UINT")
    bits = np.unpackbits(got[2:6, 4:12], axis=1, bitorder="little")
    want = block(
        (1, 2), 4, 64, lambda x, y: int(every(model.named(picture.pixel, x, y, [[1, 1], [1, 0]])))
    )
    assert bits.tolist() == want
    got[2:6, 4:12] = 0
    assert not got.any()


def test_a_misaligned_place_of_the_target_is_an_error(device: eumu.Device) -> None:
    """H4: the place is a multiple of four bytes."""
    picture = Picture(device, "Y1_UNORM", (9, 83))
    state = device.media_sampler(places=[[1]])
    text = f"va_skl_plus.HDC_ERODE {SAMPLED} TARGET 0x2:ud 0x0:ud"
    target = device.image((24, 64), format="R8_UINT")
    with pytest.raises(eumu.Fault, match="no multiple of 4"):
        ask(device, text, picture.image, state, picture.at(0, 0), target=target)


# ---- the scaler

ZOOM = (3.25 / 23, 2.5 / 11, 0.61 / 23, 0.4 / 11, 0.125 / 23, 0.0625 / 11)
AVS = "avs.{channels} IMAGE STATE {{p0}} {{p1}} {{p2}} {{p3}} {{p4}}"
AVS += " 0x5:ud {block:#x}:ud {format} {{p5}}"


def tables(*shape: int) -> np.ndarray[Any, Any]:
    """Coefficients with six fractional bits, about 1 in all."""
    found = RNG.integers(-12, 13, shape)
    found[..., shape[-1] // 2] += 64 - found.sum(-1)
    return np.clip(found, -128, 127) / 64


def padded(rows: np.ndarray[Any, Any]) -> list[list[float]]:
    return [[0, 0, *row, 0, 0] if len(row) == 4 else list(row) for row in rows.tolist()]


def want_scaled(
    planes: dict[int, tuple[np.ndarray[Any, Any], int, int, float]],
    channels: tuple[int, ...],
    state: dict[str, Any],
    zoom: tuple[float, ...],
    rows: range,
    columns: int,
    size: tuple[int, int],
) -> dict[int, list[list[Fraction]]]:
    """Each channel: its plane, how many luma pixels it is for, and its greatest code."""
    u, v, du, dv, u2, v2 = (Fraction(float(np.float32(x))) for x in zoom)
    found = {}
    for c in channels:
        plane, across, down, greatest = planes[c]
        along, through = state[f"tables {c}"]

        def texel(x: int, y: int, plane: Any = plane, greatest: float = greatest) -> Fraction:
            code = plane[model.clamp(y, plane.shape[0]), model.clamp(x, plane.shape[1])]
            return Fraction(float(np.float32(code) / np.float32(greatest)))

        found[c] = [
            [
                model.scaled(
                    texel,
                    (
                        ((u + j * du + j * (j - 1) // 2 * u2) * size[1] - Fraction(1, 2)) / across,
                        ((v + i * dv + i * (i - 1) // 2 * v2) * size[0] - Fraction(1, 2)) / down,
                    ),
                    along,
                    through,
                )
                for j in range(columns)
            ]
            for i in rows
        ]
    return found


BLOCKS = {"AVS_16x4": (4, 16, False), "AVS_8x4": (4, 8, True), "AVS_16x8": (8, 16, False)}
BLOCKS["AVS_4x4"] = (4, 4, True)
FORMATS = {
    "AVS_16_FULL": (2, 1), "AVS_16_DOWN_SAMPLE": (2, 2),
    "AVS_8_FULL": (1, 1), "AVS_8_DOWN_SAMPLE": (1, 2),
}  # fmt: skip


@pytest.mark.parametrize("taps", [4, 8])
@pytest.mark.parametrize("pixels", BLOCKS)
@pytest.mark.parametrize("format", FORMATS)
def test_scaling(device: eumu.Device, format: str, pixels: str, taps: int) -> None:
    rows, columns, shuffle = BLOCKS[pixels]
    octets, step = FORMATS[format]
    data = RNG.integers(0, 256, (11, 23, 4), dtype=np.uint8)
    image = device.media_image(data, format="R8G8B8A8_UNORM")
    luma, chroma = tables(2, 32, 8), tables(2, 32, 4)
    state = device.media_sampler(phases=luma, chroma=chroma, taps=taps, shuffle=shuffle)
    used = luma.copy()
    if taps == 4:
        used[:, :, [0, 1, 6, 7]] = 0
    told = {f"tables {c}": [padded(t) for t in (used if c == 1 or taps == 8 else chroma)]
            for c in range(4)}  # fmt: skip
    number = 0 if shuffle else 3
    text = AVS.format(channels="RGA", block=number, format=format) + f" {pixels} 0x1:ub RESULT.0"
    halved = format == "AVS_8_DOWN_SAMPLE"  # the register has room for blue, which shuffling keeps
    kept = 4 if shuffle and halved else 3
    each = {c: rows * columns * octets // (step if c in (0, 2) else 1) for c in range(4)}
    size = sum(each[c] for c in ((0, 1, 2, 3) if kept == 4 else (0, 1, 3)))
    room = size + each[2] * (halved and not shuffle)
    got = ask(device, text, image, state, ZOOM, size=room, dtype=f"u{octets}")[: size // octets]
    planes = {c: (data[..., c], 1, 1, 255.0) for c in range(4)}
    lines = range(4 * number, 4 * number + rows)
    want = want_scaled(planes, (0, 1, 3), told, ZOOM, lines, columns, (11, 23))
    order = []
    for first in range(0, rows, 4) if pixels == "AVS_16x8" else (0,):
        for c in (0, 1, 2, 3) if kept == 4 else (0, 1, 3):
            part = want.get(c, [[Fraction(0)] * columns] * rows)[first : first + 4]
            order += [v for row in part for v in row[:: step if c in (0, 2) else 1]]
    greatest = 65535 if octets == 2 else 255
    error = np.abs(got.astype(float) - [float(v * greatest) for v in order]).max()
    assert error <= 0.5 + greatest * 1e-6


def test_shuffled_scaling_has_the_left_half_first(device: eumu.Device) -> None:
    data = RNG.integers(0, 256, (11, 23, 4), dtype=np.uint8)
    image = device.media_image(data, format="B8G8R8A8_UNORM")
    luma = tables(32, 8)
    text = AVS.format(channels="RG", block=0, format="AVS_16_FULL") + " AVS_16x4 0x1:ub RESULT.0"
    plain, shuffled = (
        ask(device, text, image, device.media_sampler(phases=luma, shuffle=s), ZOOM, size=256,
            dtype="u2")
        for s in (False, True)
    )  # fmt: skip
    red, green = plain.reshape(2, 4, 16)
    want = [red[:, :8], green[:, :8], red[:, 8:], green[:, 8:]]
    assert shuffled.tolist() == np.concatenate([w.ravel() for w in want]).tolist()


@pytest.mark.parametrize(
    "format", ["PLANAR_420_8", "YCRCB_NORMAL", "YCRCB_SWAPY", "R8B8_UNORM_CRCB"]
)
def test_chrominance_is_scaled_at_its_own_resolution(device: eumu.Device, format: str) -> None:
    width, height = 24, 12
    luma = RNG.integers(0, 256, (height, width), dtype=np.uint8)
    down = 2 if format == "PLANAR_420_8" else 1
    across = 1 if format == "R8B8_UNORM_CRCB" else 2
    red, blue = RNG.integers(0, 256, (2, height // down, width // across), dtype=np.uint8)
    planes = {1: (luma, 1, 1, 255.0), 0: (red, across, down, 255.0), 2: (blue, across, down, 255.0)}
    if format == "PLANAR_420_8":
        pairs = np.stack([blue, red], -1).reshape(height // 2, width)
        image = device.media_image(np.concatenate([luma, pairs]), format=format)
    elif format == "R8B8_UNORM_CRCB":
        image = device.media_image(np.stack([red, blue], -1), format=format)
        planes[1] = (np.zeros_like(luma), 1, 1, 255.0)
    else:
        order = [luma[:, ::2], blue, luma[:, 1::2], red]
        if format == "YCRCB_SWAPY":
            order = [blue, luma[:, ::2], red, luma[:, 1::2]]
        words = np.ascontiguousarray(np.stack(order, -1)).view(np.uint32)[..., 0]
        image = device.media_image(words, format=format)
    phases, chroma = tables(2, 32, 8), tables(2, 32, 4)
    state = device.media_sampler(phases=phases, chroma=chroma, taps=4)
    middle = phases.copy()
    middle[:, :, [0, 1, 6, 7]] = 0
    told = {f"tables {c}": [padded(t) for t in (middle if c == 1 else chroma)] for c in range(3)}
    zoom = (0.11, 0.23, 0.031, 0.04, 0.0, 0.0)
    text = AVS.format(channels="RGB", block=0, format="AVS_16_FULL") + " AVS_16x4 0x1:ub RESULT.0"
    got = ask(device, text, image, state, zoom, size=384, dtype="u2").reshape(3, 4, 16)
    want = want_scaled(planes, (0, 1, 2), told, zoom, range(4), 16, (height, width))
    for c in range(3):
        wanted = np.array([[float(v) for v in row] for row in want[c]]) * 65535
        assert np.abs(got[c] - wanted).max() <= 0.6, (format, c)


def test_a_refusal_in_compiled_code_is_a_fault() -> None:
    device = eumu.Device("skl", engine="jit")
    picture = Picture(device, "Y8_UNORM_VA")
    with pytest.raises(eumu.Fault, match=r"Surface Format .* is Y8_UNORM_VA"):
        ask(device, ERODE, picture.image, device.media_sampler(places=[[1]]), size=32)


RAW = """mov (M1_NM, 8) SENT(0,0)<1> %r0(0,0)<1;1,0>
    mov (M1_NM, 1) SENT(0,2)<1> 0xD000:ud
    mov (M1_NM, 8) SENT(1,0)<1> 0x0:ud
    mov (M1_NM, 2) SENT(1,2)<1> PARAMS_UD(0,0)<1;1,0>
    mov (M1_NM, 1) SENT(1,7)<1> {code}:ud
    raw_send (M1_NM, 8) 0x2 2 {registers} {descriptor}:ud SENT.0 RESULT.0"""


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_the_message_itself(engine: str) -> None:
    """What a program sends by itself: convolution by the sampler's message 11 of SIMD32/64."""
    device = eumu.Device("skl", engine=engine)
    picture = Picture(device, "Y8_UNORM_VA")
    state = device.media_sampler(convolve=coefficients(3, 3))
    text = f"va.convolve {SAMPLED} VA_CONV_16x4 15x15 RESULT.0"
    want = ask(device, text, picture.image, state, picture.at(3, 2), size=128)
    # Length 2, response 4, a header, SIMD32/64, sample_8x8, sampler 0, surface 1.
    text = RAW.format(code="0x10000000", registers=4, descriptor="0x44EB001")
    got = ask(device, text, picture.image, state, picture.at(3, 2), size=128)
    assert (got == want).all() and want.any()


@pytest.mark.parametrize(
    ("code", "descriptor", "words"),
    [
        ("0xE0000000", "0x41EB001", "no function 14"),
        ("0x70000000", "0x41EB001", "CENTROID: no public page"),
        ("0x10000000", "0x41EB001", "response has 128 bytes, the message expects 32"),
        ("0x14000000", "0x41EBF01", "outside every allocation|is 0; a kernel"),
    ],
)
def test_wrong_messages(code: str, descriptor: str, words: str) -> None:
    device = eumu.Device("skl", engine="interp")  # nothing is left behind the last sampler
    picture = Picture(device, "Y8_UNORM_VA")
    state = device.media_sampler(convolve=[[1]])
    text = RAW.format(code=code, registers=1, descriptor=descriptor)
    with pytest.raises((eumu.Fault, eumu.Unsupported), match=words):
        ask(device, text, picture.image, state, size=32)


# ---- what there is no description of, and what is wrong

UNDESCRIBED = {
    "va.minmax IMAGE {p0} {p1} VA_MINMAX_ENABLE RESULT.0": "over which rectangle",
    "va.centroid IMAGE {p0} {p1} 0x0:ub RESULT.0": "a quotient or a sum",
    "va.boolcentroid IMAGE {p0} {p1} 0x0:ub 0x0:ub RESULT.0": "which of the two groups",
    "va_skl_plus.LBP_CREATION IMAGE {p0} {p1} VA_3x3_mode RESULT.0": "order of a pattern's bits",
    "va_skl_plus.LBP_CORRELATION IMAGE {p0} {p1} 0x1:w RESULT.0": "how patterns are compared",
    f"va.convolve {SAMPLED} VA_CONV_1x1 15x15 RESULT.0": "only CONV_1PIXEL",
}


@pytest.mark.parametrize("text", UNDESCRIBED)
def test_what_no_page_describes_says_what_is_missing(device: eumu.Device, text: str) -> None:
    picture = Picture(device, "Y8_UNORM_VA")
    state = device.media_sampler(places=[[1]])
    with pytest.raises(eumu.Unsupported, match=UNDESCRIBED[text]):
        ask(device, text, picture.image, state, size=32)


CONVOLVE = f"va.convolve {SAMPLED} VA_CONV_16x1 15x15 RESULT.0"
ERODE = f"va.erode {SAMPLED} VA_ED_32x1 RESULT.0"
BAD: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Surface Format .* is Y8_UNORM_VA": (ERODE, "Y8_UNORM_VA", {"places": [[1]]}),
    "Surface Format .* is Y1_UNORM": (CONVOLVE, "Y1_UNORM", {"convolve": [[1]]}),
    "Msb Width .* makes a kernel of 16": (CONVOLVE, "Y8_UNORM_VA", {"convolve": [[1] * 16]}),
    "Mask for Row 0 .* needs a place": (ERODE, "Y1_UNORM", {"places": [[0]]}),
    "pixels go out as FULL_16": (
        f"va.minmaxfilter {SAMPLED} AVS_8_FULL VA_MMF_16x1 0x1:ub RESULT.0",
        "Y16_SNORM",
        {"places": [[1]]},
    ),
}


@pytest.mark.parametrize("words", BAD)
def test_wrong_states_name_the_field(device: eumu.Device, words: str) -> None:
    text, format, what = BAD[words]
    picture = Picture(device, format)
    with pytest.raises(eumu.Fault, match=words):
        ask(device, text, picture.image, device.media_sampler(**what), size=32)


def test_adaptive_scaling_is_refused(device: eumu.Device) -> None:
    image = device.media_image(np.zeros((8, 8), np.uint8), format="Y8_UNORM")
    text = AVS.format(channels="G", block=0, format="AVS_8_FULL") + " AVS_16x4 0x1:ub RESULT.0"
    state = device.media_sampler(phases=tables(32, 8)).state
    from dataclasses import replace

    from eumu.device.state.scaler import AvsControl, AvsState, FilterTaps
    from eumu.runtime.media import MediaSampler

    for change, words in (
        ({"gain_factor": 1}, "Gain Factor"),
        ({"enable_8_tap_filter": FilterTaps.EIGHT_ADAPTIVE}, "chooses between"),
    ):
        states = tuple(
            replace(s, **change) if isinstance(s, AvsState)
            else AvsControl() if isinstance(s, AvsControl) else s
            for s in state.states
        )  # fmt: skip
        wrong = MediaSampler(type(state)(states), 2048, 1120)
        with pytest.raises(eumu.Unsupported, match=words):
            ask(device, text, image, wrong, size=64)


def test_several_kernels_share_a_table(device: eumu.Device) -> None:
    """Each kind of state counts in units of its own; none lies in another."""
    from eumu.runtime.tables import Tables

    states = [
        device.media_sampler(places=[[1]]),
        device.media_sampler(convolve=[[1]]),
        device.media_sampler(line=[1]),
        device.media_sampler(phases=tables(32, 8)),
        device.media_sampler(convolve=np.ones((31, 1))),
    ]
    plain = device.sampler()
    found = Tables(
        device.heaps, {}, {1: (plain.state, plain.border)}, (), dict(enumerate(states, 2))
    )
    taken = sorted((s.unit * found.sampler_numbers[k], s.size) for k, s in enumerate(states, 2))
    for (start, size), (after, _) in pairwise(taken):
        assert start + size <= after
    assert taken[0][0] >= 32 and max(found.sampler_numbers.values()) < 16


def test_every_format_is_modelled_or_says_so() -> None:
    from eumu.device.state.media import MediaSurfaceState
    from eumu.device.surfaces.media import MediaSurface

    refused = set()
    for format in MediaFormat:
        planar = format is MediaFormat.PLANAR_420_8
        state = MediaSurfaceState(
            surface_format=format, width=15, height=7, surface_pitch=127,
            interleave_chroma=planar, y_offset_for_u=8 * planar,
        )  # fmt: skip
        try:
            MediaSurface.of(state)
        except eumu.Unsupported:
            refused.add(format.name)
    assert refused == {"A8Y8U8V8_UNORM", "R16G16B16A16", "Y32_UNORM", "PLANAR_422_8"}
    with pytest.raises(StateError, match=r"MEDIA_SURFACE_STATE: Surface Pitch \(dword 2"):
        MediaSurface.of(MediaSurfaceState(surface_format=MediaFormat.Y8_UNORM, width=15))
