"""Runs suites that others wrote on the virtual GPU, each test in a process of its own.

With `--together 8`, eight tests of a suite share a process; a start costs more than small tests.
Those of them that neither passed nor skipped themselves run again, alone.

    python tests/drivers/suites.py --cts BUILD --suite basic --suite events --log FILE
    python tests/drivers/suites.py --table --log FILE

    python tests/drivers/suites.py --own PROGRAM --log FILE

PROGRAM is `opencl.c`, compiled (`cc -O1 opencl.c -lOpenCL -lpthread`): each of its cases on each
part that can run it, and 5,000 launches.  BUILD is where OpenCL-CTS (tag v2022-11-15-03) was built:
its programs are BUILD/test_conformance/SUITE/test_SUITE, or what `PROGRAMS` says, with the words of
the CTS's own quick list.  A test passes if its program ends with status 0; one that takes longer
than `--timeout` seconds is out of time.  The log has a line for each; a call for OpenCL-CTS goes on
where the last one stopped.  With `--outputs` what a test printed is kept, unless it passed.

Many tests build the same source again and again, and Intel's compiler takes most of the time: the
driver keeps what it has compiled in the folder `--driver-cache`.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path


@dataclass(frozen=True)
class Suite:
    """Where a suite's program is, what it is told besides a test's name, and which tests count."""

    program: str  # below test_conformance
    words: tuple[str, ...] = ()
    only: tuple[str, ...] = ("*",)
    asks: str = "-h"  # what the program is told to list its tests
    after: str = "Test names:"  # the line before them
    names: tuple[str, ...] = ()  # of a program that lists none


_SKIPPED = re.compile(
    r"^(SKIPPED \d+ of \d+ tests\.|\w+ test (not supported|currently not implemented)$"
    r"|\w+ skipped \(requires at least )",
    re.MULTILINE,
)

_ENDED = re.compile(
    r"^(\w+) (?:(passed)|test not supported|test currently not implemented"
    r"|skipped \(requires at least .*)$",
    re.MULTILINE,
)

_TYPES = ("uchar", "char", "ushort", "short", "uint", "int", "float", "double", "ulong", "long")
_ROUNDED = ("", "_rte", "_rtp", "_rtn", "_rtz")


def _conversions() -> Iterator[str]:
    """Each pair of types once; whether they saturate, and how they round, goes in turn."""
    for i, (to, of) in enumerate(product(_TYPES, _TYPES)):
        saturated = "_sat" if i % 3 == 1 and to not in ("float", "double") else ""
        yield f"{to}{saturated}{_ROUNDED[(i + i // len(_TYPES)) % len(_ROUNDED)]}_{of}"


PROGRAMS = {
    "SVM": Suite("SVM/test_svm"),
    "thread_dimensions": Suite("thread_dimensions/test_thread_dimensions", only=("quick*",)),
    "integer_ops": Suite("integer_ops/test_integer_ops", only=("integer_*", "quick_*")),
    "half": Suite("half/test_half", ("-w",)),
    "select": Suite("select/test_select", ("-w",)),
    "math_brute_force": Suite(
        "math_brute_force/test_bruteforce", ("-w",), asks="-p", after="Math function names:"
    ),
    "conversions": Suite("conversions/test_conversions", ("-w",), names=tuple(_conversions())),
    "kernel_read_write": Suite(
        "images/kernel_read_write/test_image_streams", ("CL_FILTER_NEAREST",)
    ),
    "clCopyImage": Suite("images/clCopyImage/test_cl_copy_images"),
    "clFillImage": Suite("images/clFillImage/test_cl_fill_images"),
    "clGetInfo": Suite("images/clGetInfo/test_cl_get_info"),
    "clReadWriteImage": Suite("images/clReadWriteImage/test_cl_read_write_images"),
    "kernel_image_methods": Suite("images/kernel_image_methods/test_kernel_image_methods"),
    "samplerlessReads": Suite("images/samplerlessReads/test_samplerless_reads"),
    "multiple_device_context": Suite("multiple_device_context/test_multiples"),
    "allocations": Suite("allocations/test_allocations", ("single",)),
}


def suite_of(name: str) -> Suite:
    return PROGRAMS.get(name, Suite(f"{name}/test_{name}"))


def tests_of(program: Path, suite: Suite) -> list[str]:
    """The names that a suite's program lists, of those that count."""
    if suite.names:
        return list(suite.names)
    done = subprocess.run(
        [program, suite.asks], capture_output=True, text=True, check=False, cwd=program.parent
    )
    lines = (done.stdout + done.stderr).split(suite.after, 1)
    names = [line.strip() for line in lines[-1].splitlines() if line.startswith("\t")]
    words = [n for n in names if len(n.split()) == 1 and n[0] != "-"]  # no sentences or options
    return [n for n in words if any(fnmatch.fnmatch(n, only) for only in suite.only)]


def is_skipped(out: str) -> bool:
    """Whether a test of OpenCL-CTS says that it, or its whole suite, is not for this device."""
    return bool(_SKIPPED.search(out))


def ended_well(out: str, tests: list[str]) -> dict[str, str]:
    """Which tests of one process of OpenCL-CTS passed, and which skipped themselves."""
    ended = {name: "passed" if passed else "skipped" for name, passed in _ENDED.findall(out)}
    return {test: ended[test] for test in tests if test in ended}


