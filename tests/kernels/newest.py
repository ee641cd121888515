"""The kernels of the tests by every compiler, for every device that it knows.

    python tests/kernels/newest.py [--old] [--devices bmg,lnl] [--engines jit] [--table]

compiles all of them and the rare features, runs what it can on both engines and prints what
became of each device; with `--table` the lines of docs/conformance.md.  The compiler is the newest
that `.ci/newest-ocloc .venv/newest-ocloc` unpacks, or with `--old` the one on the path.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "src")]

import eumu  # noqa: E402
from eumu import zebin  # noqa: E402
from eumu.zebin.compilers import VARIABLE, Compiler  # noqa: E402
from kernels import feature_references, references  # noqa: E402
from kernels.build import PROGRAMS, Program  # noqa: E402
from kernels.case import Buffer, Case, Local, Value  # noqa: E402

NEWEST = Path(sys.prefix, "newest-ocloc", "ocloc")
DEVICES = ("pvc", "dg2", "mtl", "arl", "bmg", "lnl", "ptl", "nvl", "nvlp", "cri")
OLD_DEVICES = ("pvc", "dg2", "skl", "apl")
ENGINES = ("interp", "jit")
FEATURES = feature_references.PROGRAMS


@dataclass(slots=True)
class Tally:
    """What became of the programs for one device; `refused` and `wrong` have a line each."""

    device: str
    version: str
    programs: int = 0
    built: int = 0
    runs: int = 0
    right: int = 0
    refused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    not_built: Counter[str] = field(default_factory=Counter)


@lru_cache(maxsize=4096)
def build(name: str, device: str) -> bytes:
    """The ELF of a kernel test or a feature; BuildError if the compiler does not make it."""
    known: dict[str, Program] = {p.name: p for p in PROGRAMS}
    if name in known:
        program = known[name]
        source, options, internal = program.path, program.options, ""
    else:
        feature = FEATURES[name]
        source, options, internal = feature.path, feature.options, feature.internal_options
    made = zebin.compile(source.read_text(), device, options, internal, name=source.name)
    return made.elf


@lru_cache(maxsize=64)
def load(name: str, device: str) -> eumu.Program:
    return eumu.load(build(name, device))


def _argument(device: eumu.Device, argument: Buffer | Local | Value) -> Any:
    match argument:
        case Buffer(array):
            return device.array(np.ascontiguousarray(array))
        case Local(size_bytes):
            return eumu.Local(size_bytes)
        case Value(value):
            return value


def run(case: Case, device: str, engine: str, *, newest: bool) -> str:
    """Build and run a case; the first wrong element in words, or an empty string."""
    return launch(load(case.program, device)[case.kernel], case, device, engine, newest=newest)


def launch(kernel: eumu.Kernel, case: Case, device: str, engine: str, *, newest: bool) -> str:
    """Run a case with a kernel of its program, however that was built."""
    setup = case.make(case)
    dev = eumu.Device(device, engine=engine, sink=lambda text: None)
    args = [_argument(dev, a) for a in setup.args]
    report = kernel.launch(dev, case.global_size, case.local_size, args)
    if report.engine != engine:
        return f"it ran on {report.engine}"
    for output in setup.outputs:
        got = args[output.argument].numpy()
        if wrong := output.as_compiled(newest=newest).mismatch(got):
            return wrong
    printed = sorted(report.printf.splitlines()) == sorted(setup.prints)
    return "" if printed else f"it printed {report.printf[:80]!r}"


def cases(device: str) -> Iterator[Case]:
    """Those of the kernel tests, and of the features whose results do not depend on the device."""
    yield from references.CASES
    for case in feature_references.CASES:
        if case.program in features_for(device) and case.program != "hardware_ids":
            yield case


def features_for(device: str) -> list[str]:
    """Features that devices of its kind have: those of pvc where registers have 64 bytes."""
    like = {"arl": "dg2", "mtl": "dg2", **dict.fromkeys(DEVICES[4:], "pvc")}
    kind = like.get(device, device)
    asked = [f for f in FEATURES.values() if kind in f.devices and not f.expect]
    if device == "mtl":  # no systolic array
        asked = [f for f in asked if "matrix" not in f.name]
    return [f.name for f in asked]


def tally(device: str, engines: tuple[str, ...], *, newest: bool, version: str) -> Tally:
    found = Tally(device, version)
    names = [p.name for p in PROGRAMS if newest or device not in p.cannot]
    built = set()
    for name in [*names, *features_for(device)]:
        found.programs += 1
        try:
            build(name, device)
        except eumu.BuildError as error:
            found.not_built[_reason(error)] += 1
            continue
        built.add(name)
    found.built = len(built)
    for case in cases(device):
        for engine in engines if case.program in built else ():
            found.runs += 1
            try:
                wrong = run(case, device, engine, newest=newest)
            except eumu.EumuError as error:
                kind = type(error).__name__
                found.refused.append(f"{case.id} ({engine}): {kind}: {_first_line(error)}")
                continue
            if wrong:
                found.wrong.append(f"{case.id} ({engine}): {wrong}")
            found.right += not wrong
    return found


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200]


def _reason(error: eumu.BuildError) -> str:
    """Why the compiler refuses a source, in few words."""
    if "double" in str(error):
        return "no double by default"
    return next((x for x in str(error).splitlines()[1:] if "error" in x), _first_line(error))[:160]


def row(found: Tally) -> str:
    """A line of the table."""
    why = "; ".join(f"{n} × {reason}" for reason, n in found.not_built.items())
    refused = "; ".join(found.refused) or "–"
    return (
        f"| {found.version} | {found.device} | {found.built} of {found.programs}"
        f"{f' ({why})' if why else ''} | {found.runs} | {found.right} | {refused} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--devices")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    path = shutil.which("ocloc") if options.old else str(NEWEST)
    if path is None or not Path(path).exists():
        print("there is no such compiler; .ci/newest-ocloc .venv/newest-ocloc unpacks the newest")
        return 2
    os.environ[VARIABLE] = path
    version = Compiler(path).version
    devices = OLD_DEVICES if options.old else DEVICES
    if options.devices:
        devices = tuple(options.devices.split(","))
    bad = 0
    for device in devices:
        found = tally(
            device, tuple(options.engines.split(",")), newest=not options.old, version=version
        )
        load.cache_clear()
        print(row(found), flush=True)
        if not options.table:
            for line in found.wrong:
                print(f"  wrong: {line}")
        bad += len(found.wrong) + len(found.refused)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
