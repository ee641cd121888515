"""Runs kernels that race, and others, and compares reports to the byte.

    python tests/findings/same_reports.py [--devices skl,pvc] [--seeds 0,1,7] [--only NAME ...]

Kernels are those of races.cl, named.cl (pvc) and copies.cl, and the planted faults that drop or
weaken a barrier; each runs on the interpreter and on the fast engine with one worker and with two,
for every seed.  What `eumu run --format json` would print of the findings must be the same bytes in
every run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "src"), str(HERE.parent)]

import eumu  # noqa: E402
from eumu.exec.jit import Jit  # noqa: E402
from eumu.reports.formats import record  # noqa: E402
from kernels.case import Buffer  # noqa: E402
from planted.mutants import mutants  # noqa: E402
from planted.run import Launch, sources  # noqa: E402

BARRIERS = ("dropped barrier", "wrong scope")


def cases(device: str) -> Iterator[tuple[str, eumu.Program, list[Launch]]]:
    """Programs and their launches."""
    for name in ("races", "copies", *(["named"] if device == "pvc" else [])):
        program = eumu.load(HERE / f"{name}.cl", device=device, check="copies")
        sizes = (8, 4) if name == "copies" else (128, 64)
        for kernel in program.kernels:
            args: list[Any] = [np.zeros(512, np.int32)]
            if len(kernel.args) > 1:
                args.append(eumu.Local(1024) if name == "copies" else 3)
            if kernel.name == "neighbours_bytes":
                args[0] = args[0].view(np.int8)
            yield f"{name} {kernel.name}", program, [(kernel.name, (sizes[0],), (sizes[1],), args)]
    for clean in sources():
        for mutant in mutants(clean.text):
            if mutant.operator in BARRIERS:
                try:
                    program = eumu.build(mutant.source, device, clean.options)
                except eumu.BuildError:
                    continue
                yield f"{clean.path.name} {mutant.operator} {mutant.line}", program, clean.launches


def report(
    program: eumu.Program, launches: list[Launch], device: str, workers: int, seed: int
) -> str:
    """What is found in all launches, as text; `workers` 0 for the interpreter."""
    found: list[eumu.Finding] = []
    for name, size, local, args in launches:
        dev = eumu.Device(device, "jit" if workers else "interp", check="races,copies")
        dev.memory.sink = lambda text: None
        if workers:
            dev.use("jit", Jit(workers))
        given = [
            dev.array(getattr(x, "array", x))
            if isinstance(x, Buffer) or (isinstance(x, np.ndarray) and x.size > 16)
            else x
            for x in args
        ]
        try:
            found += program[name].launch(dev, size, local, given, seed=seed).findings
        except eumu.Fault as fault:
            found += [*fault.findings, fault.finding]
        except eumu.Unsupported as error:
            return f"unsupported: {error}"
    return json.dumps([record(f) for f in found], sort_keys=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--devices", default="skl,pvc")
    parser.add_argument("--seeds", default="0,1,7")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    seeds = [int(seed) for seed in given.seeds.split(",")]
    others = racing = kernels = runs = 0
    for device in given.devices.split(","):
        for name, program, launches in cases(device):
            if given.only not in name:
                continue
            texts = [
                report(program, launches, device, workers, seed)
                for seed in seeds
                for workers in (0, 1, 2)
            ]
            kernels, runs = kernels + 1, runs + len(texts)
            racing += '"race"' in texts[0]
            if len(set(texts)) > 1:
                others += 1
                print(f"{device} OTHERWISE: {name}: {len(set(texts))} reports", flush=True)
            print(f"{device} {name}: {kernels} kernels, {racing} race, {runs} runs", flush=True)
    print(
        f"{runs} runs of {kernels} kernels, {racing} of which race: {others} with several reports"
    )
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
