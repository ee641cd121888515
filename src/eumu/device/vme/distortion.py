"""How much blocks of 4x4 pixels differ: sums of absolute differences, or of Haar coefficients.

The documents do not say how the Haar transform is scaled: here coefficients are plain sums and
differences, in two steps, so that a difference that is the same everywhere counts as it does
without.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.vme.shapes import Z_COLUMN, Z_ROW
from eumu.errors import Unsupported
from eumu.records import dataclass

Ints = NDArray[np.int64]

MOST: Final = 0xFFFF  # a distortion has sixteen bits; this also says that there is none

_Z_ORDER: Final = [4 * row + column for row, column in zip(Z_ROW, Z_COLUMN, strict=True)]


def saturated(distortion: Ints) -> Ints:
    """At most sixteen bits."""
    return np.minimum(distortion, MOST)


@dataclass(frozen=True, slots=True)
class Measure:
    """The kind of distortion that a message asks for."""

    haar: bool = False
    ac_only: bool = False

    @classmethod
    def of(cls, code: int, *, ac_only: bool, field: str) -> Measure:
        """The meaning of a field of two bits; AConlyHAAR counts with Haar only."""
        if code not in (0, 2):
            raise Unsupported(f"motion estimation with {field} {code}: it is described nowhere")
        return cls(code == 2, ac_only)

    def blocks(self, difference: Ints) -> Ints:
        """Of macroblocks [..., 16, 16] the 4x4 blocks [..., 16] in Z order."""
        *outer, _, _ = difference.shape
        cut = difference.reshape(*outer, 4, 4, 4, 4).swapaxes(-3, -2)
        return self._sums(cut).reshape(*outer, 16)[..., _Z_ORDER]

    def tile(self, difference: Ints) -> Ints:
        """Of rectangles [..., height, width], multiples of 4, one sum each."""
        *outer, height, width = difference.shape
        cut = difference.reshape(*outer, height // 4, 4, width // 4, 4).swapaxes(-3, -2)
        total: Ints = self._sums(cut).sum((-2, -1))
        return total

    def _sums(self, cut: Ints) -> Ints:
        """Of blocks [..., 4, 4]."""
        if not self.haar:
            sums: Ints = np.abs(cut).sum((-2, -1))
            return sums
        low, first = _haar(cut)
        dc, second = _haar(low)
        sums = first + second
        return sums if self.ac_only else sums + np.abs(dc[..., 0, 0])


def _haar(x: Ints) -> tuple[Ints, Ints]:
    """A step of the wavelet transform: the sums of fours, and the sum of the other coefficients."""
    a, b = x[..., ::2, ::2], x[..., ::2, 1::2]
    c, d = x[..., 1::2, ::2], x[..., 1::2, 1::2]
    others = abs(a - b + c - d) + abs(a + b - c - d) + abs(a - b - c + d)
    return a + b + c + d, others.sum((-2, -1))
