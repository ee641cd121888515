"""One record per part: its units and which of them are fused off.

Unit counts are public product data; the names are those of the PRM chapter "Thread Pools".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from eumu.errors import LaunchError
from eumu.platforms import Platform
from eumu.records import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """An execution unit by its physical numbers."""

    subslice: int
    eu: int


@dataclass(frozen=True, slots=True)
class Part:
    """A product: `subslices` are the physical ones, `fused_off` those of them without function.

    `l3_banks` is 1 for a part with the one large bank of 320 KB, else banks have 192 KB.
    `has_pools` says that MEDIA_POOL_STATE exists; `image_bound` is the most bytes that the context
    image may take, where that is documented.  `timestamp_hz` is the frequency of the timestamp
    registers, None where it is not public.  `has_cache_model` says that the tables of its L3 and
    the banks of its shared local memory are public; `slm_bytes` is that of a subslice or pool.
    """

    name: str
    subslices: int
    eus_per_subslice: int
    threads_per_eu: int
    l3_banks: int
    slm_banks: int
    fused_off: frozenset[int] = frozenset()
    has_pools: bool = False
    image_bound: int | None = None
    timestamp_hz: int | None = None
    has_cache_model: bool = True
    slm_bytes: int = 64 << 10

    @property
    def enabled(self) -> tuple[int, ...]:
        """Physical numbers of the subslices that work, in order."""
        return tuple(s for s in range(self.subslices) if s not in self.fused_off)

    @property
    def units(self) -> tuple[Unit, ...]:
        """Execution units that work, by subslice and number."""
        return tuple(Unit(s, e) for s in self.enabled for e in range(self.eus_per_subslice))

    @property
    def threads(self) -> int:
        """Hardware threads of the part."""
        return len(self.units) * self.threads_per_eu

    @property
    def threads_per_subslice(self) -> int:
        return self.eus_per_subslice * self.threads_per_eu

    def without(self, *subslices: int) -> Part:
        """The part with these subslices fused off."""
        gone = self.fused_off | set(subslices)
        if not gone < set(range(self.subslices)):
            raise LaunchError(
                f"{self.name} has subslices 0 to {self.subslices - 1}; at least one must work,"
                f" not all but {sorted(set(range(self.subslices)) - gone)}"
            )
        return replace(self, fused_off=frozenset(gone))


_BROXTON: Final[dict[str, Any]] = {
    "has_pools": True,
    "image_bound": 2 << 20,
    "timestamp_hz": 19_200_000,
}
PARTS: Final = {
    p.name: p
    for p in (
        Part("bxt-3x6", 3, 6, 6, l3_banks=2, slm_banks=2, **_BROXTON),
        Part("bxt-2x6", 2, 6, 6, l3_banks=1, slm_banks=1, **_BROXTON),
        Part(
            *("bdw-gt2", 3, 8, 7),
            l3_banks=4,
            slm_banks=3,
            timestamp_hz=12_500_000,
            has_cache_model=False,
        ),
        Part("skl-gt2", 3, 8, 7, l3_banks=4, slm_banks=3, timestamp_hz=12_000_000),
    )
}
# The largest part of a platform; a platform without a row has one made of its record.
_LARGEST: Final = {"bdw": "bdw-gt2", "bxt": "bxt-3x6", "skl": "skl-gt2"}


def part(of: str | Platform) -> Part:
    """A part by its name, or the largest of a platform."""
    if isinstance(of, Platform):
        largest = _LARGEST.get(of.name)
        if largest is not None:
            return PARTS[largest]
        counts = of.subslices, of.eus_per_subslice, of.threads_per_eu
        return Part(
            of.name,
            *counts,
            l3_banks=of.subslices,
            slm_banks=of.subslices,
            has_cache_model=False,
            slm_bytes=of.max_slm_bytes,
        )
    if of not in PARTS:
        raise LaunchError(f"no part is called {of!r}; there are {', '.join(PARTS)}")
    return PARTS[of]
