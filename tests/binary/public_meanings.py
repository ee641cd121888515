"""What public kernels compute, in NumPy, where that is simple: copies, scalings, sums, filters.

Each function runs one kernel with arguments of its own and says whether its results are right: to
the bit, but for the denoisers, whose sums of floats may round to the next number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu.platforms import Platform

Pixels = NDArray[np.uint8]
Meaning = Callable[[eumu.Device, Any, np.random.Generator], bool]


def _picture(rng: np.random.Generator, rows: int, width: int) -> Pixels:
    """NV12: so many rows of luma, then half as many of chrominance."""
    return rng.integers(0, 256, (rows * 3 // 2, width), np.uint8)


def _image(device: eumu.Device, rows: Pixels) -> Any:
    return device.image(rows, format="PLANAR_420_8")


def _of(image: Any, rows: Pixels) -> Pixels:
    found: Pixels = image.numpy().reshape(rows.shape)
    return found


def copy_set(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
    image = device.image((40, 200), format="R32_UINT")
    kernel.launch(device, (4, 3), args=[0x12345678, image])
    expected = np.zeros((40, 200), np.uint32)
    expected[:24, :128] = 0x12345678
    return np.array_equal(image.numpy(), expected)


def copy_set_nv12(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
    rows = _picture(rng, 32, 512)
    image = _image(device, rows)
    kernel.launch(device, (3, 2), args=[0x01020304, image])
    expected = rows.copy()
    expected[:16, :384] = expected[32:40, :384] = np.tile(np.arange(4, 0, -1, np.uint8), 96)
    return np.array_equal(_of(image, rows), expected)


def field_copy(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
    """From a frame or field to a frame or field: the eight modes."""
    return all(_field_copy(device, kernel, rng, mode) for mode in range(8))


def _field_copy(device: eumu.Device, kernel: Any, rng: np.random.Generator, mode: int) -> bool:
    """Modes 0 to 3 copy fields of frames, 4 and 5 a field into a frame, 6 and 7 back."""
    height, width = 64, 96
    lines, targets = {0: (64, 64), 1: (32, 64), 2: (64, 32)}[max(0, mode // 2 - 1)]
    source, target = _picture(rng, lines, width), _picture(rng, targets, width)
    expected = target.copy()
    parity = mode & 1
    for first, last in ((0, 1), (1, 1.5)):  # luma, chrominance
        a = source[int(first * lines) : int(last * lines)]
        b = expected[int(first * targets) : int(last * targets)]
        if mode < 4:
            b[parity::2] = a[mode >> 1 :: 2]
        elif mode < 6:
            b[parity::2] = a
        else:
            b[...] = a[parity::2]
    images = [_image(device, source), _image(device, target)]
    rows = height if mode < 4 else height // 2
    kernel.launch(device, (width // 16, rows // 16), args=[*images, mode])
    return np.array_equal(_of(images[1], target), expected)


def subsample(which: str) -> Meaning:
    """Every so-manieth pixel; `which` of the lines between is taken depends on the field."""

    def run(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
        return all(_subsampled(device, kernel, rng, which, rows) for rows in (64, 48))

    return run


def _subsampled(
    device: eumu.Device, kernel: Any, rng: np.random.Generator, which: str, rows: int
) -> bool:
    small, wide = (16, 64), (rows, 256)
    source = rng.integers(0, 256, wide, np.uint8)
    target = _picture(rng, *small)
    step = rows // small[0]
    odd = step % 2
    expected = target.copy()
    for y in range(small[0]):
        shift = {"p": y % 2 & 1 - odd, "t": y % 2 & odd, "b": 1 - y % 2 | 1 - odd}[which]
        expected[y] = source[min(y * step + shift, rows - 1), :: wide[1] // small[1]]
    images = [_image(device, np.concatenate([source, source[: rows // 2]])), _image(device, target)]
    kernel.launch(device, (4, 16), args=[*images, wide[1], rows, small[1], small[0]])
    return np.array_equal(_of(images[1], target), expected)


def luma_copy(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
    source, target = _picture(rng, 32, 128), _picture(rng, 32, 128)
    images = [_image(device, source), _image(device, target)]
    kernel.launch(device, (4, 4), args=[*images, 32, 32, 128])
    expected = np.concatenate([source[:32], target[32:]])
    return np.array_equal(_of(images[1], target), expected)


def _halved(x: Pixels) -> Pixels:
    h, w = x.shape
    sums = x.astype(int).reshape(h // 2, 2, w // 2, 2).sum((1, 3))
    return ((sums + 2) // 4).astype(np.uint8)


def downsample(times: int) -> Meaning:
    def run(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
        rows, scale = _picture(rng, 128, 128), 1 << times
        source, target = (
            _image(device, rows),
            _image(device, _picture(rng, 128 >> times, 128 >> times)),
        )
        kernel.launch(device, (128 // scale // 16,) * 2, args=[source, target])
        expected = rows[:128]
        for _ in range(times):
            expected = _halved(expected)
        found = target.numpy().reshape(-1, 128 // scale)[: 128 // scale]
        return np.array_equal(found, expected)

    return run


def histogram(fields: int) -> Meaning:
    """Counts of the pixels of a frame, or of its even and its odd columns."""

    def run(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
        rows = rng.integers(0, 256, (64, 128), np.uint8)
        image, out = device.image(rows, format="R8_UINT"), device.array(256 * fields, np.uint32)
        kernel.launch(device, 16, 4 * fields, args=[image, out, 4, 8, 0, 0])
        parts = [rows[:, k::fields] for k in range(fields)]
        expected = [np.bincount(part.reshape(-1), minlength=256) for part in parts]
        return np.array_equal(out.numpy(), np.concatenate(expected))

    return run


def merge(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
    a, b = (rng.integers(0, 256, (64, 128), np.uint8) for _ in range(2))
    images = [device.image(x, format="R8_UINT") for x in (a, b)]
    kernel.launch(device, (8, 4), args=[*images, 0])
    mean = (a.astype(int) + b + 1) >> 1
    return np.array_equal(images[0].numpy(), mean) and np.array_equal(images[1].numpy(), b)


def variance(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
    """Of each block of 16 by 16: the variance, and a measure of its rows' and columns' steps.

    The compiler adds the pixels in 16 bits with sign, in vISA and in native code, so that the mean
    of a block brighter than 128 is 256 too low.
    """
    rows = rng.integers(0, 256, (48, 64), np.uint8)
    noise = device.image((3, 4 * 8), format="R8_UINT")
    kernel.launch(device, (4, 3), args=[device.image(rows, format="R8_UINT"), noise, 0])
    found = np.ascontiguousarray(noise.numpy()).view(np.float32).reshape(3, 4, 2)
    wide = np.pad(rows.astype(np.int64), ((1, 0), (1, 0)), mode="edge")
    steps = [wide[:-1, 1:] - wide[1:, 1:], wide[1:, :-1] - wide[1:, 1:]]
    small = [(s**2).reshape(12, 4, 16, 4).sum((1, 3)) >> 4 for s in steps]
    blocks = rows.reshape(3, 16, 4, 16).astype(np.int64)
    expected = np.stack(
        [
            (blocks**2).mean((1, 3)) - (blocks.sum((1, 3)).astype(np.int16) / 256) ** 2,
            sum(s.reshape(3, 4, 4, 4).sum((1, 3)) for s in small) / 16.0,
        ],
        axis=-1,
    )
    return bool(np.allclose(found, expected, rtol=1e-5, atol=1e-2))


def weighted(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
    """(pixel * weight + half) >> shift, plus an offset, saturated."""
    rows = rng.integers(0, 256, (64, 128), np.uint8)
    for weight, offset, shift in ((37, -20, 5), (-64, 255, 6), (90, 7, 0)):
        given = np.zeros(200, np.uint8)
        given[:4] = np.array([weight, offset], np.int16).view(np.uint8)
        given[6 * 32 + 4] = shift
        target = device.image((64, 128), format="R8_UINT")
        source = device.image(rows, format="R8_UINT")
        kernel.launch(device, (8, 4), args=[given.tobytes(), source, target])
        half = 1 << shift - 1 if shift else 0
        expected = ((rows.astype(int) * weight + half) >> shift) + offset
        if not np.array_equal(target.numpy(), expected.clip(0, 255)):
            return False
    return True


def denoise(block: int, *, nv12: bool = False) -> Meaning:
    """A filter of 3 by 3, whose weights depend on the dispersion around every 2 by 2 pixels."""

    def run(device: eumu.Device, kernel: Any, rng: np.random.Generator) -> bool:
        rows = _picture(rng, 32, 64)
        rows[:, :32] = 100 + rows[:, :32] % 8  # smooth: there the filter is strong
        threshold = 60
        control = np.zeros(64, np.uint16)
        control[30:33], control[35] = (64, 32, threshold), threshold
        source, target = _image(device, rows), _image(device, np.zeros_like(rows))
        sizes = 64 // block, 32 // block
        kernel.launch(device, sizes, args=[device.array(control), source, target, 0])
        found = _of(target, rows)
        strength = float(threshold) if nv12 else threshold / 10
        weights = _weights(rows[:32], block, strength)
        luma = _filtered(rows[:32], weights.repeat(2, 0).repeat(2, 1), 1)
        good = _near(found[:32], luma)
        if nv12:
            chroma = _filtered(rows[32:], weights.repeat(2, 1), 2)
            # Nobody says whether bytes or pairs repeat beyond the edges of chrominance.
            good = good and _near(found[32:, 2:-2], chroma[:, 2:-2])
        return good

    return run


def _weights(rows: Pixels, block: int, strength: float) -> NDArray[np.float64]:
    """Of every 2 by 2 pixels [y, x, 3]: weights of the centre, the sides, the corners."""
    wide = np.pad(rows.astype(int), 2, mode="edge")
    h, w = rows.shape
    dispersion = np.zeros((h // 2, w // 2))
    for y, x in np.ndindex(dispersion.shape):
        if block == 8:  # the mean of the 4 by 4 from here on, deviations from 2 above and left
            mean = int(wide[2 * y + 2 : 2 * y + 6, 2 * x + 2 : 2 * x + 6].sum()) >> 4
            part = wide[2 * y : 2 * y + 4, 2 * x : 2 * x + 4]
        else:
            top, left = y // 2 * 4, x // 2 * 4
            mean = int(wide[top + 2 : top + 6, left + 2 : left + 6].sum()) >> 4
            part = wide[2 * y + 1 : 2 * y + 3, 2 * x + 1 : 2 * x + 3]
        dispersion[y, x] = int(((part - mean) ** 2).sum()) >> 4
    sides, corners = np.exp2(-dispersion / strength), np.exp2(-2 * dispersion / strength)
    whole = 1 + 4 * (sides + corners)
    return np.stack([1 / whole, sides / whole, corners / whole], -1)


def _filtered(rows: Pixels, k: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """`step` is the distance of neighbours in a row."""
    wide = np.pad(rows.astype(float), ((1, 1), (step, step)), mode="edge")
    h, w = rows.shape

    def at(y: int, x: int) -> NDArray[np.float64]:
        return wide[1 + y : 1 + y + h, step * (1 + x) : step * (1 + x) + w]

    sides = at(0, -1) + at(0, 1) + at(-1, 0) + at(1, 0)
    corners = at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)
    found: NDArray[np.float64] = at(0, 0) * k[..., 0] + sides * k[..., 1] + corners * k[..., 2]
    return found


def _near(found: Pixels, exact: NDArray[np.float64]) -> bool:
    """Rounded to the nearest number; sums near the middle may have gone either way."""
    return bool((np.abs(found - exact) <= 0.501).all())


MEANINGS: Final[dict[str, Meaning]] = {
    "surfaceCopy_set": copy_set,
    "surfaceCopy_set_NV12": copy_set_nv12,
    "MbCopyFieLd": field_copy,
    **{f"SubSamplePoint_{which}": subsample(which) for which in "ptb"},
    "surfaceCopy_Y": luma_copy,
    "DownSampleMB2X": downsample(1),
    "DownSampleMB4X": downsample(2),
    "HistogramSLMFrame": histogram(1),
    "HistogramSLMFields": histogram(2),
    "MC_MERGE4": merge,
    "MC_VAR_SC_CALC": variance,
    "Scale_frame": weighted,
    "SpatialDenoiser_8x8": denoise(8),
    "SpatialDenoiser_8x8_NV12": denoise(8, nv12=True),
    "SpatialDenoiser_4x4": denoise(4),
}


def as_numpy(data: bytes, name: str, target: Platform) -> bool | None:
    """Whether a kernel computes on both engines what NumPy does, None if NumPy is not asked."""
    meaning = MEANINGS.get(name)
    if meaning is None:
        return None
    kernel = eumu.load(data, device=target)[name]
    devices = (eumu.Device(target, engine=engine) for engine in ("interp", "jit"))
    return all(meaning(device, kernel, np.random.default_rng(1)) for device in devices)
