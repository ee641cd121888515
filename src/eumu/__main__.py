"""`python -m eumu`."""

import sys

from eumu.cli import entry

sys.exit(entry())
