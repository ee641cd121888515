"""Placement of groups: capacity, order, pools, and that nothing runs twice in one place."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict

import pytest

from eumu.device.chip import part
from eumu.device.chip.pools import MAP_3X6
from eumu.device.dispatch import Needs, Schedule, place
from eumu.errors import LaunchError

BXT = part("bxt-3x6")


def check(schedule: Schedule, needs: Needs) -> None:
    """No hardware thread runs two threads at once; groups stay in their pool; limits hold."""
    busy = defaultdict(list)
    for placement in schedule.placements:
        units = set(schedule.pools[placement.pool].units)
        assert len(set(placement.slots)) == needs.threads
        assert {slot.unit for slot in placement.slots} <= units
        for slot in placement.slots:
            busy[slot].append((placement.start, placement.end))
    for runs in busy.values():
        runs.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(runs))
    for placement in schedule.placements:
        at_once = sum(
            p.pool == placement.pool and p.start <= placement.start < p.end
            for p in schedule.placements
        )
        assert at_once <= schedule.occupancy[placement.pool].groups


@pytest.mark.parametrize("pool_map", [None, MAP_3X6], ids=["legacy", "pooled"])
@pytest.mark.parametrize("needs", [Needs(1, 0, False), Needs(7, 4096, True), Needs(36, 0, True)])
def test_groups_fit(needs: Needs, pool_map: int | None) -> None:
    rng = random.Random(str(needs))
    durations = [[rng.randrange(1, 100) for _ in range(needs.threads)] for _ in range(80)]
    schedule = place(BXT, needs, durations, pool_map)
    check(schedule, needs)
    assert [p.group for p in schedule.placements] == list(range(80))
    assert 0 < schedule.busy <= 1


def test_t3_pools_hold_more_of_large_groups() -> None:
    """Groups of 27 threads: one in each of three subslices, or two in each of two pools."""
    durations = [[10] * 27] * 4
    legacy = place(BXT, Needs(27, 0, False), durations)
    pooled = place(BXT, Needs(27, 0, False), durations, MAP_3X6)
    assert (legacy.ticks, pooled.ticks) == (20, 10)
    assert [o.groups for o in pooled.occupancy] == [2, 2]


def test_t1_a_group_that_is_too_large() -> None:
    with pytest.raises(LaunchError, match=r"no subslice .* 48 threads"):
        place(BXT, Needs(48, 0, False), [[1] * 48])
    assert place(BXT, Needs(48, 0, False), [[1] * 48], MAP_3X6).placements[0].end == 1


def test_slm_bounds_the_groups() -> None:
    schedule = place(BXT, Needs(1, 32 << 10, False), [[5]] * 12)
    assert schedule.ticks == 10 and schedule.occupancy[0].limit == "shared local memory"


def test_nothing_to_place() -> None:
    schedule = place(BXT, Needs(1, 0, False), [])
    assert (schedule.ticks, schedule.busy, schedule.placements) == (0, 0.0, ())
