"""Threads without work items: their places in the thread space of the media pipeline, which has two
dimensions and each thread by itself, and in groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from eumu.errors import LaunchError
from eumu.exec.grid import Dim3, Grid
from eumu.exec.state import thread_payloads
from eumu.zebin.ze_info import KernelInfo

PLACE_IN_GROUP: Final = "place_in_group"  # an argument of each thread: x, y and z as dwords
_MOST: Final = 512  # threads in x, and in y: their numbers have nine bits
_MOST_OWN: Final = 1 << 16  # threads that have payloads of their own


def check_thread_space(grid: Grid) -> None:
    """Raises unless every group is one thread with a place in the thread space."""
    x, y, z = grid.group_count
    if (grid.threads_per_group, z) != (1, 1):
        raise LaunchError(
            f"kernel {grid.function.name} uses %thread_x or %thread_y: it runs in a thread space of"
            f" two dimensions, where a group is one thread; this launch has {x} x {y} x {z} groups"
            f" of {grid.threads_per_group}"
        )
    if max(x, y) > _MOST:
        raise LaunchError(
            f"a thread space of {x} x {y}; at most {_MOST} are possible in x and in y"
        )


def with_places(grid: Grid, info: KernelInfo, threads: Dim3) -> Grid:
    """The grid, where each thread knows its place among its group's `threads` if it wants to."""
    wanted = [row for row in info.payload_arguments if row.arg_type == PLACE_IN_GROUP]
    if not wanted:
        return grid
    count = grid.threads_per_group
    if grid.groups * count > _MOST_OWN:
        raise LaunchError(
            f"{grid.groups * count} threads with local ids; at most {_MOST_OWN} are possible"
        )
    rows = thread_payloads(grid, 0, grid.groups).reshape(grid.groups, count, -1)
    t = np.arange(count, dtype=np.uint32)
    x, y, _ = threads
    places = np.stack([t % x, t // x % y, t // (x * y)], 1).view(np.uint8)
    for row in wanted:
        start = grid.payload.cross_thread_offset + row.offset
        rows[:, :, start : start + row.size] = places[:, : row.size]
    own = tuple(row.tobytes() for row in rows.reshape(grid.groups * count, -1))
    return replace(grid, payload=replace(grid.payload, rows=own))
