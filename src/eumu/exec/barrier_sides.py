"""Who is on which side of a barrier that not all reach: records beside that of the fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Final

from eumu.errors import Finding, ranges
from eumu.exec import blame, words
from eumu.exec.grid import Grid

_RACE: Final = (
    'a race may decide which way threads go: check="races", or --check=races, looks for one'
)


def may_race(grid: Grid) -> list[str]:
    """The note to threads of a group that go different ways, unless races are looked for."""
    return [] if grid.races else [_RACE]


def lanes_of(grid: Grid, thread: int) -> tuple[int, ...]:
    """The lanes that a thread of a group begins with."""
    if grid.masks is not None:
        return tuple(k for k in range(64) if grid.masks[thread] >> k & 1)
    width = grid.function.width
    return tuple(range(min(width, prod(grid.local_size) - thread * width)))


def lanes_elsewhere(
    grid: Grid, code: str, group: int, thread: int, waiting: Mapping[int, Sequence[int]]
) -> tuple[Finding, ...]:
    """The lanes of a thread that wait at the begin of blocks, by block."""
    elsewhere = []
    for block, lanes in waiting.items():
        inst = words.first_instruction(grid.function, block)
        reason = f"lanes {ranges(lanes)} wait here"
        elsewhere.append(blame.record(grid, code, reason, inst, group, thread, lanes))
    return tuple(elsewhere)


def threads_elsewhere(
    grid: Grid, code: str, group: int, places: Mapping[int, int], here: int
) -> tuple[Finding, ...]:
    """The threads of a group that wait, by the instructions where they do; but for one of these."""
    waiting: dict[int, list[int]] = {}
    for thread, inst in places.items():
        if inst != here:
            waiting.setdefault(inst, []).append(thread)
    elsewhere = []
    for inst, threads in sorted(waiting.items()):
        reason = f"{words.waiting(threads)} here for the others of the group"
        first = threads[0]
        lanes = lanes_of(grid, first)
        elsewhere.append(blame.record(grid, code, reason, inst, group, first, lanes))
    return tuple(elsewhere)


def missing(grid: Grid, group: int, threads: Iterable[int]) -> list[str]:
    """The work items of threads that have ended, as a note."""
    missing_lanes = [(thread, lane) for thread in threads for lane in lanes_of(grid, thread)]
    item = blame.work_item(grid, grid.group(group), *missing_lanes[0]) if missing_lanes else None
    if item is None:
        return []
    more = f", and {len(missing_lanes) - 1} more" if len(missing_lanes) > 1 else ""
    return [f"without it ended work item {item[0]}, local id {item[1]}{more}"]
