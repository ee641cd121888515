"""The parts that can be played: what the kernel driver says of each, and how eumu runs it.

Device ids and unit counts are public product data; clock frequencies are those of Mesa's table of
devices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from eumu.errors import LaunchError, UnknownDevice
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """A product with one slice.

    `platform` and `part` are eumu's names.  `pooled_eus` is the least size of a pool of execution
    units, 0 for parts without pools.
    """

    name: str
    title: str
    platform: str
    part: str
    chip: int
    revision: int
    subslices: int
    eus: int  # of a subslice
    hertz: int  # of the timestamp registers
    mhz: int  # the highest clock of the execution units
    pooled_eus: int = 0

    def told(self, units: int | None) -> Gpu:
        """The part as drivers are told of it, with so many execution units if that is a number.

        LaunchError unless they are whole subslices of the part.

        >>> gpu("skl").told(16).subslices
        2
        """
        if units is None:
            return self
        count, rest = divmod(units, self.eus)
        if rest or not 1 <= count <= self.subslices:
            possible = ", ".join(str(n * self.eus) for n in range(1, self.subslices + 1))
            raise LaunchError(f"{self.name} with {units} compute units; possible are {possible}")
        return replace(self, subslices=count)


GPUS: Final[dict[str, Gpu]] = {
    g.name: g
    for g in (
        Gpu("bdw", "HD Graphics 5500", "bdw", "bdw-gt2", 0x1616, 9, 3, 8, 12_500_000, 950),
        Gpu("skl", "HD Graphics 530", "skl", "skl-gt2", 0x1912, 6, 3, 8, 12_000_000, 1150),
        Gpu("kbl", "HD Graphics 630", "skl", "skl-gt2", 0x5912, 4, 3, 8, 12_000_000, 1150),
        Gpu("cfl", "UHD Graphics 630", "skl", "skl-gt2", 0x3E92, 0, 3, 8, 12_000_000, 1200),
        Gpu("apl", "HD Graphics 505", "bxt", "bxt-3x6", 0x5A84, 11, 3, 6, 19_200_000, 750, 6),
        Gpu("glk", "UHD Graphics 605", "bxt", "bxt-3x6", 0x3184, 3, 3, 6, 19_200_000, 800, 6),
    )
}


def gpu(name: str) -> Gpu:
    """The part of that name, upper or lower case.

    >>> gpu("APL").title
    'HD Graphics 505'
    """
    part = GPUS.get(name.strip().lower())
    if part is None:
        raise UnknownDevice(f"no driver runs on {name!r}; there are {', '.join(GPUS)}")
    return part
