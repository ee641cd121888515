"""`python -m eumu`."""

import sys

from eumu.cli import main

sys.exit(main())
