"""Figures beside the contest: starting, compiling, launching, two cores, memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from engines import Emulator, arguments
from item import ROOT, Item

SCALING = Path(__file__).resolve().parent / "scaling.py"


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def cold_start(rounds: int = 5) -> dict[str, dict[str, float]]:
    """Wall and CPU seconds of whole processes, medians; the kernel is in the cache."""
    saxpy = str(ROOT / "examples" / "saxpy.bin")
    text = ROOT / "tests" / "corpus" / "prelude.visaasm"
    arrays = ["--arg", "x=arange:float32:1024", "--arg", "y=zeros:float32:1024", "--arg", "a=2.5"]
    commands = {
        "eumu --help": ["--help"],
        "eumu info": ["info", saxpy],
        "eumu fmt": ["fmt", str(text)],
        "eumu run": ["run", saxpy, "--kernel", "saxpy", "--global", "1024", *arrays],
    }
    if not text.exists():
        del commands["eumu fmt"]
    commands["python -c pass"] = []
    # With bytecode, as after an installation, whatever this shell forbids.
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": place, "PYTHONDONTWRITEBYTECODE": ""}
        return {name: _process(words, rounds, environment) for name, words in commands.items()}


def _process(words: list[str], rounds: int, environment: dict[str, str]) -> dict[str, float]:
    line = [sys.executable, "-m", "eumu", *words] if words else [sys.executable, "-c", "pass"]
    walls, cpus = [], []
    for _ in range(rounds + 1):
        wall, cpu = time.perf_counter(), sum(os.times()[2:4])
        subprocess.run(line, env=environment, capture_output=True, check=True)
        walls.append(time.perf_counter() - wall)
        cpus.append(sum(os.times()[2:4]) - cpu)
    return {"wall": statistics.median(walls[1:]), "cpu": statistics.median(cpus[1:])}


def _with_children() -> float:
    """CPU seconds of this process and of those that it has started, which compile."""
    children = []
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError):  # a thread that has ended
            children += map(int, task.read_text("ascii").split())
    # The clock of another process, as clock_getcpuclockid makes its number of the process's.
    return time.process_time() + sum(time.clock_gettime(~child << 3 | 2) for child in children)


def compiling(item: Item) -> dict[str, float]:
    """CPU seconds to parse the kernels of an item, to lower them, to compile, to load from disk."""
    import eumu
    from eumu.platforms import platform

    with tempfile.TemporaryDirectory() as place, _environment(EUMU_CACHE_DIR=place):
        start = _with_children()
        program = eumu.load(item.binary)
        kernels = [program[name] for name in dict.fromkeys(s.kernel for s in item.steps)]
        parsed = _with_children()
        for kernel in kernels:
            kernel.function(platform("pvc"))
        lowered = _with_children()
        compiled = _to_code(item)
        loaded = min(_to_code(item) for _ in range(3))
        count = len(kernels)
        return {
            "kernels": count,
            "parse": (parsed - start) / count,
            "lower": (lowered - parsed) / count,
            "compile": compiled / count,
            "cached": loaded / count,
        }


def _to_code(item: Item) -> float:
    """CPU seconds from IR to code in memory, of a new engine: compiled, or found on disk."""
    from eumu.exec.jit import Jit

    spent, original = 0.0, Jit.compile

    def timed(*args: Any) -> Any:
        nonlocal spent
        start = _with_children()
        try:
            return original(*args)
        finally:
            spent += _with_children() - start

    Jit.compile = timed  # type: ignore[method-assign]
    try:
        run, _ = Emulator("jit").prepare(item, item.data(np.random.default_rng(1)))
        run()
    finally:
        Jit.compile = original  # type: ignore[method-assign]
    return spent


def first_results(items: Iterable[Item]) -> dict[str, dict[str, float]]:
    """Seconds from a binary to what its first kernel leaves, on a device that has not seen it.

    Wall and CPU, LLVM's process included; nothing is on disk, and LLVM is loaded.
    """
    import eumu

    found = {}
    with tempfile.TemporaryDirectory() as place, _environment(EUMU_CACHE_DIR=place):
        device = eumu.Device("pvc")
        empty = eumu.load(ROOT / "tests" / "kernels" / "bin" / "pvc" / "empty.bin")["empty"]
        for one in (device, eumu.Device("pvc", "jit")):
            empty.launch(one, 64, 64)
        for item in items:
            step, given = item.steps[0], arguments(device, item.data(np.random.default_rng(1)))
            wall, cpu = time.perf_counter(), _with_children()
            kernel = eumu.load(item.binary)[step.kernel]
            sizes = step.global_size, step.local_size
            kernel.launch(device, *sizes, [given[name] for name in step.args])
            found[item.name] = {
                "wall": time.perf_counter() - wall,
                "cpu": _with_children() - cpu,
            }
    return found


def launching(rounds: int = 3000) -> dict[str, float]:
    """CPU and wall seconds of one launch of an empty kernel from Python, medians."""
    import eumu

    device = eumu.Device("pvc", engine="jit")
    kernel = eumu.load(ROOT / "tests" / "kernels" / "bin" / "pvc" / "empty.bin")["empty"]
    kernel.launch(device, 64, 64)
    walls, cpus = [], []
    for _ in range(rounds):
        cpu, wall = time.process_time(), time.perf_counter()
        kernel.launch(device, 64, 64)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {"wall": statistics.median(walls), "cpu": statistics.median(cpus)}


def scaling(rounds: int = 5, seconds: float = 1.0) -> dict[str, float]:
    """Runs a wall second of a compute-bound kernel: one core, two cores, two processes."""
    best = {"one": 0.0, "two_cores": 0.0, "two_processes": 0.0}
    ratios = []
    for _ in range(rounds):
        (one,) = _throughput(1, 1, seconds)
        (two,) = _throughput(1, 2, seconds)
        pair = sum(_throughput(2, 1, seconds))
        ratios.append(two / pair)
        for name, value in zip(best, (one, two, pair), strict=True):
            best[name] = max(best[name], value)
    ratio = best["two_cores"] / best["two_processes"]
    return {**best, "ratio": ratio, "median_ratio": statistics.median(ratios)}


def _throughput(processes: int, workers: int, seconds: float) -> list[float]:
    line = [sys.executable, str(SCALING), str(seconds)]
    environment = {**os.environ, "EUMU_WORKERS": str(workers)}
    started = [
        subprocess.Popen(
            line, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    # All are ready before any begins.
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [float(process.communicate()[0]) for process in started]


def memory(item: Item) -> dict[str, float]:
    """Peak bytes of a launch for each thread that is alive at once.

    The fast engine keeps the threads of one group per worker; the interpreter many groups.
    """
    import eumu
    from eumu.exec.jit.host.launch import Worker

    kept: list[float] = []
    original = Worker.__init__

    def watched(self: Any, compiled: Any, admitted: Any) -> None:
        original(self, compiled, admitted)
        arrays = (self.slm, self.scratch, self.records, self.payloads, self.context)
        kept.append(sum(a.nbytes for a in arrays) / admitted.grid.threads_per_group)

    Worker.__init__ = watched  # type: ignore[method-assign]
    try:
        Emulator("jit").prepare(item, item.data(np.random.default_rng(1)))[0]()
    finally:
        Worker.__init__ = original  # type: ignore[method-assign]
    run, _ = Emulator("interp").prepare(item, item.data(np.random.default_rng(1)))
    run()
    tracemalloc.start()
    try:
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    width = eumu.load(item.binary)[item.steps[-1].kernel].simd_width
    return {"jit": max(kept), "interp": peak * width / item.work_items}
