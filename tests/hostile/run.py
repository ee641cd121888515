"""Hostile launches on both engines, in processes of their own: ``python tests/hostile/run.py``.

Each kernel of `eumu.fuzz.hostile` is launched many times on the interpreter and on the fast engine,
a fourth of them as code that is quickly made.  They must agree (results, or the fault to its last
word), leave what lies around the arrays as it was, and not take long.  A process that ends or says
nothing for ten seconds is a finding, too.

    python tests/hostile/run.py --launches 100000 --workers 2
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
HANG: Final = 10.0  # seconds of one launch
COMPILE: Final = 120.0  # seconds of the first one of a kernel, which LLVM takes
LAUNCHES: Final = 50  # of a kernel


def child(first: int, last: int, launches: int) -> None:
    """Kernels first … last - 1; a line before each launch, one for each finding."""
    from eumu.exec.interp import Interpreter
    from eumu.fuzz.canaries import Memory
    from eumu.fuzz.hostile import build, difference, fast_engine, grids

    interpreter = Interpreter()
    for seed in range(first, last):
        memory, jit = Memory(), fast_engine(seed)
        print("kernel", seed, flush=True)
        hostile = build(seed)
        for number, grid in enumerate(grids(seed, hostile, memory, launches)):
            print("launch", seed, number, flush=True)
            wrong = difference(grid, memory, interpreter, jit)
            if wrong:
                print("wrong", seed, number, wrong.replace("\n", " / "), flush=True)
                if not memory.is_whole():
                    memory = Memory()
    print("end", flush=True)


class Watched:
    """One child process, and who has heard what from it."""

    def __init__(self, first: int, last: int, launches: int) -> None:
        arguments = [str(first), str(last), str(launches)]
        command = [sys.executable, str(HERE / "run.py"), "--child", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.where, self.done, self.findings = "the start", 0, []
        self.last: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put("")

    def watch(self) -> None:
        """Follow the process to its end."""
        ended, first = False, True
        while True:
            try:
                line = self.lines.get(timeout=COMPILE if first else HANG)
            except queue.Empty:
                self.process.kill()
                self.process.wait()
                self.findings.append(f"nothing for {COMPILE if first else HANG} s at {self.where}")
                return
            word = line.partition(" ")[0]
            if word == "launch":
                first = line.endswith(" 0")
                self.where, self.done = line, self.done + 1
            elif word == "kernel":
                first, self.where = True, line
            elif word == "wrong":
                self.findings.append(line)
            elif word == "end":
                ended = True
            elif line:
                self.last = [*self.last[-8:], line]
            else:
                break
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        if not ended or code:
            self.findings.append(f"the process ended with {code} at {self.where}: {self.last}")


def run(first: int, kernels: int, launches: int = LAUNCHES) -> tuple[int, list[str]]:
    """Launches that were made, and findings; after a crash, on with the next kernel."""
    done, findings, last = 0, [], first + kernels
    while first < last:
        watched = Watched(first, last, launches)
        watched.watch()
        done += watched.done
        findings += watched.findings
        where = watched.where.split()
        is_over = watched.process.returncode == 0 or watched.where == "the start"
        first = last if is_over else int(where[1]) + 1
    return done, findings


def main() -> int:
    os.environ.setdefault("EUMU_VERIFY_IR", "on")
    if sys.argv[1:2] == ["--child"]:
        child(*map(int, sys.argv[2:5]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first kernel")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    kernels = -(-given.launches // LAUNCHES // given.workers)
    results: list[tuple[int, list[str]]] = []
    start = time.perf_counter()
    threads = [
        threading.Thread(target=lambda k=k: results.append(run(given.first + k * kernels, kernels)))
        for k in range(given.workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    findings = [finding for _, found in results for finding in found]
    print("\n".join(findings))
    seconds = time.perf_counter() - start
    print(f"{sum(n for n, _ in results)} launches, {len(findings)} findings, {seconds:.0f} s")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
