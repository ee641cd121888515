"""Runs tests of Python packages on the virtual GPU, each file in a process of its own.

    python tests/drivers/pyopencl_tests.py --tests DIRECTORY --log FILE [-- OPTIONS OF eumu gpu]
    python tests/drivers/pyopencl_tests.py --own pvc --tests DIRECTORY --log FILE
    python tests/drivers/pyopencl_tests.py --python PYTHON --tests .../dpctl/tests --log FILE

With `--own` they run on eumu's own driver of that device, with `--python` in another interpreter,
which has pytest.  dpctl and dpnp (SYCL) bring their tests in their wheels; the SYCL runtime is told
of the device by `ONEAPI_DEVICE_SELECTOR=opencl:gpu`, and needs the environment's `lib` in
`LD_LIBRARY_PATH`.
DIRECTORY is `test` of pyopencl's repository, of the version that is installed.  A test that says
nothing for `--timeout` seconds is out of time; its process ends and the others go on in a new one.
A call goes on where the last one stopped; the log has a line of JSON for each beginning and end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent


def outcomes(log: Path) -> dict[str, tuple[str, str]]:
    """The last outcome of each test, and why."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    rows = [json.loads(line) for line in lines]
    return {row["test"]: (row["outcome"], row["why"]) for row in rows}


def run_file(path: Path, log: Path, command: list[str], timeout: float, python: str) -> int:
    """Run those tests of a file that the log does not have; pytest's exit status."""
    words = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "reporting"]
    with log.with_suffix(".out").open("a") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "eumu", *command, "--", *words, path.name],
            cwd=path.parent,
            env=os.environ | {"PYTHONPATH": str(HERE), "SUITE_LOG": str(log)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return _watch(process, log, timeout)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _watch(process: subprocess.Popen[bytes], log: Path, timeout: float) -> int:
    size, heard = -1, time.monotonic()
    while process.poll() is None:
        now = log.stat().st_size if log.exists() else 0
        if now != size:
            size, heard = now, time.monotonic()
        if time.monotonic() - heard > timeout:
            return -1
        time.sleep(0.2)
    return process.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="Packages' own tests on the virtual GPU.")
    parser.add_argument("--tests", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--python", default=sys.executable, help="which has the package")
    parser.add_argument("--own", metavar="DEVICE", help="on eumu's own driver")
    parser.add_argument("--file", action="append", help="of the directory; else all")
    parser.add_argument("options", nargs="*", help="of eumu gpu")
    given = parser.parse_args()
    if not given.tests.is_dir():
        print(f"skipped: {given.tests} is not there; it is `test` of github.com/inducer/pyopencl")
        return 0
    log = given.log.resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the test, too
    command = ["run", "--device", given.own] if given.own else ["gpu", *given.options]
    for path in sorted(given.tests.resolve().glob("test_*.py")):
        if given.file and path.name not in given.file:
            continue
        for _ in range(100):  # a new process behind each test that ends its own
            status = run_file(path, log, command, given.timeout, given.python)
            open_ones = [test for test, (outcome, _) in outcomes(log).items() if outcome == "begun"]
            for test in open_ones:
                row = {"test": test, "outcome": "out of time" if status == -1 else "crashed"}
                with log.open("a") as file:
                    file.write(json.dumps(row | {"why": f"status {status}"}) + "\n")
            if not open_ones:
                if status not in (0, 1, 5):  # passed, failed, none left
                    print(f"{path.name}: pytest ends with status {status}; see {log.stem}.out")
                break
        _tell(log, path.name)
    _tell(log, "")
    return 0


def _tell(log: Path, name: str) -> None:
    found = {t: o for t, o in outcomes(log).items() if t.startswith(name)}
    counts = Counter(outcome for outcome, _ in found.values())
    text = ", ".join(f"{n} {what}" for what, n in counts.most_common())
    print(f"{name or 'all'}: {text}", flush=True)
    if not name:
        for test, (outcome, why) in found.items():
            if outcome not in ("passed", "skipped"):
                print(f"  {outcome} {test}: {why}")


if __name__ == "__main__":
    sys.exit(main())
