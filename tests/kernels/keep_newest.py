"""Keeps a few programs by the newest compiler, for tests where it cannot be had.

    python tests/kernels/keep_newest.py [--check]

compiles them with `.venv/newest-ocloc/ocloc`, writes `newest_bin/<device>/<name>.bin` and says of
each whether it changed: in its vISA, in other parts, or not at all.  With `--check` nothing is
written, and the exit status is 1 if something changed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "src")]

from eumu import zebin  # noqa: E402
from eumu.zebin.compilers import VARIABLE  # noqa: E402
from kernels import newest  # noqa: E402

KEPT = HERE / "newest_bin"
DEVICES = ("dg2", "bmg")
PROGRAMS = ("saxpy", "reduce", "call_noinline")


def path(name: str, device: str) -> Path:
    return KEPT / device / f"{name}.bin"


def change(before: bytes, after: bytes) -> str:
    """What differs between two builds of a program."""
    if before == after:
        return "unchanged"
    if not before:
        return "new"
    texts = [
        [(k.name, _without_comments(k.visaasm)) for k in zebin.read(data, "kept").kernels]
        for data in (before, after)
    ]
    return "changed in its vISA" if texts[0] != texts[1] else "changed, but not in its vISA"


def _without_comments(text: str) -> str:
    return "\n".join(line.partition("//")[0].rstrip() for line in text.splitlines())


def main() -> int:
    checks = "--check" in sys.argv[1:]
    if not newest.NEWEST.exists():
        print("there is no such compiler; .ci/newest-ocloc .venv/newest-ocloc unpacks the newest")
        return 2
    os.environ[VARIABLE] = str(newest.NEWEST)
    changed = False
    for device in DEVICES:
        for name in PROGRAMS:
            file, made = path(name, device), newest.build(name, device)
            said = change(file.read_bytes() if file.exists() else b"", made)
            print(f"{device}/{name}: {said}")
            changed |= said != "unchanged"
            if not checks:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(made)
    return int(checks and changed)


if __name__ == "__main__":
    sys.exit(main())
