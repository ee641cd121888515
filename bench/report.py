"""Tables and summaries of a benchmark run."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

from host import bound

RIVALS = ("pocl", "intel")
BATCH = 8192  # work-items from which on the interpreter is compared: it runs them together

Result = dict[str, Any]


def seconds(result: Result, engine: str, clock: str = "cpu", size: str = "full") -> float | None:
    """The least time, if the engine ran the item and its result was right."""
    times = result.get(size, {}).get(engine)
    return None if not times or times["wrong"] else float(times[clock])


def ratio(result: Result, rival: str, clock: str = "cpu", *, of: str = "eumu-jit") -> float | None:
    """How many times the rival's time is that of an engine of ours."""
    size = "full" if rival in RIVALS else "small"
    theirs, ours = (seconds(result, name, clock, size) for name in (rival, of))
    return theirs / ours if theirs and ours else None


def best_rival(result: Result, clock: str = "cpu") -> float | None:
    """Against the better of PoCL and Intel's runtime."""
    found = [v for name in RIVALS if (v := ratio(result, name, clock))]
    return min(found, default=None)


def geometric(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def summary(results: list[Result]) -> dict[str, Any]:
    """Geometric means, the worst items, and what was wrong."""
    better = {r["item"]: v for r in results if (v := best_rival(r))}
    wall = [v for r in results if (v := best_rival(r, "wall"))]
    means = {
        name: geometric([v for r in results if (v := ratio(r, name))])
        for name in (*RIVALS, "oclgrind", "eumu-interp")
    }
    interp = [
        v
        for r in results
        if r.get("small_work_items", 0) >= BATCH and (v := ratio(r, "oclgrind", of="eumu-interp"))
    ]
    worst = sorted(better, key=lambda name: better[name])
    wrong = [
        f"{r['item']} on {name} ({size}): {times['wrong']}"
        for r in results
        for size in ("full", "small")
        for name, times in r.get(size, {}).items()
        if times["wrong"]
    ]
    return {
        "better_rival_cpu": geometric(list(better.values())),
        "better_rival_wall": geometric(wall),
        "means": means,
        "interp_against_oclgrind": geometric(interp),
        "worst": [(name, better[name]) for name in worst[:3]],
        "below_0.7": [(name, better[name]) for name in worst if better[name] < 0.7],
        "wrong": wrong,
    }


def _cell(value: float | None, unit: str = "") -> str:
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.0f}{unit}" if value >= 100 else f"{value:.2f}{unit}"


def table(results: list[Result], host: dict[str, Any] | None) -> str:
    """One line an item, as Markdown."""
    titles = ["item", "jit ms (CPU)", "PoCL", "Intel", "better rival", "wall", "Oclgrind", "interp"]
    titles += ["Oclgrind / interp", "G lane-ops/s", "limit", "of the limit"]
    lines = [f"| {' | '.join(titles)} |", "|" + "---|" * len(titles)]
    for r in results:
        cpu = seconds(r, "eumu-jit")
        cells = [r["item"], _cell(cpu and cpu * 1e3)]
        cells += [_cell(ratio(r, name)) for name in RIVALS]
        cells += [_cell(best_rival(r)), _cell(best_rival(r, "wall"))]
        cells += [_cell(ratio(r, "oclgrind")), _cell(ratio(r, "eumu-interp"))]
        cells += [_cell(ratio(r, "oclgrind", of="eumu-interp"))]
        lane_ops = r.get("full", {}).get("eumu-jit", {}).get("lane_ops")
        cells.append(_cell(lane_ops / cpu / 1e9 if lane_ops and cpu else None))
        if host and cpu:
            least, limit = bound(host, r["flops"], r["bytes"])
            cells += [limit, f"{100 * least / cpu:.0f} %"]
        else:
            cells += ["–", "–"]
        lines.append(f"| {' | '.join(cells)} |")
    s = summary(results)
    means = [s["means"][name] for name in RIVALS]
    cells = ["**geometric mean**", "", *map(_cell, means), _cell(s["better_rival_cpu"])]
    cells += [_cell(s["better_rival_wall"]), _cell(s["means"]["oclgrind"])]
    cells += [_cell(s["means"]["eumu-interp"]), _cell(s["interp_against_oclgrind"]), "", "", ""]
    return "\n".join([*lines, f"| {' | '.join(cells)} |"])


_MARKS = "<!-- written by make bench -->", "<!-- until here -->"


def into_readme(text: str, run: dict[str, Any]) -> str:
    """A README with the table between its two marks made anew."""
    if [text.count(mark) for mark in _MARKS] != [1, 1]:
        raise SystemExit(f"the README has no {' … '.join(_MARKS)} for the table")
    before, rest = text.split(_MARKS[0])
    _, after = rest.split(_MARKS[1])
    body = "\n".join(_short_table(run))
    return f"{before}{_MARKS[0]}\n{body}\n{_MARKS[1]}{after}"


