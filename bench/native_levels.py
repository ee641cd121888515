"""Native Gen9 code against the vISA of the same kernels: measuring, and the section of the results.

Items are those of the contest that the compiler has made for Apollo Lake.
"""

from __future__ import annotations

import datetime
import math
import os
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from contest import clocked
from engines import Prepared, arguments
from foundation import FOUNDATION
from item import ROOT, Data, Item

DEVICE = "apl"
BINARIES = ROOT / "tests" / "kernels" / "bin" / DEVICE
_ROUNDS = 7
_TURN = 0.02  # seconds


@dataclass(frozen=True, slots=True)
class Level:
    """The fast engine at one level of code."""

    name: str

    def prepare(self, item: Item, data: Data) -> Prepared:
        import eumu

        device = eumu.Device(DEVICE, engine="jit")
        program, given = eumu.load(_binary(item)), arguments(device, data)
        steps = [(program[s.kernel], s, [given[name] for name in s.args]) for s in item.steps]

        def run() -> None:
            for kernel, step, args in steps:
                sizes = step.global_size, step.local_size
                kernel.launch(device, *sizes, args, level=self.name)

        def results() -> Data:
            return {n: a.numpy() for n, a in given.items() if isinstance(a, eumu.Array)}

        return run, results


def _binary(item: Item) -> Path:
    return BINARIES / f"{item.program}.bin"


def ratio(item: Item) -> tuple[float, float, str]:
    """CPU seconds of vISA and of native code, and what is wrong with the latter's results."""
    levels = [Level("visa"), Level("native")]
    prepared = [level.prepare(item, item.data(np.random.default_rng(1))) for level in levels]
    for run, _ in prepared:
        run()
    before = item.data(np.random.default_rng(1))
    wrong = item.mismatch(before, prepared[1][1]())
    best, repeats = [math.inf, math.inf], 1
    for _ in range(_ROUNDS):
        for k, (run, _) in enumerate(prepared):
            cpu, wall = clocked(run, repeats)
            best[k] = min(best[k], cpu)
            repeats = max(1, min(200, int(_TURN / max(wall, 1e-6))))
    return best[0], best[1], wrong


def measure(names: Container[str] = ()) -> dict[str, Any]:
    """The date, and for each item its times in CPU seconds and what is wrong with its results."""
    rows = []
    with tempfile.TemporaryDirectory() as cache, kept("EUMU_CACHE_DIR", cache):
        for item in FOUNDATION:
            if (not names or item.name in names) and _binary(item).exists():
                visa, native, wrong = ratio(item)
                rows.append({"item": item.name, "visa": visa, "native": native, "wrong": wrong})
    return {"date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC", "rows": rows}


@contextmanager
def kept(name: str, value: str) -> Iterator[None]:
    """An environment variable for the time of the context."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def mean(found: dict[str, Any]) -> float:
    """The geometric mean of the ratios."""
    ratios = [row["native"] / row["visa"] for row in found["rows"]]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def lines(found: dict[str, Any]) -> list[str]:
    """A Markdown section."""
    text = [
        "## Native code against vISA",
        "",
        f"{found['date']}. `python bench/levels.py`: both levels of kernels that Intel's compiler"
        f" made for `{DEVICE}`,",
        f"on the fast engine, in turns; CPU time, the least of {_ROUNDS} rounds. Native code takes"
        f" {mean(found):.2f} times as long",
        f"(geometric mean of {len(found['rows'])}).",
        "",
        "| item | vISA ms (CPU) | native ms (CPU) | native / vISA |",
        "|---|---|---|---|",
    ]
    for row in found["rows"]:
        times = f"{1e3 * row['visa']:.2f} | {1e3 * row['native']:.2f}"
        wrong = f" wrong: {row['wrong']}" if row["wrong"] else ""
        text.append(f"| {row['item']} | {times} | {row['native'] / row['visa']:.2f}{wrong} |")
    return text
