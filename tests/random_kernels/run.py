"""Runs random kernels on both engines: ``python tests/random_kernels/run.py --count 20000``.

A bundle is as many kernels as are compiled together.  With ``--log FILE`` every bundle that was run
is written down, and the next call goes on where the last one stopped.  A bundle that the engines
disagree on is made small and written to a file in ``--failures``, which ``--file`` runs again.
``--newer`` makes them for Xe2 and Xe3, ``--walks`` makes loops that step through memory,
``--tiles`` loops over shared local memory.
``--only NUMBER`` runs one bundle again.  ``--effort 1`` lets LLVM's code generator take less time,
0 even less; it ends the process on some bundles then, which run again with 1.  A bundle that has
not ended after ``--limit`` seconds of processor time has failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from eumu.exec.jit.host.target import host
from eumu.fuzz import tiles, walking
from eumu.fuzz.generator import SIMD, Generator
from eumu.fuzz.machine import Bundle, differences
from eumu.fuzz.shrink import shrink
from random_kernels import isolated

DEVICES = ("skl", "pvc", "xehp")
# Bundles from this number on are for the platforms of today, all with registers of 64 bytes.
NEWER = 2_000_000
NEWER_DEVICES = ("bmg", "lnl", "ptl", "nvlp")
NEWER_SIMD = (16, 32)
# And from this one on they are loops that step through memory.
WALKS = 4_000_000
WALKS_DEVICES = ("skl", "pvc")
# And from this one on they are loops over shared local memory.
TILES = 6_000_000
KERNELS = 20  # in a bundle


def bundle(number: int) -> Bundle:
    """The kernels of a number; their seeds follow each other."""
    if number >= TILES:
        return tiles.bundle(number - TILES, KERNELS, WALKS_DEVICES, SIMD)
    if number >= WALKS:
        return walking.bundle(number - WALKS, KERNELS, WALKS_DEVICES, SIMD)
    device, simd = DEVICES[number % 3], SIMD[number // 3 % 3]
    if number >= NEWER:
        device, simd = NEWER_DEVICES[number % 4], NEWER_SIMD[number // 4 % 2]
    first = number * KERNELS
    made = (Generator(first + k, device, simd, f"k{k}").section() for k in range(KERNELS))
    return Bundle(device, simd, number, tuple(made))


# LLVM's code generator ends its process on some bundles at no effort; long modules have their own.
_NOT_COMPILED = "unsupported: compiling it"


def check(number: int, effort: int) -> str:
    """Run the bundle of a number; what is wrong with it."""
    return complaint(bundle(number), effort)


def each(
    numbers: Iterable[int], effort: int, jobs: int, limit: float
) -> Iterator[tuple[int, str, int]]:
    """What is wrong with each bundle, as they come, and the effort it was compiled with."""
    for number, wrong in isolated.each(partial(check, effort=effort), numbers, jobs, limit):
        if effort == 0 and (wrong.startswith(isolated.DIED) or _NOT_COMPILED in wrong):
            yield number, isolated.call(partial(check, effort=1), number, limit), 1
        else:
            yield number, wrong, effort


def complaint(kernels: Bundle, effort: int) -> str:
    """What is wrong: the engines differ, or one of them cannot run it."""
    try:
        found = differences(kernels, replace(host(), effort=effort))
    except Exception as error:  # whatever it is, it is a finding
        return f"{type(error).__name__}: {error}"
    return "; ".join(f"kernel {d.group}: {d.what}" for d in found[:4])


def smallest(kernels: Bundle, effort: int, limit: float) -> Bundle:
    """A small bundle that fails in the same way."""
    ask = partial(complaint, effort=effort)
    kind = _kind(isolated.call(ask, kernels, limit))
    if kind == "no":  # end: a smaller one that ends does so sooner
        limit = min(limit, 60.0)
    return shrink(kernels, lambda b: _kind(isolated.call(ask, b, limit)) == kind)


def _kind(wrong: str) -> str:
    """The sort of a failure: a smaller program that fails in another way is another finding."""
    return "differs" if wrong.startswith("kernel") else wrong.partition(" ")[0]


def logged(path: Path | None) -> set[int]:
    """The bundles that earlier calls have run."""
    if path is None or not path.exists():
        return set()
    lines = (line.split() for line in path.read_text().splitlines())
    return {int(words[0]) for words in lines if words and words[0].isdigit()}


def main() -> int:
    os.environ.setdefault("EUMU_VERIFY_IR", "on")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000, help="kernels (2000)")
    parser.add_argument("--log", type=Path, help="bundles that have been run, one a line")
    parser.add_argument("--failures", type=Path, default=Path("random-failures"))
    parser.add_argument("--newer", action="store_true", help="for the platforms of today")
    parser.add_argument("--walks", action="store_true", help="loops that step through memory")
    parser.add_argument("--tiles", action="store_true", help="loops over shared local memory")
    parser.add_argument("--only", type=int, help="run the bundle of this number, nothing else")
    parser.add_argument("--file", type=Path, help="run a file of --failures, nothing else")
    parser.add_argument("--effort", type=int, default=2, choices=range(4))
    parser.add_argument(
        "--limit", type=float, default=600.0, help="processor seconds for a bundle (600)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    os.environ["EUMU_CACHE"] = "off"
    if arguments.file is not None:
        ask = partial(complaint, effort=arguments.effort)
        text = arguments.file.read_text()
        kernels = _kind_of(text).read(text)
        wrong = isolated.call(ask, kernels, arguments.limit)
        print(wrong or "same")
        return 1 if wrong else 0
    start = WALKS if arguments.walks else NEWER if arguments.newer else 0
    start = TILES if arguments.tiles else start
    done = {n for n in logged(arguments.log) if n // NEWER * NEWER == start}
    first = max(done, default=start - 1) + 1
    numbers = range(first, first - (-arguments.count // KERNELS))
    if arguments.only is not None:
        numbers = range(arguments.only, arguments.only + 1)
    results = each(numbers, arguments.effort, arguments.jobs, arguments.limit)
    failed = sum(_report(number, wrong, effort, arguments) for number, wrong, effort in results)
    total = (len(done) + len(numbers)) * KERNELS
    print(f"{len(numbers) * KERNELS} kernels, {failed} bundles failed; {total} kernels in all")
    return 1 if failed else 0


def _kind_of(text: str) -> type[Bundle]:
    kinds = {walking.WALKS_HEADER: walking.Walks, tiles.TILES_HEADER: tiles.Tiles}
    return next((kind for head, kind in kinds.items() if text.startswith(head)), Bundle)


def _report(number: int, wrong: str, effort: int, arguments: argparse.Namespace) -> bool:
    kernels = bundle(number)
    if arguments.log is not None:
        names = Counter(f for s in kernels.sections for f in s.families())
        with arguments.log.open("a") as log:
            print(
                number, kernels.device, kernels.simd, f"seeds {number * KERNELS}+{KERNELS}",
                f"statements {names.total()} effort {effort}",
                time.strftime("%Y-%m-%d"), wrong or "same",
                file=log,
            )  # fmt: skip
    if not wrong:
        return False
    print(f"bundle {number}: {wrong}")
    arguments.failures.mkdir(parents=True, exist_ok=True)
    path = arguments.failures / f"{number}.visaasm"
    path.write_text(smallest(kernels, effort, arguments.limit).file())
    print(f"  made small: {path}")
    return True


if __name__ == "__main__":
    sys.exit(main())
