"""`eumu commands`: a batch of commands in words."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eumu.cli.status import FAILED, FINE
from eumu.cli.values import from_zero


def command(options: argparse.Namespace) -> int:
    """Print a batch up to its end; what is no command fails with its place.

    Orders that the rules warn of are printed behind it.
    """
    from eumu.device.commands import CommandError, packets, words
    from eumu.device.commands.rules import check

    data = Path(options.file).read_bytes()[from_zero("--offset", options.offset) :]
    base = from_zero("--base", options.base)
    try:
        for line in words(data, base):
            print(line)
        sys.stdout.flush()
        for finding in check(packets(data, base)):
            print(f"{options.file}: {finding.severity.value}: {finding.message}", file=sys.stderr)
    except CommandError as error:
        sys.stdout.flush()
        print(f"{options.file}: error: {error}", file=sys.stderr)
        return FAILED
    return FINE
