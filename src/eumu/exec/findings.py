"""What `report` operations saw, as findings that are the same in both engines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from eumu.errors import Finding, ranges
from eumu.exec import blame
from eumu.exec.grid import Grid
from eumu.ir.operations.messages import Report


@dataclass(frozen=True, slots=True)
class Seen:
    """A `report` that came true `count` times; first in group and thread `where`, for `lanes`."""

    op: Report
    where: tuple[int, int]
    lanes: int  # a bit a lane of the operation
    count: int


class Notebook:
    """One entry for each `report` operation, whatever the order in which threads come to it."""

    def __init__(self, seen: Iterable[Seen] = ()) -> None:
        self._seen: dict[int, Seen] = {}
        for item in seen:
            self.add(item)

    def add(self, item: Seen) -> None:
        """Take an entry in; of one thread, the earlier one must come first."""
        known = self._seen.get(id(item.op))
        if known is not None:
            first = min(known, item, key=lambda s: s.where)
            item = Seen(item.op, first.where, first.lanes, known.count + item.count)
        self._seen[id(item.op)] = item

    def findings(self, grid: Grid) -> tuple[Finding, ...]:
        """One finding for each instruction and thing that is undefined, in program order."""
        grouped: dict[tuple[int, str], list[Seen]] = {}
        for item in self._seen.values():
            grouped.setdefault((item.op.inst, item.op.what), []).append(item)
        return tuple(_finding(grid, key, grouped[key]) for key in sorted(grouped))


def merged(before: Iterable[Finding], after: Iterable[Finding]) -> tuple[Finding, ...]:
    """What two parts of a launch, one after the other, have found: each mistake once, in program
    order."""
    found: dict[tuple[object, ...], Finding] = {}
    for finding in (*before, *after):
        what = finding.reason.partition(" in lane")[0]
        key = _order(finding), finding.notes, what
        known = found.get(key)
        found[key] = replace(known, count=known.count + finding.count) if known else finding
    return tuple(sorted(found.values(), key=_order))


def _order(finding: Finding) -> tuple[int, int]:
    return (finding.span.line, finding.span.column) if finding.span else (0, 0)


def _finding(grid: Grid, key: tuple[int, str], items: list[Seen]) -> Finding:
    inst, what = key
    where = min(item.where for item in items)
    lanes = tuple(sorted({n for item in items if item.where == where for n in _lanes(item)}))
    word = "lane" if len(lanes) == 1 else "lanes"
    return blame.record(
        grid,
        "undefined",
        f"undefined {what} in {word} {ranges(lanes)}: it comes from what nothing has written",
        inst,
        where[0],
        where[1],
        lanes,
        count=max(item.count for item in items),
    )


def _lanes(item: Seen) -> list[int]:
    """The lanes as lanes of the thread."""
    bits, offset = item.lanes, item.op.offset
    return [offset + n for n in range(bits.bit_length()) if bits >> n & 1]
