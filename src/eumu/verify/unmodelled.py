"""Instructions that the documents describe and eumu does not model: not wrong, but unchecked.

What Intel's front end reads, and where, is measured; it reads none of the others (`va`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from eumu.errors import Diagnostic, Severity
from eumu.isa.limits import EVERY_PLATFORM
from eumu.platforms import Platform
from eumu.text import UNMODELLED

_WORD: Final = re.compile(r"\w+")
_EVERYWHERE: Final = ("avs", "vme_ime", "vme_sic", "vme_fbr")
# Mnemonic -> the platforms on which Intel's front end reads it.
READ: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(_EVERYWHERE, EVERY_PLATFORM),
    "dpasw": frozenset({"xehp", "dg2"}),
}

# What it reads and yet refuses: too few operands, and a surface in the sampler's place.
_FEW: Final = re.compile(r"rt_write_3d\s*\([^)]*\)(?:\s+\S+){1,5}\s*(?://.*)?$")
_SAMPLER: Final = re.compile(r"sample\.\w+\s*\([^)]*\)\s+(\w+)")


def _refused(line: str, text: str) -> str:
    """Why Intel's front end refuses what is written here, as far as that is known."""
    if _FEW.match(line):
        return "rt_write_3d without mode takes a surface, a header and four colours at least"
    found = _SAMPLER.match(line)
    if found and not re.search(rf"\.decl\s+{found[1]}\s+v_type=S\b", text):
        return f"'{found[1]}' is no sampler; Intel's front end takes the sampler first"
    return ""


def unchecked(found: Diagnostic, device: Platform, *, parity: bool) -> Diagnostic:
    """What the parser says of an instruction that it cannot read, as the verifier says it.

    A warning, or an error where the device has no such instruction.  In parity mode a note if the
    front end reads the mnemonic: it may yet refuse the operands.
    """
    if found.code != UNMODELLED or found.span is None:
        return found
    span = found.span
    word = _WORD.match(span.source.line(span.line), span.column - 1)
    platforms = READ.get(word[0] if word else "")
    if platforms is None:
        return found if parity else replace(found, severity=Severity.WARNING)
    if device.name not in platforms:
        message = f"{found.message.partition(' is not')[0]} is not there on {device}"
        return replace(found, message=message)
    refused = _refused(span.source.line(span.line)[span.column - 1 :], span.source.text)
    if parity and refused:
        return replace(found, message=refused)
    return replace(found, severity=Severity.NOTE if parity else Severity.WARNING)