def run(
    program: Path, words: list[str], options: list[str], timeout: float, cache: Path | None = None
) -> tuple[str, str, str]:
    """What became of a test, the first line that tells why, and all that was printed.

    `options` begin with eumu's command; `cache` is where the driver keeps what it has compiled.
    """
    # What a program that is killed has printed is lost where it goes to a pipe in blocks.
    lines = ["stdbuf", "-oL"] if shutil.which("stdbuf") else []
    command = [sys.executable, "-m", "eumu", *options, "--", *lines, str(program), *words]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=program.parent,
        start_new_session=True,
        env=os.environ | ({"cl_cache_dir": str(cache)} if cache is not None else {}),
    )
    try:
        out, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        return "out of time", "", out
    if process.returncode == 0:
        return "skipped" if is_skipped(out) else "passed", "", out
    faults = [line for line in out.splitlines() if "fault" in line or "ERROR" in line]
    crashed = process.returncode > 128
    why = (faults or out.splitlines() or [""])[0][:160].replace("\t", " ")
    return ("crashed" if crashed else "failed"), why, out


OWN = ("add", "profiling", "pointers", "local", "image", "threads", "very_many")
OWN_64_BIT = ("svm",)  # needs addresses of 64 bits


def own(program: Path, log: Path, timeout: float) -> int:
    """Run this project's own cases, each with a start of its own; how many did not pass."""
    failed = 0
    for part in ("skl", "kbl", "cfl", "apl", "glk"):
        for case in OWN if part in ("apl", "glk") else (*OWN, *OWN_64_BIT):
            what, why, _ = run(program.resolve(), [case], ["gpu", "--device", part], timeout)
            failed += what != "passed"
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{part}/{case}\t{what}\t{why}\n")
            print(f"{part}/{case}: {what} {why}".rstrip(), flush=True)
    return failed


def conformance(name: str, given: argparse.Namespace, until: float) -> None:
    """Run what the log does not have of a suite of OpenCL-CTS."""
    suite = suite_of(name)
    program = (given.cts / "test_conformance" / suite.program).resolve()
    if not program.exists():
        print(f"skipped: {program} has not been built")
        return
    tests = tests_of(program, suite)
    if given.test:
        tests = [t for t in tests if any(fnmatch.fnmatch(t, wanted) for wanted in given.test)]
    for size in {given.together: 0, 1: 0}:  # once, if that is one
        known = {line.split("\t")[0] for line in _lines(given.log)}
        left = [test for test in tests if f"{name}/{test}" not in known]
        for group in (left[i : i + size] for i in range(0, len(left), size)):
            if time.monotonic() <= until:
                _conform(name, program, group, given)
    _tell(name, given.log)


def _conform(name: str, program: Path, tests: list[str], given: argparse.Namespace) -> None:
    """Run one test and log what became of it; of several, log those that ended well."""
    begun = time.monotonic()
    driver = ["run", "--device", given.by_own] if given.by_own else ["gpu"]
    words = [*tests, *suite_of(name).words]
    options = [*driver, *given.options]
    what, why, out = run(program, words, options, given.timeout, given.driver_cache)
    ends = {tests[0]: what} if len(tests) == 1 else ended_well(out, tests)
    with given.log.open("a") as file:
        for test, end in ends.items():
            seconds = (time.monotonic() - begun) / len(tests)
            file.write(f"{name}/{test}\t{end}\t{why}\t{seconds:.1f} s\n")
    if len(tests) == 1 and given.outputs is not None and what != "passed":
        given.outputs.mkdir(parents=True, exist_ok=True)
        (given.outputs / f"{name}-{tests[0]}.txt").write_text(out)


def _tell(name: str, log: Path) -> None:
    outcomes = (line.split("\t")[1] for line in _lines(log) if line.startswith(f"{name}/"))
    print(f"{name}: " + ", ".join(f"{n} {what}" for what, n in Counter(outcomes).most_common()))


def table(log: Path) -> None:
    """Print the log's suites as rows: tests, and how many of them ended in which way."""
    suites: dict[str, Counter[str]] = defaultdict(Counter)
    for line in _lines(log):
        name, what = line.split("\t")[:2]
        suites[name.split("/")[0]][what] += 1
    ends = ("passed", "skipped", "failed", "crashed", "out of time")
    print(f"| suite | tests | {' | '.join(ends)} |\n|---{'|---' * (len(ends) + 1)}|")
    for suite, ended in suites.items():
        print(f"| `{suite}` | {ended.total()} | " + " | ".join(str(ended[e]) for e in ends) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(description="Suites of others on the virtual GPU.")
    parser.add_argument("--cts", type=Path, help="where OpenCL-CTS was built")
    parser.add_argument("--own", type=Path, help="opencl.c of this directory, compiled")
    parser.add_argument("--table", action="store_true", help="the log as a table")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--test", action="append", help="a pattern of names; all tests without")
    parser.add_argument("--together", type=int, default=1, help="how many tests share a process")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--outputs", type=Path, help="keeps what tests that did not pass printed")
    parser.add_argument("--driver-cache", type=Path, help="keeps what Intel's compiler makes")
    parser.add_argument("--by-own", metavar="DEVICE", help="on eumu's own driver, of that device")
    parser.add_argument("options", nargs="*", help="of eumu gpu or eumu run")
    given = parser.parse_args()
    if given.table:
        table(given.log)
        return 0
    if given.own is not None:
        return int(own(given.own, given.log, given.timeout) > 0)
    if given.cts is None or not given.cts.is_dir():
        print("skipped: no OpenCL-CTS; --cts names the directory where it was built")
        return 0
    if given.driver_cache is not None:  # the driver takes a folder that exists
        given.driver_cache = given.driver_cache.resolve()
        given.driver_cache.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + given.seconds
    for name in given.suite:
        conformance(name, given, until)
    return 0


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
