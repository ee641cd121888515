"""Where groups ran, as a picture: a block for each of a few, else how busy each subslice was.

Time is along the horizontal axis, in instructions; subslices are along the vertical one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.chip import Occupancy
from eumu.device.dispatch import Placement, Schedule

_MOST_GROUPS: Final = 128  # of which each has its own color and number
_MOST_THREADS: Final = 256  # hardware threads with a row of their own
_BANDS: Final = 24  # rows of the picture of many groups
_COLUMNS: Final = 160
_LEFT, _WIDTH, _BOTTOM, _TOP = 120, 860, 46, 26
_NUMBER_WIDTH, _NUMBER_HEIGHT = 26, 9  # pixels that a group's number takes
_BLUE: Final = (33, 78, 135)


def picture(schedule: Schedule) -> str:
    """An SVG element with axes and a legend."""
    few = len(schedule.placements) <= _MOST_GROUPS and schedule.part.threads <= _MOST_THREADS
    parts, height, legend = _bars(schedule) if few else _heat(schedule)
    below = _TOP + height
    lines = [
        *parts,
        *_time_axis(schedule, below),
        f'<text x="{_LEFT}" y="16">{escape(legend)}</text>',
    ]
    size = f'viewBox="0 0 1000 {below + _BOTTOM}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="placement" {size}>{"".join(lines)}</svg>'
    )


def _x(schedule: Schedule, tick: float) -> float:
    return _LEFT + _WIDTH * tick / max(1, schedule.ticks)


def _time_axis(schedule: Schedule, y: float) -> Iterator[str]:
    """A line with numbers below the rows."""
    yield f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}"/>'
    ticks = max(1, schedule.ticks)
    step = 10 ** (len(str(ticks)) - 1)
    step = next(
        (s for s in (step, step // 2, step // 5) if s and ticks / s >= 4), max(1, step // 10)
    )
    for tick in range(0, ticks + 1, step):
        x = _x(schedule, tick)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 5}"/>'
        yield f'<text x="{x:.1f}" y="{y + 18}" text-anchor="middle">{tick:,}</text>'
    middle = _LEFT + _WIDTH / 2
    yield f'<text x="{middle}" y="{y + 38}" text-anchor="middle">instructions</text>'


def _label(y: float, height: float, words: str) -> str:
    middle = y + height / 2 + 4
    return f'<text x="{_LEFT - 8}" y="{middle:.1f}" text-anchor="end">{escape(words)}</text>'


# ---- few groups


def _bars(schedule: Schedule) -> tuple[list[str], int, str]:
    """A block for each group, as high as it has threads."""
    part = schedule.part
    row = max(3, min(14, 600 // part.threads))
    shown, tops, y = [], [], _TOP
    for k, pool in enumerate(schedule.pools):
        height = row * pool.threads
        shown.append(_label(y, height, f"{_kind(schedule)} {pool.index}"))
        if k:
            shown.append(
                f'<line class="cut" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}"/>'
            )
        tops.append(y)
        y += height
    is_numbered = False
    free: list[list[int]] = [[] for _ in schedule.pools]  # when each place ends, by pool
    for placement in schedule.placements:
        ends = free[placement.pool]
        place = next((k for k, end in enumerate(ends) if end <= placement.start), len(ends))
        ends[place : place + 1] = [placement.end]
        top = tops[placement.pool] + place * row * len(placement.slots)
        number, *bars = _group(schedule, placement, top, row)
        is_numbered |= bool(number)
        shown += [*bars, number]
    legend = f"A block is a group, as high as it has threads ({row} pixels each)"
    legend += ", with its number." if is_numbered else ". Point at one for its number."
    return shown, row * part.threads, legend


def _group(schedule: Schedule, placement: Placement, top: int, row: int) -> Iterator[str]:
    """The group's number if there is room, then a bar for each of its threads."""
    color = f"hsl({placement.group * 137 % 360},55%,72%)"
    start, end = _x(schedule, placement.start), _x(schedule, placement.end)
    height = row * len(placement.slots)
    middle = f'x="{(start + end) / 2:.1f}" y="{top + height / 2 + 3:.1f}"'
    has_room = end - start >= _NUMBER_WIDTH and height >= _NUMBER_HEIGHT
    number = f'<text class="number" {middle}>{placement.group}</text>'
    yield number if has_room else ""
    for k, (slot, last) in enumerate(zip(placement.slots, placement.ends, strict=True)):
        title = (
            f"<title>group {placement.group}, subslice {slot.unit.subslice}, EU {slot.unit.eu},"
            f" thread {slot.thread}</title>"
        )
        width = _x(schedule, last) - start
        yield (
            f'<rect x="{start:.1f}" y="{top + k * row}" width="{width:.1f}" height="{row}"'
            f' fill="{color}">{title}</rect>'
        )
    yield (
        f'<rect class="edge" x="{start:.1f}" y="{top}" width="{end - start:.1f}"'
        f' height="{height}"/>'
    )


