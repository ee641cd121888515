"""`eumu commands`: a batch of commands in words."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eumu.cli.status import FAILED, FINE
from eumu.cli.values import whole

__all__ = ["command"]


def command(options: argparse.Namespace) -> int:
    """Print a batch up to its end; what is no command fails with its place."""
    from eumu.device.commands import CommandError, words

    data = Path(options.file).read_bytes()
    base = whole("--base", options.base)
    try:
        for line in words(data[whole("--offset", options.offset) :], base):
            print(line)
    except CommandError as error:
        sys.stdout.flush()
        print(f"{options.file}: error: {error}", file=sys.stderr)
        return FAILED
    return FINE
