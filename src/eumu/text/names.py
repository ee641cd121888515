"""Which words can be names of variables and labels."""

from __future__ import annotations

import re

from eumu.isa.kinds.variables import NUMBERED, PREDEFINED
from eumu.isa.visa import VISA
from eumu.isa.visa.registry import NO_TOKENS

LABEL = re.compile(r"([A-Za-z_$@?][\w$@?\-]*):", re.ASCII)
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Words of the grammar, beside the mnemonics, that cannot be names.
_RESERVED = frozenset({"flat", "bti", "ss", "bss", "arg", "FILE", "LOC"})


def is_reserved(name: str) -> bool:
    """Whether the front end reads this word as something else than a name."""
    return name in _RESERVED or (bool(VISA.find(name)) and name not in NO_TOKENS)


def is_label(name: str) -> bool:
    """Whether a label can be defined with this name."""
    return bool(LABEL.fullmatch(f"{name}:"))


def is_variable_name(name: str) -> bool:
    """Whether a variable can be declared with this name."""
    if name in PREDEFINED or name in NUMBERED or is_reserved(name):
        return False
    return bool(IDENTIFIER.fullmatch(name))
