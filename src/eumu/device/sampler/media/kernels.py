"""Video analytics that go over the neighbours of each pixel: convolution, morphology, extremes.

What hardware computes is documented as far as here: a convolution adds products of pixels and
coefficients with twelve fractional bits, drops these, shifts by Scale Down Value and clamps to
sixteen bits; morphology and extremes look at the places whose bit of the kernel is set.  Decided:
coefficients go from left to right and from top to bottom, and the centre of a kernel of n columns
(rows) is column n // 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from eumu.device.state.media import Convolve, ConvolveState, MorphologyState
from eumu.device.surfaces.media import MediaTexture
from eumu.errors import Unsupported

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_SMALL = 15  # rows and columns of a kernel that is not large
_LINE = 16  # coefficients of a one-dimensional kernel that have a place
_ONE = 1 << 12


class PixelBlock:
    """Pixels around corners: `x` and `y` are int64 [threads] or [threads, rows, columns]."""

    def __init__(self, texture: MediaTexture, x: Ints, y: Ints, rows: int, columns: int) -> None:
        self._texture, self._rows, self._columns = texture, rows, columns
        self._x = x.reshape(len(x), *x.shape[1:] or (1, 1))
        self._y = y.reshape(len(y), *y.shape[1:] or (1, 1))

    def shifted(self, columns: int, rows: int) -> Iterator[tuple[int, int, Ints]]:
        """For each place (row, column) of a kernel, the pixels under it, as the block is."""
        left, top = columns // 2, rows // 2
        if self._x.shape[1:] != (1, 1):  # pixels that have nothing to do with each other
            for i in range(rows):
                for j in range(columns):
                    yield i, j, self._texture.codes(self._x + j - left, self._y + i - top)
            return
        across = np.arange(self._columns + columns - 1) - left
        down = np.arange(self._rows + rows - 1)[:, None] - top
        window = self._texture.codes(self._x + across, self._y + down)
        for i in range(rows):
            for j in range(columns):
                yield i, j, window[:, i : i + self._rows, j : j + self._columns]


# ---- convolution


def _numbers(head: ConvolveState, row: tuple[float, ...]) -> list[int]:
    """Coefficients as integers; of those of eight bits the lower eight are not there."""
    numbers = [round(c * _ONE) for c in row]
    return numbers if head.size_of_the_coefficient else [c & ~0xFF for c in numbers]


def _scaled(head: ConvolveState, total: Ints) -> Ints:
    scaled: Ints = np.clip(total >> 12 >> head.scale_down_value, -(1 << 15), (1 << 15) - 1)
    return scaled


def convolve(block: PixelBlock, kernel: Convolve, *, is_large: bool) -> Ints:
    """Pixels convolved in two dimensions, signed numbers of sixteen bits."""
    head = kernel.head
    rows, columns = head.size_in_pixels
    for name, size in (("height", rows), ("width", columns)):
        if not size:
            raise head.error(name, "is 0; a kernel has a row and a column at least")
        if size > _SMALL and not is_large:
            raise head.error(f"msb_{name}", f"makes a kernel of {size}; the message says 15 x 15")
    table = [_numbers(head, row) for row in kernel.coefficients]
    total: Ints = np.zeros((), np.int64)
    for i, j, pixels in block.shifted(columns, rows):
        total = total + table[i][j] * pixels
    return _scaled(head, total)


def convolve_line(block: PixelBlock, kernel: Convolve, *, is_vertical: bool) -> Ints:
    """Pixels convolved along a line; the coefficients are the first row of the table."""
    head = kernel.head
    name = "height" if is_vertical else "width"
    count = head.size_in_pixels[0 if is_vertical else 1]
    if not count:
        raise head.error(name, "is 0; a kernel has one coefficient at least")
    if count > _LINE:
        raise Unsupported(
            f"a one-dimensional kernel of {count}: no public page says where its coefficients from"
            f" {_LINE} on lie"
        )
    row = _numbers(head, kernel.coefficients[0])
    total: Ints = np.zeros((), np.int64)
    for i, j, pixels in block.shifted(*((1, count) if is_vertical else (count, 1))):
        total = total + row[i + j] * pixels
    return _scaled(head, total)


# ---- places that a kernel names


def _places(block: PixelBlock, kernel: MorphologyState) -> list[Ints]:
    """The pixels under each place of a kernel whose bit is set."""
    rows, columns = kernel.height_of_the_kernel, kernel.width_of_the_kernel
    for name, size in (("height_of_the_kernel", rows), ("width_of_the_kernel", columns)):
        if not size:
            raise kernel.error(name, "is 0; a kernel has a row and a column at least")
    masks = kernel.masks
    places = [p for i, j, p in block.shifted(columns, rows) if masks[i] >> j & 1]
    if not places:
        raise kernel.error("mask_for_row_0", "and all others are 0; a kernel needs a place")
    return places


def morphology(block: PixelBlock, kernel: MorphologyState, *, dilate: bool) -> Mask:
    """Bits that are set where any place of the kernel is set, or where all are."""
    places = np.stack(_places(block, kernel)) != 0
    result: Mask = places.any(0) if dilate else places.all(0)
    return result


def extremes(block: PixelBlock, kernel: MorphologyState) -> tuple[Ints, Ints]:
    """The least and the greatest pixel under the kernel."""
    places = np.stack(_places(block, kernel))
    return places.min(0), places.max(0)
