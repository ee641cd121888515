"""Compiles the files of this directory with Intel's own compiler (Debian: intel-opencl-icd).

    python tests/zebin/data/build.py

The files are what `ocloc` wrote, byte for byte; `arguments.*.ze_info` is that section of its ELF.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ZEBIN = ("--format", "zebin")
VISA = ("-internal_options", "-ze-emit-zebin-visa-sections")
CL2 = ("-options", "-cl-std=CL2.0")
FULL = (*ZEBIN, *VISA, *CL2, "-exclude_ir")

# result, source, devices, options, environment
FILES: tuple[tuple[str, str, str, tuple[str, ...], dict[str, str]], ...] = (
    ("symbols.pvc.bin", "symbols.cl", "pvc", FULL, {}),
    ("symbols.skl.bin", "symbols.cl", "skl", FULL, {}),
    ("symbols.apl.bin", "symbols.cl", "apl", FULL, {}),
    ("zeros.pvc.bin", "zeros.cl", "pvc", FULL, {"IGC_AllocateZeroInitializedVarsInBss": "1"}),
    ("arguments.skl.bin", "arguments.cl", "skl", FULL, {}),
    ("arguments.pvc.bin", "arguments.cl", "pvc", FULL, {}),
    ("add32.skl.bin", "add.cl", "skl", (*FULL, "-32"), {}),
    ("no_visa.pvc.bin", "add.cl", "pvc", ZEBIN, {}),
    ("patch_tokens.skl.bin", "add.cl", "skl", (), {}),
    ("lines.pvc.bin", "lines.cl", "pvc", (*ZEBIN, *VISA, "-options", "-g"), {}),
    ("archive.bin", "add.cl", "pvc,skl", ZEBIN, {}),
)


def main() -> None:
    for result, source, devices, options, environment in FILES:
        with tempfile.TemporaryDirectory() as directory:
            command = ["ocloc", "compile", "-q", "-file", str(HERE / source), "-device", devices]
            command += ["-output", "program", "-output_no_suffix", "-out_dir", directory, *options]
            subprocess.run(command, cwd=directory, env=os.environ | environment, check=True)
            data = (Path(directory) / "program").read_bytes()
            for place in (str(HERE), directory):  # lines of debug information name their folder
                data = data.replace(place.encode(), b"/".ljust(len(place.encode()), b"s"))
        if result.startswith("arguments"):
            start = data.index(b"---\nversion:")
            data = data[start : data.index(b"\n...\n", start) + 5]
            result = result.replace(".bin", ".ze_info")
        (HERE / result).write_bytes(data)


if __name__ == "__main__":
    main()
