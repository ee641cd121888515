"""What a kernel printed: the records of the printf buffer, formatted as C does.

The buffer starts with a dword that says where the next record goes.  A record is the address of
its format string (8 bytes) and, for every argument of the call, a dword that says its type and then
the argument; nothing says how many there are.  Source: OpenCL C 6.15.14 and the compiler's output.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Final

from eumu.errors import ArrayPlace, Finding, Severity
from eumu.findings import PRINTF_BUFFER
from eumu.runtime.calls import MARK, Call
from eumu.settings import PRINTF_MB

BUFFER_BYTES: Final = 4 << 20  # kernels check against this number
FIRST_RECORD: Final = 4
_LOST: Final = (1 << 32) - 1  # what a kernel writes where its record found no room

# Argument types: struct code; the vector type of a scalar type is 9 or more.
_TYPES: Final = {1: "b", 2: "h", 3: "i", 4: "f", 6: "q", 7: "Q", 8: "d"}
_STRING: Final = 5
_VECTORS: Final = {9: "b", 10: "h", 11: "i", 12: "q", 13: "f", 14: "d"}
_KINDS: Final = {*_TYPES, _STRING, *_VECTORS}

# With what C has and OpenCL C has not: `*`, and the lengths ll, z, t, j, q and L.
_CONVERSION: Final = re.compile(
    rb"%(?P<flags>[-+ #0]*)(?P<width>\d*|\*)(?P<precision>\.(?:\d*|\*))?"
    rb"(?P<vector>v(?:2|3|4|8|16))?(?P<length>hh|hl|h|ll|[lztjqL])?"
    rb"(?P<letter>[diouxXfFeEgGaAcsp%])"
)
_NO_PRECISION: Final = re.compile(rb"\.-\d+")  # an argument below 0 says that there is none
_LENGTH_BITS: Final = {b"hh": 8, b"h": 16, b"": 32, b"hl": 32}  # 64 with any other

Strings = Callable[[int], bytes | None]
Argument = int | float | str | list[int] | list[float]


def decode(buffer: bytes, strings: Strings, most: int | None = None) -> str:
    """Everything in a printf buffer, up to `most` characters (EUMU_PRINTF_MB); a note says what is
    left out.  `strings` reads the string at a device address.
    """
    (end,) = struct.unpack_from("<I", buffer)
    most = PRINTF_MB.get() << 20 if most is None else most
    reader = _Reader(buffer[: min(end, len(buffer))], strings, most)
    pieces: list[str] = []
    for piece in reader.records():
        pieces.append(piece)
        reader.room -= len(piece)
        if reader.room < 0:
            pieces[-1] = piece[: reader.room]
            break
    text = "".join(pieces)
    if reader.room < 0:
        text += (
            f"\n[printf: more than {most} characters; the rest is left out,"
            f" {PRINTF_MB.name} is the limit in MiB]\n"
        )
    if end > len(buffer):
        text += f"[printf: {end - len(buffer)} bytes found no room in the buffer]\n"
    return text


def calls(buffer: bytes, strings: Strings) -> tuple[Call, ...]:
    """What a program that was built with checks says of its own calls; `decode` leaves it out."""
    (end,) = struct.unpack_from("<I", buffer)
    if end <= FIRST_RECORD:
        return ()
    reader = _Reader(buffer[: min(end, len(buffer))], strings, len(buffer))
    for _ in reader.records():
        pass
    return tuple(reader.calls)


def is_full(buffer: bytes) -> bool:
    """Whether some of what a kernel printed found no room."""
    (end,) = struct.unpack_from("<I", buffer)
    return bool(end > len(buffer))


def overflow(kernel: str, buffer: bytes) -> Iterator[Finding]:
    """The finding of a printf buffer that was too small for what a kernel printed."""
    (end,) = struct.unpack_from("<I", buffer)
    if end > len(buffer):
        reason = f"{end - len(buffer)} bytes that the kernel printed found no room in the buffer"
        place = ArrayPlace(PRINTF_BUFFER, len(buffer), end, 1, "after")
        yield Finding("printf-overflow", reason, kernel, severity=Severity.WARNING, memory=place)


class _Reader:
    """Walks over the records."""

    def __init__(self, buffer: bytes, strings: Strings, room: int) -> None:
        self.buffer = buffer
        self.strings = strings
        self.room = room  # characters that may come; no field is much wider
        self.offset = FIRST_RECORD
        self.calls: list[Call] = []

    def records(self) -> Iterator[str]:
        """The text of each record."""
        while self.offset + 8 <= len(self.buffer):
            if struct.unpack_from("<I", self.buffer, self.offset)[0] == _LOST:
                return
            address = self._take("Q")
            template = self.strings(int(address))
            if template is None:
                yield f"[printf: no format string at {int(address):#x}]\n"
                return
            try:
                if template.startswith(MARK):
                    self.calls.append(Call.of(template, self._argument()))
                else:
                    yield self._record(template)
            except (struct.error, KeyError, ValueError):
                yield f"[printf: damaged arguments of {template!r}]\n"
                return

    def _record(self, template: bytes) -> str:
        parts, last = [], 0
        room = 4 * self.room  # bytes, of which a character has up to four
        for match in _CONVERSION.finditer(template):
            parts.append(template[last : match.start()].decode("latin-1"))
            last = match.end()
            parts.append(self._conversion(match, room))
            room -= len(parts[-2]) + len(parts[-1])
            if room < 0:
                break
        else:
            parts.append(template[last:].decode("latin-1"))
        while self._is_argument() and not self._is_record():
            self._argument()  # one that no conversion takes: C ignores it
        return "".join(parts).encode("latin-1", "replace").decode("utf-8", "replace")

    def _conversion(self, match: re.Match[bytes], room: int) -> str:
        """One conversion with its argument; as it stands if the call has no argument for it."""
        if match["letter"] == b"%":
            return "%"
        text = match[0]
        while b"*" in text and self._is_argument():
            text = text.replace(b"*", b"%d" % self._size(), 1)
        found = _CONVERSION.fullmatch(_NO_PRECISION.sub(b"", text))
        if found is None or b"*" in text or self._is_behind_arguments():
            return match[0].decode("latin-1")
        return _format(_narrowed(found, self.room), self._argument(), room)

    def _size(self) -> int:
        """A width or precision that is an argument."""
        value = self._argument()
        return value if isinstance(value, int) else 0

    def _is_behind_arguments(self) -> bool:
        return not self._is_argument() and (self._is_end() or self._is_record())

    def _is_end(self) -> bool:
        return self.offset + 4 > len(self.buffer)

    def _is_argument(self) -> bool:
        """Whether a dword that says the type of an argument comes next."""
        if self._is_end():
            return False
        return struct.unpack_from("<I", self.buffer, self.offset)[0] in _KINDS

    def _is_record(self) -> bool:
        """Whether a record comes next: the address of a string, or what says that it is lost."""
        if self.offset + 8 > len(self.buffer):
            return False
        (address,) = struct.unpack_from("<Q", self.buffer, self.offset)
        return address & _LOST == _LOST or self.strings(address) is not None

    def _argument(self) -> Argument:
        kind = int(self._take("I"))
        if kind == _STRING:
            address = int(self._take("Q"))
            text = self.strings(address) if address else b"(null)"
            return "(bad string)" if text is None else text.decode("latin-1")
        if kind in _VECTORS:
            count = int(self._take("I"))
            code = _VECTORS[kind]
            values = [self._take(code) for _ in range(count)]
            self.offset += max(0, 4 - struct.calcsize(code)) * count
            return values
        return self._take(_TYPES[kind], least=4)

    def _take(self, code: str, least: int = 0) -> int | float:
        (value,) = struct.unpack_from("<" + code, self.buffer, self.offset)
        self.offset += max(struct.calcsize(code), least)
        number: int | float = value
        return number


def _narrowed(match: re.Match[bytes], room: int) -> re.Match[bytes]:
    """The conversion with a width and precision that are not beyond what may come."""
    most, narrow = max(0, room) + 1, match[0]
    for name in ("width", "precision"):
        digits = (match[name] or b"").lstrip(b".0")
        if len(digits) > 12 or int(digits or b"0") > most:
            narrow = narrow.replace(digits, b"%d" % most, 1)
    return match if narrow is match[0] else _CONVERSION.fullmatch(narrow) or match


def _format(match: re.Match[bytes], value: Argument, room: int) -> str:
    """One conversion; the elements of a vector, as many as have room, are separated by commas."""
    if not isinstance(value, list):
        return _scalar(match, value)
    elements: list[str] = []
    for element in value:
        elements.append(_scalar(match, element))
        room -= len(elements[-1]) + 1
        if room < -1:  # the last one has no comma
            break
    return ",".join(elements)


def _scalar(match: re.Match[bytes], value: int | float | str) -> str:
    letter = match["letter"].decode()
    flags = set(match["flags"].decode())
    if letter == "s":
        body = value if isinstance(value, str) else f"<%s of {value}>"
        return _pad(body[: _precision(match)], "", match, flags - {"0"})
    if isinstance(value, str):
        return f"<%{letter} of {value!r}>"
    if letter == "c":
        return _pad(chr(int(value) & 0xFF), "", match, flags - {"0"})
    if letter == "p":
        return _pad(f"{int(value) & (1 << 64) - 1:#x}", "", match, flags - {"0"})
    if letter in "diouxX":
        return _integer(match, letter, flags, value)
    return _float(match, letter, flags, float(value))


def _integer(match: re.Match[bytes], letter: str, flags: set[str], value: int | float) -> str:
    if isinstance(value, float):
        return f"<%{letter} of {value!r}>"
    bits = _LENGTH_BITS.get(match["length"] or b"", 64)
    number = value & (1 << bits) - 1
    if letter in "di" and number >> (bits - 1):
        number -= 1 << bits
    digits = {"o": f"{number:o}", "x": f"{number:x}", "X": f"{number:X}"}.get(
        letter, str(abs(number))
    )
    precision = _precision(match)
    if precision is not None:
        flags = flags - {"0"}
        digits = "" if precision == 0 and number == 0 else digits.zfill(precision)
    if letter == "o" and "#" in flags and not digits.startswith("0"):
        digits = "0" + digits
    sign = _sign(number < 0, flags) if letter in "di" else ""
    prefix = "0" + letter if letter in "xX" and "#" in flags and number else ""
    return _pad(digits, sign + prefix, match, flags)


def _float(match: re.Match[bytes], letter: str, flags: set[str], value: float) -> str:
    negative = str(value).startswith("-")
    precision = _precision(match)
    if not isfinite(value):
        body = str(abs(value))
        return _pad(
            body.upper() if letter.isupper() else body, _sign(negative, flags), match, flags - {"0"}
        )
    if letter in "aA":
        prefix, body = _hexadecimal(abs(value), precision, "#" in flags)
        if letter == "A":
            prefix, body = prefix.upper(), body.upper()
        return _pad(body, _sign(negative, flags) + prefix, match, flags)
    alternate = "#" if "#" in flags else ""
    body = f"%{alternate}.{6 if precision is None else precision}{letter}" % abs(value)
    return _pad(body, _sign(negative, flags), match, flags)


def _hexadecimal(value: float, precision: int | None, point: bool) -> tuple[str, str]:
    """`0x` and the rest of a %a conversion, as glibc writes it."""
    mantissa, exponent = value.hex().split("p")
    whole, _, fraction = mantissa.removeprefix("0x").partition(".")
    if precision is None:
        fraction = fraction.rstrip("0")
    else:
        bits = int((whole + fraction).ljust(14, "0"), 16)
        dropped = 4 * (13 - precision)
        if dropped > 0:
            half = 1 << (dropped - 1)
            rest = bits & (1 << dropped) - 1
            bits >>= dropped
            bits += rest > half or (rest == half and bits & 1)
        else:
            bits <<= -dropped
        text = f"{bits:x}".zfill(precision + 1)
        whole, fraction = text[: len(text) - precision], text[len(text) - precision :]
    dot = "." if fraction or point else ""
    return "0x", f"{whole}{dot}{fraction}p{exponent}"


def _sign(negative: bool, flags: set[str]) -> str:
    if negative:
        return "-"
    return "+" if "+" in flags else " " if " " in flags else ""


def _precision(match: re.Match[bytes]) -> int | None:
    text = match["precision"]
    return None if text is None else int(text[1:] or b"0")


def _pad(body: str, prefix: str, match: re.Match[bytes], flags: set[str]) -> str:
    """Sign or `0x`, and padding to the field width."""
    width = int(match["width"] or 0)
    if "-" in flags:
        return (prefix + body).ljust(width)
    if "0" in flags:
        return prefix + body.zfill(width - len(prefix))
    return (prefix + body).rjust(width)
