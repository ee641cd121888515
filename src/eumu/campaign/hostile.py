"""Hostile kernels: launches that aim beside memory, on both engines, with canaries around arrays.

They are IR and belong to no device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.campaign.tasks import DIFFERS, SAME, Result, Task
from eumu.exec.interp import Interpreter
from eumu.fuzz.canaries import Memory
from eumu.fuzz.hostile import build, difference, fast_engine, grids

DEVICE: Final = "ir"
BATCH: Final = 16  # kernels of a task
_LAUNCHES: Final = 50  # of a kernel


def tasks(device: str, count: int, limit: float) -> Iterator[Task]:
    """Batches of `count` kernels or a few more."""
    for first in range(0, count, BATCH):
        yield Task("hostile", device, first, BATCH, limit=limit)


def run(task: Task) -> Iterator[Result]:
    """What each kernel shows, up to its first launch that shows something."""
    interpreter = Interpreter()
    for name, seed in zip(task.programs, range(task.first, task.first + task.count), strict=True):
        memory, jit = Memory(), fast_engine(seed)
        launches = enumerate(grids(seed, build(seed), memory, _LAUNCHES))
        shown = ((n, difference(grid, memory, interpreter, jit)) for n, grid in launches)
        first = next(((n, what) for n, what in shown if what), None)
        if first is None:
            yield Result(name, SAME)
        else:
            sort = "beside arrays" if "beside the arrays" in first[1] else "ir on jit"
            yield Result(name, DIFFERS, sort, f"launch {first[0]}: {first[1]}")
