"""Random OpenCL kernels with races and without: what both engines say of them.

    python tests/findings/random_races.py [--count 200] [--first 0] [--devices skl,pvc]

A kernel is some statements on shared local and global memory, with barriers between them or
without.  Reports must be the same text on the interpreter and on the fast engine, for other seeds
and numbers of workers, and so must be what is left in memory.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "src")]

import numpy as np  # noqa: E402

import eumu  # noqa: E402
from eumu.exec.jit import Jit  # noqa: E402

GROUP, GROUPS = 64, 3
_BARRIERS = ("LOCAL", "GLOBAL", "LOCAL_MEM_FENCE | CLK_GLOBAL")


def statement(r: random.Random, depth: int = 0) -> str:
    """One statement; `l` and `i` are the work item in its group and in the launch."""
    place = r.choice(("l", "l", f"(l + {r.randrange(64)}) % 64", f"(l ^ {r.randrange(64)})", "0"))
    value = r.choice(("l", "i", "7", f"l / {r.choice((2, 8, 32))}"))
    at = r.choice(("i", "i", f"(i + {r.randrange(192)}) % 192", f"i / {r.choice((2, 64))}"))
    choices = [
        f"t[{place}] = {value};",
        f"s += t[{place}];",
        f"c[{place}] = {value};",
        f"s += c[{place}];",
        f"out[{at}] = {value};",
        f"s += out[{at}];",
        f"vstore4((int4)({value}), l % 16, t);",
        f"atomic_add(&t[{place}], 1);",
        f"atomic_inc(&out[{at}]);",
        *(f"barrier(CLK_{which}_MEM_FENCE);" for which in _BARRIERS for _ in range(2)),
    ]
    if depth < 2:
        part = plain(r, depth + 1)
        limit = r.choice((1, 32, 63))
        choices += [f"if (l < {limit}) {{ {part} }}", f"if (i == {limit}) {{ {part} }}"]
        inner = " ".join(statement(r, 2) for _ in range(2))
        choices.append(f"for (int k = 0; k < 3; k++) {{ {inner} }}")
    return r.choice(choices)


def plain(r: random.Random, depth: int) -> str:
    """A statement without a barrier in it, for a branch."""
    while "barrier" in (text := statement(r, depth)):
        pass
    return text


def kernel(seed: int) -> str:
    r = random.Random(seed)
    body = "\n    ".join(statement(r) for _ in range(r.randrange(3, 9)))
    return f"""
kernel void k{seed}(global int *out, global int *sums) {{
    local int t[64];
    local char c[64];
    int l = get_local_id(0), i = get_global_id(0), s = 0;
    t[l] = c[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    {body}
    sums[i] = s;
}}
"""


def answer(
    kernel: eumu.Kernel, device: str, workers: int, seed: int
) -> tuple[str, list[str], bytes]:
    """The engine, what was found, and what is left; `workers` 0 for the interpreter."""
    dev = eumu.Device(device, engine="jit" if workers else "interp", check="races")
    if workers:
        dev.use("jit", Jit(workers))
    arrays = [dev.array(np.arange(GROUP * GROUPS, dtype=np.int32), name=n) for n in ("out", "sums")]
    report = kernel.launch(dev, GROUP * GROUPS, GROUP, arrays, seed=seed)
    left = b"".join(a.numpy().tobytes() for a in arrays)
    return report.engine, [str(f) for f in report.findings], left


def compare(seeds: range, device: str) -> Counter[str]:
    """How many were found and how many the fast engine cleared; AssertionError for a difference."""
    program = eumu.build("".join(map(kernel, seeds)), device)
    counts: Counter[str] = Counter()
    for seed in seeds:
        made = program[f"k{seed}"]
        _, found, left = answer(made, device, 0, 0)
        for workers in (1, 2):
            engine, same, memory = answer(made, device, workers, 0)
            assert same == found, f"{device} kernel {seed}, {workers} workers:\n{kernel(seed)}"
            assert memory == left, f"{device} kernel {seed}, {workers} workers"
            assert engine == "interp" or not found
            counts["cleared by the fast engine"] += engine == "jit" and workers == 1
        counts["with races" if found else "without"] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--devices", default="skl,pvc")
    given = parser.parse_args()
    for device in given.devices.split(","):
        total: Counter[str] = Counter()
        for first in range(given.first, given.first + given.count, 20):
            total += compare(range(first, min(first + 20, given.first + given.count)), device)
            print(device, first, dict(total), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
