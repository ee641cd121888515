"""Native Gen9 code against the vISA of the same kernels, both on the fast engine.

    python bench/levels.py [ITEM ...]

prints the CPU time of each level and their ratio.  Items are those of the contest that the compiler
has made for Apollo Lake.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from contest import clocked
from engines import Prepared
from foundation import FOUNDATION
from item import ROOT, Data, Item, LocalBytes

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
        program = eumu.load(_binary(item))
        given: dict[str, Any] = {}
        for name, value in data.items():
            if isinstance(value, LocalBytes):
                given[name] = eumu.Local(value.size)
            else:
                given[name] = device.array(value) if isinstance(value, np.ndarray) else value
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


def main(names: list[str]) -> int:
    ratios, failures = [], 0
    print(f"{'item':<18}{'vISA ms':>10}{'native ms':>11}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["EUMU_CACHE_DIR"] = cache
        for item in FOUNDATION:
            if (names and item.name not in names) or not _binary(item).exists():
                continue
            visa, native, wrong = ratio(item)
            ratios.append(native / visa)
            failures += bool(wrong)
            print(
                f"{item.name:<18}{1e3 * visa:>10.2f}{1e3 * native:>11.2f}{native / visa:>7.2f}"
                f"  {wrong}",
                flush=True,
            )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of {len(ratios)}: {mean:.2f}")
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
