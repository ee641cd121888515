"""One page, with everything in it, that says how a run went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Final

from eumu.device.dispatch import Schedule
from eumu.device.profile import Profile

__all__ = ["l3_words", "page"]

_MOST_ROWS: Final = 20  # of the instruction mix
_MOST_BARS: Final = 4000  # threads in the picture

_PAGE: Final = Template(
    """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title><style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem; text-align: right; }
th { border-bottom: 1px solid #999; font-weight: 600; }
td:first-child, th:first-child { text-align: left; font-family: ui-monospace, monospace; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; }
.figure { background: #f3f5f8; border-radius: .4rem; padding: .6rem 1rem; }
.figure b { display: block; font-size: 1.4rem; }
.left { text-align: left; } .bar { background: #4477aa; height: .7rem; display: inline-block; }
svg { width: 100%; background: #fafbfc; border: 1px solid #ddd; } rect { stroke: #fff; }
.note { color: #666; }
</style></head><body>
<h1>$title</h1>
<div class="figures">$figures</div>
<h2>Where groups ran</h2>
<p class="note">One row for each hardware thread of $part, time to the right in instructions.
Colors are groups.</p>
$placement
<h2>Occupancy</h2>
$occupancy
<h2>Instructions</h2>
$mix
<h2>Memory</h2>
$memory
<p class="note">$models</p>
</body></html>
"""
)


def page(profile: Profile, schedule: Schedule) -> str:
    """HTML with style and pictures inside; it loads nothing."""
    name = profile.grid.function.name if profile.grid else "a run"
    return _PAGE.substitute(
        title=escape(f"{name} on {schedule.part.name}"),
        part=escape(schedule.part.name),
        figures="".join(_figure(value, what) for value, what in _figures(profile, schedule)),
        placement=_placement(schedule),
        occupancy=_table(
            ("subslice or pool", "hardware threads", "groups at once", "threads used", "limit"),
            (
                (
                    str(o.pool.index),
                    str(o.pool.threads),
                    str(o.groups),
                    f"{o.share:.0%}",
                    o.limit or "too large",
                )
                for o in schedule.occupancy
            ),
        ),
        mix=_mix(profile),
        memory=_table(
            ("space", "kind", "messages", "lanes", "bytes"),
            (
                (space, kind, f"{t.messages:,}", f"{t.lanes:,}", f"{t.bytes:,}")
                for (space, kind), t in sorted(profile.traffic.items())
            ),
        ),
        models=escape(_models(profile)),
    )


def _figures(profile: Profile, schedule: Schedule) -> Iterable[tuple[str, str]]:
    yield f"{int(profile.used.sum()):,}", "instructions"
    yield f"{len(profile.used):,}", "threads"
    yield f"{profile.lane_utilisation:.1%}", "of lanes at work"
    yield f"{schedule.busy:.1%}", "of hardware threads busy"
    if profile.slm.accesses:
        yield f"{profile.slm.clocks / profile.slm.accesses:.2f}", "clocks an SLM access"
    if profile.l3 is not None and profile.l3.hits.total() + profile.l3.misses.total():
        hits = profile.l3.hits.total()
        yield f"{hits / (hits + profile.l3.misses.total()):.1%}", "L3 hits"


def _figure(value: str, what: str) -> str:
    return f'<div class="figure"><b>{escape(value)}</b>{escape(what)}</div>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{titles}</tr>{body}</table>"


def _mix(profile: Profile) -> str:
    total = profile.mix.total() or 1
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{count:,}</td><td>{count / total:.1%}</td>"
        f'<td class="left"><span class="bar" style="width:{300 * count / total:.0f}px"></span>'
        "</td></tr>"
        for name, count in profile.mix.most_common(_MOST_ROWS)
    )
    head = "<tr><th>mnemonic</th><th>issued</th><th>share</th><th></th></tr>"
    return f"<table>{head}{rows}</table>"


def _placement(schedule: Schedule) -> str:
    """A row of rectangles for each hardware thread."""
    part, height = schedule.part, 4
    rows = {unit: k * part.threads_per_eu for k, unit in enumerate(part.units)}
    ticks = max(1, schedule.ticks)
    shown: list[str] = []
    for placement in schedule.placements:
        color = f"hsl({placement.group * 47 % 360},60%,60%)"
        for slot, end in zip(placement.slots, placement.ends, strict=True):
            if len(shown) >= _MOST_BARS:
                break
            x, width = placement.start / ticks, (end - placement.start) / ticks
            y = (rows[slot.unit] + slot.thread) * height
            shown.append(
                f'<rect x="{1000 * x:.2f}" y="{y}" width="{1000 * width:.2f}" height="{height}"'
                f' fill="{color}" stroke-width="0.3"><title>group {placement.group}</title></rect>'
            )
    size = f'viewBox="0 0 1000 {part.threads * height}" preserveAspectRatio="none" height="420"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(shown)}</svg>'


def _models(profile: Profile) -> str:
    words = []
    if profile.slm.accesses:
        slm = profile.slm
        words.append(
            f"Shared local memory: {slm.accesses:,} accesses took {slm.clocks:,} clocks,"
            f" {slm.conflicts:,} of them for bank conflicts."
        )
    return " ".join([*words, *l3_words(profile)])


def l3_words(profile: Profile) -> list[str]:
    """What the model of the L3 has counted, client by client."""
    l3 = profile.l3
    if l3 is None:
        return []
    words = [
        f"L3, {client} ({l3.ways(client)} of {l3.bank_ways} ways, {l3.banks} banks):"
        f" {l3.hits[client]:,} hits, {l3.misses[client]:,} misses, {l3.hit_rate(client):.1%} hits."
        for client in sorted(l3.hits | l3.misses)
    ]
    written = l3.writebacks + l3.dirty
    return [*words, f"L3: {l3.fills:,} lines filled, {written:,} written back or modified."]
