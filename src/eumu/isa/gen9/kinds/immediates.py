"""Immediates as text.  Floats are printed as short as reads back exactly, else in hexadecimal."""

from __future__ import annotations

import re
import struct
from typing import Final

from eumu.isa.gen9.operands import Constant
from eumu.isa.kinds.cursor import Cursor
from eumu.records import dataclass
from eumu.types import DF, HF, UV, VF, F, Type, V

_NUMBER: Final = re.compile(
    r"(-?)(?:([sq]nan)\(0x([0-9a-fA-F]+)\)|(inf)\b|0x([0-9a-fA-F]+)"
    r"|(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?))"
)


@dataclass(frozen=True, slots=True)
class _Format:
    """A float format: codes of `struct`, bits, bits of the fraction."""

    value: str
    number: str
    bits: int
    fraction: int

    @property
    def infinity(self) -> int:
        return (1 << self.bits - 1) - (1 << self.fraction)

    @property
    def quiet(self) -> int:
        return 1 << self.fraction - 1

    def float_of(self, pattern: int) -> float:
        value: float = struct.unpack(self.value, struct.pack(self.number, pattern))[0]
        return value

    def bits_of(self, value: float) -> int:
        try:
            pattern: int = struct.unpack(self.number, struct.pack(self.value, value))[0]
        except OverflowError:
            return self.infinity | (value < 0) << self.bits - 1
        return pattern


_FORMATS: Final = {
    HF: _Format("<e", "<H", 16, 10),
    F: _Format("<f", "<I", 32, 23),
    DF: _Format("<d", "<Q", 64, 52),
}


def print_constant(constant: Constant) -> str:
    """`-5:w`, `0x4C0:uw`, `1.5:f`, `qnan(0x0):f`, `0x76543210:v`."""
    return f"{_value(constant.bits, constant.type)}:{constant.type}"


def _value(pattern: int, type: Type) -> str:
    if type in _FORMATS:
        return _float(pattern, _FORMATS[type])
    if type.is_signed:
        return str(pattern - (pattern >> type.bits - 1 << type.bits))
    return f"0x{pattern:X}"


def _float(pattern: int, form: _Format) -> str:
    magnitude = pattern & (1 << form.bits - 1) - 1
    sign = "-" if pattern >> form.bits - 1 else ""
    if magnitude > form.infinity:
        fraction = magnitude & (1 << form.fraction) - 1
        kind = "qnan" if fraction & form.quiet else "snan"
        return f"{sign}{kind}(0x{fraction & ~form.quiet:X})"
    if magnitude == form.infinity:
        return f"{sign}inf"
    return _shortest(pattern, form)


def _shortest(pattern: int, form: _Format) -> str:
    # A half is judged as the float it converts to, so that few of them are decimal.
    judge = _FORMATS[F] if form.bits == 16 else form
    value = form.float_of(pattern)
    for style in ("%g", "%e"):
        text = style % value
        if judge.bits_of(float(text)) == judge.bits_of(value):
            return text if "." in text or "e" in text else f"{text}.0"
    return f"0x{pattern:X}"


def parse_constant(cursor: Cursor, pattern: re.Match[str], type: Type) -> Constant:
    """The constant of a matched number and its type."""
    sign, nan, _, inf, digits, decimal = pattern.groups()
    if type in _FORMATS:
        return Constant(_parse_float(cursor, pattern, type), type)
    if nan or inf or (decimal and not decimal.isdigit()):
        cursor.fail(f"'{pattern.group()}' is no {type}", start=pattern.start())
    value = int(digits, 16) if digits else int(decimal)
    value = -value if sign else value
    bits = 32 if type in (V, UV, VF) else type.bits
    if not -(1 << bits - 1) <= value < 1 << bits:
        cursor.fail(f"{pattern.group()} does not fit {bits} bits", start=pattern.start())
    return Constant(value & (1 << bits) - 1, type)


def _parse_float(cursor: Cursor, match: re.Match[str], type: Type) -> int:
    sign, nan, payload, inf, digits, decimal = match.groups()
    form = _FORMATS[type]
    minus = (1 << form.bits - 1) if sign else 0
    if nan:
        quiet = form.quiet if nan == "qnan" else 0
        if int(payload, 16) >= form.quiet:
            cursor.fail(f"the payload of '{match.group()}' is too wide", start=match.start())
        return minus | form.infinity | quiet | int(payload, 16)
    if inf:
        return minus | form.infinity
    if digits:
        if int(digits, 16) >> form.bits:
            cursor.fail(f"'{match.group()}' has more than {form.bits} bits", start=match.start())
        return int(digits, 16) ^ minus
    return form.bits_of(float(decimal)) | minus


def match_number(cursor: Cursor) -> re.Match[str] | None:
    """A number, if one comes next."""
    return cursor.match(_NUMBER)
