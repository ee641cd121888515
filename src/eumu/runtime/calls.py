"""What a program that was built to look for mistakes says of itself, see `instrumented`.

Each `async_work_group_copy` and `wait_group_events` of a work item is a record of the printf buffer
(`checked_copies.cl`), in the order of the work item.  From these follows what a group did wrong.
An index outside of its array is a record, too (`checked_indices.cl`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from math import prod
from typing import Final

from eumu.errors import Finding, Ids, Place
from eumu.exec import blame
from eumu.exec.grid import Grid
from eumu.records import dataclass
from eumu.zebin.indices import Site

MARK: Final = b"\1eumu "  # what the format of a record begins with, and ends with without the name
_HALF: Final = (1 << 32) - 1
_NUMBERS: Final = 8


@dataclass(frozen=True, slots=True)
class Call:
    """One call: `what` is a copy, an event that is waited for, the wait after the last one, or an
    index that is wrong.

    `item` is the number of the work item in its group; `values` are the arguments.
    """

    what: str
    file: str
    line: int
    item: int
    group: Ids
    values: tuple[int, ...]

    @classmethod
    def of(cls, template: bytes, numbers: object) -> Call:
        """What a record says; ValueError for what is none."""
        text = template.removeprefix(MARK).partition(b"\1")[0].decode("utf-8", "replace")
        what, line, file = text.split(" ", 2)
        if not isinstance(numbers, list) or len(numbers) != _NUMBERS:
            raise ValueError("a record of a call has eight numbers")
        item, groups, z, *values = (int(n) & (1 << 64) - 1 for n in numbers)
        return cls(what, file, int(line), item, (groups & _HALF, groups >> 32, z), tuple(values))

    @property
    def site(self) -> tuple[str, int]:
        return self.file, self.line

    @property
    def words(self) -> str:
        """What is copied, or how many events are waited for."""
        if self.what != "copy":
            return "waits"
        to, start, count, sizes, _ = self.values
        stride = f" with a stride of {sizes >> 8}" if sizes >> 8 != 1 else ""
        return f"copies {count} elements of {sizes & 0xFF} bytes from {start:#x} to {to:#x}{stride}"


@dataclass(frozen=True, slots=True)
class _Wrong:
    """One mistake of a work item, and what another one did instead."""

    code: str
    call: Call
    item: int
    reason: str
    notes: tuple[str, ...] = ()
    place: Place | None = None


def findings(
    calls: Sequence[Call], grids: Sequence[Grid], sites: Sequence[Site], *, ended: bool
) -> tuple[Finding, ...]:
    """One finding for each kind of mistake and line; `ended` says that all work items came to their
    end, so that what is not there has not been done."""
    indices = _indices([call for call in calls if call.what == "index"], grids, sites)
    return (*indices, *_copies([call for call in calls if call.what != "index"], grids, ended))


def _indices(
    calls: Sequence[Call], grids: Sequence[Grid], sites: Sequence[Site]
) -> Iterator[Finding]:
    by_site: dict[int, list[_Wrong]] = {}
    for call in sorted(calls, key=lambda c: (c.values[0], c.group[::-1], c.item)):
        number, index, *_ = call.values
        if number < len(sites):
            site, signed = sites[number], index - (1 << 64 if index >> 63 else 0)
            place = _known(site.place, _part(grids, call.group))
            reason = f"index {signed} is outside of {_name(site, place)} of {site.length} elements"
            wrong = _Wrong("array-index", call, call.item, reason, place=place)
            by_site.setdefault(number, []).append(wrong)
    return (_finding(group, grids) for group in by_site.values())


def _name(site: Site, place: Place) -> str:
    """The array as its line calls it; the compiler may have put a number behind that."""
    for end in range(len(site.name), 0, -1):
        if re.search(rf"\b{re.escape(site.name[:end])}\b", place.text):
            return f"array '{site.name[:end]}'"
        if not site.name[end - 1].isdigit():
            break
    return "an array"


def _copies(calls: Sequence[Call], grids: Sequence[Grid], ended: bool) -> Iterator[Finding]:
    groups: dict[Ids, dict[int, list[Call]]] = {}
    for call in calls:
        groups.setdefault(call.group, {}).setdefault(call.item, []).append(call)
    by_site: dict[tuple[str, str, int], list[_Wrong]] = {}
    for group in sorted(groups, key=lambda g: g[::-1]):
        size = prod(_part(grids, group).local_size)
        rows = [groups[group].get(item, []) for item in range(size)]
        for wrong in (*_divergent(rows, ended), *_events(rows, ended)):
            by_site.setdefault((wrong.code, *wrong.call.site), []).append(wrong)
    return (_finding(group, grids) for group in by_site.values())


def _divergent(rows: list[list[Call]], ended: bool) -> Iterator[_Wrong]:
    """Where work items of a group do not call the same with the same arguments."""
    first = rows[0]
    for item, row in enumerate(rows):
        for one, other in zip_longest(first, row):
            if one is None or other is None:
                if ended:
                    yield _not_by_all(one, other, item)
                break
            if (one.what, one.site) != (other.what, other.site):
                yield _not_by_all(one, other, item)
                break
            if one.values != other.values:
                yield _with_others(one, other, item)
                break


def _not_by_all(one: Call | None, other: Call | None, item: int) -> _Wrong:
    """One of two work items has a call that the other has not there: a copy, if one of them is."""
    both = [(c, at) for c, at in ((one, 0), (other, item)) if c is not None]
    call, has = min(both, key=lambda pair: pair[0].what != "copy")
    lacks = item - has
    what, code = ("async copy", "copy") if call.what == "copy" else ("wait for events", "wait")
    reason = f"{what} that not all work items of the group execute"
    note = f"work item {has} of the group executes it, work item {lacks} does not"
    return _Wrong(f"divergent-{code}", call, has, reason, (note,))


def _with_others(one: Call, other: Call, item: int) -> _Wrong:
    if one.what == "copy":
        reason = "async copy with other arguments in some work items of the group"
        notes = f"work item 0 of the group {one.words}", f"work item {item} {other.words}"
        return _Wrong("divergent-copy", other, item, reason, notes)
    reason = "wait for other events in some work items of the group"
    note = f"work items 0 and {item} of the group wait for different events"
    return _Wrong("divergent-wait", other, item, reason, (note,))


def _events(rows: list[list[Call]], ended: bool) -> Iterator[_Wrong]:
    """Waits for what is no event, and copies that nobody waited for."""
    for item, row in enumerate(rows):
        made, open_copies = set[int](), dict[int, Call]()
        for call in row:
            if call.what == "copy":
                made.add(call.values[-1])
                open_copies.setdefault(call.values[-1], call)
            elif call.what == "event":
                open_copies.pop(call.values[0], None)
                if call.values[0] not in made:
                    reason = "wait for an event that no copy of the work item has given"
                    yield _Wrong("wait-event", call, item, reason)
        for call in open_copies.values() if ended else ():
            reason = "async copy for which the work item has not waited before its end"
            yield _Wrong("copy-not-waited", call, item, reason)


def _part(grids: Sequence[Grid], group: Ids) -> Grid:
    """The part of a launch that a group belongs to."""

    def has(grid: Grid) -> bool:
        each = zip(grid.first_group, group, grid.group_count, strict=True)
        return all(first <= own < first + count for first, own, count in each)

    return next(grid for grid in grids if has(grid))


def _finding(group: list[_Wrong], grids: Sequence[Grid]) -> Finding:
    """The record of mistakes of one kind at one line."""
    first = group[0]
    grid = _part(grids, first.call.group)
    x, y, z = (own - of for own, of in zip(first.call.group, grid.first_group, strict=True))
    number = x + grid.group_count[0] * (y + grid.group_count[1] * z)
    thread, lane = divmod(first.item, grid.function.width)
    beside = [w.item for w in group if w.call.group == first.call.group]
    lanes = sorted({n % grid.function.width for n in beside if n // grid.function.width == thread})
    lanes.remove(lane)
    finding = blame.record(
        *(grid, first.code, first.reason, -1, number, thread, (lane, *lanes)),
        notes=first.notes,
        count=len(group),
    )
    place = first.place or _known(Place(*first.call.site), grid)
    return replace(finding, span=None, instruction="", place=place)


def _known(place: Place, grid: Grid) -> Place:
    """A place with its text."""
    return grid.function.sources(place, False) if grid.function.sources is not None else place
