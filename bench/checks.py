"""What looking for mistakes costs, item by item, and the same of Oclgrind.

    python bench/checks.py [--only NAME ...] [--rounds 5] [--no-rival]

Each item runs at full size on the fast engine without checks, with the cheap ones, and with races;
times are the least of several rounds, in CPU seconds of all threads and in wall seconds.  A launch
that looks for races has one worker.  At the small sizes eumu is compared with Oclgrind
and its detector of races (OCLGRIND_DATA_RACES), in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import numpy as np  # noqa: E402
from contest import clocked  # noqa: E402
from engines import Emulator, OpenCL, find_drivers  # noqa: E402
from item import Item  # noqa: E402
from items import ITEMS  # noqa: E402

CHECKS = ("", "cheap", "races")
_ENOUGH = 4.0  # seconds for an item and a check, at least two rounds


def measure(engine: Any, item: Item, rounds: int) -> tuple[float, float]:
    """Least CPU and wall seconds of an item, after a first run; RuntimeError if it is wrong."""
    data = item.data(np.random.default_rng(1))
    run, read = engine.prepare(item, data)
    run()
    wrong = item.mismatch(data, read())
    if wrong:
        raise RuntimeError(f"{item.name}: {wrong}")
    found, started = [], time.perf_counter()
    while len(found) < rounds and (len(found) < 2 or time.perf_counter() - started < _ENOUGH):
        found.append(clocked(run, 1))
    return min(cpu for cpu, _ in found), min(wall for _, wall in found)


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(statistics.fmean(math.log(value) for value in values))


def rivals(names: list[str]) -> dict[str, float]:
    """Wall seconds of Oclgrind with its detector of races, small sizes; of those that it runs."""
    line = [sys.executable, __file__, "--rival", *names]
    env = {**os.environ, "OCLGRIND_DATA_RACES": "1", "OCLGRIND_LOG": os.devnull}
    found = subprocess.run(line, env=env, stdout=subprocess.PIPE, check=True).stdout
    return dict(json.loads(found.splitlines()[-1]))


def _rival(names: list[str]) -> dict[str, float]:
    keep = find_drivers()  # noqa: F841  # a folder that is there as long as this
    found = {}
    for item in _items(names):
        if item.small is None:
            continue
        try:
            engine = OpenCL("oclgrind", "oclgrind")
            found[item.name] = measure(engine, item.small(), 1)[1]
        except Exception as error:  # what a rival does may fail in any way
            print(f"oclgrind, {item.name}: {type(error).__name__}: {error}", file=sys.stderr)
    return found


def _items(names: list[str]) -> list[Item]:
    return [item for item in ITEMS if not names or item.name in names]


def costs(names: list[str], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """By check: how many times an ordinary run each item takes, CPU and wall; printed, too."""
    found: dict[str, list[tuple[float, float]]] = {check: [] for check in CHECKS[1:]}
    for item in _items(names):
        times = {c: measure(Emulator("jit", c or False), item, rounds) for c in CHECKS}
        for check, rows in found.items():
            rows.append((times[check][0] / times[""][0], times[check][1] / times[""][1]))
        words = ", ".join(f"{c} {rows[-1][0]:.2f} ({rows[-1][1]:.2f})" for c, rows in found.items())
        print(f"{item.name}: {times[''][1] * 1e3:.2f} ms; {words}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-rival", action="store_true")
    parser.add_argument("--rival", nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rival is not None:
        print(json.dumps(_rival(given.rival)))
        return
    for check, rows in costs(given.only, given.rounds).items():
        cpu, wall = (mean([row[k] for row in rows]) for k in (0, 1))
        print(
            f"{check}: {cpu:.2f} times the CPU time, {wall:.2f} times the time; {len(rows)} items"
        )
    if given.no_rival:
        return
    ratios = []
    for item in _items(given.only):
        theirs = None if item.small is None else rivals([item.name]).get(item.name)
        if theirs is not None:
            ours = measure(Emulator("jit", "races"), item.small(), given.rounds)[1]
            ratios.append(theirs / ours)
            print(
                f"{item.name}, small: {ours * 1e3:.2f} ms, Oclgrind {theirs * 1e3:.1f} ms",
                flush=True,
            )
    if ratios:
        print(f"Oclgrind with races: {mean(ratios):.0f} times eumu's time; {len(ratios)} items")


if __name__ == "__main__":
    main()
