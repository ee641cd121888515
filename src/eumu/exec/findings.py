"""What `report` operations saw, as findings that are the same in both engines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from eumu.errors import Finding, Severity, ranges
from eumu.exec import blame
from eumu.exec.grid import Grid
from eumu.exec.host import Host
from eumu.ir.operations.messages import Report
from eumu.records import dataclass

ORIGIN: Final = "origin"  # no mistake by itself: where findings may come from


@dataclass(frozen=True, slots=True)
class Seen:
    """A `report` that came true `count` times; first in group and thread `where`, for `lanes`, the
    first of which has `address` in `surface`, where the operation has these."""

    op: Report
    where: tuple[int, int]
    lanes: int  # a bit a lane of the operation
    count: int
    address: int = 0
    surface: int = 0


class Notebook:
    """One entry for each `report` operation, whatever the order in which threads come to it."""

    def __init__(self, seen: Iterable[Seen] = ()) -> None:
        self._seen: dict[int, Seen] = {}
        for item in seen:
            self.add(item)

    def add(self, item: Seen) -> None:
        """Take an entry in; of one thread, the earlier one must come first."""
        kept = self._seen.get(id(item.op))
        if kept is not None:
            first = min(kept, item, key=lambda s: s.where)
            item = replace(first, count=kept.count + item.count)
        self._seen[id(item.op)] = item

    def findings(self, grid: Grid, host: Host) -> tuple[Finding, ...]:
        """One finding for each instruction and thing that is wrong, in program order."""
        grouped: dict[tuple[int, str, str], list[Seen]] = {}
        origins = [item for item in self._seen.values() if item.op.code == ORIGIN]
        for item in self._seen.values():
            if item.op.code == ORIGIN:
                continue
            key = item.op.inst, item.op.code, item.op.what
            grouped.setdefault(key, []).append(item)
        made = ((key, _finding(grid, host, key, grouped[key])) for key in sorted(grouped))
        return tuple(
            _with_origins(grid, host, finding, origins) if key[1] == "undefined" else finding
            for key, finding in made
        )


def merged(before: Iterable[Finding], after: Iterable[Finding]) -> tuple[Finding, ...]:
    """What two parts of a launch, one after the other, have found: each mistake once, in program
    order."""
    by_place: dict[tuple[object, ...], Finding] = {}
    for finding in (*before, *after):
        what = finding.reason.partition(" in lane")[0]
        key = _order(finding), finding.notes, what
        earlier = by_place.get(key)
        by_place[key] = (
            replace(earlier, count=earlier.count + finding.count) if earlier else finding
        )
    return tuple(sorted(by_place.values(), key=_order))


def _order(finding: Finding) -> tuple[int, int]:
    return (finding.span.line, finding.span.column) if finding.span else (0, 0)


def _with_origins(grid: Grid, host: Host, finding: Finding, origins: list[Seen]) -> Finding:
    """A use of what nothing has written, with the loads of the same lanes that may have read it."""
    read = []
    for item in sorted(origins, key=lambda seen: seen.op.inst):
        same = grid.group(item.where[0]) == finding.group and item.where[1] == finding.thread
        if same and item.op.space is not None and _meet(item, finding):
            lanes = tuple(_lanes(item))
            memory = blame.memory_at(grid, host, item.op.space, item.surface, item.address)
            reason = "what nothing has written is read here"
            where = (item.op.inst, *item.where, lanes, item.address)
            read.append(blame.record(grid, "uninitialized", reason, *where, memory=memory))
    if not read:
        return finding
    return replace(finding, code="uninitialized", related=tuple(read[:3]), memory=read[-1].memory)


def _meet(item: Seen, finding: Finding) -> bool:
    return bool(set(_lanes(item)) & set(finding.lanes))


# What is said of each code: how bad it is, and the sentence.
_CODES: Final = {
    "undefined": (
        Severity.ERROR,
        "undefined {what} in {lanes}: it comes from what nothing has written",
    ),
    "misaligned": (Severity.ERROR, "misaligned {what} in {lanes}"),
    "division-by-zero": (Severity.NOTE, "{what} in {lanes}: the result is not defined"),
}


def _finding(grid: Grid, host: Host, key: tuple[int, str, str], items: list[Seen]) -> Finding:
    inst, code, what = key
    where = min(item.where for item in items)
    here = [item for item in items if item.where == where]
    lanes = tuple(sorted({n for item in here for n in _lanes(item)}))
    severity, sentence = _CODES[code]
    first = min(here, key=lambda item: _lanes(item)[0])
    space, memory, address = first.op.space, None, None
    if space is not None:
        address = first.address
        memory = blame.memory_at(grid, host, space, first.surface, address)
    return blame.record(
        grid,
        code,
        sentence.format(what=what, lanes=f"lane{'s' * (len(lanes) != 1)} {ranges(lanes)}"),
        inst,
        where[0],
        where[1],
        lanes,
        address,
        memory=memory,
        severity=severity,
        count=max(item.count for item in items),
    )


def _lanes(item: Seen) -> list[int]:
    """The lanes as lanes of the thread."""
    bits, offset = item.lanes, item.op.offset
    return [offset + n for n in range(bits.bit_length()) if bits >> n & 1]
