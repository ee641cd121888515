"""Numbers that are clamped and then made shorter, in code that is quickly made.

LLVM's instruction selection without optimization may make one saturating instruction of both.
Where a select has the result beside elements of 64 bits that were made shorter, too, it builds a
vector of 64 bits from that, which it has not, and ends the process ("Unsupported vector width",
LLVM 22).  A clamped number that is frozen stays one by itself.
"""

from __future__ import annotations

import re
from typing import Final

_SHORTENED: Final = re.compile(r" = trunc <\d+ x \w+> (%[\w.]+) to ")
_CLAMPED: Final = re.compile(
    r"^  (?P<name>%[\w.]+) = (?P<made>call (?P<type><\d+ x \w+>) @llvm\.[su](?:max|min)\..*)$",
    re.MULTILINE,
)


def frozen(text: str) -> str:
    """The text of a module in which numbers that are clamped and made shorter are frozen."""
    shortened = set(_SHORTENED.findall(text))

    def freeze(m: re.Match[str]) -> str:
        name = m["name"]
        if name not in shortened:
            return m[0]
        return f"  {name}.own = {m['made']}\n  {name} = freeze {m['type']} {name}.own"

    return _CLAMPED.sub(freeze, text)
