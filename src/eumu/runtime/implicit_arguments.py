"""The structure of implicit arguments, which functions read that a kernel calls over the stack.

A kernel gets sizes and ids in its payload; a function that is compiled by itself cannot know where,
so it reads a structure in memory (LSC's address model `arg`).  Source: the structure's declaration
in the graphics compiler's sources (implicit_args_struct.h); members behind those here, for ray
tracing and assertions, are zero.
"""

from __future__ import annotations

import struct
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.runtime.ndrange import Range

# Size, version, dimensions and SIMD width; local size; global size; the printf buffer; the global
# offset; the table of local ids; group counts.
_LAYOUT: Final = struct.Struct("<4B3I3QQ3QQ3I")
_SIZE: Final = 0x98
_VERSION: Final = 1
ID_TABLE: Final = 0xC0  # where the table begins: behind the structure, in a cache line of its own
_LEAST_ROW: Final = 16  # ids of a dimension, also of narrower threads


def contents(range: Range, width: int, address: int, printf_buffer: int) -> NDArray[np.uint8]:
    """The structure for a launch, uint8[bytes]; it is to lie at `address`, a multiple of 64.

    The table behind it has x, y and z of every lane, a row each, for each thread of a group.
    """
    head = _LAYOUT.pack(
        *(_SIZE, _VERSION, range.dimensions, width),
        *range.local_size,
        *range.global_size,
        printf_buffer,
        *range.offset,
        address + ID_TABLE,
        *range.group_count,
    )
    table = _local_ids(range, width).tobytes()
    return np.frombuffer(head.ljust(ID_TABLE, b"\0") + table, np.uint8)


def _local_ids(range: Range, width: int) -> NDArray[np.uint16]:
    """uint16[threads, 3, lanes]"""
    items = prod(range.local_size)
    threads = -(-items // width)
    item = np.arange(threads * width).reshape(threads, 1, width)
    x, y, _ = range.local_size
    ids = np.concatenate([item % x, item // x % y, item // (x * y)], axis=1)
    table = np.zeros((threads, 3, max(width, _LEAST_ROW)), np.uint16)
    table[:, :, :width] = np.where(item < items, ids, 0)
    return table
