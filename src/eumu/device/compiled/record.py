"""What compiled code knows of a message's surface, sampler and arrays: one record in memory.

The code is made for a kind of format, layout, modes and filters; numbers are in the record, so that
it serves every surface of its kind, every width of a message and every place of its arrays.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from eumu.device.surfaces.surface import MAX_LEVELS, Surface

MAX_SIZE: Final = 1 << 31  # bytes of a surface: offsets are 32-bit integers

# Of a level: sizes in texels; where it begins: `left` in bytes (of a linear surface, from the
# base), `row` in rows of blocks.
LEVEL: Final = ("width", "height", "depth", "left", "row")
LEVEL_BYTES: Final = 4 * len(LEVEL)

# `sampler.detail.Limits`, in its order.
LIMITS: Final = (
    *("lod_bias", "low_lod", "high_lod", "least_lod", "greatest_lod", "base_level", "only_level"),
)

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
        ("step", "<i4", 3),  # this and what follows: `Surface.numbers`
        ("tiles", "<i4"),
        ("qpitch", "<i4"),
        ("chrominance", "<i4", 2),
        ("levels", "<i4"),
        ("layers", "<i4"),
        ("level", "<i4", (MAX_LEVELS, len(LEVEL))),
        ("offset", "<i4", 3),
        ("border", "<u4", 4),
        *((name, "<i4" if name == "only_level" else "<f8") for name in LIMITS),
        ("scale", "<f8", 3),  # texels of the surface for gradients, or 1
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
    record["base"] = base
    record["levels"], record["layers"] = surface.levels, surface.layers
    for name, numbers in surface.numbers.items():
        record[name] = numbers
    for k in range(first, surface.levels):
        level, start = surface.level(k), surface.starts[k + surface.state.surface_min_lod]
        record["level"][0, k - first] = level.width, level.height, level.depth, *start
