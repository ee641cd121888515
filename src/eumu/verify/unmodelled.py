"""Instructions that the documents describe and eumu does not model: not wrong, but unchecked.

Intel's front end reads none of them.
"""

from __future__ import annotations

from dataclasses import replace

from eumu.errors import Diagnostic, Severity
from eumu.text import UNMODELLED


def unchecked(found: Diagnostic, *, parity: bool) -> Diagnostic:
    """What the parser says of an instruction that it cannot read: a warning but in parity mode."""
    if found.code != UNMODELLED or parity:
        return found
    return replace(found, severity=Severity.WARNING)
