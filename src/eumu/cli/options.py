"""Options of `eumu run` that say what is looked for, and how it is told."""

from __future__ import annotations

import argparse
from typing import Final

from eumu.exec.checks import CHECKS

__all__ = ["CHECK", "add_checking"]

CHECK: Final = "--check"


def add_checking(run: argparse.ArgumentParser) -> None:
    """Add them."""
    run.add_argument(
        CHECK,
        metavar="WHAT",
        help=f"find mistakes, slower: {', '.join(CHECKS)}, joined by commas, or all;"
        " without a value what is cheap",
    )
    run.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github", "junit"),
        default="text",
        help="of what is found; machines get nothing else on standard output",
    )
    run.add_argument(
        "--max-findings", metavar="N", default="20", help="that are shown, 0 for all (20)"
    )
    run.add_argument("--suppressions", metavar="FILE", help="findings that are known, by rules")
    run.add_argument("--timeout", metavar="SECONDS", help="of wall time for the launch")
