"""Options of `eumu gpu` and `eumu replay`."""

from __future__ import annotations

import argparse
from typing import Final

from eumu.cli.options import CHECK
from eumu.exec.checks import CHECKS

GPU_EPILOG: Final = """\
Intel's driver (Debian's intel-opencl-icd) runs unchanged in the program; eumu runs what it submits.
The exit status is the program's, or 3 after a fault, which eumu reports on standard error. After a
fault the program sees a GPU that hangs; with EUMU_FAULT=abort it ends at the fault.

examples:
  eumu gpu -- clinfo -l
  eumu gpu --device apl --engine interp -- python app.py"""


def add_replay(replay: argparse.ArgumentParser) -> None:
    """Add the options of `eumu replay`."""
    replay.add_argument("file", help="a record, or a capture (.aub) of Intel's driver")
    replay.add_argument(
        "--engine", choices=("jit", "interp"), help="by default the engine of the record"
    )
    _add_what(replay)
    replay.add_argument(
        "--debug",
        action="store_true",
        help="stop at the first instruction and read commands; `help` lists them",
    )
    replay.add_argument(
        "--report", metavar="FILE.html", help="write a report of the kernels (HTML); slow"
    )


def _add_what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        CHECK,
        metavar="WHAT",
        default="",
        help=f"find mistakes (slower): {', '.join(CHECKS)}, joined by commas, or all; without a"
        " value the cheap checks; buffers then have exactly the requested size",
    )


def add_gpu(gpu: argparse.ArgumentParser) -> None:
    """Add the options of `eumu gpu`."""
    gpu.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND ...")
    gpu.add_argument(
        "--device", metavar="D", default="skl", help="skl (default), kbl, cfl, apl, glk or bdw"
    )
    gpu.add_argument("--engine", choices=("jit", "interp"), help="by default jit if available")
    _add_what(gpu)
    gpu.add_argument(
        "--hardware-bounds",
        action="store_true",
        help="outside a surface, reads give 0 and writes have no effect, as on hardware; by"
        " default such an access is a fault",
    )
    gpu.add_argument("--log", metavar="FILE", help="append a line for each submission to a file")
    gpu.add_argument(
        "--dump",
        metavar="DIR",
        help="write a record of each program to this folder, for `eumu replay`",
    )
    gpu.add_argument(
        "--report", metavar="FILE.html", help="write a report of the kernels (HTML); slow"
    )
    gpu.add_argument("--findings", metavar="FILE", help="write the findings to a file")
    gpu.add_argument(
        "--format",
        choices=("json", "sarif", "github", "junit"),
        default="json",
        help="format of --findings (json)",
    )
    gpu.add_argument(
        "--check-driver", action="store_true", help="list missing packages; run nothing"
    )
