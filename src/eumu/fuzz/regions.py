"""Sources in a line of vISA text, and those whose rows cross a register.

The hardware has no such rows: the finalizer divides the instruction, or copies the source first.
"""

from __future__ import annotations

import re
from typing import Final

from eumu.platforms import platform
from eumu.records import dataclass
from eumu.types import TYPES, Type

_EXEC: Final = re.compile(r"\(M\d(?:_NM)?, (\d+)\)")
_SOURCE: Final = re.compile(
    r"(?:\((-|abs|-abs|~)\))?\b([A-Z]+)\d*\((\d+),(\d+)\)<(\d+);(\d+),(\d+)>"
)
_DESTINATION: Final = re.compile(r"\) ([A-Z]+)\d*\((\d+),(\d+)\)<(\d)>")
_REGISTER: Final = platform("skl").grf_bytes


@dataclass(frozen=True)
class Source:
    """A region of a variable whose name begins with that of its type, as in random kernels."""

    type: Type
    modifier: str
    start: int  # bytes
    vertical: int
    width: int
    horizontal: int

    @property
    def overlaps(self) -> bool:
        """Whether a row begins before the end of the one before it."""
        return self.vertical < self.width * self.horizontal

    def breaks(self, lanes: int) -> bool:
        """Whether a row begins elsewhere than where the one before it ends."""
        return lanes > self.width and self.vertical != self.width * self.horizontal

    def straddles(self, lanes: int) -> bool:
        """Whether it begins inside a register and ends in another."""
        width = min(self.width, lanes)
        elements = (lanes // width - 1) * self.vertical + (width - 1) * self.horizontal
        return _straddles(self.start, elements, self.type)

    def crosses(self, lanes: int) -> bool:
        """Whether a row begins in one register and ends in another."""
        size, width = self.type.size, min(self.width, lanes)
        starts = (self.start + k * self.vertical * size for k in range(lanes // width))
        last = (width - 1) * self.horizontal * size + size - 1
        return any(s // _REGISTER != (s + last) // _REGISTER for s in starts)


def straddles(line: str) -> bool:
    """Whether the destination begins inside a register and ends in another."""
    match = _DESTINATION.search(line)
    type = TYPES.get(match[1].lower()) if match else None
    if match is None or type is None:
        return False
    return _straddles(int(match[3]) * type.size, (lanes(line) - 1) * int(match[4]), type)


def _straddles(start: int, elements: int, type: Type) -> bool:
    """Whether what begins at a byte, with so many elements up to its last, is in two registers."""
    place = start % _REGISTER
    return bool(place) and place + (elements + 1) * type.size > _REGISTER


def lanes(line: str) -> int:
    """The execution size; 1 where there is none."""
    match = _EXEC.search(line)
    return int(match[1]) if match else 1


def sources(line: str) -> list[Source]:
    """The regions of variables of known type."""
    regions = []
    for modifier, name, *numbers in _SOURCE.findall(line):
        type = TYPES.get(name.lower())
        if type is not None:
            row, column, v, w, h = map(int, numbers)
            regions.append(Source(type, modifier, row * _REGISTER + column * type.size, v, w, h))
    return regions
