"""MEDIA_OBJECT_WALKER with the parameters that Intel's public media driver programs (M5, M6).

Patterns and the deltas of their scoreboards have the names of the public C for Media runtime; what
the loops visit is compared with a walk written down here from what each pattern is for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from eumu.device.commands import CommandError, media
from eumu.device.commands.media_walker import Deltas, dependencies, positions

Place = tuple[int, int]
SIZES = [(1, 1), (4, 3), (5, 4), (2, 7), (8, 8), (13, 6), (3, 12)]

# Local outer stride, local inner unit, middle step, extra steps; the block is the whole space.
LOOPS: dict[str, tuple[Place, Place, Place, int]] = {
    "horizontal": ((0, 1), (1, 0), (0, 0), 0),
    "vertical": ((1, 0), (0, 1), (0, 0), 0),
    "wavefront": ((1, 0), (-1, 1), (0, 0), 0),
    "wavefront26": ((1, 0), (-2, 1), (0, 0), 0),
    "wavefront26x": ((1, 0), (-2, 2), (0, 1), 1),
    "wavefront45xd": ((1, 0), (-1, 2), (0, 1), 1),
}
# The threads that a thread waits for.
DELTAS: dict[str, list[Place]] = {
    "horizontal": [(0, -1)],
    "vertical": [(-1, 0)],
    "wavefront": [(-1, 0), (-1, -1), (0, -1)],
    "wavefront26": [(-1, 0), (-1, -1), (0, -1), (1, -1)],
}


def command(pattern: str, width: int, height: int, **fields: Any) -> media.MediaObjectWalker:
    """A whole thread space in one block."""
    outer, inner, middle, extra = LOOPS[pattern]
    given: dict[str, Any] = {
        **{"block_resolution_x": width, "block_resolution_y": height},
        **{"global_resolution_x": width, "global_resolution_y": height},
        **{"local_outer_loop_stride_x": outer[0], "local_outer_loop_stride_y": outer[1]},
        **{"local_inner_loop_unit_x": inner[0], "local_inner_loop_unit_y": inner[1]},
        **{"mid_loop_unit_x": middle[0], "local_mid_loop_unit_y": middle[1]},
        **{"middle_loop_extra_steps": extra, "local_loop_exec_count": 0x7FF},
        **{"global_loop_exec_count": 1, "global_outer_loop_stride_x": width},
        **{"global_inner_loop_unit_y": height},
    }
    return media.MediaObjectWalker(**{**given, **fields})


def places(walker: media.MediaObjectWalker) -> list[Place]:
    return [(x, y) for x, y, _ in positions(walker)]


def expected(pattern: str, width: int, height: int) -> list[Place]:
    """All places, sorted by what the pattern says comes first."""
    all_ = [(x, y) for y in range(height) for x in range(width)]
    keys = {
        "horizontal": lambda p: (p[1], p[0]),
        "vertical": lambda p: (p[0], p[1]),
        "wavefront": lambda p: (p[0] + p[1], p[1]),
        "wavefront26": lambda p: (p[0] + 2 * p[1], p[1]),
        # Pairs of rows move together: both even rows first, then the odd ones.
        "wavefront26x": lambda p: (p[0] + p[1] // 2 * 2, p[1] % 2, p[1]),
        "wavefront45xd": lambda p: (p[0] + p[1] // 2, p[1] % 2, p[1]),
    }
    return sorted(all_, key=keys[pattern])


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("pattern", LOOPS)
def test_m5_patterns_of_the_public_driver(pattern: str, width: int, height: int) -> None:
    assert places(command(pattern, width, height)) == expected(pattern, width, height)


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("pattern", DELTAS)
def test_m6_every_dependency_comes_before(pattern: str, width: int, height: int) -> None:
    """So the scoreboard can know all threads that a thread waits for when it is dispatched."""
    order = [(x, y, 0) for x, y in places(command(pattern, width, height))]
    after = dependencies(order, Deltas(tuple(DELTAS[pattern])))
    for (x, y, _), waited in zip(order, after, strict=True):
        there = {(x + dx, y + dy, 0) for dx, dy in DELTAS[pattern]} & set(order)
        assert {order[k] for k in waited} == there


@pytest.mark.parametrize(("width", "height"), [s for s in SIZES if s[0] > 2])
def test_m5_blocks_of_a_wavefront(width: int, height: int) -> None:
    """Blocks of 2 by 2 in raster order inside, at 26 degrees among themselves ("26 zig")."""
    columns, rows = -(-width // 2), -(-height // 2)
    walker = command(
        "horizontal",
        *(width, height),
        **{"block_resolution_x": 2, "block_resolution_y": 2, "local_loop_exec_count": 1},
        **{"global_loop_exec_count": (rows - 1) * 2 + columns - 1},
        **{"global_outer_loop_stride_x": 2, "global_inner_loop_unit_x": -4},
        **{"global_inner_loop_unit_y": 2},
    )
    blocks = expected("wavefront26", columns, rows)
    inside = [(x, y) for y in range(2) for x in range(2)]
    want = [(2 * bx + x, 2 * by + y) for bx, by in blocks for x, y in inside]
    assert places(walker) == [(x, y) for x, y in want if x < width and y < height]


@pytest.mark.parametrize("slope", [1, 2], ids=["45 degrees", "26 degrees"])
def test_m5_a_walk_that_starts_at_the_right_edge(slope: int) -> None:
    """Local Start X is the width: only the fronts from there on, the lower right part."""
    pattern = {1: "wavefront", 2: "wavefront26"}[slope]
    found = places(command(pattern, 6, 5, local_start_x=6))
    assert found == [(x, y) for x, y in expected(pattern, 6, 5) if x + slope * y >= 6]


def test_m5_blocks_that_stick_out_are_cut() -> None:
    """On the left, from a negative start; on the right and below, by the resolution."""
    walker = command(
        "horizontal",
        *(7, 5),
        **{"block_resolution_x": 4, "block_resolution_y": 3},
        **{"global_start_x": -2, "global_start_y": -1, "global_loop_exec_count": 3},
        **{"global_outer_loop_stride_x": 0, "global_outer_loop_stride_y": 3},
        **{"global_inner_loop_unit_x": 4, "global_inner_loop_unit_y": 0},
    )
    found = places(walker)
    assert sorted(found) == sorted((x, y) for x in range(7) for y in range(5))
    assert found[:4] == [(0, 0), (1, 0), (0, 1), (1, 1)]  # two columns and two rows of the first
    assert found[4:8] == [(2, 0), (3, 0), (4, 0), (5, 0)]


def test_m5_counts_end_the_loops() -> None:
    assert places(command("horizontal", 3, 9, local_loop_exec_count=1)) == [
        (x, y) for y in range(2) for x in range(3)
    ]
    one = command("horizontal", 3, 9, local_inner_loop_unit_x=0, local_loop_exec_count=2)
    assert places(one) == [(0, 0), (0, 1), (0, 2)]
    nothing = command("horizontal", 3, 2, local_start_y=2)  # outside, and no step leads back
    assert places(nothing) == []
    past = command("wavefront26", 1, 4)  # from (1, 0) back to (-1, 1): past the only column
    assert places(past) == [(0, 0)]


@pytest.mark.parametrize("colors", [1, 3, 16])
def test_m5_m6_colors_wait_for_their_own(colors: int) -> None:
    """Each place starts a thread a color; a thread waits for those of its color only."""
    walker = command("wavefront", 4, 3, color_count_minus_one=colors - 1)
    order = list(positions(walker))
    assert len(order) == 12 * colors
    assert [c for *_, c in order[:colors]] == list(range(colors))
    after = dependencies(order, Deltas(((-1, 0), (0, -1))))
    for (x, y, color), waited in zip(order, after, strict=True):
        assert {order[k] for k in waited} == {
            (a, b, color) for a, b in ((x - 1, y), (x, y - 1)) if a >= 0 and b >= 0
        }


def steps(rng: random.Random) -> Iterator[tuple[str, int]]:
    for name in ("local_outer_loop_stride", "local_inner_loop_unit"):
        for axis in "xy":
            yield f"{name}_{axis}", rng.randrange(-3, 4)
    for name in ("global_outer_loop_stride", "global_inner_loop_unit", "global_start"):
        for axis in "xy":
            yield f"{name}_{axis}", rng.randrange(-4, 5)
    for name in ("mid_loop_unit_x", "local_mid_loop_unit_y"):
        yield name, rng.randrange(-2, 2)
    yield "middle_loop_extra_steps", rng.randrange(3)
    yield "local_start_x", rng.randrange(6)
    yield "local_start_y", rng.randrange(6)
    yield "local_loop_exec_count", rng.randrange(9)
    yield "global_loop_exec_count", rng.randrange(9)


def test_m5_any_parameters_end_and_stay_inside() -> None:
    rng = random.Random(17)
    ends = {"some": 0, "none": 0}
    for _ in range(3000):
        width, height = rng.randrange(1, 9), rng.randrange(1, 9)
        walker = replace(
            command("horizontal", width, height),
            **{"block_resolution_x": rng.randrange(1, 9)},
            **{"block_resolution_y": rng.randrange(1, 9)},
            **dict(steps(rng)),
        )
        found = places(walker)
        assert all(0 <= x < width and 0 <= y < height for x, y in found)
        ends["some" if found else "none"] += 1
    assert min(ends.values()) > 100


def test_too_many_threads() -> None:
    walker = command("horizontal", 2000, 2000, color_count_minus_one=15, local_loop_exec_count=2000)
    with pytest.raises(CommandError, match="more than 1048576 threads"):
        list(positions(walker))


def test_too_many_blocks() -> None:
    """Blocks without a thread: they took minutes."""
    walker = media.MediaObjectWalker(
        **{"block_resolution_x": 1, "block_resolution_y": 1, "local_start_x": 5},
        **{"global_resolution_x": 2047, "global_resolution_y": 2047},
        **{"global_loop_exec_count": 4095, "global_inner_loop_unit_x": 1},
    )
    with pytest.raises(CommandError, match="more than 1048576 blocks"):
        list(positions(walker))
    few = replace(walker, global_loop_exec_count=2)
    assert list(positions(few)) == []


def test_a_long_way_back_from_outside() -> None:
    """Each row begins 2048 columns to the left of the only one: that was a step for each."""
    walker = command(
        "horizontal",
        *(1, 2047),
        **{"local_outer_loop_stride_x": -2048, "local_loop_exec_count": 4095},
    )
    assert places(walker) == [(0, y) for y in range(2047)]
