"""Immediates: `value:type` in text, lanes in a body.

Source: vISA pages "Immediate operands" and "Packed immediate vectors"; the value forms are those
that Intel's front end accepts.
"""

from __future__ import annotations

import re
import struct
from typing import NoReturn

from eumu.errors import InternalError
from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Names
from eumu.isa.kinds.literals import integer_literal as integer_literal
from eumu.isa.kinds.literals import unary
from eumu.isa.kinds.operands import Immediate
from eumu.isa.kinds.variables import by_type_name
from eumu.types import BF, BOOL, DF, HF, UV, UW, VF, F, Kind, Type, V, W

_FLOAT = re.compile(r"(-?[ \t]*\d+(?:\.\d+(?:[eE][+-]\d+)?|[eE][+-]\d+)):(f|df)\b", re.IGNORECASE)
_DECIMAL = re.compile(r"(\d+)[ \t]*:")
_FRACTION = re.compile(r"\.|[eE]\d")
_TYPE = re.compile(r":([A-Za-z]+)\b")
_START = re.compile(r"[-~!(\d]|%sizeof\b")

_64 = (1 << 64) - 1


def starts_immediate(cursor: Cursor) -> bool:
    """Whether an immediate can begin at the next token."""
    return bool(_START.match(cursor.text, cursor.skip()))


def parse_immediate(cursor: Cursor, names: Names) -> Immediate:
    """`0x3f800000:f`, `-1:w`, `1.5:df`, `~1:d`, `(1+2):d`."""
    start = cursor.skip()
    if match := cursor.match(_FLOAT):
        return _from_float(float("".join(match.group(1).split())), match.group(2).lower())
    value = unary(cursor, names)
    suffix = cursor.match(_TYPE)
    if suffix is None:
        _no_type(cursor, start)
    type = by_type_name(suffix.group(1))
    if type is None or type in (BF, BOOL):
        cursor.fail(
            f"an immediate cannot have type ':{suffix.group(1)}';"
            " allowed are ub b uw w ud d uq q hf f df v uv vf",
            start=start,
        )
    return _checked(cursor, start, value, type)


def _checked(cursor: Cursor, start: int, value: int, type: Type) -> Immediate:
    decimal = _DECIMAL.match(cursor.text, start)
    if decimal is not None and value >> (31 if type.size == 8 else 32):
        # Intel's front end reads a decimal literal as 32 signed bits, whatever the type says.
        cursor.fail(
            "a decimal literal has at most 32 bits; write it as 0x…", start=start, code="literal"
        )
    if type.size < 8 and not -(1 << 31) <= value < 1 << 32:
        cursor.fail(f"{value:#x} does not fit into 32 bits", start=start, code="literal")
    if type is HF and not 0 <= value < 0x10000:
        cursor.fail("an hf immediate is its 16 bits, 0x0 to 0xffff", start=start)
    return Immediate(value & (_64 if type.size == 8 else (1 << 32) - 1), type)


def _no_type(cursor: Cursor, start: int) -> NoReturn:
    if _FRACTION.match(cursor.text, cursor.pos):
        cursor.fail(
            "a decimal float is written 1.5:f or 1.5:df, with digits on both sides of the point"
            " and a sign in the exponent; other types take their bits, as in 0x3e00:hf",
            start=start,
        )
    cursor.fail("an immediate needs a type, as in 1:d or 0x3f800000:f", start=start)


def _from_float(value: float, type_name: str) -> Immediate:
    if type_name == "df":
        return Immediate(struct.unpack("<Q", struct.pack("<d", value))[0], DF)
    try:
        return Immediate(struct.unpack("<I", struct.pack("<f", value))[0], F)
    except OverflowError:
        return Immediate(0x7F800000 | (value < 0) << 31, F)


def print_immediate(operand: Immediate) -> str:
    """Hexadecimal bits and the type, as the compiler prints it."""
    return f"0x{operand.bits:x}:{operand.type.name}"


def bind_immediate(operand: Immediate, builder: InstBuilder, width: int) -> Value:
    """The lanes of an immediate: replicated, or a packed vector repeated every 8 (4) lanes."""
    type, bits = operand.type, operand.bits
    if type.kind is not Kind.PACKED:
        return builder.const(type, (bits & ((1 << type.bits) - 1),) * width, width)
    lane_type, lanes = packed_lanes(operand)
    return builder.const(lane_type, [lanes[k % len(lanes)] for k in range(width)], width)


def packed_lanes(operand: Immediate) -> tuple[Type, list[int]]:
    """Lane type and lane bit patterns of a `v`, `uv` or `vf` immediate.

    >>> packed_lanes(Immediate(0x0000000F, V))[1][0] == 0xFFFF
    True
    """
    bits = operand.bits
    nibbles = [bits >> 4 * k & 15 for k in range(8)]
    if operand.type is V:
        return W, [(n - 16 if n & 8 else n) & 0xFFFF for n in nibbles]
    if operand.type is UV:
        return UW, nibbles
    if operand.type is VF:
        return F, [_restricted_float(bits >> 8 * k & 255) for k in range(4)]
    raise InternalError(f"{operand.type} is no packed type")


def _restricted_float(byte: int) -> int:
    """f bits of an 8-bit restricted float: sign, 3 exponent bits (bias 3), 4 mantissa bits."""
    sign = (byte & 0x80) << 24
    if byte & 0x7F == 0:
        return sign
    return sign | ((byte >> 4 & 7) + 124) << 23 | (byte & 15) << 19
