"""Options of `eumu compare` and `eumu blame`."""

from __future__ import annotations

import argparse
from typing import Final

from eumu.cli.words import OTHER_OPTIONS

COMPARE_EPILOG: Final = """\
An ELF file for apl or skl has both levels. OpenCL C is compiled for apl (or --device; pvc where no
compiler knows apl) with and without optimization, with the large register file where there is one,
once for each SIMD width, and by every compiler that knows the device (`eumu info --compilers`);
every level of every build is held against the vISA of the first: arrays, images, the program's
variables, what is printed, and faults. Exit status 1 says that something differs.

example:
  eumu compare tests/kernels/bin/apl/saxpy.bin --global 64 --arg x=arange:float32:64 \\
      --arg y=ones:float32:64 --arg a=2.5"""
BLAME_EPILOG: Final = """\
With one program the forms are those of `eumu compare`, and the first that differs from the first
one is looked into. With two, they are held against each other: two builds, two ELF files,
vISA text and the same text edited. From the store that differs both are followed back through
registers, flags, memory and branches, to the first result that the other form never has.
Exit status 1 says that something differs.

examples:
  eumu blame kernel.cl --device pvc --global 64 --arg a=arange:int32:64 --arg c=zeros:int32:64
  eumu blame kernel.cl kernel.cl --other-options=-cl-opt-disable --device pvc --global 64 ..."""


def add_compare(compare: argparse.ArgumentParser) -> None:
    """Add those of `eumu compare`."""
    _add_launch(compare)
    compare.add_argument(
        "--reduce", action="store_true", help="of source: the shortest that still differs"
    )


def add_blame(blame: argparse.ArgumentParser) -> None:
    """Add those of `eumu blame`."""
    blame.add_argument("other", metavar="OTHER", nargs="?", help="to hold against it")
    blame.add_argument(
        OTHER_OPTIONS, metavar='"..."', help="the compiler's, for OTHER (those of PROGRAM)"
    )
    blame.add_argument("--level", choices=("visa", "native"), help="of two programs (visa)")
    _add_launch(blame)


def _add_launch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", metavar="NAME", help="needed if the program has several")
    size = "X[,Y,Z]"
    parser.add_argument("--global", dest="global_size", metavar=size, required=True)
    parser.add_argument("--local", dest="local_size", metavar=size, help="work items of a group")
    parser.add_argument(
        "--arg", dest="args", metavar="NAME=VALUE", action="append", default=[], help="as of run"
    )
    parser.add_argument("--fuel", metavar="N", help="instructions that one thread may run")
    parser.add_argument("--rtol", metavar="X", default="0", help="floats may differ by so much")
