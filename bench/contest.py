"""Runs one item on every engine in turns and keeps the least times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from item import Item

SLOW = ("eumu-interp", "oclgrind")
_TURN = 0.01  # seconds: shorter runs are repeated within a turn
_LONG = 0.5  # seconds: a slow engine that took longer does not run again
_REST = 0.003  # seconds after a turn, until the worker threads of a runtime stop spinning


def clocked(run: Any, times: int) -> tuple[float, float]:
    """CPU seconds (of all threads) and wall seconds of one run."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(times):
        run()
    wall = (time.perf_counter() - wall) / times
    return (time.process_time() - cpu) / times, wall


def measure(item: Item, contestants: list[Any], rounds: int) -> dict[str, dict[str, Any]]:
    """Least CPU and wall seconds of each engine; `first` is with compiling, `wrong` what is."""
    runs: dict[str, tuple[Callable[[], None], int]] = {}
    results: dict[str, dict[str, Any]] = {}
    for engine in contestants:
        data = item.data(np.random.default_rng(1))
        started = time.perf_counter()
        try:
            run, read = engine.prepare(item, data)
            cpu, wall = clocked(run, 1)
        except Exception as error:  # a rival's compiler or driver may fail in any way
            why = str(error).strip().partition("\n")[0]  # compilers write pages
            results[engine.name] = {"wrong": f"{type(error).__name__}: {why}"}
            continue
        first = time.perf_counter() - started
        slow = engine.name in SLOW
        best = {
            "first": first,
            "wall": wall if slow else math.inf,
            "cpu": cpu if slow else math.inf,
        }
        results[engine.name] = {**best, "wrong": item.mismatch(data, read())}
        if hasattr(engine, "warm_up"):
            engine.warm_up(run)
        if getattr(engine, "lane_ops", 0):
            results[engine.name]["lane_ops"] = engine.lane_ops
        if not slow or wall < _LONG:
            runs[engine.name] = run, 1 if slow else _repeats(run)
    for _ in range(rounds):
        for name, (run, times) in runs.items():
            time.sleep(_REST)
            cpu, wall = clocked(run, times)
            best = results[name]
            best["wall"], best["cpu"] = min(best["wall"], wall), min(best["cpu"], cpu)
    return results


def _repeats(run: Any) -> int:
    _, wall = clocked(run, 1)
    return max(1, min(200, int(_TURN / max(wall, 1e-6))))


def contest(item: Item, contestants: list[Any], rounds: int) -> dict[str, Any]:
    """The results of one item: full size for the fast engines, a small size for the slow ones."""
    fast = [e for e in contestants if e.name not in SLOW]
    slow = [e for e in contestants if e.name in SLOW]
    result: dict[str, Any] = {"item": item.name, "flops": item.flops, "bytes": item.bytes}
    result["full"] = measure(item, fast, rounds) if fast else {}
    if slow and item.small is not None:
        jit = [e for e in fast if e.name == "eumu-jit"]
        small = item.small()
        result["small_work_items"] = small.work_items
        result["small"] = measure(small, [*jit, *slow], max(1, rounds // 3))
    return result
