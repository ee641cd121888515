"""The intra predictions of AVC (ITU-T H.264, clause 8.3), for all modes that neighbours allow.

`top` are the pixels above, for squares twice as many as a block is wide, `left` those to the left,
`corner` the one at the corner; None where there is no such neighbour.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Edge = Ints | None
Modes = dict[int, Ints]

DC: Final = 2  # of luma
_GREY: Final = 128


def square_modes(size: int, top: Edge, left: Edge, corner: int | None) -> Modes:
    """Of a block of 4x4 or 8x8 pixels."""
    if size == 8:
        top, left, corner = _smooth(top, left, corner)
    modes: Modes = {DC: np.full((size, size), _mean(None if top is None else top[:size], left))}
    x, y = np.meshgrid(np.arange(size), np.arange(size))
    if top is not None:
        modes[0] = np.broadcast_to(top[:size], (size, size))
        t = np.append(top, [top[-1]])
        modes[3] = _three(t, x + y + 1)
        modes[7] = np.where(y % 2 == 0, _two(t, x + y // 2), _three(t, x + y // 2 + 1))
    if left is not None:
        modes[1] = np.broadcast_to(left[:, None], (size, size))
        e = np.append(left, [left[-1]] * size)
        modes[8] = np.where(x % 2 == 0, _two(e, y + x // 2), _three(e, y + x // 2 + 1))
    if top is not None and left is not None and corner is not None:
        edge = np.concatenate([left[::-1], [corner], top[:size]])
        modes[4] = _three(edge, size + x - y)
        modes[5] = _steep(edge, x, y, size)
        modes[6] = _steep(edge[::-1], y, x, size)
    return dict(sorted(modes.items()))


def _steep(edge: Ints, x: Ints, y: Ints, size: int) -> Ints:
    """Vertical right; with edge and axes exchanged, horizontal down.

    `edge` goes from the end of the left side over the corner, at `size`, to the end of the top.
    """
    z, place = 2 * x - y, size + x - (y >> 1)
    upper = np.where(
        z % 2 == 0, _two(edge, np.maximum(place, 0)), _three(edge, np.maximum(place, 1))
    )
    lower = _three(edge, np.clip(size + 1 - y + 2 * x, 1, 2 * size - 1))
    corner = _three(edge, np.full_like(z, size))
    pixels: Ints = np.where(z >= -1, np.where(z == -1, corner, upper), lower)
    return pixels


def whole_modes(top: Edge, left: Edge, corner: int | None) -> Modes:
    """Of 16x16 pixels: vertical, horizontal, DC, plane."""
    above = None if top is None else top[:16]
    modes: Modes = {DC: np.full((16, 16), _mean(above, left))}
    if above is not None:
        modes[0] = np.broadcast_to(above, (16, 16))
    if left is not None:
        modes[1] = np.broadcast_to(left[:, None], (16, 16))
    if above is not None and left is not None and corner is not None:
        modes[3] = _plane(above, left, corner, 5)
    return dict(sorted(modes.items()))


def chroma_modes(top: Edge, left: Edge, corner: Edge) -> Modes:
    """Of 8x8 pairs Cb, Cr [8, 8, 2]: DC, horizontal, vertical, plane."""
    modes: Modes = {
        0: np.stack([_chroma_dc(_plane_of(top, c), _plane_of(left, c)) for c in (0, 1)], 2)
    }
    if left is not None:
        modes[1] = np.broadcast_to(left[:, None], (8, 8, 2))
    if top is not None:
        modes[2] = np.broadcast_to(top, (8, 8, 2))
    if top is not None and left is not None and corner is not None:
        planes = [_plane(top[:, c], left[:, c], int(corner[c]), 34) for c in (0, 1)]
        modes[3] = np.stack(planes, 2)
    return modes


def _plane_of(pairs: Edge, channel: int) -> Edge:
    return None if pairs is None else pairs[:, channel]


def _chroma_dc(top: Edge, left: Edge) -> Ints:
    """Each quarter has its own mean; those off the diagonal prefer one side."""
    pixels = np.empty((8, 8), np.int64)
    for y in (0, 4):
        for x in (0, 4):
            above = None if top is None else top[x : x + 4]
            beside = None if left is None else left[y : y + 4]
            if x > y and above is not None:
                beside = None
            elif y > x and beside is not None:
                above = None
            pixels[y : y + 4, x : x + 4] = _mean(above, beside)
    return pixels


def _plane(top: Ints, left: Ints, corner: int, factor: int) -> Ints:
    """A sloped plane; the factor is 5 for 16x16 pixels, 34 for 8x8."""
    size = len(top)
    half = size // 2
    weights = np.arange(1, half + 1)
    across, down = (
        int((weights * (e[half:] - np.append(e[: half - 1][::-1], corner))).sum())
        for e in (top, left)
    )
    b, c = (factor * across + 32) >> 6, (factor * down + 32) >> 6
    steps = np.arange(size) - (half - 1)
    base = 16 * (int(top[-1]) + int(left[-1]))
    plane: Ints = np.clip((base + b * steps + c * steps[:, None] + 16) >> 5, 0, 255)
    return plane


def _mean(*edges: Edge) -> int:
    """The rounded mean of the pixels that there are."""
    present = [edge for edge in edges if edge is not None]
    if not present:
        return _GREY
    count = sum(len(edge) for edge in present)
    return int((sum(int(edge.sum()) for edge in present) + count // 2) // count)


def _two(edge: Ints, place: Ints) -> Ints:
    """Rounded means of the pixel at a place and the next."""
    return (edge[place] + edge[place + 1] + 1) >> 1


def _three(edge: Ints, place: Ints) -> Ints:
    """Means of three, weighted 1, 2, 1, around a place."""
    return (edge[place - 1] + 2 * edge[place] + edge[place + 1] + 2) >> 2


def _smooth(top: Edge, left: Edge, corner: int | None) -> tuple[Edge, Edge, int | None]:
    """The neighbours of an 8x8 block are filtered before use."""

    def along(edge: Edge) -> Edge:
        if edge is None:
            return None
        first = edge[0] if corner is None else corner
        padded = np.concatenate([[first], edge, edge[-1:]])
        return _three(padded, np.arange(1, len(edge) + 1))

    near = corner
    if corner is not None and (top is not None or left is not None):
        a = corner if top is None else int(top[0])
        b = corner if left is None else int(left[0])
        near = (a + 2 * corner + b + 2) >> 2
    return along(top), along(left), near
