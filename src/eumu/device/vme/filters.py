"""Pixels between pixels: quarters by four taps, or by two; and the mean of two references.

Source: Intel's programmer's manual, "FME 4-tap filter" and the weighting of bidirectional
references.  What it leaves open: rows are filtered before columns, and rounded to eight bits
between.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# Taps at -1, 0, 1, 2 and what their sum is divided by, for each quarter.
_FOUR: Final = (
    ((0, 1, 0, 0), 0),
    ((-1, 13, 5, -1), 4),
    ((-1, 5, 5, -1), 3),
    ((-1, 5, 13, -1), 4),
)
_TWO: Final = (
    ((0, 1, 0, 0), 0),
    ((0, 3, 1, 0), 2),
    ((0, 1, 1, 0), 1),
    ((0, 1, 3, 0), 2),
)
MARGIN: Final = 1, 2  # pixels needed before and behind


def between(pixels: Ints, x: int, y: int, *, bilinear: bool) -> Ints:
    """Pixels moved by x and y quarters, 0 to 3; the margins are gone from the result."""
    taps = _TWO if bilinear else _FOUR
    return _columns(_columns(pixels, taps[x]).T, taps[y]).T


def _columns(pixels: Ints, filter: tuple[tuple[int, ...], int]) -> Ints:
    """Filter along rows."""
    taps, shift = filter
    width = pixels.shape[1] - sum(MARGIN)
    total = sum(tap * pixels[:, k : k + width] for k, tap in enumerate(taps) if tap)
    return np.clip((total + (1 << shift >> 1)) >> shift, 0, 255)


def weighted(forward: Ints, backward: Ints, weight: int) -> Ints:
    """The mean of two references; `weight`, of 64, is that of the backward one."""
    return ((64 - weight) * forward + weight * backward + 32) >> 6
