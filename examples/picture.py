"""Makes a picture, then blurs and halves it on an emulated GPU: picture.png, blurred.png.

python examples/picture.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import eumu

HERE = Path(__file__).resolve().parent


def scene(width: int, height: int) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    """Hills before an evening sky, RGBA."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    y, x = y / height, x / height
    t = y[..., None]
    colour = (1 - t) * np.array([0.16, 0.22, 0.45]) + t * np.array([1.0, 0.66, 0.38])
    sun = np.clip(1.2 - 14 * np.hypot(x - 1.1, y - 0.42), 0, 1)[..., None]
    colour = colour * (1 - sun) + sun * np.array([1.0, 0.93, 0.7])
    for depth in range(4):
        ridge = (
            0.55 + 0.1 * depth + 0.05 * np.sin(5 * x + 2 * depth) + 0.02 * np.sin(19 * x + depth)
        )
        shade = np.array([0.30, 0.27, 0.36]) * (1 - 0.22 * depth)
        fence = 0.15 * ((x * 40 + depth) % 1 < 0.12)[..., None]
        colour = np.where((y > ridge)[..., None], shade + fence, colour)
    alpha = np.ones((height, width, 1))
    pixels: np.ndarray[tuple[int, int, int], np.dtype[np.uint8]] = np.rint(
        255 * np.clip(np.concatenate([colour, alpha], 2), 0, 1)
    ).astype(np.uint8)
    return pixels


def main() -> None:
    """Write both pictures."""
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    pixels = scene(320, 200)
    device = eumu.Device("skl")
    before, after = device.image(pixels), device.image((100, 160, 4))
    sampler = device.sampler(filter="linear", address="clamp_to_edge")
    kernel = eumu.load(HERE / "picture.bin")["blur"]
    report = kernel.launch(device, (160, 100), args=[before, sampler, after, 3.0])
    Image.fromarray(pixels).save(place / "picture.png")
    Image.fromarray(after.numpy()).save(place / "blurred.png")
    print(report.instructions, "instructions,", report.seconds, "s")


if __name__ == "__main__":
    main()
