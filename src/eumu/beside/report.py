"""A page about all kernels that a program ran: how often, how much, and the longest launch of each.

It is made on the interpreter, by an observer; the model of the L3 is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from html import escape
from string import Template
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.beside.door import lose, say
from eumu.device.chip import Part
from eumu.device.profile import Profile
from eumu.exec.fidelity import Followed
from eumu.exec.grid import Grid
from eumu.exec.observe import Observer
from eumu.records import dataclass
from eumu.reports.page import page
from eumu.writing import utf8, write_new

_PAGE: Final = Template(
    """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title><style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; color: #222; }
h1 { font-size: 1.5rem; } table { border-collapse: collapse; }
td, th { padding: .15rem .8rem; text-align: right; } th { border-bottom: 1px solid #999; }
td:first-child, th:first-child { text-align: left; font-family: ui-monospace, monospace; }
summary { cursor: pointer; padding: .3rem; } iframe { width: 100%; height: 50rem; border: 0; }
</style></head><body>
<h1>$title</h1>
<table><tr>$head</tr>$rows</table>
<p>The longest launch of each kernel:</p>
$launches
</body></html>
"""
)
_HEAD: Final = ("kernel", "launches", "groups", "threads", "instructions", "lanes", "bytes")


@dataclass(slots=True)
class _Kernel:
    """Sums over the launches of a kernel; `longest` is the profile of the one with most work."""

    launches: int = 0
    groups: int = 0
    threads: int = 0
    instructions: int = 0
    lane_slots: int = 0
    lanes: int = 0
    bytes: int = 0
    longest: Profile | None = None

    def add(self, profile: Profile) -> None:
        assert profile.grid is not None
        used = int(profile.used.sum())
        self.launches += 1
        self.groups += profile.grid.groups
        self.threads += len(profile.used)
        self.instructions += used
        self.lane_slots += profile.lane_slots
        self.lanes += profile.lanes
        self.bytes += sum(traffic.bytes for traffic in profile.traffic.values())
        if self.longest is None or used > int(self.longest.used.sum()):
            self.longest = profile

    def cells(self, name: str) -> Iterable[str]:
        yield name
        for number in (self.launches, self.groups, self.threads, self.instructions):
            yield f"{number:,}"
        yield f"{self.lanes / self.lane_slots:.1%}" if self.lane_slots else "-"
        yield f"{self.bytes:,}"


@dataclass(slots=True)
class KernelProfiles(Observer):
    """Profiles of what ran on a part, by the names of kernels."""

    part: Part
    _kernels: dict[str, _Kernel] = field(default_factory=dict)
    _now: Profile = field(default_factory=lambda: Profile(l3=None))

    @property
    def followed(self) -> Followed:
        return self._now.fidelity

    def start(self, grid: Grid) -> None:
        self._close()
        self._now.start(grid)

    def block(self, block: int, threads: Any, lanes: NDArray[np.integer[Any]]) -> None:
        self._now.block(block, threads, lanes)

    def access(self, kind: str, space: str, threads: Any, addresses: Any, size: int) -> None:
        self._now.access(kind, space, threads, addresses, size)

    def barrier(self, inst: int, threads: Any, used: NDArray[np.int64]) -> None:
        self._now.barrier(inst, threads, used)

    def ended(self, threads: Any, used: NDArray[np.int64]) -> None:
        self._now.ended(threads, used)

    def _close(self) -> None:
        profile, self._now = self._now, Profile(l3=None)
        if profile.grid is not None:
            self._kernels.setdefault(profile.grid.function.name, _Kernel()).add(profile)

    def write(self, path: str, number: int) -> str | None:
        """Write the page, where there already is one to a name with a number; None without kernels.

        OSError as of files.
        """
        self._close()
        if not self._kernels:
            return None
        text = self._text(f"{sum(k.launches for k in self._kernels.values())} launches")
        return write_new(path, number, utf8(text))

    def _text(self, what: str) -> str:
        order = sorted(self._kernels.items(), key=lambda item: -item[1].instructions)
        rows = (
            "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in kernel.cells(name)) + "</tr>"
            for name, kernel in order
        )
        return _PAGE.substitute(
            title=escape(f"{what} on {self.part.name}"),
            head="".join(f"<th>{cell}</th>" for cell in _HEAD),
            rows="".join(rows),
            launches="\n".join(_launch(name, k.longest, self.part) for name, k in order),
        )


def _launch(name: str, profile: Profile | None, part: Part) -> str:
    if profile is None:
        return ""
    inner = escape(page(profile, profile.schedule(part)))
    return (
        f"<details><summary>{escape(name)}</summary>"
        f'<iframe srcdoc="{inner}" loading="lazy"></iframe></details>'
    )


def say_where(profiles: KernelProfiles, path: str, number: int, status: int | None) -> None:
    """Write the page, and say on standard error where it is; `status` as of a session."""
    try:
        name = profiles.write(path, number)
    except OSError as error:
        lose(status, f"--report {path}: {error.strerror}")
        return
    said = f"what kernels did is in {name}" if name else "no kernel ran: there is no report"
    say(f"eumu: {said}")
