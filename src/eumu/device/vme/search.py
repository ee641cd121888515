"""Integer motion estimation: the search path, and the best vector of every block.

The window holds (width - 16) by (height - 16) places, in search units of four by four.  The path
goes from its start in given steps; a unit outside the window is left out, a place that was tried
is not tried again.  With AdaptiveEn the hardware follows the gradient after the path; how is
described nowhere, so the model goes on with all units that are left.  Of equal distortions the
first on the way wins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from eumu.device.vme.costs import Costs, u4u4
from eumu.device.vme.distortion import Measure, saturated
from eumu.device.vme.partition import Record
from eumu.device.vme.payload import UniversalInput
from eumu.device.vme.shapes import BLOCKS, MEMBERS
from eumu.errors import Unsupported
from eumu.records import dataclass

Ints = NDArray[np.int64]

_UNIT: Final = 4
_SIZE: Final = 16
_QUARTERS: Final = np.array([b.quarter for b in BLOCKS])


@dataclass(frozen=True, slots=True)
class Window:
    """Where one reference is searched: its pixels, its corner beside the source, its way."""

    pixels: Ints
    x: int
    y: int
    units: tuple[tuple[int, int], ...]
    direction: int
    ref_id: int


@lru_cache(maxsize=64)
def search_path(
    path: bytes, start: tuple[int, int], size: tuple[int, int], length: int, most: int, more: bool
) -> tuple[tuple[int, int], ...]:
    """The search units in the order in which they are tried.

    `size` is that of the grid of units; `length` is LenSP, `most` MaxNumSU: units that are left out
    do not count.  The steps wrap at the edges of the numbers they are written in, sixteen units.
    """
    x, y = start
    steps: dict[tuple[int, int], None] = {}
    for step in (0, *path):
        x, y = (x + step) & 15, (y + (step >> 4)) & 15
        if x < size[0] and y < size[1] and len(steps) < max(1, length):
            steps[x, y] = None
    if more:
        steps |= dict.fromkeys((i, j) for j in range(size[1]) for i in range(size[0]))
    return tuple(steps)[: max(1, most)]


def search(
    source: Ints, windows: list[Window], records: list[Record], uni: UniversalInput, costs: Costs
) -> bool:
    """Improve the records, one for each direction; whether the search ended early."""
    measure = Measure.of(uni.inter_sad, ac_only=uni.ac_only_haar, field="InterSAD")
    threshold = u4u4(uni.early_ime_stop) if uni.early_ime_success_en else 0
    stopped = False
    for window, record in zip(windows, records, strict=True):
        places = _places(window)
        corners = sliding_window_view(window.pixels, (_SIZE, _SIZE))
        near = corners[places[:, 1], places[:, 0]]
        distortion = measure.blocks(source - near) @ MEMBERS.T
        mv = 4 * (places + np.array([window.x, window.y]))
        flat = costs.reference(window.ref_id) + costs.direction(bool(window.direction))
        vector = np.stack([costs.vector(mv, q, window.direction) for q in range(4)])
        distortion = saturated(distortion + vector[_QUARTERS].T + flat)
        if threshold:
            end = _early_end(distortion[:, 0], threshold)
            stopped |= end < len(places)
            distortion, mv = distortion[:end], mv[:end]
        best = distortion.argmin(0)
        every = np.arange(len(BLOCKS))
        better = distortion[best, every] < record.distortion
        record.distortion = np.where(better, distortion[best, every], record.distortion)
        record.mv = np.where(better[:, None], mv[best], record.mv)
        record.ref_id = np.where(better, window.ref_id, record.ref_id)
    return stopped


def _places(window: Window) -> Ints:
    """Places [N, 2] in the window, in the order in which they are tried."""
    units = np.array(window.units, np.int64).reshape(-1, 1, 2)
    steps = np.array([(i, j) for j in range(_UNIT) for i in range(_UNIT)])
    places: Ints = (_UNIT * units + steps).reshape(-1, 2)
    return places


def _early_end(whole: Ints, threshold: int) -> int:
    """How many places were tried when a unit brought the 16x16 block below the threshold."""
    below = np.flatnonzero(whole < threshold)
    if len(below) == 0:
        return len(whole)
    unit = _UNIT * _UNIT
    return min(len(whole), (int(below[0]) // unit + 1) * unit)


def grid(uni: UniversalInput) -> tuple[int, int]:
    """How many search units the window is wide and high."""
    for name in ("ref_width", "ref_height"):
        size = getattr(uni, name)
        if size % _UNIT or not 20 <= size <= 64:
            raise uni.error(name, f"is {size}; it is a multiple of 4 from 20 to 64")
    if uni.ref_width * uni.ref_height > 2048:
        raise Unsupported(
            f"a search window of {uni.ref_width}x{uni.ref_height} pixels, more than 2048"
        )
    return (uni.ref_width - _SIZE) // _UNIT, (uni.ref_height - _SIZE) // _UNIT
