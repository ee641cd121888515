"""Elements and parts of vectors in memory, which LLVM must not read by themselves.

Where halves of a longer vector, a quotient, say, each read the same element, or two parts of a
vector and both together are read, its instruction selection makes a loop of its own data and ends
the process ("Node is not in map!", LLVM 22).  Of a vector that is frozen when it is loaded nothing
is read so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container
from typing import Final

_IN_PIECES: Final = re.compile(r" = (?:extractelement|shufflevector) <\d+ x \w+> (%[\w.]+), ")
_PART: Final = re.compile(
    r" = shufflevector <\d+ x (?P<type>\w+)> (?P<name>%[\w.]+), .*, <(?P<count>\d+) x i32> .*$",
    re.MULTILINE,
)
_LOADED: Final = re.compile(
    r"^  (?P<name>%[\w.]+) = (?P<made>load (?P<type><(?P<count>\d+) x (?P<of>\w+)>), .*)$",
    re.MULTILINE,
)
_BYTES: Final = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}
_WHOLE: Final = 64  # bytes of a vector of which LLVM makes the loop with optimization, too
_SMALL: Final = 16  # and at most of its parts


def frozen(text: str) -> str:
    """The text of a module that is quickly made, in which vectors are frozen that are loaded and
    read in pieces."""
    in_pieces = set(_IN_PIECES.findall(text))
    return _frozen(text, lambda m: m["name"] in in_pieces)


def parts_frozen(text: str) -> str:
    """The same of any module, where a vector has the width at which LLVM does so at any effort, and
    small parts of it are read."""
    parts = Counter(
        m["name"] for m in _PART.finditer(text) if _size(m["type"], m["count"]) <= _SMALL
    )
    several: Container[str] = {name for name, count in parts.items() if count > 1}
    return _frozen(text, lambda m: m["name"] in several and _size(m["of"], m["count"]) == _WHOLE)


def _size(type: str, count: str) -> int:
    """Bytes of a vector; 0 of masks, which are no bytes."""
    one = int(type[1:]) // 8 if type[0] == "i" else _BYTES.get(type, 0)
    return one * int(count)


def _frozen(text: str, wanted: Callable[[re.Match[str]], bool]) -> str:
    def freeze(m: re.Match[str]) -> str:
        if not wanted(m):
            return m[0]
        return (
            f"  {m['name']}.read = {m['made']}\n  {m['name']} = freeze {m['type']} {m['name']}.read"
        )

    return _LOADED.sub(freeze, text)
