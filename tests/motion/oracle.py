"""Motion estimation by brute force, written from the text of the OpenCL extension.

`cl_intel_device_side_avc_motion_estimation` and Intel's programmer's manual for it say what is
computed; nothing here is shared with the model.  Pictures are arrays [row, column].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]  # picture[y, x]
Block = NDArray[np.int64]
Vector = tuple[int, int]
Rect = tuple[int, int, int, int]  # x, y, width, height in the macroblock


def block(picture: Rows, x: int, y: int, width: int, height: int) -> Block:
    """What lies outside repeats the edge."""
    rows = [min(max(y + j, 0), len(picture) - 1) for j in range(height)]
    columns = [min(max(x + i, 0), picture.shape[1] - 1) for i in range(width)]
    return picture[rows][:, columns].astype(np.int64)


def sad(a: Block, b: Block) -> int:
    return int(abs(a - b).sum())


def haar(a: Block, b: Block) -> int:
    """Two steps of a wavelet transform of every 4x4 block; plain sums and differences."""
    total, d = 0, a - b
    for _ in range(2):
        p, q, r, s = d[::2, ::2], d[::2, 1::2], d[1::2, ::2], d[1::2, 1::2]
        for other in (p - q + r - s, p + q - r - s, p - q - r + s):
            total += int(abs(other).sum())
        d = p + q + r + s
    return total + int(abs(d).sum())


# ---- penalties


def u4u4(code: int) -> int:
    return (code % 16) * 2 ** (code // 16)


def codes(packed: int, count: int = 8) -> list[int]:
    return [u4u4(packed >> 8 * k & 255) for k in range(count)]


def vector_cost(mv: Vector, center: Vector, table: int, precision: int) -> int:
    """Control points at 0, 1, 2, 4, … 64 units; a unit is 1, 2, 4 or 8 quarters of a pixel."""
    curve, points = codes(table), [0, 1, 2, 4, 8, 16, 32, 64]
    if not any(curve):
        return 0
    total = 0
    for a, b in zip(mv, center, strict=True):
        d = Fraction(abs(a - b), 1 << precision)
        if d > 64:
            total += min(curve[7] + int(d) - 64, 255)
            continue
        k = max(i for i in range(8) if points[i] <= d)
        if d == points[k]:
            total += curve[k]
            continue
        part = (d - points[k]) / (points[k + 1] - points[k])
        total += curve[k] + int((curve[k + 1] - curve[k]) * part // 1)
    return total


# ---- shapes

MAJOR: list[list[Rect]] = [
    [(0, 0, 16, 16)],
    [(0, 0, 16, 8), (0, 8, 16, 8)],
    [(0, 0, 8, 16), (8, 0, 8, 16)],
    [(0, 0, 8, 8), (8, 0, 8, 8), (0, 8, 8, 8), (8, 8, 8, 8)],
]


def minor(quarter: Rect, shape: int) -> list[Rect]:
    x, y, _, _ = quarter
    width, height = ((8, 8), (8, 4), (4, 8), (4, 4))[shape]
    return [(x + i, y + j, width, height) for j in range(0, 8, height) for i in range(0, 8, width)]


def quarter_of(rect: Rect) -> int:
    return rect[1] // 8 * 2 + rect[0] // 8


def items(major: int, minors: int) -> Iterator[tuple[int, Rect]]:
    """The blocks of a partition and the work items that have their vectors."""
    for k, rect in enumerate(MAJOR[major]):
        if major < 3:
            yield 8 * k, rect
            continue
        shape = minors >> 2 * k & 3
        step = (4, 2, 2, 1)[shape]
        for n, piece in enumerate(minor(rect, shape)):
            yield 4 * k + step * n, piece


_LEAST: dict[Any, int] = {}  # every machine under test is asked the same


@dataclass
class Search:
    """All vectors of a window, for one macroblock; windows are whole search units."""

    source: Rows
    x: int
    y: int
    mask: int = 0
    table: int = 0
    precision: int = 0
    centers: list[Vector] = field(default_factory=lambda: [(0, 0)] * 4)
    shapes: int = 0
    measure: Callable[[Any, Any], int] = sad
    limit: int = 32

    def cost(self, reference: Rows, rect: Rect, mv: Vector, flat: int = 0) -> int:
        """The distortion of a block at a vector in quarters, shapes aside."""
        i, j, width, height = rect
        here = block(self.source, self.x + i, self.y + j, width, height)
        x, y = self.x + i + mv[0] // 4, self.y + j + mv[1] // 4
        there = block(reference, x, y, width, height)
        penalty = vector_cost(mv, self.centers[quarter_of(rect)], self.table, self.precision)
        return min(65535, self.measure(here, there) + penalty + flat)

    def least(self, reference: Rows, window: Rect, rect: Rect, flat: int = 0) -> int:
        """The least distortion in a window: x, y, width and height of vectors in whole pixels."""
        given = self.x, self.y, self.table, self.precision, *self.centers, self.measure
        key = self.source.tobytes(), reference.tobytes(), window, rect, flat, given
        if key not in _LEAST:
            x, y, width, height = window
            _LEAST[key] = min(
                self.cost(reference, rect, (4 * (x + i), 4 * (y + j)), flat)
                for j in range(height)
                for i in range(width)
            )
        return _LEAST[key]

    def totals(self, best: Callable[[list[Rect]], int]) -> Iterator[tuple[int, int, int, int]]:
        """Every partition: distortion, vectors, major shape, minor shapes.

        `best` gives what the pieces of a major block cost.
        """
        cost = codes(self.shapes, 5)  # 16x8 and 8x16; 8x8; 8x4 and 4x8; 4x4; 16x16
        for major, price in ((0, cost[4]), (1, cost[0]), (2, cost[0])):
            if not self.mask >> major & 1:
                parts = MAJOR[major]
                yield price + sum(best([r]) for r in parts), len(parts), major, 0
        allowed = [m for m in range(4) if not self.mask >> 3 + m & 1]
        per = [
            [(best(minor(q, m)) + cost[(1, 2, 2, 3)[m]], (1, 2, 2, 4)[m], m) for m in allowed]
            for q in MAJOR[3]
        ]
        for chosen in product(*per) if allowed else ():
            minors = sum(c[2] << 2 * k for k, c in enumerate(chosen))
            yield sum(c[0] for c in chosen), sum(c[1] for c in chosen), 3, minors


# ---- parts of pixels


_FOUR = {0: (0, 1, 0, 0), 1: (-1, 13, 5, -1), 2: (-1, 5, 5, -1), 3: (-1, 5, 13, -1)}
_TWO = {0: (0, 1, 0, 0), 1: (0, 3, 1, 0), 2: (0, 1, 1, 0), 3: (0, 1, 3, 0)}


def moved(picture: Rows, rect: Rect, mv: Vector, *, bilinear: bool = False) -> Block:
    """A block of the reference at a vector in quarters: rows are filtered first, and rounded."""
    x, y, width, height = rect
    pixels = block(picture, x + mv[0] // 4 - 1, y + mv[1] // 4 - 1, width + 3, height + 3)
    for part in (mv[0] % 4, mv[1] % 4):
        taps = (_TWO if bilinear else _FOUR)[part]
        size, scale = pixels.shape[1] - 3, sum(taps)
        total = sum(taps[k] * pixels[:, k : k + size] for k in range(4))
        pixels = np.clip((total + scale // 2) // scale, 0, 255).T
    return pixels


def mean(a: Block, b: Block, weight: int) -> Block:
    return ((64 - weight) * a + weight * b + 32) // 64


def coefficients(a: Block, b: Block) -> list[list[int]]:
    """The transform of the difference of 4x4 blocks, by its definition as two matrices."""
    c = ((1, 1, 1, 1), (2, 1, -1, -2), (1, -1, -1, 1), (1, -2, 2, -1))
    d = (a - b).tolist()
    return [
        [sum(c[i][k] * d[k][m] * c[j][m] for k in range(4) for m in range(4)) for j in range(4)]
        for i in range(4)
    ]
