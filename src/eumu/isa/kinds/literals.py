"""Integers, constant expressions and strings, as Intel's front end reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Names

STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
NAME = re.compile(r"[A-Za-z_%][A-Za-z0-9_]*")

_INTEGER = re.compile(r"0[xX]([0-9a-fA-F]+)|(\d+)")
_PLAIN = re.compile(r"[ \t]*(\d{1,9})(?=[ \t]*[,;>)\]])")
_SIZEOF = re.compile(r"%sizeof\b")
_OPERATOR = re.compile(r"<<|>>|[-+*/%&|^]")
_UNARY = re.compile(r"[-~!(]")

_64 = (1 << 64) - 1
_BIAS = 1 << 63  # results wrap to signed 64 bits
_NESTING = 64  # parentheses and signs; far above what anyone writes, far below Python's stack


def _quotient(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


# (how tightly it binds, what it does); the order of C.
_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "|": (1, lambda x, y: x | y),
    "^": (2, lambda x, y: x ^ y),
    "&": (3, lambda x, y: x & y),
    "<<": (4, lambda x, y: x << y),
    ">>": (4, lambda x, y: x >> y),
    "+": (5, lambda x, y: x + y),
    "-": (5, lambda x, y: x - y),
    "*": (6, lambda x, y: x * y),
    "/": (6, _quotient),
    "%": (6, lambda x, y: x - y * _quotient(x, y)),
}


def integer_literal(cursor: Cursor) -> int:
    """A decimal or hexadecimal literal; at most 64 bits.  A leading zero means nothing."""
    start = cursor.skip()
    match = cursor.need(_INTEGER, "a number")
    digits, base = (match[1], 16) if match[1] else (match[2], 10)
    if len(digits) > 20:
        _too_long(cursor, start)
    value = int(digits, base)
    if value > _64:
        _too_long(cursor, start)
    return value


def _too_long(cursor: Cursor, start: int) -> NoReturn:
    cursor.fail("a literal has at most 64 bits", start=start)


def expression(cursor: Cursor, names: Names) -> int:
    """A constant: `32`, `4*(8+1)`, `%sizeof(V)/4`; operators and order as in C."""
    match = _PLAIN.match(cursor.text, cursor.pos)
    if match:
        cursor.pos = match.end()
        return int(match[1])
    return _binary(cursor, names, 0, 0)


def unary(cursor: Cursor, names: Names, depth: int = 0) -> int:
    """A literal, `%sizeof`, or an expression in parentheses, after any of `-`, `~`, `!`."""
    start = cursor.skip()
    if depth > _NESTING:
        cursor.fail(f"more than {_NESTING} levels of nesting", start=start, code="nesting")
    match = cursor.match(_UNARY)
    if match is None:
        return _size_of(cursor, names) if cursor.match(_SIZEOF) else integer_literal(cursor)
    if match[0] == "(":
        value = _binary(cursor, names, 0, depth + 1)
        cursor.expect(")")
        return value
    value = unary(cursor, names, depth + 1)
    return {"-": -value, "~": ~value, "!": int(not value)}[match[0]]


_SIGN = re.compile(r"[+-]")


def offset(cursor: Cursor, names: Names) -> int:
    """What a sign after an operand adds to it, as in `V-0x10`; 0 without one."""
    sign = cursor.match(_SIGN)
    if sign is None:
        return 0
    return expression(cursor, names) if sign.group() == "+" else -unary(cursor, names)


def _binary(cursor: Cursor, names: Names, least: int, depth: int) -> int:
    """Operators that bind at least as tightly as `least`."""
    value = unary(cursor, names, depth)
    while (match := _OPERATOR.match(cursor.text, cursor.skip())) is not None:
        tightness, apply = _BINARY[match[0]]
        if tightness < least:
            break
        cursor.pos = match.end()
        start = cursor.skip()
        right = _binary(cursor, names, tightness + 1, depth)
        if match[0] in "/%" and right == 0:
            cursor.fail("division by zero", start=start)
        if match[0] in ("<<", ">>") and not 0 <= right < 64:
            cursor.fail(f"shift by {right}; 0 to 63 is allowed", start=start)
        value = (apply(value, right) + _BIAS & _64) - _BIAS
    return value


def _size_of(cursor: Cursor, names: Names) -> int:
    """`%sizeof(V)` or `%sizeof V`: bytes of a general variable; `GRF` is a register."""
    closing = cursor.take("(")
    start = cursor.skip()
    name = cursor.need(NAME, "a variable or GRF").group()
    size = names.size_of(name)
    if size is None and name == "GRF":
        cursor.fail("%sizeof(GRF) depends on the device, which is not known here", start=start)
    if size is None:
        cursor.fail(
            f"'{name}' is no general variable{names.suggest(name)}", start=start, code="undeclared"
        )
    if closing:
        cursor.expect(")")
    return size


_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    '"': '"', "'": "'", "\\": "\\", "?": "?",
}  # fmt: skip
_OCTETS = 0xDC00  # a byte that stands for itself, as `surrogateescape` has it
_UNESCAPES = {v: k for k, v in _ESCAPES.items() if k not in "'?"}


def string(cursor: Cursor, match: re.Match[str]) -> str:
    """The text that a match of :data:`STRING` stands for.

    Numbers behind a backslash are bytes: of UTF-8, as the compiler writes names that are not ASCII,
    or a character each where they are not.
    """
    if "\\" not in match[1]:
        return match[1]

    def octets(escape: re.Match[str]) -> str:
        code = escape[1]
        if code in _ESCAPES:
            return _ESCAPES[code]
        value = -1
        if code[0] == "x" and len(code) > 1:
            value = int(code[1:], 16)
        elif code.isdecimal() and code[0] < "8":
            value = int(code, 8)
        if not 0 <= value <= 0xFF:
            place = match.start(1) + escape.start()
            cursor.fail(f"unknown escape '\\{code}' in a string", start=place)
        return chr(value) if value < 0x80 else chr(_OCTETS + value)

    data = _ESCAPE.sub(octets, match[1]).encode("utf-8", "surrogateescape")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def quoted(text: str) -> str:
    """A string literal for these characters."""
    return '"' + "".join(_printable(c) for c in text) + '"'


def _printable(character: str) -> str:
    if character in _UNESCAPES:
        return "\\" + _UNESCAPES[character]
    if character.isprintable():
        return character
    octets = character.encode("utf-8", "surrogatepass")
    return "".join(f"\\x{octet:02x}" for octet in octets)