def _kind(schedule: Schedule) -> str:
    return "pool" if schedule.is_pooled else "subslice"


# ---- many groups


def _heat(schedule: Schedule) -> tuple[list[str], int, str]:
    """A row for each subslice or pool, or for several; darker cells had more threads at work."""
    pools = schedule.pools
    each = -(-len(pools) // _BANDS)
    bands = [pools[k : k + each] for k in range(0, len(pools), each)]
    busy = _busy(schedule)
    row, cell = max(12, min(28, 420 // len(bands))), _WIDTH / _COLUMNS
    kind = _kind(schedule)
    shown = []
    for k, band in enumerate(bands):
        y = _TOP + k * row
        first, last = band[0].index, band[-1].index
        words = f"{kind} {first}" if first == last else f"{kind}s {first}\u2013{last}"
        shown.append(_label(y, row, words))
        threads = sum(p.threads for p in band)
        shares = busy[k * each : k * each + len(band)].sum(axis=0) / threads
        column = 0
        for share, same in groupby(np.round(shares, 2).tolist()):
            count = len(list(same))
            title = f"<title>{words}: {share:.0%} of {threads} threads</title>"
            shown.append(
                f'<rect x="{_LEFT + column * cell:.2f}" y="{y}" width="{count * cell:.2f}"'
                f' height="{row}" fill="{_shade(share)}">{title}</rect>'
            )
            column += count
        shown.append(f'<line class="row" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}"/>')
    shown += _scale()
    legend = f"{len(schedule.placements):,} groups: how many hardware threads had work"
    return shown, row * len(bands), legend


def _scale() -> Iterator[str]:
    """What the shades mean."""
    start, steps, width = _LEFT + _WIDTH - 250, 20, 8
    yield f'<text x="{start - 6}" y="16" text-anchor="end">0 %</text>'
    for k in range(steps):
        shade = _shade(k / (steps - 1))
        yield f'<rect x="{start + k * width}" y="5" width="{width}" height="13" fill="{shade}"/>'
    yield f'<text x="{start + steps * width + 6}" y="16">100 % of them</text>'


def _shade(share: float) -> str:
    red, green, blue = (round(255 - share * (255 - c)) for c in _BLUE)
    return f"rgb({red},{green},{blue})"


def _busy(schedule: Schedule) -> NDArray[np.float64]:
    """Hardware threads at work on average, float64[pools, columns]."""
    places = {pool.index: k for k, pool in enumerate(schedule.pools)}
    ticks = max(1, schedule.ticks)
    busy = np.zeros((len(schedule.pools), _COLUMNS))
    edges = np.arange(_COLUMNS + 1) * ticks / _COLUMNS
    for placement in schedule.placements:
        row = busy[places.get(placement.pool, placement.pool)]
        first = min(int(placement.start * _COLUMNS / ticks), _COLUMNS - 1)
        for end in placement.ends:
            last = min(-(-end * _COLUMNS // ticks), _COLUMNS)
            inside = np.minimum(end, edges[first + 1 : last + 1])
            inside = inside - np.maximum(placement.start, edges[first:last])
            row[first:last] += np.maximum(inside, 0)
    return busy * _COLUMNS / ticks


# ---- the table below


def occupancy_rows(held: Sequence[Occupancy]) -> Iterator[tuple[str, str, str, str, str]]:
    """One row for neighbours that hold the same: which, threads, groups, share, limit."""
    for key, same in groupby(held, lambda o: (o.pool.threads, o.groups, o.share, o.limit)):
        members = list(same)
        threads, groups, share, limit = key
        first, last = members[0].pool.index, members[-1].pool.index
        which = str(first) if first == last else f"{first}\u2013{last} (each of {len(members)})"
        yield which, str(threads), str(groups), f"{share:.0%}", limit or "too large"
