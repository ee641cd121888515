"""Blocks of the reference pictures at any vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eumu.device.vme.filters import MARGIN, between, weighted
from eumu.device.vme.pictures import Picture
from eumu.device.vme.shapes import MacroblockPart
from eumu.records import dataclass

Ints = NDArray[np.int64]
Vector = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Predictor:
    """The references of a message: a picture for each quarter and direction, None if unused."""

    pictures: tuple[tuple[Picture | None, Picture | None], ...]
    x: int
    y: int
    weight: int
    bilinear: bool

    def block(self, block: MacroblockPart, direction: int, mv: Vector) -> Ints:
        """The pixels of a block, moved by a vector in quarters."""
        return self.around(block, direction, mv, 0).at(mv)

    def around(self, block: MacroblockPart, direction: int, mv: Vector, reach: int) -> Patch:
        """What is needed for all vectors within `reach` whole pixels of one."""
        picture = self.pictures[block.quarter][direction]
        assert picture is not None
        before, behind = MARGIN
        left, top = (mv[0] >> 2) - reach, (mv[1] >> 2) - reach
        extra = before + behind + 2 * reach
        pixels = picture.luma(
            self.x + 4 * block.x + left - before,
            self.y + 4 * block.y + top - before,
            4 * block.width + extra,
            4 * block.height + extra,
        )
        return Patch(pixels, left, top, 4 * block.width, 4 * block.height, self.bilinear)

    def both(self, forward: Ints, backward: Ints) -> Ints:
        """The prediction from two references."""
        return weighted(forward, backward, self.weight)


@dataclass(frozen=True, slots=True)
class Patch:
    """Pixels around a block of the reference, for vectors near (left, top) and beyond."""

    pixels: Ints
    left: int
    top: int
    width: int
    height: int
    bilinear: bool

    def at(self, mv: Vector) -> Ints:
        x, y = (mv[0] >> 2) - self.left, (mv[1] >> 2) - self.top
        extra = sum(MARGIN)
        part = self.pixels[y : y + self.height + extra, x : x + self.width + extra]
        return between(part, mv[0] & 3, mv[1] & 3, bilinear=self.bilinear)
