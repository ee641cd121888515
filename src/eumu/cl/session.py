"""One `eumu run -- COMMAND`: the broker beside the program, and the program's environment."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from eumu.beside.session import SessionOutcome, run_beside
from eumu.cc.build import library
from eumu.cc.compile import CL
from eumu.cl.folder import fill
from eumu.cl.options import ClOptions
from eumu.errors import ToolMissing
from eumu.settings import CL_SOCKET


def run(command: Sequence[str], options: ClOptions) -> SessionOutcome:
    """Run a program on eumu's OpenCL driver; the loader sees no other.

    ToolMissing if the command or the C compiler is not there.
    """
    if shutil.which(command[0]) is None:
        raise ToolMissing(f"no command {command[0]!r}")
    files = () if options.records is None else (options.records,)
    with tempfile.TemporaryDirectory(prefix="eumu-run-") as place:
        path = str(Path(place) / "engine")
        vendors = Path(place) / "vendors"
        fill(vendors, library(CL, Path(place) / "library").read_bytes())
        variables = {"OCL_ICD_VENDORS": str(vendors), CL_SOCKET.name: path}
        return run_beside(command, os.environ | variables, "eumu.cl.door", path, options, files)
