"""Penalties: what a vector, a shape, a direction, a reference and a mode cost.

Source: "cl_intel_device_side_avc_motion_estimation" and Intel's programmer's manual for it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.vme.payload import UniversalInput
from eumu.errors import Unsupported

Ints = NDArray[np.int64]

_LARGEST: Final = 64  # the last control point, in units of the scale factor
_CHROMA: Final = (0, 1, 1, 2)  # DC, horizontal, vertical, plane


def u4u4(code: int) -> int:
    """A base of four bits, shifted left by the upper four.

    >>> u4u4(0x35)
    40
    """
    return (code & 15) << (code >> 4)


class Costs:
    """The penalties of one message."""

    def __init__(self, uni: UniversalInput) -> None:
        codes = uni.mode_costs.to_bytes(10, "little")
        self._modes = [u4u4(c) for c in codes]
        self._curve = np.array([u4u4(c) for c in uni.mv_costs.to_bytes(8, "little")], np.int64)
        self._precision = uni.mv_cost_scale_factor
        self._ref_id, self._chroma = u4u4(uni.ref_id_cost), u4u4(uni.chroma_intra_mode_cost)
        if self._ref_id and uni.ref_id_cost_mode:
            raise Unsupported("motion estimation with RefIDCostMode 1: it is described nowhere")
        centers = np.frombuffer(uni.cost_centers.to_bytes(32, "little"), "<i2")
        # In quarters of a pixel: [quarter, direction, x and y].
        self._centers = centers.reshape(4, 2, 2).astype(np.int64)

    # ---- inter

    def major(self, shape: int) -> int:
        """Of a macroblock cut into 16x16, 16x8 or 8x16."""
        return self._modes[8 if shape == 0 else 4]

    def minor(self, shape: int) -> int:
        """Of a quarter that stays 8x8, or is cut into 8x4, 4x8 or 4x4."""
        return self._modes[(5, 6, 6, 7)[shape]]

    def direction(self, backward: bool) -> int:
        """Of a block from a backward reference."""
        return self._modes[9] if backward else 0

    def reference(self, ref_id: int) -> int:
        """Of a block from a reference farther away."""
        return self._ref_id * ((ref_id > 0) + (ref_id > 2) + (ref_id > 6))

    def vector(self, mv: Ints, quarter: int, direction: int) -> Ints:
        """Of vectors [N, 2] in quarters of a pixel, for a block that begins in a quarter."""
        if not self._curve.any():
            return np.zeros(len(mv), np.int64)
        distance = np.abs(mv - self._centers[quarter, direction])
        cost: Ints = self._along(distance).sum(1)
        return cost

    def _along(self, distance: Ints) -> Ints:
        """The curve through its points at 0, 1, 2, 4, … 64 units of 1 << precision quarters."""
        bits = self._precision
        whole = distance >> bits
        place = np.zeros_like(whole)
        for power in range(6):
            place += whole >= 2 << power
        # From 2^place on; the first piece goes from 0 to 1, and is as long as the second.
        start = np.where(whole < 1, 0, 1 << place)
        index = np.where(whole < 1, 0, place + 1)
        step = self._curve[np.minimum(index + 1, 7)] - self._curve[index]
        inside = self._curve[index] + ((step * (distance - (start << bits))) >> (place + bits))
        beyond = np.minimum(self._curve[7] + whole - _LARGEST, 255)
        cost: Ints = np.where(distance > _LARGEST << bits, beyond, inside)
        return cost

    # ---- intra

    def intra_shape(self, shape: int) -> int:
        """Of a macroblock predicted as 16x16, 8x8 or 4x4."""
        return self._modes[1 + shape]

    @property
    def not_predicted(self) -> int:
        """Of a mode that its neighbours do not predict."""
        return self._modes[0]

    def chroma(self, mode: int) -> int:
        return self._chroma * _CHROMA[mode]