def _short_table(run: dict[str, Any]) -> list[str]:
    """Our CPU time for each item, and that of others in multiples of it."""
    results, host = run["results"], run["host"]
    lines = [
        f"{run['date']}, {host['cpu']} ({host['llvm_cpu']}), {host['cores']} cores, memory checks"
        f" on; `{run['command']}` repeats it. CPU time, and that of others in multiples of it:",
        "",
        "| kernel | eumu, ms | PoCL | Intel | Oclgrind |",
        "|---|---|---|---|---|",
    ]
    rivals = (*RIVALS, "oclgrind")
    for r in results:
        cpu = seconds(r, "eumu-jit")
        cells = [r["item"], _cell(cpu and cpu * 1e3), *(_cell(ratio(r, name)) for name in rivals)]
        lines.append(f"| {' | '.join(cells)} |")
    means = summary(results)["means"]
    last = ["**geometric mean**", "", *(f"**{_cell(means[name])}**" for name in rivals)]
    return [*lines, f"| {' | '.join(last)} |"]


def host_lines(host: dict[str, Any]) -> list[str]:
    rates = ", ".join(
        f"{int(size) >> 20} MiB: {rate / 1e9:.0f}" for size, rate in host["bandwidth"].items()
    )
    return [
        f"Host: {host['cpu']} ({host['llvm_cpu']}), {host['cores']} cores,"
        f" load {host['load']:.1f} when it began, Python {host['python']}.",
        f"One core: {host['flops'] / 1e9:.0f} GFLOP/s (fp32 multiply-add); GB/s of y += x by"
        f" footprint: {rates}.",
    ]


def figure_lines(figures: dict[str, Any]) -> list[str]:
    """The figures beside the contest, as a Markdown list."""
    lines = []
    for name, times in figures.get("cold_start", {}).items():
        lines.append(f"* `{name}`: {times['wall']:.2f} s wall, {times['cpu']:.2f} s CPU (median)")
    if launch := figures.get("launching"):
        wall, cpu = launch["wall"] * 1e6, launch["cpu"] * 1e6
        lines.append(f"* launch of an empty kernel: {wall:.0f} µs wall, {cpu:.0f} µs CPU (median)")
    if two := figures.get("scaling"):
        lines.append(
            f"* n-body, runs a second: {two['one']:.0f} on one core, {two['two_cores']:.0f} on two,"
            f" {two['two_processes']:.0f} by two processes: {two['ratio']:.2f} of these"
            f" (median of the rounds {two['median_ratio']:.2f})"
        )
    for name, row in figures.get("checking", {}).items():
        lines.append(
            f"* parse and verify, {name}: {row['cold']:,.0f} instructions a CPU second in a new"
            f" process, {row['again']:,.0f} again"
        )
    if cost := figures.get("observing"):
        fast = " and ".join(f"{cost[f'fast, {name}']:.2f} ({name})" for name in ("saxpy", "reduce"))
        lines.append(
            f"* fast engine on a device that could be observed and stopped, against the engine by"
            f" itself: {fast} of the CPU time; interpreter with counters {cost['counters']:.1f}×,"
            f" with bank conflicts {cost['slm']:.0f}×, with the L3 {cost['l3']:.0f}×"
        )
    if compiled := figures.get("compiling"):
        for part in ("parse", "lower", "compile", "cached"):
            values = sorted(row[part] * 1e3 for row in compiled.values())
            middle = values[len(values) // 2]
            name = {"cached": "load from the cache"}.get(part, part)
            lines.append(
                f"* {name} a kernel: {middle:.1f} ms CPU"
                f" (median; {values[0]:.1f} to {values[-1]:.1f})"
            )
    if first := figures.get("first_results"):
        walls, cpus = ([row[part] * 1e3 for row in first.values()] for part in ("wall", "cpu"))
        lines.append(
            f"* first result of a new kernel from Python: {median(walls):.1f} ms, of that"
            f" {median(cpus):.1f} ms CPU (medians; CPU {min(cpus):.1f} to {max(cpus):.1f})"
        )
    if kept := figures.get("memory"):
        for engine in ("jit", "interp"):
            values = sorted(row[engine] for row in kept.values())
            lines.append(
                f"* memory a thread, {engine}: {values[len(values) // 2] / 1024:.1f} KiB"
                f" (median; {values[0] / 1024:.1f} to {values[-1] / 1024:.1f})"
            )
    return lines


def summary_lines(results: list[Result]) -> list[str]:
    s = summary(results)
    lines = [
        f"* fast engine against the better rival: {s['better_rival_cpu']:.2f}× CPU time,"
        f" {s['better_rival_wall']:.2f}× wall time (geometric means)",
        "* slowest against it: " + ", ".join(f"{n} {v:.2f}×" for n, v in s["worst"]),
        f"* below 0.7×: {len(s['below_0.7'])} of {len(results)} items",
        f"* against Oclgrind (geometric means): fast engine {_cell(s['means']['oclgrind'])}×,"
        f" interpreter {_cell(s['interp_against_oclgrind'])}× (items of {BATCH} lanes or more)",
    ]
    speeds = [
        times["lane_ops"] / times["cpu"]
        for r in results
        if (times := r.get("small", {}).get("eumu-interp")) and times.get("lane_ops")
    ]
    if speeds:
        lines.append(
            f"* interpreter: {geometric(speeds) / 1e6:.0f} million lane operations a second of CPU"
        )
    return lines + [f"* wrong result: {text}" for text in s["wrong"]]
