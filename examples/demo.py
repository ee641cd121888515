"""Runs kernels that Intel's compiler built for a Data Center GPU Max (pvc), on this CPU.

    python examples/demo.py

is `eumu demo`.  Each example is an OpenCL C source and, beside it, the ELF file that `ocloc` made
of it.
"""

from __future__ import annotations

import sys

from eumu.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["demo"]))
