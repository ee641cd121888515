"""Options of `eumu compare` and `eumu blame`."""

from __future__ import annotations

import argparse
from typing import Final

from eumu.cli.words import OTHER_OPTIONS

COMPARE_EPILOG: Final = """\
The forms of an ELF file for apl or skl are its vISA and its native code. OpenCL C is compiled for
--device (by default apl; pvc if no compiler supports apl), by every compiler that supports the
device (`eumu info --compilers`): with and without optimization, with the large register file if
the device has one, and with each SIMD width. Every form is compared with the vISA of the first
build: arrays, images, variables of the program, printed text, and faults. Exit status 1 means that
something differs.

example:
  eumu compare tests/kernels/bin/apl/saxpy.bin --global 64 --arg x=arange:float32:64 \\
      --arg y=ones:float32:64 --arg a=2.5"""
BLAME_EPILOG: Final = """\
With one program, the forms are those of `eumu compare`; eumu examines the first one that differs
from the first form. With two programs, it compares these: two builds, two ELF files, or vISA text
and an edited copy. It follows both back from the store that differs, through registers, flags,
memory and branches, to the first result that the other form never has. Exit status 1 means that
something differs.

examples:
  eumu blame kernel.cl --device pvc --global 64 --arg a=arange:int32:64 --arg c=zeros:int32:64
  eumu blame kernel.cl kernel.cl --other-options=-cl-opt-disable --device pvc --global 64 ...
  eumu blame kernel.cl --bug-report bug.md --device dg2 --global 64 ..."""


def add_compare(compare: argparse.ArgumentParser) -> None:
    """Add the options of `eumu compare`."""
    _add_launch(compare)
    compare.add_argument(
        "--reduce",
        action="store_true",
        help="shorten OpenCL C source as long as its forms still differ",
    )


def add_blame(blame: argparse.ArgumentParser) -> None:
    """Add the options of `eumu blame`."""
    blame.add_argument("other", metavar="OTHER", nargs="?", help="the program to compare with")
    blame.add_argument(
        OTHER_OPTIONS,
        metavar='"..."',
        help="compiler options for OTHER (by default those of PROGRAM)",
    )
    blame.add_argument(
        "--level", choices=("visa", "native"), help="what to compare of two programs (visa)"
    )
    blame.add_argument(
        "--switches",
        action="store_true",
        help="of source, say which part of Intel's compiler makes the difference",
    )
    blame.add_argument(
        "--bug-report",
        metavar="FILE.md",
        help="of OpenCL C, write a report for the compiler's authors, with the kernel shortened",
    )
    _add_launch(blame)


def _add_launch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kernel", metavar="NAME", help="the kernel; required if the program has several"
    )
    size = "X[,Y,Z]"
    parser.add_argument(
        "--global", dest="global_size", metavar=size, required=True, help="global size"
    )
    parser.add_argument("--local", dest="local_size", metavar=size, help="work items of a group")
    parser.add_argument(
        "--arg", dest="args", metavar="NAME=VALUE", action="append", default=[], help="as for run"
    )
    parser.add_argument("--fuel", metavar="N", help="limit of the instructions of one thread")
    parser.add_argument(
        "--rtol", metavar="X", default="0", help="allowed relative difference of floats"
    )
