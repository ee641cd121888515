"""Runs clean kernels with a check: whatever is found is a false finding, or needs an explanation.

    python tests/findings/clean.py [--check all] [--devices D,D] [--engine jit] [--only NAME ...]

takes the cases of `tests/kernels`, as compiled and kept, or compiled now for other devices and for
checks of which programs say more when they are built for them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "src")]

import eumu  # noqa: E402
from eumu.exec.checks import COPIES, INDICES, checks  # noqa: E402
from kernels import build, references  # noqa: E402
from kernels.case import Buffer, Case, Local  # noqa: E402


@cache
def _program(name: str, device: str, check: str) -> eumu.Program:
    program = next(p for p in build.PROGRAMS if p.name == name)
    if checks(check) & {COPIES, INDICES}:
        return eumu.build(program.path, device, program.options, check=check)
    elf = program.elf(device)
    return eumu.load(elf) if elf.exists() else eumu.build(program.path, device, program.options)


def findings(case: Case, device: str, check: str, engine: str = "interp") -> list[str]:
    """What a checked run of a case finds, a line each."""
    dev = eumu.Device(device, engine=engine, check=check, sink=lambda text: None)
    args: list[Any] = []
    for given in case.make(case).args:
        if isinstance(given, Buffer):
            args.append(dev.array(np.ascontiguousarray(given.array)))
        else:
            args.append(eumu.Local(given.size_bytes) if isinstance(given, Local) else given.value)
    kernel = _program(case.program, device, check)[case.kernel]
    report = kernel.launch(dev, case.global_size, case.local_size, args)
    return [str(f) for f in report.findings if f.severity is not eumu.errors.Severity.NOTE]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", default="races")
    parser.add_argument("--devices", default="skl,pvc,apl,dg2,tgllp")
    parser.add_argument("--engine", default="interp")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for device in given.devices.split(","):
        for case in references.CASES:
            program = next(p for p in build.PROGRAMS if p.name == case.program)
            if device in program.cannot or (given.only and case.program not in given.only):
                continue
            try:
                found = findings(case, device, given.check, given.engine)
            except eumu.BuildError:
                counts["not for this device"] += 1  # doubles, for example
                continue
            counts["with findings" if found else "clean"] += 1
            for text in found:
                print(f"{device} {case.id}: {text}", flush=True)
    print(dict(counts))
    return 1 if counts["with findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
