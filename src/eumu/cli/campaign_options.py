"""Options of `eumu campaign`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from eumu.cli.words import BUILD_OPTIONS

CAMPAIGN_EPILOG: Final = """\
kinds:
  random-visa     vISA kernels by seed: both engines, and on skl and bxt native code by Intel's
                  finalizer (GenX_IR); on other devices every fifth is a loop through memory
  random-opencl   OpenCL C by seed: every compiler (EUMU_OCLOC) that supports the device, -O2, -O0
                  and SIMD widths, both levels and engines, PoCL; a vote decides which is wrong
  hostile         kernels by seed whose launches aim beside memory: both engines, and what lies
                  around arrays stays as it was; they have no device
  files FOLDER    every kernel of the .bin, .cl, .elf, .isa, .spv and .visaasm files in a folder:
                  every build, level and engine, with arguments made for it

The store keeps the results: the same call continues where the last one ended, also with a larger
--count. Exit status 1 means that something differs that --explained does not list. docs/campaign.md
has more.

example:
  eumu campaign random-visa --count 480 --store night.sqlite"""


def add_campaign(campaign: argparse.ArgumentParser) -> None:
    """Add the options of `eumu campaign`."""
    campaign.add_argument(
        "kind", metavar="KIND", choices=("random-visa", "random-opencl", "hostile", "files")
    )
    campaign.add_argument(
        "folder", metavar="FOLDER", nargs="?", help="the folder of programs, for the kind files"
    )
    campaign.add_argument(
        "--count",
        metavar="N",
        default="240",
        help="random programs for each device, rounded up to whole batches (240)",
    )
    campaign.add_argument("--devices", metavar="D,D", help="devices (skl; for files apl)")
    where = campaign.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", metavar="N", help="processes on this machine; by default one per processor"
    )
    where.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="use a Dask cluster")
    campaign.add_argument(
        "--store", metavar="FILE.sqlite", required=True, help="the file for the results"
    )
    campaign.add_argument(
        "--limit",
        metavar="SECONDS",
        default="60",
        help="limit of processor time for a program (60)",
    )
    campaign.add_argument(
        "--explained",
        metavar="FILE",
        type=Path,
        help="known differences, a line each: PROGRAM: REASON",
    )
    campaign.add_argument(
        BUILD_OPTIONS,
        metavar='"..."',
        action="append",
        default=[],
        help="compiler options for sources; each use adds a build",
    )
