"""What it costs that a run can be looked at and stopped, and what looking costs.

python bench/observing.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from item import ROOT

BIN = ROOT / "tests" / "kernels" / "bin" / "apl"


def _best(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each, taken in turn."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best


def _launch(device: Any, name: str, n: int) -> Callable[[], Any]:
    """A launch of saxpy on n elements, or of the reduction of n."""
    import eumu

    kernel = eumu.load(BIN / f"{name}.bin")[name]
    x = device.array(np.ones(n, np.float32))
    out = device.array(np.zeros(n, np.float32))
    more = [eumu.Local(512)] if name == "reduce" else [2.0]
    return lambda: kernel.launch(device, (n,), (128,), [x, out, *more])


def _runs(device: Any, launch: Callable[[], Any]) -> dict[str, Callable[[], Any]]:
    """A launch's grid by the device, and by the engine alone, which nobody watches or stops."""
    grids: list[Any] = []
    run = device.run
    device.run = lambda grid, *rest: grids.append(grid) or run(grid, *rest)
    launch()
    del device.run
    engine, grid = device._get("jit"), grids[0]
    return {"device": lambda: device.run(grid), "engine": lambda: engine.run(grid, device.memory)}


def observing(n: int = 1 << 22, small: int = 1 << 14, rounds: int = 9) -> dict[str, float]:
    """CPU time of launches, as ratios.

    "fast" is the fast engine without an observer, against the engine by itself.  The others are the
    interpreter with an observer against without: the counters alone, with the model of bank
    conflicts (a reduction), with that of the L3 (saxpy).
    """
    import eumu
    from eumu.device.profile import Profile

    found = {}
    for name in ("saxpy", "reduce"):
        device = eumu.Device("apl", engine="jit")
        launch = _launch(device, name, n)  # nothing else keeps the arrays
        times = _best(_runs(device, launch), 5 * rounds)
        found[f"fast, {name}"] = times["device"] / times["engine"]
    for what, name, l3 in (
        ("counters", "saxpy", False),
        ("slm", "reduce", False),
        ("l3", "saxpy", True),
    ):
        device = eumu.Device("apl", engine="interp")
        launch = _launch(device, name, small)

        def watched(
            launch: Callable[[], Any] = launch, device: Any = device, l3: bool = l3
        ) -> None:
            device.observer = Profile() if l3 else Profile(l3=None)
            try:
                launch()
            finally:
                device.observer = None

        times = _best({"plain": launch, "watched": watched}, rounds)
        found[what] = times["watched"] / times["plain"]
    return found


if __name__ == "__main__":
    for name, ratio in observing().items():
        print(f"{name}: {ratio:.2f}")
