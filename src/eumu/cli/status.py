"""Exit statuses, and what is wrong with a command line beyond its grammar."""

from __future__ import annotations

from typing import Final

FINE: Final = 0
FAILED: Final = 1  # findings in, or failure of, the user's program
USAGE: Final = 2
FAULT: Final = 3
INTERRUPTED: Final = 130


class UsageError(Exception):
    """An option's value cannot be used; the message names the option."""
