"""One page, with everything in it, that says how a run went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from string import Template
from typing import Final

from eumu.device.chip import Part
from eumu.device.dispatch import Schedule
from eumu.device.profile import Profile
from eumu.reports import fidelity
from eumu.reports.placement import occupancy_rows, picture

_MOST_ROWS: Final = 20  # of the instruction mix

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
svg { width: 100%; font: 12px system-ui, sans-serif; fill: #333; }
svg line { stroke: #555; } svg .cut { stroke: #aaa; } svg .row { stroke: #fff; }
svg rect { shape-rendering: crispEdges; } svg .edge { fill: none; stroke: #fff; }
svg .number { font-size: 9px; text-anchor: middle; }
.note { color: #666; }
</style></head><body>
<h1>$title</h1>
<div class="figures">$figures</div>
<h2>Where groups ran</h2>
<p class="note">On $part$made_by; a tick of time is an instruction of each thread.</p>
$placement
<h2>Occupancy</h2>
$occupancy
<h2>Instructions</h2>
$mix
<h2>Fidelity</h2>
<p>$fidelity</p>
$inexact
$reached
<h2>Memory</h2>
$memory
<p class="note">$models</p>
</body></html>
"""
)


def page(profile: Profile, schedule: Schedule, made_by: str = "") -> str:
    """HTML with style and pictures inside; it loads nothing.

    `made_by` is the compiler of the program, as `Program.made_by` has it.
    """
    name = profile.grid.function.name if profile.grid else "a run"
    return _PAGE.substitute(
        title=escape(f"{name} on {schedule.part.name}"),
        part=escape(schedule.part.name),
        made_by=escape(f"; the program was made by {made_by}" if made_by else ""),
        figures="".join(_figure(value, what) for value, what in _figures(profile, schedule)),
        placement=picture(schedule),
        occupancy=_table(
            ("subslice or pool", "hardware threads", "groups at once", "threads used", "limit"),
            occupancy_rows(schedule.occupancy),
        ),
        mix=_mix(profile),
        **_fidelity(profile),
        memory=_table(
            ("space", "kind", "messages", "lanes", "bytes"),
            (
                (space, kind, f"{t.messages:,}", f"{t.lanes:,}", f"{t.bytes:,}")
                for (space, kind), t in sorted(profile.traffic.items())
            ),
        ),
        models=escape(_models(profile, schedule)),
    )


def _figures(profile: Profile, schedule: Schedule) -> Iterable[tuple[str, str]]:
    yield f"{int(profile.used.sum()):,}", "instructions"
    yield f"{len(profile.used):,}", "threads"
    yield f"{profile.lane_utilisation:.1%}", "of lanes at work"
    yield f"{schedule.busy:.1%}", "of hardware threads busy"
    is_modelled = schedule.part.has_cache_model
    if profile.slm.accesses and is_modelled:
        yield f"{profile.slm.clocks / profile.slm.accesses:.2f}", "clocks an SLM access"
    if (
        is_modelled
        and profile.l3 is not None
        and profile.l3.hits.total() + profile.l3.misses.total()
    ):
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


def _fidelity(profile: Profile) -> dict[str, str]:
    record = fidelity.record(profile.fidelity)
    inexact = (
        (fidelity.said(row), f"{row['issued']:,}", row["level"], row["detail"])
        for row in record["inexact"]
    )
    reached = (
        (
            fidelity.said(row),
            row["reached"],
            f"{row['lanes']:,}",
            ", ".join(map(fidelity.said, row["from"])),
        )
        for row in record["reached"]
    )
    tables = {
        "inexact": (("instruction", "issued", "level", "what that is"), inexact),
        "reached": (("instruction", "reached", "lanes", "from"), reached),
    }
    return {
        "fidelity": escape(" ".join(fidelity.sentences(record))),
        **{name: _table(*table) if record[name] else "" for name, table in tables.items()},
    }


def _models(profile: Profile, schedule: Schedule) -> str:
    if not schedule.part.has_cache_model:
        return no_model(schedule.part)
    words = []
    if profile.slm.accesses:
        slm = profile.slm
        words.append(
            f"Shared local memory: {slm.accesses:,} accesses took {slm.clocks:,} clocks,"
            f" {slm.conflicts:,} of them for bank conflicts."
        )
    return " ".join([*words, *l3_words(profile)])


def no_model(part: Part) -> str:
    """Why there are no figures of caches."""
    return (
        f"L3 and banks of shared local memory: no model exists for {part.name}, as no public"
        " document has the tables of its caches."
    )


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
