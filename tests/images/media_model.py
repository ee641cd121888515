"""sample_8x8 pixel by pixel in Python numbers, written from the documents' equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor

Pixel = Callable[[int, int], int]
Texel = Callable[[int, int], Fraction]


def clamp(k: int, size: int) -> int:
    return min(max(k, 0), size - 1)


def mirror(k: int, size: int) -> int:
    """… 1 0 | 0 1 2 … n-1 | n-1 n-2 …"""
    while not 0 <= k < size:
        k = -1 - k if k < 0 else 2 * size - 1 - k
    return k


def around(rows: int, columns: int) -> list[tuple[int, int, int, int]]:
    """Place (row, column) of a kernel and its distance from the centre (down, right)."""
    return [(i, j, i - rows // 2, j - columns // 2) for i in range(rows) for j in range(columns)]


def convolved(
    pixel: Pixel, x: int, y: int, kernel: Sequence[Sequence[float]], shift: int, bits: int
) -> int:
    """Accum[40:12] >> scale_down, clamped; coefficients have twelve fractional bits."""
    total = 0
    for i, j, down, right in around(len(kernel), len(kernel[0])):
        coefficient = int(Fraction(kernel[i][j]) * 4096)
        if bits == 8:
            coefficient -= coefficient % 256
        total += coefficient * pixel(x + right, y + down)
    return min(max(floor(floor(Fraction(total, 4096)) / Fraction(2**shift)), -32768), 32767)


def named(pixel: Pixel, x: int, y: int, places: Sequence[Sequence[int]]) -> list[int]:
    """The pixels under the places of a kernel."""
    return [
        pixel(x + right, y + down)
        for i, j, down, right in around(len(places), len(places[0]))
        if places[i][j]
    ]


def scaled(
    texel: Texel,
    at: tuple[Fraction, Fraction],
    across: Sequence[Sequence[float]],
    down: Sequence[Sequence[float]],
) -> Fraction:
    """A pixel at a place in pixels, the centre of the first being 0; tables of 32 phases."""
    (x, y) = at
    first = floor(x), floor(y)
    rows = down[floor((y - first[1]) * 32)]
    columns = across[floor((x - first[0]) * 32)]
    total = Fraction(0)
    for i, weight in enumerate(rows):
        for j, other in enumerate(columns):
            place = first[0] + j - 3, first[1] + i - 3
            total += Fraction(weight) * Fraction(other) * texel(*place)
    return min(max(total, Fraction(0)), Fraction(1))
