"""`eumu icd`: where the OpenCL loader finds eumu's driver."""

from __future__ import annotations

import argparse
import sys

from eumu.cl.folder import folder
from eumu.cli.status import FINE
from eumu.errors import Unsupported


def command(options: argparse.Namespace) -> int:
    """Print the folder for OCL_ICD_VENDORS."""
    if not sys.platform.startswith("linux"):
        raise Unsupported("the OpenCL driver is for Linux")
    print(folder())
    return FINE
