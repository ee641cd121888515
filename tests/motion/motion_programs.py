"""Compiles the kernels of these tests with Intel's own compiler.

    python tests/motion/motion_programs.py

needs `ocloc` and rewrites `bin/<device>/motion.bin.gz` and `examples/motion.bin`.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from eumu.zebin import ocloc

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "motion.cl"
DEVICES = ("skl",)


def elf(device: str) -> bytes:
    """The compiled program."""
    return gzip.decompress(_path(device).read_bytes())


def _path(device: str) -> Path:
    return HERE / "bin" / device / "motion.bin.gz"


def main() -> None:
    source = (HERE / "motion.cl").read_text()
    for device in DEVICES:
        built = ocloc.compile(source, device, "-cl-std=CL2.0", name="motion.cl")
        _path(device).parent.mkdir(parents=True, exist_ok=True)
        _path(device).write_bytes(gzip.compress(built.elf, mtime=0))
    built = ocloc.compile(EXAMPLE.read_text(), "skl", "-cl-std=CL2.0", name=EXAMPLE.name)
    EXAMPLE.with_suffix(".bin").write_bytes(built.elf)


if __name__ == "__main__":
    main()
