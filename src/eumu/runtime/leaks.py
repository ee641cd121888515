"""What a program has made on a device and not freed, and the lines that made it."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import FrameType
from typing import Final

from eumu.device import Memory
from eumu.errors import Finding, Place, Severity

_PACKAGE: Final = str(Path(__file__).parents[1])
_FEW: Final = 256  # entries that are kept without looking which are freed


class Origins:
    """The lines in which arrays and images were made, by their addresses; noted if `wanted`."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.wanted = memory, False
        self._made: dict[int, Place | None] = {}
        self._most = _FEW

    def note(self, address: int) -> None:
        """Something was made at an address, by the line that called into this package."""
        if self.wanted:
            self._made.pop(address, None)
            self._made[address] = _line_outside()
            if len(self._made) > self._most:
                self._most = _FEW + 2 * len(self.leaks())

    def leaks(self) -> tuple[Finding, ...]:
        """A finding for each array and image that is not freed, oldest first."""
        live = {a.start: a for a in self.memory.live}
        self._made = {start: place for start, place in self._made.items() if start in live}
        return tuple(
            Finding(
                "leak",
                f"{live[start].name} of {live[start].size} bytes has not been freed",
                severity=Severity.WARNING,
                place=place,
                memory=self.memory.nearest(start),
            )
            for start, place in self._made.items()
        )


def _line_outside() -> Place | None:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return None
    name, line = frame.f_code.co_filename, frame.f_lineno
    return Place(name, line, text=linecache.getline(name, line).rstrip("\n"))
