"""How many instructions a second are parsed and verified by a process that has checked nothing yet.

    python bench/checking.py [--rounds 5]

Every round is a new process; the clock begins when eumu is imported and the texts are in memory.
The texts are those that the compiler put into the test kernels: each device's largest program, and
all programs of the device.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

BINARIES = Path(__file__).resolve().parents[1] / "tests" / "kernels" / "bin"
DEVICES = ("apl", "pvc")


def checking(rounds: int = 5) -> dict[str, dict[str, float]]:
    """Per device and set of programs: instructions, and instructions a CPU second (medians)."""
    found: dict[str, dict[str, float]] = {}
    for device in DEVICES:
        for name, files in _sets(device).items():
            line = [sys.executable, __file__, "--measure", device, *map(str, files)]
            runs = [json.loads(subprocess.check_output(line)) for _ in range(rounds)]
            count = runs[0]["instructions"]
            rates = {part: count / statistics.median(r[part] for r in runs) for part in _PARTS}
            found[f"{device}, {name}"] = {"instructions": count, **rates}
    return found


_PARTS = ("cold", "again")


def _sets(device: str) -> dict[str, list[Path]]:
    files = sorted((BINARIES / device).glob("*.bin"))
    largest = max(files, key=lambda file: file.stat().st_size)
    return {largest.stem: [largest], "all programs": files}


def _measure(device: str, files: list[Path]) -> dict[str, float]:
    """CPU seconds of the first check of the texts, and of a second one."""
    from eumu import zebin
    from eumu.platforms import platform
    from eumu.text import parse
    from eumu.verify import check_text

    target = platform(device)
    texts = [
        (f"{file.name}:{kernel.name}", kernel.visaasm)
        for file in files
        for kernel in zebin.read(file.read_bytes(), file.name).kernels
    ]
    times = []
    for _ in _PARTS:
        start = time.process_time()
        for name, text in texts:
            check_text(text, name, target)
        times.append(time.process_time() - start)
    modules = [parse(text, name, target.grf_bytes) for name, text in texts]
    count = sum(1 for m in modules for kernel in m.kernels for _ in kernel.instructions)
    return {"instructions": count, **dict(zip(_PARTS, times, strict=True))}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        device, *files = options.measure
        print(json.dumps(_measure(device, [Path(file) for file in files])))
        return
    for name, row in checking(options.rounds).items():
        print(
            f"{name}: {row['instructions']} instructions, {row['cold']:,.0f} a CPU second cold,"
            f" {row['again']:,.0f} again"
        )


if __name__ == "__main__":
    main()
