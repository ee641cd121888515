"""Options of `eumu run` for checks and for the format of findings."""

from __future__ import annotations

import argparse
from typing import Final

from eumu.exec.checks import CHECKS

CHECK: Final = "--check"
RUN_EPILOG: Final = """\
values of --arg NAME=VALUE (NAME is a parameter, or its number from 0):
  2.5   -7   0x10   1,2,3,4            a number, or the elements of a vector
  @in.npy                              an array from a file; by value, its bytes
  zeros:float32:1024                   an array of zeros; shapes are like 1024 or 64x64
  ones:int32:1024   full:int32:16:7    an array of ones, of sevens
  arange:float32:1024                  0, 1, 2, ...
  random:float32:1024:SEED             [0, 1) for floats, [0, 100) for integers
  read-only:@in.npy  write-only:zeros:int32:64    an array, and what kernels may do to it
  local:4096                           for a local pointer: its memory in bytes
  null                                 a null pointer
  @photo.png   @in.npy:RG32_FLOAT      an image from a file
  image:RGBA8_UNORM:640x480            an image of zeros
  sampler:linear:repeat                a sampler; :unnormalized for coordinates in texels

example:
  eumu run examples/saxpy.bin --kernel saxpy --global 1024 --local 64 \\
      --arg x=arange:float32:1024 --arg y=zeros:float32:1024 --arg a=2.5 --save y=y.npy
  eumu run --device dg2 -- ./app       an OpenCL host program, on eumu's own driver"""


def compiler_options(options: argparse.Namespace, words: str) -> str:
    """The compiler's options: `words`, and what -g and -g0 add."""
    parts = [words, *(["-g0"] if options.no_lines else []), *(["-g"] if options.debug else [])]
    return " ".join(filter(None, parts))


def add_checking(run: argparse.ArgumentParser) -> None:
    """Add --check, --timeout and the options of findings."""
    run.add_argument(
        CHECK,
        metavar="WHAT",
        help=f"find mistakes (slower): {', '.join(CHECKS)}, joined by commas, or all;"
        " without a value the cheap checks",
    )
    add_telling(run, most="20")
    run.add_argument("--timeout", metavar="SECONDS", help="limit of wall time for the launch")


def add_telling(command: argparse.ArgumentParser, most: str) -> None:
    """Add the options for the format and number of findings."""
    add_format(command)
    command.add_argument(
        "--max-findings",
        metavar="N",
        default=most,
        help=f"most findings to show, 0 for all ({most})",
    )
    command.add_argument(
        "--suppressions", metavar="FILE", help="rules for known findings (docs/checking.md)"
    )


def add_library(run: argparse.ArgumentParser) -> None:
    """Add --library."""
    run.add_argument(
        "--library",
        metavar="FILE",
        dest="libraries",
        action="append",
        default=[],
        help="an ELF file with functions or variables that the program uses; may be repeated",
    )


def add_format(run: argparse.ArgumentParser) -> None:
    """Add --format."""
    run.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github", "junit"),
        default="text",
        help="format of the findings; other than text, standard output has nothing else",
    )
