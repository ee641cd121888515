"""Block-compressed formats against Pillow's decoders, which we did not write.

Pillow rounds colours to eight bits on its way, cuts BC6H off at 0 and 1, and is wrong where both
ends of a signed BC6H block are negative and stored as differences; such modes are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from eumu.device.surfaces.bc import decode_blocks
from images.samples_text import send

pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed (pip install pillow)")
RNG = np.random.default_rng(3)
# Format, Pillow's number and name, bytes, mode, channels, greatest difference.
FORMATS = (
    ("BC1_UNORM", (1, "BC1"), 8, "RGBA", 4, 1.5),
    ("BC2_UNORM", (2, "BC2"), 16, "RGBA", 4, 1.5),
    ("BC3_UNORM", (3, "BC3"), 16, "RGBA", 4, 1.5),
    ("BC4_UNORM", (4, "BC4"), 8, "L", 1, 1.01),
    ("BC5_UNORM", (5, "BC5"), 16, "RGB", 2, 1.01),
    ("BC7_UNORM", (7, "BC7"), 16, "RGBA", 4, 0.01),
    ("BC6H_UF16", (6, "BC6H"), 16, "RGB", 3, 1.2),
    ("BC6H_SF16", (6, "BC6HS"), 16, "RGB", 3, 1.2),
)


def blocks(format: str, size: int, count: int = 1500) -> np.ndarray[Any, Any]:
    data = RNG.integers(0, 256, (count, size), dtype=np.uint8)
    if format == "BC7_UNORM":  # every mode as often
        mode = RNG.integers(0, 8, count)
        data[:, 0] = (data[:, 0] & -(2 << mode)) | 1 << mode
    if format == "BC6H_SF16":
        data[:, 0] = data[:, 0] & 0xE0 | RNG.choice([3, 15, 30], count)
    return data


@pytest.mark.parametrize(("format", "codec", "size", "mode", "channels", "bound"), FORMATS)
def test_blocks(
    format: str, codec: tuple[int, str], size: int, mode: str, channels: int, bound: float
) -> None:
    data = blocks(format, size)
    count = len(data)
    picture = pillow.frombytes(mode, (4 * count, 4), data.tobytes(), "bcn", codec)
    want = np.asarray(picture).reshape(4, count, 4, -1).transpose(1, 0, 2, 3)
    want = want.reshape(count, 16, -1)[..., :channels].astype(float)
    texels = [decode_blocks(format, data, np.full(count, k)) for k in range(16)]
    got = np.clip(np.stack(texels, 1)[..., :channels], 0, 1) * 255
    assert np.abs(got - want).max() <= bound


def test_signed_channels() -> None:
    """Ends of -128 and -127 are both -1."""
    data = np.zeros((2, 8), np.uint8)
    data[0, :2], data[1, :2] = (0x80, 0x7F), (0x81, 0x7F)
    found = decode_blocks("BC4_SNORM", data, np.zeros(2, np.intp))
    assert found[:, 0].tolist() == [-1.0, -1.0]


def test_negative_ends_of_differences_stay_negative() -> None:
    """Mode 11 of BC6H: a base of -1628 and a difference of 95."""
    base, difference = -1628 & 0xFFF, 95
    bits = 11 | (base & 0x3FF) << 5 | difference << 35
    bits |= (base >> 11 & 1) << 43 | (base >> 10 & 1) << 44
    data = np.frombuffer(bits.to_bytes(16, "little"), np.uint8)[None, :]
    assert decode_blocks("BC6H_SF16", data, np.zeros(1, np.intp))[0, 0] < 0


@pytest.mark.parametrize("format", ["BC1_UNORM", "BC3_UNORM_SRGB", "BC7_UNORM"])
def test_sampled_blocks(format: str) -> None:
    device = eumu.Device("skl", engine="interp")
    size = 8 if "BC1" in format else 16
    data = RNG.integers(0, 256, (3, 4, size), dtype=np.uint8)
    image = device.image(data.view(np.uint64)[..., 0] if size == 8 else data, format=format)
    texels = image.texels()
    assert texels.shape == (12, 16, 4)
    x, y = RNG.integers(0, 16, 8), RNG.integers(0, 12, 8)
    place = [((v + 0.5) / n).astype(np.float32) for v, n in ((x, 16), (y, 12))]
    message = "sample_lz.RGBA {lanes} 0x0:uw STATE IMAGE RESULT.0 {params}"
    got = send(device, message, image, device.sampler(), place)
    assert (texels[y, x] == got.T).all()
