"""What compiled code knows of a message's surface, sampler and arrays: one record in memory.

The code is made for a kind of format, layout, modes and filters; numbers are in the record, so that
it serves every surface of its kind, every width of a message and every place of its arrays.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from eumu.device.surfaces.surface import MAX_LEVELS, Level, Surface
from eumu.device.surfaces.tiling import TILES

MAX_SIZE: Final = 1 << 31  # bytes of a surface: offsets are 32-bit integers

# Of a level: sizes in texels; where it begins: `left` in bytes (of a linear surface, from the
# base), `row` in rows of blocks.
LEVEL: Final = ("width", "height", "depth", "left", "row")
LEVEL_BYTES: Final = 4 * len(LEVEL)

RECORD: Final = np.dtype(
    [
        ("function", "<u8"),  # the code that this record is for
        ("next", "<u8"),  # the record to try if the message is for other states, or 0
        ("key", "<u4", 4),  # surface, sampler, dwords 2 and 3 of the header
        ("key_at", "<u4", 4),  # where a message has them
        ("base", "<u8"),  # host address of the surface
        ("lanes", "<u4"),
        ("mask", "<u4"),
        ("argument", "<u4", 16),
        ("result", "<u4", 8),
        ("step", "<i4", 3),  # bytes from texel to texel, row to row and slice to slice, if linear
        ("tiles", "<i4"),  # in a row
        ("qpitch", "<i4"),
        ("levels", "<i4"),
        ("layers", "<i4"),
        ("level", "<i4", (MAX_LEVELS, len(LEVEL))),
        ("offset", "<i4", 3),
        ("border", "<u4", 4),
        ("least_lod", "<f8"),
        ("greatest_lod", "<f8"),
        ("lod_bias", "<f8"),
        ("scale", "<f8", 3),  # texels of the surface for gradients, or 1
        ("base_level", "<i4"),  # in steps of 1/256
        ("chrominance", "<i4", 2),  # left and row of a planar surface's second plane
        ("table", "<u8", 3),  # of sRGB channels, by size
        ("extent", "<i4", 2),  # of a block's plane: bytes and rows
        ("counter", "<u8"),  # device address of the append counter
    ],
    align=True,
)


def set_surface(record: Any, surface: Surface, base: int, first: int = 0) -> None:
    """Addresses and sizes of a surface whose byte 0 is at a host address.

    Row 0 of the table of levels is that of the level of detail `first`.
    """
    size, is_linear = surface.format.bytes, not surface.state.tile_mode
    record["base"] = base
    record["levels"], record["layers"] = surface.levels, surface.layers
    record["qpitch"] = surface.qpitch
    flat = surface.dimensions == 1
    if surface.is_buffer:
        record["step"] = surface.pitch, 0, 0
    elif flat:
        record["step"] = size, 0, surface.qpitch * size
    else:
        record["step"] = size, surface.pitch, surface.qpitch * surface.pitch
    record["tiles"] = 0 if is_linear else surface.pitch // TILES[surface.state.tile_mode][0]
    for k in range(first, surface.levels):
        place = surface.level(k)
        record["level"][0, k - first] = (
            place.width,
            place.height,
            place.depth,
            *_begin(surface, place, is_linear),
        )


def _begin(surface: Surface, level: Level, is_linear: bool) -> tuple[int, int]:
    """Left and row of a level's first texel in the first slice that can be reached."""
    size = surface.format.bytes
    if surface.is_buffer:
        return 0, 0
    if surface.dimensions == 1:
        return (surface.first_slice * surface.qpitch + level.x) * size, 0
    row = level.y + surface.first_slice * surface.qpitch
    return level.x * size + (row * surface.pitch if is_linear else 0), row
