"""Where the bytes of a surface lie, counted from its base.  Source: the PRM on tiled memory.

A tile has 4096 bytes: an X tile eight rows of 512, a Y tile 32 rows of 128, which lie as columns of
sixteen bytes, each from top to bottom.  A place is told by `left`, a byte of a row, and `row`, a
row of blocks; in a linear surface `left` may have whole rows in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from eumu.device.lanes import V
from eumu.device.state.surface import TileMode
from eumu.device.surfaces.formats import TexelFormat
from eumu.records import dataclass

# Width in bytes and height in rows of a tile.
TILES: Final = {TileMode.XMAJOR: (512, 8), TileMode.YMAJOR: (128, 32)}


@dataclass(frozen=True, slots=True)
class Layout:
    """A kind of surface: format, tiles, whether rows and slices are counted.

    A row of a surface that is one field of a frame is `lines` rows of the frame.  Methods take the
    numbers of `Surface.numbers` by name and index.
    """

    format: TexelFormat
    tiles: TileMode
    rows: bool = True
    slices: bool = True
    lines: int = 1
    block: tuple[int, int] = (1, 1)

    def at(self, number: Callable[..., V], left: V, row: V) -> V:
        """Bytes from the base to byte `left` of a row."""
        if self.tiles is TileMode.LINEAR:
            return left + row * number("step", 1)
        return tiled(self.tiles, left, row, number("tiles"))

    def of_texel(self, number: Callable[..., V], left: V, row: V, at: Sequence[V]) -> V:
        """To the block of a texel (x, y, slice) of a mip level that begins at a place."""
        x, y, slice = at
        x, y = (k >> _log2(n) if n > 1 else k for k, n in zip((x, y), self.block, strict=True))
        if self.tiles is TileMode.LINEAR:
            place = left + x * number("step", 0)
            if self.rows:
                place = place + y * number("step", 1)
            return place + slice * number("step", 2) if self.slices else place
        row = row + (y << 1 if self.lines > 1 else y)
        if self.slices:
            row = row + slice * number("qpitch")
        return self.at(number, left + x * self.format.bytes, row)

    def of_chrominance(self, number: Callable[..., V], x: V, y: V) -> V:
        """To the pair Cb, Cr of a texel of a planar surface."""
        left, row = (x >> 1 << 1) + number("chrominance", 0), (y >> 1) + number("chrominance", 1)
        return self.at(number, left, row)


def tiled(mode: TileMode, left: V, row: V, tiles: V) -> V:
    """Bytes from the base to byte `left` of a row; `tiles` lie side by side."""
    width, height = TILES[mode]
    tile = (row >> _log2(height)) * tiles + (left >> _log2(width))
    column, line = left & width - 1, row & height - 1
    if mode is TileMode.XMAJOR:
        return (tile << 12) + (line << 9) + column
    return (tile << 12) + (column >> 4 << 9) + (line << 4) + (column & 15)


def _log2(n: int) -> int:
    return n.bit_length() - 1
