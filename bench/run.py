"""Speed of the engines against the CPU's own OpenCL runtimes, in one run, interleaved.

    python bench/run.py [--only NAME ...] [--engines jit pocl ...] [--rounds N] [--no-figures]
                        [--json FILE] [--markdown FILE] [--readme README.md]

Every engine runs an item once to warm up (that compiles it), and that result is compared with
NumPy's; then the engines take turns, and the least CPU time (of all threads) and the least wall
time of each count.  Engines that are not installed are skipped with a reason.  Slow engines run a
smaller size of their own and are compared with the fast engine at that size.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import checking
import figures
import host
import native_levels
import observing
import report
from contest import contest
from engines import engines, find_drivers
from items import ITEMS

ENGINES = ("jit", "interp", "pocl", "intel", "oclgrind")
_TYPICAL = ("saxpy", "sgemm", "reduce", "black_scholes", "mandelbrot", "private_array")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure_figures(items: list[Any]) -> dict[str, Any]:
    """Everything beside the contest."""
    _say("starting, launching, two cores")
    found: dict[str, Any] = {
        "cold_start": figures.cold_start(),
        "launching": figures.launching(),
        "scaling": figures.scaling(),
        "checking": checking.checking(),
        "observing": observing.observing(),
        "levels": native_levels.measure(),
    }
    _say("compiling, memory")
    small = {item.name: item.small() for item in items if item.small}
    found["compiling"] = {name: figures.compiling(item) for name, item in small.items()}
    found["first_results"] = figures.first_results(small.values())
    found["memory"] = {n: figures.memory(item) for n, item in small.items() if n in _TYPICAL}
    return found


def text_of(run: dict[str, Any]) -> str:
    lines = [f"# Results\n\n{run['date']}. `{run['command']}`", ""]
    lines += [f"{line}  " for line in report.host_lines(run["host"])]
    lines += [f"{name}: {version}  " for name, version in run["engines"].items()]
    lines += [f"Skipped {name}: {reason}  " for name, reason in run["missing"].items()]
    lines += ["", *report.summary_lines(run["results"]), *report.figure_lines(run["figures"])]
    lines += ["", _LEGEND, "", report.table(run["results"], run["host"])]
    if found := run["figures"].get("levels"):
        lines += ["", *native_levels.lines(found)]
    return "\n".join(lines) + "\n"


_LEGEND = """\
Columns PoCL to interp: how many times the fast engine's CPU time theirs is (the better rival also
in wall time); Oclgrind and the interpreter at a smaller size of their own. The limit is what
arithmetic or memory traffic of the algorithm would take on one core of this host at its measured
peaks; the last column is that time divided by ours. Times are the least of several rounds; on a
loaded machine wall times, and with them two cores against two processes, mean little."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--engines", nargs="*", default=ENGINES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-figures", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--readme", type=Path, help="a file with marks around a short table")
    options = parser.parse_args()
    drivers = find_drivers()
    with drivers, tempfile.TemporaryDirectory() as cache:
        os.environ["EUMU_CACHE_DIR"] = cache
        contestants, missing = engines(list(options.engines))
        for name, reason in missing.items():
            print(f"skipped {name}: {reason}")
        items = [i for i in ITEMS if not options.only or i.name in options.only]
        run: dict[str, Any] = {
            "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
            "command": "make bench",
            "host": host.measure(),
            "engines": {e.name: e.version for e in contestants},
            "missing": missing,
            "results": [],
            "figures": {},
        }
        for item in items:
            _say(item.name)
            run["results"].append(contest(item, contestants, options.rounds))
        if not options.no_figures:
            run["figures"] = measure_figures(items)
    print(text_of(run))
    if options.json:
        options.json.write_text(json.dumps(run, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(text_of(run))
    if options.readme:
        options.readme.write_text(report.into_readme(options.readme.read_text(), run))


if __name__ == "__main__":
    main()
