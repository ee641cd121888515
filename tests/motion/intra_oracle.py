"""Intra prediction pixel by pixel, as clause 8.3 of ITU-T H.264 writes its equations.

`p(x, y)` is a neighbour of a block, x or y being -1; None where there is none.  `Frame` gives those
of all blocks of a macroblock; inside it they are pixels of the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motion.oracle import sad, u4u4

Neighbour = Callable[[int, int], int | None]
LEFT, TOP, TOP_RIGHT, CORNER = 0x60, 0x10, 0x08, 0x04
Z = [((k & 1) * 4 + (k >> 2 & 1) * 8, (k >> 1 & 1) * 4 + (k >> 3) * 8) for k in range(16)]


@dataclass
class Frame:
    """A macroblock and its edges: left [16], upper [16], upper right [16], the corner."""

    source: NDArray[np.int64]
    edges: list[int]
    flags: int

    def at(self, x: int, y: int) -> int | None:
        if x >= 0 and y >= 0:
            return int(self.source[y, x]) if x < 16 else None
        if x < 0 and y < 0:
            return self.edges[48] if self.flags & CORNER else None
        if x < 0:
            return self.edges[y] if self.flags & LEFT else None
        if x < 16:
            return self.edges[16 + x] if self.flags & TOP else None
        return self.edges[32 + x - 16] if self.flags & TOP_RIGHT else None

    def block(self, x: int, y: int, size: int) -> Neighbour:
        """Upper right pixels that come later in decoding order are not there: the last repeats."""

        def later(i: int, j: int) -> bool:
            if i >= 16 or j < 0:
                return False
            order = Z if size == 4 else [Z[k] for k in range(0, 16, 4)]
            return order.index((i // size * size, j // size * size)) > order.index((x, y))

        def p(i: int, j: int) -> int | None:
            if i >= size and (later(x + i, y + j) or self.at(x + i, y + j) is None):
                return self.at(x + size - 1, y + j)
            return self.at(x + i, y + j)

        return p


def filtered(p: Neighbour) -> Neighbour:
    """Clause 8.3.2.2.1: the neighbours of an 8x8 block are smoothed."""

    def q(x: int, y: int) -> int | None:
        if p(x, y) is None:
            return None
        if (x, y) == (-1, -1):
            before, behind = p(0, -1), p(-1, 0)
        elif y < 0:
            before, behind = p(x - 1, -1), p(x + 1, -1) if x < 15 else None
        else:
            before, behind = p(-1, y - 1), p(-1, y + 1) if y < 7 else None
        here = p(x, y)
        assert here is not None
        return ((here if before is None else before) + 2 * here
                + (here if behind is None else behind) + 2) // 4  # fmt: skip

    return q


def square(size: int, p: Neighbour) -> dict[int, NDArray[np.int64]]:
    """All modes of a 4x4 or 8x8 block (`p` smoothed already for 8x8)."""
    top, left, corner = p(0, -1) is not None, p(-1, 0) is not None, p(-1, -1) is not None

    def t(*places: tuple[int, int]) -> int:
        """Means of two, or of three weighted 1 2 1."""
        v = [p(*place) for place in places]
        if len(v) == 2:
            return (v[0] + v[1] + 1) // 2  # type: ignore[operator]
        return (v[0] + 2 * v[1] + v[2] + 2) // 4  # type: ignore[operator]

    end = 2 * size - 1

    def down_left(x: int, y: int) -> int:
        n = x + y
        return t((n, -1), (n + 1, -1), (min(n + 2, end), -1))

    def down_right(x: int, y: int) -> int:
        if x > y:
            return t((x - y - 2, -1), (x - y - 1, -1), (x - y, -1))
        if x < y:
            return t((-1, y - x - 2), (-1, y - x - 1), (-1, y - x))
        return t((0, -1), (-1, -1), (-1, 0))

    def vertical_right(x: int, y: int) -> int:
        z, n = 2 * x - y, x - y // 2
        if z == -1:
            return t((-1, 0), (-1, -1), (0, -1))
        if z < -1:
            n = y - 2 * x
            return t((-1, n - 1), (-1, n - 2), (-1, n - 3))
        return t((n - 1, -1), (n, -1)) if z % 2 == 0 else t((n - 2, -1), (n - 1, -1), (n, -1))

    def horizontal_down(x: int, y: int) -> int:
        z, n = 2 * y - x, y - x // 2
        if z == -1:
            return t((-1, 0), (-1, -1), (0, -1))
        if z < -1:
            n = x - 2 * y
            return t((n - 1, -1), (n - 2, -1), (n - 3, -1))
        return t((-1, n - 1), (-1, n)) if z % 2 == 0 else t((-1, n - 2), (-1, n - 1), (-1, n))

    def vertical_left(x: int, y: int) -> int:
        n = x + y // 2
        return t((n, -1), (n + 1, -1)) if y % 2 == 0 else t((n, -1), (n + 1, -1), (n + 2, -1))

    def horizontal_up(x: int, y: int) -> int:
        z, n, last = x + 2 * y, y + x // 2, size - 1
        if z > 2 * size - 3:
            return t((-1, last), (-1, last))
        if z == 2 * size - 3:
            return t((-1, last - 1), (-1, last), (-1, last))
        return t((-1, n), (-1, n + 1)) if z % 2 == 0 else t((-1, n), (-1, n + 1), (-1, n + 2))

    def dc(x: int, y: int) -> int:
        known = [p(k, -1) for k in range(size) if top] + [p(-1, k) for k in range(size) if left]
        return (sum(known) + len(known) // 2) // len(known) if known else 128  # type: ignore[arg-type]

    modes: dict[int, tuple[bool, Callable[[int, int], Any]]] = {
        0: (top, lambda x, y: p(x, -1)),
        1: (left, lambda x, y: p(-1, y)),
        2: (True, dc),
        3: (top, down_left),
        4: (top and left and corner, down_right),
        5: (top and left and corner, vertical_right),
        6: (top and left and corner, horizontal_down),
        7: (top, vertical_left),
        8: (left, horizontal_up),
    }
    return {
        mode: np.array([[f(x, y) for x in range(size)] for y in range(size)])
        for mode, (is_there, f) in modes.items()
        if is_there
    }


def plane(p: Neighbour, size: int, factor: int) -> NDArray[np.int64]:
    half = size // 2
    h = sum((k + 1) * (p(half + k, -1) - p(half - 2 - k, -1)) for k in range(half))  # type: ignore[operator]
    v = sum((k + 1) * (p(-1, half + k) - p(-1, half - 2 - k)) for k in range(half))  # type: ignore[operator]
    a = 16 * (p(-1, size - 1) + p(size - 1, -1))  # type: ignore[operator]
    b, c = (factor * h + 32) >> 6, (factor * v + 32) >> 6
    rows = range(size)
    found = [[(a + b * (x - half + 1) + c * (y - half + 1) + 16) >> 5 for x in rows] for y in rows]
    return np.clip(np.array(found), 0, 255)


def whole(p: Neighbour) -> dict[int, NDArray[np.int64]]:
    """16x16: vertical, horizontal, DC, and the plane, which the extension calls 4."""
    top, left, corner = p(0, -1) is not None, p(-1, 0) is not None, p(-1, -1) is not None
    known = [p(k, -1) for k in range(16) if top] + [p(-1, k) for k in range(16) if left]
    mean = (sum(known) + len(known) // 2) // len(known) if known else 128  # type: ignore[arg-type]
    found = {2: np.full((16, 16), mean)}
    if top:
        found[0] = np.array([[p(x, -1) for x in range(16)] for _ in range(16)])
    if left:
        found[1] = np.array([[p(-1, y) for _ in range(16)] for y in range(16)])
    if top and left and corner:
        found[4] = plane(p, 16, 5)
    return found


def chroma(p: Neighbour) -> dict[int, NDArray[np.int64]]:
    """8x8 of one colour: DC, horizontal, vertical, plane."""
    top, left, corner = p(0, -1) is not None, p(-1, 0) is not None, p(-1, -1) is not None

    def dc(x: int, y: int) -> int:
        i, j = x // 4 * 4, y // 4 * 4
        above = [p(i + k, -1) for k in range(4)] if top else []
        beside = [p(-1, j + k) for k in range(4)] if left else []
        if i > j and above:
            beside = []
        elif j > i and beside:
            above = []
        known = above + beside
        return (sum(known) + len(known) // 2) // len(known) if known else 128  # type: ignore[arg-type]

    found = {0: np.array([[dc(x, y) for x in range(8)] for y in range(8)])}
    if left:
        found[1] = np.array([[p(-1, y) for _ in range(8)] for y in range(8)])
    if top:
        found[2] = np.array([[p(x, -1) for x in range(8)] for _ in range(8)])
    if top and left and corner:
        found[3] = plane(p, 8, 34)
    return found


def estimate(
    frame: Frame, shape: int, shapes: int, mode_penalty: int, neighbours: int, non_dc: int,
    measure: Callable[[Any, Any], int] = sad,
) -> tuple[int, list[int]]:  # fmt: skip
    """The distortion of a shape (0 16x16, 1 8x8, 2 4x4) and the modes of the sixteen blocks."""
    size, total = (16, 8, 4)[shape], u4u4(shapes >> 8 * (shape + 1) & 255)
    modes: dict[tuple[int, int], int] = {}
    beside = [neighbours >> 4 * k & 15 for k in range(8)]
    for k in range(4):
        if frame.flags & LEFT:
            modes[-1, k] = beside[k]
        if frame.flags & TOP:
            modes[k, -1] = beside[4 + k]
    for x, y in Z if size == 4 else [Z[k] for k in range(0, 16, size * size // 16)]:
        p = frame.block(x, y, size) if size < 16 else frame.at
        ways = whole(p) if size == 16 else square(size, filtered(p) if size == 8 else p)
        column, row = x // 4, y // 4
        a, b = modes.get((column - 1, row)), modes.get((column, row - 1))
        predicted = 2 if a is None or b is None else min(a, b)
        best = None
        for mode, pixels in sorted(ways.items()):
            cost = measure(frame.source[y : y + size, x : x + size], pixels)
            cost += (non_dc >> 8 * shape & 255) if mode != 2 else 0
            cost += u4u4(mode_penalty) if size < 16 and mode != predicted else 0
            if best is None or cost < best[0]:
                best = cost, mode
        assert best is not None
        total += best[0]
        for i in range(size // 4):
            for j in range(size // 4):
                modes[column + i, row + j] = best[1]
    return total, [modes[x // 4, y // 4] for x, y in Z]
