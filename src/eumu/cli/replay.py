"""`eumu replay`: run again what `eumu gpu --dump` has recorded, or Intel's driver itself."""

from __future__ import annotations

import argparse
import os

from eumu.cli.gpu import free_page, wanted
from eumu.cli.status import UsageError
from eumu.drm.replay import run


def command(options: argparse.Namespace) -> int:
    """FINE if memory became what it was in the record, FAILED if not, FAULT after a fault."""
    if not os.path.isfile(options.file):
        raise UsageError(f"no file {options.file!r}")
    if options.debug and options.report is not None:
        raise UsageError("--debug and --report: both look at each instruction; one at a time")
    report = None if options.report is None else free_page(options.report)
    check = wanted(options.check)
    return run(options.file, options.engine, check=check, report=report, debug=options.debug)
