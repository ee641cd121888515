"""The thread space of the media pipeline: two dimensions, each thread by itself."""

from __future__ import annotations

from typing import Final

from eumu.errors import LaunchError
from eumu.exec.grid import Grid

__all__ = ["check_thread_space"]

_MOST: Final = 512  # threads in x, and in y: their numbers have nine bits


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
        raise LaunchError(f"a thread space of {x} x {y}; {_MOST} are possible in x and in y")
