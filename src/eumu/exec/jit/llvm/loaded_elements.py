"""Elements of vectors in memory, in code that is quickly made.

LLVM reads an element of a vector in memory by itself.  Where halves of a longer vector, a quotient,
say, each read the same element, its instruction selection without optimization makes a loop of its
own data and ends the process ("Node is not in map!", LLVM 22).  A frozen element is not read so.
"""

from __future__ import annotations

import re
from typing import Final

_LOADED: Final = re.compile(r"^  (%[\w.]+) = load <", re.MULTILINE)
_ELEMENT: Final = re.compile(
    r"^  (?P<name>%[\w.]+) = "
    r"(?P<made>extractelement <\d+ x (?P<type>\w+)> (?P<vector>%[\w.]+), .*)$",
    re.MULTILINE,
)


def frozen(text: str) -> str:
    """The text of a module in which elements of vectors that are loaded are frozen."""
    loaded = set(_LOADED.findall(text))

    def freeze(m: re.Match[str]) -> str:
        if m["vector"] not in loaded:
            return m[0]
        name = m["name"]
        return f"  {name}.read = {m['made']}\n  {name} = freeze {m['type']} {name}.read"

    return _ELEMENT.sub(freeze, text)
