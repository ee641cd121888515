"""One process of the scaling figure: how often a second it runs a compute-bound kernel.

Waits for a line on standard input when it is ready, prints runs a second of wall time.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from engines import Emulator
from foundation import nbody


def main(seconds: float) -> None:
    item = nbody(16384)
    run, _ = Emulator("jit").prepare(item, item.data(np.random.default_rng(1)))
    for _ in range(3):
        run()
    print("ready", flush=True)
    sys.stdin.readline()
    count, start = 0, time.perf_counter()
    while (wall := time.perf_counter() - start) < seconds:
        run()
        count += 1
    print(count / wall)


if __name__ == "__main__":
    main(float(sys.argv[1]))
