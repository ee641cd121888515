"""Where a byte of a tiled surface lies.  Source: the PRM on tiled memory.

A tile has 4096 bytes: an X tile eight rows of 512, a Y tile 32 rows of 128, which lie as columns of
sixteen bytes, each from top to bottom.
"""

from __future__ import annotations

from typing import Final

from eumu.device.lanes import V
from eumu.device.state.surface import TileMode

# Width in bytes and height in rows of a tile.
TILES: Final = {TileMode.XMAJOR: (512, 8), TileMode.YMAJOR: (128, 32)}


def tiled(mode: TileMode, left: V, row: V, tiles: V | int) -> V:
    """Bytes from the base to byte `left` of a row; `tiles` lie side by side."""
    width, height = TILES[mode]
    tile = (row >> _log2(height)) * tiles + (left >> _log2(width))
    column, line = left & width - 1, row & height - 1
    if mode is TileMode.XMAJOR:
        return (tile << 12) + (line << 9) + column
    return (tile << 12) + (column >> 4 << 9) + (line << 4) + (column & 15)


def _log2(n: int) -> int:
    return n.bit_length() - 1
