"""Compiles the benchmark's own kernels for `pvc` with Intel's compiler.

    python bench/kernels/build.py

rewrites `bin/<name>.bin` beside this file; the command is the one of `tests/kernels/build.py`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from kernels.build import Program, command  # noqa: E402

DEVICE = "pvc"


def main() -> int:
    """Builds every source; returns how many could not be built."""
    failed = 0
    (HERE / "bin").mkdir(exist_ok=True)
    for source in sorted(HERE.glob("*.cl")):
        line = command(Program(source.stem), DEVICE, source)
        with tempfile.TemporaryDirectory() as work:
            run = subprocess.run(line, cwd=work, capture_output=True, text=True)
            elf = Path(work, "out", source.stem)
            if run.returncode != 0 or not elf.exists():
                print(f"{source.name}: FAILED\n{run.stdout}{run.stderr}")
                failed += 1
                continue
            shutil.copyfile(elf, HERE / "bin" / f"{source.stem}.bin")
            print(f"{source.stem}.bin: {elf.stat().st_size} bytes")
    return failed


if __name__ == "__main__":
    sys.exit(main())
