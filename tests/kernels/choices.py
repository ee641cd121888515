"""Random choices of compiler options × kernels × devices: built, read, translated, some run.

    python tests/kernels/choices.py [--count 3000] [--first 0] [--seed 1] [--jobs 2]

A choice may end in a program, in right or other results (options change rounding), or in an error
that says why.  An internal error is a mistake of ours: it is printed, and the exit status is 1.
The compiler is the one that EUMU_OCLOC names, or the newest (`.ci/newest-ocloc`).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "src")]

import eumu  # noqa: E402
from eumu import zebin  # noqa: E402
from eumu.errors import InternalError  # noqa: E402
from kernels import feature_references, newest, references  # noqa: E402
from kernels.build import PROGRAMS  # noqa: E402

OPTIONS = [
    "-cl-std=CL1.2",
    "-cl-std=CL2.0",
    "-cl-std=CL3.0",
    "-cl-opt-disable",
    "-g",
    "-gline-tables-only",
    "-w",
    "-Werror",
    "-DX=1",
    "-cl-fast-relaxed-math",
    "-cl-mad-enable",
    "-cl-denorms-are-zero",
    "-cl-finite-math-only",
    "-cl-strict-aliasing",
    "-cl-single-precision-constant",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-kernel-arg-info",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-uniform-work-group-size",
    "-cl-no-subgroup-ifp",
    "-cl-intel-256-GRF-per-thread",
    "-cl-intel-128-GRF-per-thread",
    "-cl-intel-enable-auto-large-GRF-mode",
    "-cl-intel-greater-than-4GB-buffer-required",
    "-cl-intel-has-buffer-offset-arg",
    "-cl-fp64-gen-emu",
    "-cl-poison-unsupported-fp64-kernels",
    "-cl-intel-static-profile-guided-trimming",
    "-no-such-option",
]
INTERNAL = (
    "-cl-intel-use-bindless-mode",
    "-cl-intel-use-bindless-mode -cl-intel-use-bindless-advanced-mode",
    "-cl-intel-use-bindless-images",
    "-cl-store-cache-default=2 -cl-load-cache-default=4",
    *("-cl-intel-has-dynamic-resource", "-ze-intel-enable-auto-large-GRF-mode"),
    *("-cl-intel-allow-zebin", "-ze-exp-register-file-size=256", "-ze-opt-large-register-file"),
    *("-ze-intel-128-GRF-per-thread", "-ze-opt-disable-sendwarwa", "-ze-take-global-address"),
    *("-ze-exclude-ir-from-zebin", "-ze-opt-use-bindless-mode", "-ze-force-disable-4GB-buffer"),
)
CASES = (*references.CASES, *feature_references.CASES)


def choose(seed: int, index: int) -> str:
    """What became of a choice, in few words; "internal: ..." is a mistake."""
    rng = random.Random(f"{seed}/{index}")
    case = rng.choice(CASES)
    device = rng.choice(newest.DEVICES)
    options = rng.sample(OPTIONS, rng.choice((0, 1, 1, 2, 3)))
    internal = rng.sample(INTERNAL, rng.choice((0, 0, 1, 2)))
    width = rng.choice((None, None, None, 8, 16, 32))
    runs, engine = rng.random() < 0.5, rng.choice(newest.ENGINES)
    label = f"{case.id} on {device}: {' '.join(options)} | {' '.join(internal)} | SIMD {width}"
    try:
        return _outcome(case, device, options, internal, width, engine if runs else "")
    except eumu.EumuError as error:
        if isinstance(error, InternalError):
            return f"internal: {label}: {error}"
        if isinstance(error, eumu.Fault):  # the kernels have none of theirs
            return f"fault: {label}: {error}"
        return f"refused: {type(error).__name__}: {str(error).splitlines()[0][:120]}"
    except Exception as error:
        return f"internal: {label}: {type(error).__name__}: {error}"


def _outcome(
    case: newest.Case,
    device: str,
    options: list[str],
    internal: list[str],
    width: int | None,
    engine: str,
) -> str:
    known = {p.name: p for p in PROGRAMS} | feature_references.PROGRAMS
    chosen = known[case.program]
    try:
        made = zebin.compile(
            chosen.path.read_text(),
            device,
            " ".join([chosen.options, *options]),
            " ".join([getattr(chosen, "internal_options", ""), *internal]),
            name=chosen.path.name,
            simd_width=width,
        )
    except eumu.BuildError:
        return "not built"
    program = eumu.load(made.elf)
    kernel = program[case.kernel]
    kernel.function(program.platform)
    if not engine:
        return "translated"
    wrong = newest.launch(kernel, case, device, engine, newest=True)
    return "other results" if wrong else "right"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    os.environ.setdefault("EUMU_OCLOC", str(newest.NEWEST))
    os.environ.setdefault("EUMU_WORKERS", "1")
    found: Counter[str] = Counter()
    with ProcessPoolExecutor(options.jobs, max_tasks_per_child=200) as pool:
        numbers = range(options.first, options.first + options.count)
        jobs = pool.map(choose, [options.seed] * len(numbers), numbers, chunksize=8)
        for number, outcome in enumerate(jobs, 1):
            if outcome.startswith(("internal", "fault")):
                print(outcome, flush=True)
            found[outcome if outcome.startswith("refused") else outcome.partition(":")[0]] += 1
            if number % 500 == 0 or number == options.count:
                print(number, dict(found.most_common()), flush=True)
    return min(found["internal"], 1)


if __name__ == "__main__":
    sys.exit(main())
