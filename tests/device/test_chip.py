"""The PRM's own numbers; T, G, L, SL and P are rows of the checklist of its chapters.

T thread pools, G message gateway, L L3 and URB, SL shared local memory, P context switch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eumu.device.chip import (
    BarrierKind,
    Conflicts,
    ContextImage,
    Gateway,
    allocation,
    allocations,
    control_register,
    occupancy,
    part,
    pool_map,
    pools,
)
from eumu.device.chip.gateway import BARRIERS, BarrierMessage
from eumu.device.chip.l3 import BANK_KB, L3Control, of_control_register
from eumu.device.chip.parts import PARTS, Unit
from eumu.device.chip.pools import MAP_3X6
from eumu.device.chip.slm import clocks
from eumu.errors import LaunchError
from eumu.platforms import PLATFORMS, platform

BXT = part("bxt-3x6")


def sizes(part_name: str, *fused_off: int, map: int | None = MAP_3X6) -> list[int]:
    which = part(part_name)
    which = which.without(*fused_off) if fused_off else which
    return [len(pool.units) for pool in pools(which, map)]


# ---- thread pools


def test_t1_a_group_stays_in_a_subslice() -> None:
    assert [p.threads for p in pools(BXT)] == [36, 36, 36]
    assert occupancy(pools(BXT)[0], 32).groups == 1


@pytest.mark.parametrize(
    ("fused_off", "expected"), [((), [9, 9]), ((0,), [3, 9]), ((1,), [6, 6]), ((2,), [9, 3])]
)
def test_t2_units_of_several_subslices_form_pools(
    fused_off: tuple[int, ...], expected: list[int]
) -> None:
    assert sizes("bxt-3x6", *fused_off) == expected


def test_t3_the_example_of_two_pools() -> None:
    pooled = pools(BXT, MAP_3X6)
    assert [p.threads for p in pooled] == [54, 54]
    assert {u.subslice for p in pooled for u in p.units} == {0, 1, 2}
    assert not set(pooled[0].units) & set(pooled[1].units)
    assert occupancy(pooled[0], 48).groups == 1 and occupancy(pools(BXT)[0], 48).groups == 0


def test_t6_every_pool_has_units_and_unknown_bits_are_refused() -> None:
    with pytest.raises(LaunchError, match=r"pool 1 .* empty"):
        pools(BXT, 0)
    with pytest.raises(LaunchError, match=r"pool 0 .* empty"):
        pools(BXT, pool_map(BXT, set(BXT.units)))
    with pytest.raises(LaunchError, match="bits that no unit"):
        pools(BXT, 0x08)
    with pytest.raises(LaunchError, match="no thread pools"):
        pools(part("skl-gt2"), MAP_3X6)


def test_t6_the_map_round_trips() -> None:
    second = {u for u in BXT.units if (u.subslice + u.eu) % 2}
    assert set(pools(BXT, pool_map(BXT, second))[1].units) == second


@pytest.mark.parametrize("name", PLATFORMS)
def test_t7_legacy_mode_is_the_default_everywhere(name: str) -> None:
    which = part(platform(name))
    assert len(pools(which)) == len(which.enabled)
    assert sum(p.threads for p in pools(which)) == platform(name).hardware_threads


@pytest.mark.parametrize(("simd", "groups"), [(8, 0), (16, 1), (32, 2)])
def test_t8_a_small_subslice_forces_wide_threads(simd: int, groups: int) -> None:
    group = -(-576 // simd)  # threads of a group of 576 work items
    assert occupancy(pools(BXT)[0], group).groups == groups


def test_t8_what_limits() -> None:
    pool = pools(BXT)[0]
    assert occupancy(pool, 4, slm_bytes=16 << 10).limit == "shared local memory"
    assert occupancy(pool, 1, has_barrier=True).limit == "barriers"
    found = occupancy(pool, 9)
    assert (found.groups, found.share, found.limit) == (4, 1.0, "threads")


# ---- message gateway


def payload(word: int, predicate: int = 0, noise: int = 0) -> list[int]:
    return [noise, noise, word | noise & 0x40FF01FF, predicate, noise, noise]


@pytest.mark.parametrize("noise", [0, 0xFFFFFFFF, 0xA5A5A5A5])
@pytest.mark.parametrize("number", range(BARRIERS))
def test_g1_g3_g5_number_and_ignored_bits(number: int, noise: int) -> None:
    word = (number >> 4) << 31 | (number & 15) << 24
    assert BarrierMessage.of(payload(word, noise=noise)) == BarrierMessage(number, None, 0)


def test_g2_predicate_bits_of_lanes_that_are_not_there() -> None:
    assert BarrierMessage.of(payload(0, 0xFF), simd=8).predicate == 0xFF
    assert BarrierMessage.of(payload(0, 0xFFFFFFFF), simd=32).predicate == 0xFFFFFFFF
    with pytest.raises(LaunchError, match="SIMD8"):
        BarrierMessage.of(payload(0, 0x100), simd=8)


def with_count(number: int, count: int) -> list[int]:
    return payload(number << 24 | 1 << 15 | count << 9)


def test_g4_the_count_is_stored_and_used_again() -> None:
    gateway = Gateway()
    number = gateway.allocate(4)
    assert gateway.message(0, with_count(number, 2)) == ()
    assert gateway.message(1, with_count(number, 2)) == (0, 1)
    assert gateway.message(0, payload(number << 24)) == ()
    assert gateway.message(1, payload(number << 24)) == (0, 1)


def test_g4_threads_must_agree_on_the_count() -> None:
    gateway = Gateway()
    number = gateway.allocate(3)
    gateway.message(0, with_count(number, 3))
    with pytest.raises(LaunchError, match="different barrier counts: 3 and 2"):
        gateway.message(1, with_count(number, 2))


def test_g4_not_with_linked_barriers() -> None:
    gateway = Gateway()
    number = gateway.allocate(2, BarrierKind.LINKED)
    with pytest.raises(LaunchError, match="linked"):
        gateway.message(0, with_count(number, 2))


def test_g6_the_last_thread_wakes_all() -> None:
    gateway = Gateway()
    number = gateway.allocate(3)
    assert [gateway.message(t, payload(number << 24)) for t in (2, 0)] == [(), ()]
    assert gateway.message(1, payload(number << 24)) == (2, 0, 1)


def test_barriers_run_out_and_come_back() -> None:
    gateway = Gateway()
    numbers = [gateway.allocate(1) for _ in range(BARRIERS)]
    assert numbers == list(range(BARRIERS))
    with pytest.raises(LaunchError, match="in use"):
        gateway.allocate(1)
    gateway.release(5)
    assert gateway.allocate(2) == 5
    gateway.message(0, payload(5 << 24))
    with pytest.raises(LaunchError, match="wait at it"):
        gateway.release(5)


# ---- L3 and URB


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("slm", [False, True])
def test_l1_l2_l3_l4_rows_sum_to_the_bank(single: bool, slm: bool) -> None:
    rows = allocations(single, slm)
    assert len(rows) == {(0, 0): 5, (0, 1): 4, (1, 0): 3, (1, 1): 3}[single, slm]
    assert all(row.sum == BANK_KB[single] and row.slm == 64 * slm for row in rows)
    most_tagged = 192 if single else 128
    assert all(row.tagged <= most_tagged for row in rows)


def test_l3_rows_that_are_not_validated() -> None:
    with pytest.raises(LaunchError, match="not validated"):
        allocation(False, True, 0)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("slm", [False, True])
def test_l3_the_register_round_trips(single: bool, slm: bool) -> None:
    for row in allocations(single, slm):
        assert of_control_register(control_register(row), single) == row


def test_l3_a_register_value_by_hand() -> None:
    # SLM on, URB 16 ways, "all" 48 ways of 2 KB.
    assert control_register(allocation(False, True, 1)) == 1 | 16 << 1 | 48 << 25
    with pytest.raises(LaunchError, match="not a validated"):
        of_control_register(1, False)


def test_l5_totals_are_rows_times_banks() -> None:
    total = allocation(False, True, 1).total(2)
    assert (total.slm, total.urb, total.rest) == (128, 64, 192)
    with pytest.raises(LaunchError):
        allocation(True, False, 0).total(2)


def test_l6_without_slm_its_64_kb_go_to_urb_and_cache() -> None:
    with_slm, without = allocation(False, True, 1), allocation(False, False, 0)
    assert without.urb - with_slm.urb == 64 and without.rest == with_slm.rest
    gained = [allocation(True, False, k).urb - allocation(True, True, k).urb for k in (1, 2)]
    assert gained == [64, 64]


def test_sl1_sl2_slm_on_only_when_flushed() -> None:
    control = L3Control(banks=2)
    assert control.urb_base == 0
    control.dirty = True
    with pytest.raises(LaunchError, match="flush"):
        control.write(control_register(allocation(False, True, 1)))
    control.dirty = False
    control.write(control_register(allocation(False, True, 1)))
    assert control.urb_base == 64 << 10


# ---- shared local memory


@pytest.mark.parametrize(
    ("stride", "expected"), [(0, 1), (1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (17, 1), (3, 1)]
)
def test_sl3_clocks_of_sixteen_dwords(stride: int, expected: int) -> None:
    assert clocks(np.arange(16) * 4 * stride) == expected


def test_sl3_broadcast_bytes_and_wide_lanes() -> None:
    assert clocks(np.arange(16), size=1) == 1  # bytes of four dwords
    assert clocks(np.arange(16) * 8, size=8) == 2
    assert clocks(np.array([2]), size=4) == 1  # unaligned: two dwords in two banks
    assert clocks(np.array([], np.int64)) == 0


def test_sl3_counters() -> None:
    seen = Conflicts()
    assert seen.add(np.arange(16) * 64) == 16
    assert seen.add(np.arange(16) * 4) == 1
    assert (seen.accesses, seen.clocks, seen.conflicts) == (2, 17, 15)


# ---- context switch


@pytest.mark.parametrize(("name", "size"), [("bxt-3x6", 0xF8000), ("bxt-2x6", 0xA0000)])
def test_p7_size(name: str, size: int) -> None:
    assert ContextImage(part(name)).size == size


def test_p9_the_formula() -> None:
    image = ContextImage(BXT, 0x100000)
    assert (image.eu_stride, image.subslice_stride) == (0xC000, 0x48000)
    assert image.thread(Unit(2, 5), 5) == 0x100000 + 0xF6000
    assert image.slm(1) == 0x110000


@pytest.mark.parametrize("name", PARTS)
def test_p9_no_two_places_overlap(name: str) -> None:
    which = part(name)
    image = ContextImage(which)
    starts = [image.slm(b) for b in range(which.slm_banks)]
    slots = [image.thread(u, t) for u in which.units for t in range(which.threads_per_eu)]
    assert len(set(slots)) == which.threads
    assert sorted(slots) == list(range(slots[0], image.size, 0x2000))
    assert max(starts) + 0x10000 == min(slots)


def test_p10_fused_off_subslices_leave_no_gap() -> None:
    fused = ContextImage(BXT.without(1))
    assert fused.thread(Unit(2, 0), 0) == ContextImage(BXT).thread(Unit(1, 0), 0)
    assert fused.size == ContextImage(BXT).size - fused.subslice_stride
    with pytest.raises(LaunchError, match="no working"):
        fused.thread(Unit(1, 0), 0)


def test_p7_the_bound() -> None:
    with pytest.raises(LaunchError, match="bound"):
        ContextImage(replace(BXT, subslices=9))
    with pytest.raises(LaunchError, match="aligned"):
        ContextImage(BXT, 100)
