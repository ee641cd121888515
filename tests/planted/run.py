"""Plants faults into clean kernels and looks for them with all checks.

    python tests/planted/run.py [--count 400] [--log FILE] [--only WORD]

The kernels are those of `tests/kernels` and `bench/kernels`, with the arguments of their tests.  A
fault is found if a finding or a fault has a code that fits and the line of the edit; or, where a
statement is gone or the line is a loop's, a line of what it was for: the kernel
had none before.  What the log has already is counted, and not run again.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "src")]
sys.path.append(str(ROOT / "bench"))

import numpy as np  # noqa: E402
from item import LocalBytes  # noqa: E402
from items import ITEMS  # noqa: E402

import eumu  # noqa: E402
from kernels import build, references  # noqa: E402
from kernels.case import Buffer, Local  # noqa: E402
from planted.mutants import Mutant, mutants  # noqa: E402

FUEL = 1 << 18
# Edits that are no faults: nobody reads what another work item wrote.  In the last pass of fft.cl
# each work item writes the four points that it reads behind the barrier.
NO_FAULT = {
    ("histogram64.cl", "dropped barrier", 12),
    ("histogram64.cl", "wrong scope", 12),
    ("fft.cl", "dropped barrier", 33),
    ("fft.cl", "wrong scope", 33),
    ("scan.cl", "dropped barrier", 26),  # the last round leaves each what it reads then
    ("scan.cl", "wrong scope", 26),
}
Launch = tuple[str, tuple[int, ...], tuple[int, ...] | None, list[Any]]


class Clean:
    """A clean source and how it is launched."""

    def __init__(self, path: Path, options: str, launches: list[Launch]) -> None:
        self.path, self.options, self.launches = path, options, launches
        self.text = path.read_text(encoding="utf-8")

    def findings(self, source: str, device: str) -> list[eumu.Finding]:
        """What all launches of a source find, with faults; ToolError if it does not compile."""
        program = eumu.build(source, device, self.options)
        found: list[eumu.Finding] = []
        for name, size, local, args in self.launches:
            dev = eumu.Device(device, check="all", sink=lambda text: None)
            given = [
                dev.array(x)
                if isinstance(x, np.ndarray) and x.ndim and x.size > 16
                else dev.array(x.array)
                if isinstance(x, Buffer)
                else x
                for x in args
            ]
            try:
                found += program[name].launch(dev, size, local, given, fuel=FUEL).findings
            except eumu.Fault as fault:
                found += [fault.finding, *fault.findings]
        return found


@cache
def sources() -> tuple[Clean, ...]:
    """Every source, with the launches of its cases."""
    return tuple(_sources())


def _sources() -> Iterator[Clean]:
    for program in build.PROGRAMS:
        cases = [c for c in references.CASES if c.program == program.name]
        if not cases or program.name.startswith(
            ("arithmetic", "convert", "math", "empty", "print")
        ):
            continue
        launches = [
            (
                *(c.kernel, c.global_size, c.local_size),
                [
                    eumu.Local(x.size_bytes)
                    if isinstance(x, Local)
                    else x
                    if isinstance(x, Buffer)
                    else x.value
                    for x in c.make(c).args
                ],
            )
            for c in cases
        ]
        yield Clean(program.path, program.options, launches)
    for item in ITEMS:
        if item.small is None or "bench" not in str(item.source):
            continue
        small = item.small()
        data = small.data(np.random.default_rng(1))
        launches = []
        for step in small.steps:
            args = [data[name] for name in step.args]
            args = [
                eumu.Local(x.size)
                if isinstance(x, LocalBytes)
                else Buffer(x)
                if isinstance(x, np.ndarray) and x.ndim
                else x
                for x in args
            ]
            launches.append((step.kernel, step.global_size, step.local_size, args))
        yield Clean(item.source, small.source_options, launches)


def is_found(mutant: Mutant, found: list[eumu.Finding]) -> bool:
    for finding in found:
        lines = {finding.line, *(other.line for other in finding.related)}
        if finding.code in mutant.codes and (not mutant.at_line or mutant.line in lines):
            return True
    return False


def sample(count: int, seed: int = 1) -> list[tuple[Clean, Mutant, str]]:
    """So many mutants, each with the device that it is for: as many of each kind as there are."""
    made = [
        (clean, mutant)
        for clean in sources()
        for mutant in mutants(clean.text)
        if (clean.path.name, mutant.operator, mutant.line) not in NO_FAULT
    ]
    random.Random(seed).shuffle(made)
    kinds: dict[str, list[tuple[Clean, Mutant]]] = {}
    for clean, mutant in made:
        kinds.setdefault(mutant.operator, []).append((clean, mutant))
    chosen: list[tuple[Clean, Mutant]] = []
    while len(chosen) < count and any(kinds.values()):
        for rest in kinds.values():
            if rest and len(chosen) < count:
                chosen.append(rest.pop())
    return [(c, m, m.device or ("pvc", "skl")[k % 2]) for k, (c, m) in enumerate(chosen)]


def look(clean: Clean, mutant: Mutant, device: str) -> str:
    """`found`, `refused` by the compiler, or what was found instead."""
    try:
        found = clean.findings(mutant.source, device)
    except eumu.EumuError as error:
        return f"refused: {str(error).splitlines()[0]}"
    if is_found(mutant, found):
        return "found"
    return "missed: " + "; ".join(f"{f.code} in line {f.line}" for f in found)


def logged(log: Path | None) -> dict[str, str]:
    """What a log says of mutants that were run before, by their names; the last line counts."""
    if log is None or not log.exists():
        return {}
    lines = (line.partition(": ") for line in log.read_text().splitlines())
    return {title: said for title, _, said in lines}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--only", default="")
    parser.add_argument("--log", type=Path, default=None)
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    known = logged(given.log)
    for clean, mutant, device in sample(given.count):
        if given.only not in f"{clean.path.name} {mutant.operator}":
            continue
        title = f"{clean.path.name} {device} {mutant.name}"
        said = known.get(title) or look(clean, mutant, device)
        counts.setdefault(mutant.operator, Counter())[said.partition(":")[0]] += 1
        if title in known:
            continue
        line = f"{title}: {said}"
        if said != "found":
            print(line, "|", mutant.source.split("\n")[mutant.line - 1].strip(), flush=True)
        if given.log:
            with given.log.open("a") as log:
                log.write(line + "\n")
    total: Counter[str] = Counter()
    for operator, row in counts.items():
        total += row
        print(f"{operator}: {dict(row)}")
    judged = total["found"] + total["missed"]
    print(
        f"{total['found']} of {judged} found, {total['found'] / max(1, judged):.1%}; {dict(total)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
