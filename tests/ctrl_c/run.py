"""Ctrl-C in random moments of long work: ``python tests/ctrl_c/run.py --count 1000``.

Each turn starts something long, is interrupted after up to ``--most`` seconds, measures how long
KeyboardInterrupt takes, and uses the device again.  Exit status 1 if one took more than ``--bar``.
"""

from __future__ import annotations

import argparse
import gc
import random
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ctrl_c.long import Long


def answer_time(action: Callable[[], object], after: float) -> float:
    """Seconds from the signal until KeyboardInterrupt has come out of an action.

    Callbacks of the garbage collector, which pytest's plugins have, are away meanwhile: Python
    loses an exception in them.  It loses one in a finaliser or a callback of a weak reference, too,
    and says so, which is no mistake: the signal comes again.
    """
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    callbacks, gc.callbacks[:] = gc.callbacks[:], []
    hook, sys.unraisablehook = sys.unraisablehook, _unless_interrupted(sys.unraisablehook)
    try:
        signal.setitimer(signal.ITIMER_REAL, after, 1.0)
        start = time.perf_counter()
        try:
            action()
        except KeyboardInterrupt:
            return time.perf_counter() - start - after
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        raise AssertionError(f"it ended by itself within {after:.2f} s")
    finally:
        sys.unraisablehook = hook
        gc.callbacks[:] = callbacks
        signal.signal(signal.SIGALRM, before)


def _unless_interrupted(hook: Callable[[Any], object]) -> Callable[[Any], object]:
    def tell(lost: Any) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            hook(lost)

    return tell


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--most", type=float, default=0.4)
    parser.add_argument("--bar", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("jit", "interp"), default="jit")
    parser.add_argument("--only", help="one kind of work")
    options = parser.parse_args()
    choose, long = random.Random(options.seed), Long(options.engine)
    took: dict[str, list[float]] = defaultdict(list)
    names = [options.only] if options.only else sorted(long.actions)
    for turn in range(options.count):
        name = names[turn % len(names)]
        took[name].append(answer_time(long.actions[name], choose.uniform(0.001, options.most)))
        long.check()
    for name, times in took.items():
        print(f"{name:24} {len(times):5} times, longest {max(times):.3f} s, mean", end=" ")
        print(f"{sum(times) / len(times):.3f} s")
    return int(max(map(max, took.values())) > options.bar)


if __name__ == "__main__":
    sys.exit(main())
