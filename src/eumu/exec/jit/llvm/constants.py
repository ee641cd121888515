"""No constant of compiled code is another number than the one that was written.

LLVM's reader takes ``i64 18446744073709551616`` for 0 and says nothing.  An address or a limit that
has grown beyond its type would be a check that lets everything pass, so every module is looked at
before LLVM gets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from eumu.errors import InternalError

# A literal right behind its type, as the second operand, or as the first value of a phi node.
_SECOND: Final = (
    r"(?:add|sub|mul|[us]div|[us]rem|and|or|xor|shl|[la]shr|icmp [a-z]+)(?: nuw| nsw| exact)*"
)
_LITERAL: Final = re.compile(
    rf"\bi(\d+) (-?\d+)\b|\b{_SECOND} i(\d+) [^\s,]+, (-?\d+)\b|\bphi i(\d+) \[ (-?\d+),"
)
# Most literals are short enough for every type but the small ones: a type of less than 32 bits with
# a literal in one of those three places.  (What begins with a letter is found quickly.)
_SMALL: Final = re.compile(r"i(?:[1-9]|[12][0-9]|3[01]) (?:-?[0-9]|[^\s,]+, -?[0-9]|\[ -?[0-9])")
_DIGITS: Final = bytes(48 if 48 <= code < 58 else 32 for code in range(256))
_LONG: Final = b"0" * 9
# A shift by all bits or more has no result, and code that branches on it is no code.
_SHIFTING: Final = re.compile("sh[lr] ")
_SHIFT: Final = re.compile(
    r"\b(?:shl|[la]shr)(?: nuw| nsw| exact)* (?:<\d+ x )?i(\d+)>? [^\s,]+,"
    r" (?:splat \(i\d+ )?(\d+)\b"
)


def refuse_wide(text: str) -> None:
    """InternalError if an integer constant of LLVM text does not fit its type, signed or not, or
    shifts by more bits than that has.

    >>> refuse_wide("store i64 18446744073709551615, ptr %p")
    >>> refuse_wide("%x = add i64 %y, 18446744073709551616")
    Traceback (most recent call last):
    eumu.errors.InternalError: the fast engine made a constant of 65 bits for i64: ...
    """
    looked = 0
    for place in sorted(_suspects(text)):
        if place >= looked:
            looked = text.find("\n", place) + 1 or len(text)
            _refuse(text[text.rfind("\n", 0, place) + 1 : looked].rstrip("\n"))


def _suspects(text: str) -> Iterator[int]:
    """Places in all lines that may have to be refused, found without looking at each line."""
    for pattern in (_SMALL, _SHIFTING):
        for match in pattern.finditer(text):
            yield match.start()
    digits = text.encode("ascii", "replace").translate(_DIGITS)
    place = digits.find(_LONG)
    while place >= 0:
        yield place
        place = digits.find(_LONG, digits.find(b" ", place))


def _refuse(line: str) -> None:
    if (shift := _SHIFT.search(line)) and int(shift[2]) >= int(shift[1]):
        raise InternalError(f"the fast engine made a shift by {shift[2]} bits: {line.strip()}")
    for match in _LITERAL.finditer(line):
        size, value = (int(part) for part in match.groups() if part is not None)
        if not -1 << (size - 1) <= value < 1 << size:
            raise InternalError(
                f"the fast engine made a constant of {value.bit_length()} bits for i{size}:"
                f" {line.strip()}"
            )
