"""Intra prediction: the best modes of 16x16, 8x8 and 4x4 blocks, and of chrominance.

Modes are those of AVC.  Inside the macroblock, neighbours are pixels of the source itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.vme.costs import Costs
from eumu.device.vme.distortion import MOST, Measure
from eumu.device.vme.intra_modes import DC, chroma_modes, square_modes, whole_modes
from eumu.device.vme.payload import UniversalInput
from eumu.device.vme.shapes import Z_COLUMN, Z_ROW
from eumu.errors import Unsupported
from eumu.records import dataclass

Ints = NDArray[np.int64]

_LEFT, _TOP, _TOP_RIGHT, _CORNER = 0x60, 0x10, 0x08, 0x04
PLANE: Final = 4  # as the OpenCL extension numbers it among luma modes
# 4x4 blocks whose upper right neighbour comes later in Z order.
_LATE: Final = frozenset({3, 7, 11, 13, 15})


@dataclass(frozen=True, slots=True)
class Intra:
    """The answer: a shape (0 16x16, 1 8x8, 2 4x4), the modes of sixteen blocks, a distortion."""

    shape: int
    modes: tuple[int, ...]
    distortion: int


@dataclass(frozen=True, slots=True)
class Edges:
    """What is around a macroblock: the frame [17, 25] has the corner at (0, 0)."""

    frame: Ints
    left: bool
    top: bool
    top_right: bool
    corner: bool

    @classmethod
    def of(cls, source: Ints, payload: Any, flags: int) -> Edges:
        if flags & _LEFT not in (0, _LEFT):
            raise Unsupported("intra estimation where half of the left neighbour is available")
        frame = np.zeros((17, 25), np.int64)
        frame[0, 0], frame[0, 1:] = payload["corner_luma"], payload["top_luma"]
        frame[1:, 0], frame[1:, 1:17] = payload["left_luma"], source
        has = [bool(flags & bit) for bit in (_LEFT, _TOP, _TOP_RIGHT, _CORNER)]
        return cls(frame, *has)

    def around(self, x: int, y: int, size: int) -> tuple[Ints | None, Ints | None, int | None]:
        """Pixels above a block (twice its size), left of it, and at its corner; None if missing."""
        top = left = corner = None
        if y or self.top:
            top = self.frame[y, x + 1 : x + 1 + 2 * size]
            if not self._has_top_right(x, y, size):
                top = np.concatenate([top[:size], np.repeat(top[size - 1], size)])
        if x or self.left:
            left = self.frame[y + 1 : y + 1 + size, x]
        if (self.corner, self.left, self.top, True)[(y > 0) + 2 * (x > 0)]:
            corner = int(self.frame[y, x])
        return top, left, corner

    def _has_top_right(self, x: int, y: int, size: int) -> bool:
        if y == 0:
            return self.top if x + size < 16 else self.top_right
        if size == 8:
            return x == 0
        return next(k for k in range(16) if (4 * Z_COLUMN[k], 4 * Z_ROW[k]) == (x, y)) not in _LATE


def luma_estimate(source: Ints, payload: Any, uni: UniversalInput, costs: Costs) -> Intra:
    """The best way to predict a macroblock [16, 16]."""
    if uni.intra_corner_swap:
        raise Unsupported("intra estimation with IntraCornerSwap: it is described nowhere")
    measure = Measure.of(uni.intra_sad, ac_only=uni.ac_only_haar, field="IntraSAD")
    edges = Edges.of(source, payload, uni.mb_intra_struct)
    estimates = []
    for shape, estimate in enumerate((_whole, _squares(8), _squares(4))):
        if not uni.intra_part_mask >> shape & 1:
            estimates.append(estimate(source, payload, edges, measure, costs))
    if not estimates:
        raise uni.error("intra_part_mask", f"is {uni.intra_part_mask:#x}; it leaves no shape")
    return min(estimates, key=lambda intra: intra.distortion)


def _whole(source: Ints, payload: Any, edges: Edges, measure: Measure, costs: Costs) -> Intra:
    """As one block."""
    disabled = int(payload["intra_16x16_and_chroma_mode_mask"]) & 15
    penalty = int(payload["non_dc_penalty"][0])
    ways = []
    for mode, pixels in whole_modes(*edges.around(0, 0, 16)).items():
        if not disabled >> mode & 1:
            differs = int(measure.tile(source - pixels)) + (0 if mode == DC else penalty)
            ways.append((differs, PLANE if mode == 3 else mode))
    differs, mode = min(ways, default=(MOST, DC), key=lambda way: way[0])
    return Intra(0, (mode,) * 16, min(MOST, differs + costs.intra_shape(0)))


def _squares(size: int) -> Callable[[Ints, Any, Edges, Measure, Costs], Intra]:
    """As squares, one after the other in Z order: each predicts the mode of the next."""
    shape = 1 if size == 8 else 2
    name = f"intra_{size}x{size}_mode_mask"

    def estimate(source: Ints, payload: Any, edges: Edges, measure: Measure, costs: Costs) -> Intra:
        disabled, penalty = int(payload[name]), int(payload["non_dc_penalty"][shape])
        modes, total = _Modes(payload, edges), costs.intra_shape(shape)
        for k in range(0, 16, size * size // 16):
            x, y = 4 * Z_COLUMN[k], 4 * Z_ROW[k]
            block, predicted = source[y : y + size, x : x + size], modes.predicted(x // 4, y // 4)
            ways = []
            for mode, pixels in square_modes(size, *edges.around(x, y, size)).items():
                if not disabled >> mode & 1:
                    differs = int(measure.tile(block - pixels)) + (0 if mode == DC else penalty)
                    differs += 0 if mode == predicted else costs.not_predicted
                    ways.append((differs, mode))
            differs, mode = min(ways, default=(MOST, DC), key=lambda way: way[0])
            modes.set(x // 4, y // 4, size // 4, mode)
            total += differs
        return Intra(shape, modes.in_z_order(), min(MOST, total))

    return estimate


class _Modes:
    """The modes of the 4x4 blocks, and of those above and to the left."""

    def __init__(self, payload: Any, edges: Edges) -> None:
        nibbles = [int(v) >> s & 15 for v in payload["intra_mxm_pred_mode"] for s in (0, 4)]
        self._grid = np.full((5, 5), DC)
        self._grid[1:, 0], self._grid[0, 1:] = nibbles[:4], nibbles[4:]
        self._has_left, self._has_top = edges.left, edges.top

    def predicted(self, column: int, row: int) -> int:
        """The smaller mode of the two neighbours; DC where one is missing."""
        if not (column or self._has_left) or not (row or self._has_top):
            return DC
        return int(min(self._grid[row + 1, column], self._grid[row, column + 1]))

    def set(self, column: int, row: int, size: int, mode: int) -> None:
        self._grid[row + 1 : row + 1 + size, column + 1 : column + 1 + size] = mode

    def in_z_order(self) -> tuple[int, ...]:
        return tuple(int(self._grid[Z_ROW[k] + 1, Z_COLUMN[k] + 1]) for k in range(16))


def chroma_estimate(
    source: Ints, payload: Any, uni: UniversalInput, costs: Costs
) -> tuple[int, int]:
    """The best mode of chrominance [8, 8, 2] and its distortion."""
    measure = Measure.of(uni.intra_sad, ac_only=uni.ac_only_haar, field="IntraSAD")
    flags, disabled = uni.mb_intra_struct, int(payload["intra_16x16_and_chroma_mode_mask"]) >> 4
    top = payload["top_chroma"].astype(np.int64) if flags & _TOP else None
    left = payload["left_chroma"].astype(np.int64) if flags & _LEFT else None
    corner = payload["corner_chroma"].astype(np.int64) if flags & _CORNER else None
    ways = []
    for mode, pixels in chroma_modes(top, left, corner).items():
        if not disabled >> mode & 1:
            differs = sum(int(measure.tile((source - pixels)[..., c])) for c in (0, 1))
            ways.append((differs + costs.chroma(mode), mode))
    differs, mode = min(ways, default=(MOST, 0), key=lambda way: way[0])
    return mode, min(MOST, differs)
