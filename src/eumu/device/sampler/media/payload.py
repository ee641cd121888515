"""The payload of sample_8x8 behind the header: which function, on which pixels.

Source: the message that Intel's finalizer makes of the vISA instructions AVS and VA.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eumu.device.state.fields import StateError
from eumu.records import dataclass

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

_FAR = np.float32(1 << 30)
_FRACTION = 8


class Sample8x8Function(IntEnum):
    """What sample_8x8 does; Intel's printers do not agree on the names of 8 and 9."""

    AVS = 0x0
    CONVOLVE = 0x1
    MINMAX = 0x2
    MINMAX_FILTER = 0x3
    ERODE = 0x4
    DILATE = 0x5
    BOOL_CENTROID = 0x6
    CENTROID = 0x7
    CONVOLVE_1D_VERTICAL = 0x8
    CONVOLVE_1D_HORIZONTAL = 0x9
    CONVOLVE_1PIXEL = 0xA
    FLOOD_FILL = 0xB
    LBP_CREATION = 0xC
    LBP_CORRELATION = 0xD
    CORRELATION_SEARCH = 0xF


class Sequence(IntEnum):
    """Message Sequence: the block of pixels; what a code means depends on the function."""

    BLOCK_16X4 = 0
    BLOCK_8X4 = 1
    BLOCK_16X8_OR_16X1 = 2
    BLOCK_4X4_OR_1X1 = 3


class MinMax(IntEnum):
    """What a minimum/maximum function finds."""

    BOTH = 0
    MAXIMUM = 1
    MINIMUM = 2


@dataclass(frozen=True, slots=True)
class MediaPayload:
    """M1 of threads that ask for the same: `words` [threads, 8]."""

    words: NDArray[np.uint32]
    function: Sample8x8Function
    sequence: Sequence
    mode: int

    @classmethod
    def of(cls, words: NDArray[np.uint32]) -> MediaPayload:
        """StateError for a function that there is not."""
        code = int(words[0, 7])
        number = code >> 28
        if number not in set(Sample8x8Function):
            raise StateError(f"sample_8x8 has no function {number}", "Functionality")
        return cls(words, Sample8x8Function(number), Sequence(code >> 25 & 3), code >> 23 & 3)

    def floats(self, place: int) -> Floats:
        """A dword as floats, [threads, 1]."""
        floats: Any = np.ascontiguousarray(self.words[:, place : place + 1]).view(np.float32)
        return np.asarray(floats)

    def corner(self, width: int, height: int) -> tuple[Ints, Ints]:
        """The pixel at (u, v): its column and row, [threads].

        As the 3D sampler does, coordinates are rounded to eight fractional bits first.
        """
        return _pixel(self.floats(2), width), _pixel(self.floats(3), height)


def _pixel(coordinate: Floats, size: int) -> Ints:
    c = np.where(np.isnan(coordinate), np.float32(0), coordinate) * np.float32(size)
    c = np.clip(c, -_FAR, _FAR)
    fixed = np.floor(c.astype(np.float64) * (1 << _FRACTION) + 0.5).astype(np.int64)
    return fixed[:, 0] >> _FRACTION
