"""The 41 blocks of a macroblock, and which of them make a partition.

Blocks of 4x4 pixels are numbered in Z order, as in the results: 0 1 4 5 / 2 3 6 7 / 8 9 12 13 / ….
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class MacroblockPart:
    """A rectangle of a macroblock in units of four pixels; `quarter` is the 8x8 it begins in."""

    x: int
    y: int
    width: int
    height: int

    @property
    def quarter(self) -> int:
        return self.y // 2 * 2 + self.x // 2

    @property
    def pixels(self) -> tuple[slice, slice]:
        """Rows and columns."""
        rows = slice(4 * self.y, 4 * (self.y + self.height))
        return rows, slice(4 * self.x, 4 * (self.x + self.width))


# Column and row of the 4x4 blocks, in units of four pixels.
Z_COLUMN: Final = tuple((k & 1) + (k >> 2 & 1) * 2 for k in range(16))
Z_ROW: Final = tuple((k >> 1 & 1) + (k >> 3 & 1) * 2 for k in range(16))


def _cut(x: int, y: int, size: int, width: int, height: int) -> list[MacroblockPart]:
    """The blocks of one shape in a square, from left to right, then down."""
    return [
        MacroblockPart(x + i, y + j, width, height)
        for j in range(0, size, height)
        for i in range(0, size, width)
    ]


_SHAPES: Final = ((4, 4), (4, 2), (2, 4), (2, 2))  # 16x16, 16x8, 8x16, 8x8
_MAJOR_BLOCKS: Final = [_cut(0, 0, 4, w, h) for w, h in _SHAPES]
# Of each quarter the blocks of its minor shapes: 8x8, 8x4, 4x8, 4x4.
_MINOR_BLOCKS: Final = [
    [_cut(q.x, q.y, 2, w // 2, h // 2) for w, h in _SHAPES] for q in _MAJOR_BLOCKS[3]
]

BLOCKS: Final = tuple(
    [b for blocks in _MAJOR_BLOCKS for b in blocks]
    + [b for quarter in _MINOR_BLOCKS for blocks in quarter[1:] for b in blocks]
)
_INDEX: Final = {block: k for k, block in enumerate(BLOCKS)}

# Indices into BLOCKS: of each major shape; of each minor shape of each quarter.
MAJORS: Final = tuple(tuple(_INDEX[b] for b in blocks) for blocks in _MAJOR_BLOCKS)
MINORS: Final = tuple(
    tuple(tuple(_INDEX[b] for b in blocks) for blocks in quarter) for quarter in _MINOR_BLOCKS
)

# Which 4x4 blocks, in Z order, belong to a block: [41, 16].
MEMBERS: Final[NDArray[np.bool_]] = np.array(
    [
        [b.x <= Z_COLUMN[k] < b.x + b.width and b.y <= Z_ROW[k] < b.y + b.height for k in range(16)]
        for b in BLOCKS
    ]
)


def _slots() -> tuple[slice, ...]:
    """Results have sixteen places: the blocks of a partition share them in order.

    They are not where the blocks lie: the right one of two 8x16 blocks has the last eight.
    """
    slots = [slice(0)] * len(BLOCKS)
    for indices in MAJORS:
        share = 16 // len(indices)
        for k, index in enumerate(indices):
            slots[index] = slice(share * k, share * (k + 1))
    for q, quarter in enumerate(MINORS):
        for indices in quarter:
            share = 4 // len(indices)
            for k, index in enumerate(indices):
                slots[index] = slice(4 * q + share * k, 4 * q + share * (k + 1))
    return tuple(slots)


SLOTS: Final = _slots()
