"""Thread pools: which execution units a thread group may be spread over.

In legacy mode, the default, a group stays in one subslice.  In pooled mode each enabled execution
unit belongs to one of two pools and a group stays in one pool.  See the PRM chapter "Thread Pools"
and MEDIA_POOL_STATE.
"""

from __future__ import annotations

from typing import Final

from eumu.device.chip.parts import Part, Unit
from eumu.errors import LaunchError
from eumu.records import dataclass

# What a driver programs on every part with three subslices of six units; bits of subslices that
# are fused off mean nothing.
MAP_3X6: Final = 0x00777000

_BITS: Final = 8  # of the map for one subslice
_HALF: Final = 3  # units in bits 2:0, three more in 6:4


@dataclass(frozen=True, slots=True)
class Pool:
    """Execution units that share thread groups; `index` is the subslice or the pool number."""

    index: int
    units: tuple[Unit, ...]
    threads_per_eu: int

    @property
    def threads(self) -> int:
        return len(self.units) * self.threads_per_eu


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many groups run at once in a pool, and what keeps more from it.

    `share` is the part of the pool's hardware threads that they use; `limit` is "threads",
    "shared local memory", "barriers" or "" for a group that does not fit at all.
    """

    pool: Pool
    groups: int
    share: float
    limit: str


def _bit(eu: int) -> int:
    """The bit of a unit in its subslice's byte."""
    if not 0 <= eu < 2 * _HALF:
        raise LaunchError(f"a pool map has bits for units 0 to {2 * _HALF - 1}, not {eu}")
    return eu + eu // _HALF


def pool_map(part: Part, second: frozenset[Unit] | set[Unit]) -> int:
    """The map of MEDIA_POOL_STATE that puts `second` into pool 1 and the rest into pool 0."""
    strange = set(second) - set(part.units)
    if strange:
        raise LaunchError(f"{part.name} has no working unit {min(strange)}")
    return sum(1 << _BITS * u.subslice + _bit(u.eu) for u in second)


def pools(part: Part, map: int | None = None) -> tuple[Pool, ...]:
    """The pools of a part: one per enabled subslice in legacy mode (no map), else two.

    LaunchError if the part has none, a pool would be empty, or bits are set that no unit has.
    """
    if map is None:
        return tuple(
            Pool(s, tuple(u for u in part.units if u.subslice == s), part.threads_per_eu)
            for s in part.enabled
        )
    if not part.has_pools:
        raise LaunchError(f"{part.name} has no thread pools; MEDIA_POOL_STATE is for Broxton")
    legal = sum(
        1 << _BITS * s + _bit(e)
        for s in range(part.subslices)
        for e in range(part.eus_per_subslice)
    )
    if map & ~legal:
        raise LaunchError(f"pool map {map:#010x} has bits that no unit of {part.name} has")
    members: tuple[list[Unit], list[Unit]] = [], []
    for unit in part.units:
        members[map >> _BITS * unit.subslice + _bit(unit.eu) & 1].append(unit)
    for index, units in enumerate(members):
        if not units:
            raise LaunchError(f"pool map {map:#010x} leaves pool {index} of {part.name} empty")
    return tuple(Pool(k, tuple(u), part.threads_per_eu) for k, u in enumerate(members))


def occupancy(
    pool: Pool,
    threads_per_group: int,
    *,
    slm_bytes: int = 0,
    slm_available: int = 64 << 10,
    has_barrier: bool = False,
    barriers: int = 16,
) -> Occupancy:
    """Groups of `threads_per_group` threads that `pool` holds at once."""
    if threads_per_group < 1:
        raise LaunchError(f"a group has {threads_per_group} threads; it needs at least one")
    bounds = {"threads": pool.threads // threads_per_group}
    if slm_bytes:
        bounds["shared local memory"] = slm_available // slm_bytes
    if has_barrier:
        bounds["barriers"] = barriers
    limit = min(bounds, key=lambda name: bounds[name])
    groups = bounds[limit]
    share = groups * threads_per_group / pool.threads
    return Occupancy(pool, groups, share, limit if groups else "")
