"""Compiles function_pointers.cl (Debian: clang-15, llvm-14, intel-opencl-icd).

    python tests/native/data/build.py

The compiler's own front end refuses function pointers, its code generator does not: it gets LLVM's
intermediate form from clang.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "function_pointers"
CLANG = (
    *("clang-15", "-x", "cl", "-cl-std=CL2.0", "-target", "spir64", "-O1", "-S", "-emit-llvm"),
    *("-Xclang", "-finclude-default-header", "-Xclang", "-no-opaque-pointers"),
)
OCLOC = (
    *("ocloc", "compile", "-q", "-llvm_input", "--format", "zebin", "-options", "-cl-std=CL2.0"),
    *("-internal_options", "-ze-emit-zebin-visa-sections", "-output_no_suffix", "-exclude_ir"),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, code = folder / f"{NAME}.ll", folder / f"{NAME}.bc"
        subprocess.run([*CLANG, HERE / f"{NAME}.cl", "-o", text], check=True)
        subprocess.run(["llvm-as", text, "-o", code], check=True)
        for device in ("skl", "apl"):
            command = [*OCLOC, "-file", code, "-device", device, "-output", "program"]
            subprocess.run([*command, "-out_dir", folder], cwd=folder, check=True)
            (HERE / f"{NAME}.{device}.bin").write_bytes((folder / "program").read_bytes())


if __name__ == "__main__":
    main()
