"""Runs suites that others wrote on the virtual GPU, each test in a process of its own.

    python tests/drivers/suites.py --cts BUILD --suite basic --suite events --log FILE

    python tests/drivers/suites.py --own PROGRAM --log FILE

PROGRAM is `opencl.c`, compiled (`cc -O1 opencl.c -lOpenCL -lpthread`): each of its cases on each
part that can run it, and 5,000 launches.  BUILD is where OpenCL-CTS (tag v2022-11-15-03) was built:
its programs are BUILD/test_conformance/SUITE/test_SUITE.  A test passes if its program ends with
status 0; one that takes longer than `--timeout` seconds is out of time.  The log has a line for
each; a call for OpenCL-CTS goes on where the last one stopped.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path


def tests_of(program: Path) -> list[str]:
    """The names that a suite's program lists."""
    done = subprocess.run([program, "-h"], capture_output=True, text=True, check=False)
    lines = done.stdout.split("Test names:", 1)
    return [line.strip() for line in lines[-1].splitlines() if line.startswith("\t")]


def run(program: Path, test: str, options: list[str], timeout: float) -> tuple[str, str]:
    """What became of a test, and the last line that tells why."""
    command = [sys.executable, "-m", "eumu", "gpu", *options, "--", str(program), test]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=program.parent,
        start_new_session=True,
    )
    try:
        out, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "out of time", ""
    if process.returncode == 0:
        return ("skipped", "") if "skipped" in out and "passed" not in out else ("passed", "")
    faults = [line for line in out.splitlines() if "fault" in line or "ERROR" in line]
    crashed = process.returncode > 128
    return ("crashed" if crashed else "failed"), (faults or out.splitlines() or [""])[0][:160]


OWN = ("add", "profiling", "pointers", "local", "image", "threads", "very_many")
OWN_64_BIT = ("svm",)  # needs addresses of 64 bits


def own(program: Path, log: Path, timeout: float) -> int:
    """Run this project's own cases, each with a start of its own; how many did not pass."""
    failed = 0
    for part in ("skl", "kbl", "cfl", "apl", "glk"):
        for case in OWN if part in ("apl", "glk") else (*OWN, *OWN_64_BIT):
            what, why = run(program.resolve(), case, ["--device", part], timeout)
            failed += what != "passed"
            with log.open("a") as file:
                file.write(f"{part}/{case}\t{what}\t{why}\n")
            print(f"{part}/{case}: {what} {why}".rstrip(), flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description="Suites of others on the virtual GPU.")
    parser.add_argument("--cts", type=Path, help="where OpenCL-CTS was built")
    parser.add_argument("--own", type=Path, help="opencl.c of this directory, compiled")
    parser.add_argument("--suite", action="append", default=[])
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("options", nargs="*", help="of eumu gpu")
    given = parser.parse_args()
    if given.own is not None:
        return int(own(given.own, given.log, given.timeout) > 0)
    if given.cts is None or not given.cts.is_dir():
        print("skipped: no OpenCL-CTS; --cts names the directory where it was built")
        return 0
    begun = time.monotonic()
    known = dict(
        line.split("\t")[:2] for line in _lines(given.log)
    )  # "suite/test", what became of it
    for suite in given.suite:
        program = given.cts / "test_conformance" / suite / f"test_{suite}"
        if not program.exists():
            print(f"skipped: {program} has not been built")
            continue
        for test in tests_of(program):
            if f"{suite}/{test}" in known or time.monotonic() - begun > given.seconds:
                continue
            known[f"{suite}/{test}"], why = run(program, test, given.options, given.timeout)
            with given.log.open("a") as file:
                file.write(f"{suite}/{test}\t{known[f'{suite}/{test}']}\t{why}\n")
        counts = Counter(v for k, v in known.items() if k.startswith(f"{suite}/"))
        print(f"{suite}: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    return 0


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
