"""Instructions that the documents describe and eumu does not model: not wrong, but unchecked.

Intel's front end reads none of them.
"""

from __future__ import annotations

from dataclasses import replace

from eumu.errors import Diagnostic, Severity
from eumu.text import UNMODELLED


def unchecked(diagnostic: Diagnostic, *, parity: bool) -> Diagnostic:
    """What the parser says of an instruction that it cannot read: a warning but in parity mode."""
    if diagnostic.code != UNMODELLED or parity:
        return diagnostic
    return replace(diagnostic, severity=Severity.WARNING)
