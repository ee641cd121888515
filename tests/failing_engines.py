"""Calls of the system that fail in engine processes: a program that `eumu gpu` or `eumu run` runs.

    python tests/failing_engines.py PROGRAM ARGUMENT ... -- mmap:error=ENOMEM:when=3 ...

`strace` traces the session's broker, which forks the engine process of each program, and lets one
call fail in each run of the program.  One line of JSON says what came of a run; the last one is of
a run in which nothing fails.  Before each, the folder that the variable FRESH names is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

TIMEOUT_S = 45  # of a program, one of whose threads may not begin in ten
HANGS = 124


def skip_without_strace() -> None:
    """Skip where calls cannot be made to fail."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed (Debian: apt-get install strace)")
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        tracer = subprocess.Popen(_strace(sleeper.pid, os.devnull, "close:error=EIO"))
        deadline = time.monotonic() + 10
        while tracer.poll() is None and not _tracer(sleeper.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        may = _tracer(sleeper.pid)
        tracer.kill()
        tracer.wait()
        sleeper.kill()
    if not may:
        pytest.skip("strace may not trace processes here")


def lines(text: str) -> list[dict[str, object]]:
    """What `main` has written."""
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"words"')]


def main() -> int:
    split = sys.argv.index("--")
    program, cases = sys.argv[1:split], sys.argv[split + 1 :]
    broker = next(_brokers(os.getppid()))
    _run(program)  # the broker has imported all that it needs when it has forked
    with tempfile.TemporaryDirectory() as place:
        for words in cases:
            log = Path(place) / "log"
            tracer = subprocess.Popen(_strace(broker, str(log), words), env=_plain())
            while not _tracer(broker) and tracer.poll() is None:
                time.sleep(0.005)
            status, said, seconds = _run(program)
            tracer.kill()
            tracer.wait()
            failed = log.exists() and "(INJECTED)" in log.read_text(errors="replace")
            print(json.dumps({"words": words, **_told(status, said, seconds), "failed": failed}))
            sys.stdout.flush()
    print(json.dumps({"words": "", **_told(*_run(program)), "failed": False}))
    return 0


def _told(status: int, said: str, seconds: float) -> dict[str, object]:
    return {"status": status, "said": said, "seconds": round(seconds, 2)}


def _run(program: list[str]) -> tuple[int, str, float]:
    if "FRESH" in os.environ:
        shutil.rmtree(os.environ["FRESH"], ignore_errors=True)
    start = time.monotonic()
    try:
        done = subprocess.run(
            program, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired as late:
        return HANGS, str(late.stderr), time.monotonic() - start
    return done.returncode, done.stdout + done.stderr, time.monotonic() - start


def _strace(process: int, log: str, words: str) -> list[str]:
    trace = f"trace={words.partition(':')[0]}"
    how = ["-o", log, "-e", trace, "-e", f"inject={words}"]
    return ["strace", "-qq", "-f", "-p", str(process), *how]


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def _brokers(session: int) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = process.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == session and b"beside.broker" in (process / "cmdline").read_bytes():
                yield int(process.name)
        except OSError:
            continue  # it has ended


def _tracer(process: int) -> int:
    """The process that traces one, 0 if none does."""
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(text.partition("TracerPid:")[2].split()[0])


if __name__ == "__main__":
    sys.exit(main())
