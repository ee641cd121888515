"""What all operand kinds of native code share: they are bit fields of the word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from eumu.errors import InternalError
from eumu.isa.gen9.bits import BitField, Undecodable
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Kind
from eumu.types import TYPES, Type

T = TypeVar("T")

_TYPE: Final = re.compile(r":([a-z]+)\b")


class InstructionSite(NamedTuple):
    """Where an instruction stands: its byte offset and that of the next one.

    `is_gen8`: the payload of a `send` has a region, whose bits belong to the extended descriptor
    since Gen9.
    """

    offset: int
    next: int
    is_gen8: bool = False


class Line(Protocol):
    """What a kind may ask while it parses.

    `known` are the operands so far and `parts` the parts of operands ("exec.pred"), by name.
    """

    known: Mapping[str, Any]
    parts: Mapping[str, Any]

    def target(self, cursor: Cursor) -> int: ...


class NativeKind(Kind):
    """A kind whose encoding is bit fields of the 128-bit word."""

    def parse(self, cursor: Cursor, names: Any) -> Any:
        """The operand in a text; `names` is a `Line`."""
        raise InternalError(f"{type(self).__name__} has no text")

    def decode(self, word: int, site: InstructionSite) -> Any:
        """The operand in a word; raises `Undecodable`."""
        raise InternalError(f"{type(self).__name__} has no bits")

    def encode(self, operand: Any, site: InstructionSite) -> int:
        """A word that is zero but for the operand; raises `Unencodable`."""
        raise InternalError(f"{type(self).__name__} has no bits")


def code(table: tuple[T, ...], field: BitField, word: int) -> T:
    """The row that a field selects; raises `Undecodable` where the code is reserved."""
    number = field.get(word)
    if number >= len(table):
        raise Undecodable(f"{field.name} has the reserved code {number}")
    return table[number]


def parse_type(cursor: Cursor, allowed: tuple[Type, ...]) -> Type | None:
    """`:d` right here, if there is one."""
    match = cursor.adjacent(_TYPE)
    if match is None:
        return None
    type = TYPES.get(match[1])
    if type not in allowed:
        names = ", ".join(f":{t}" for t in allowed)
        cursor.fail(f"type :{match[1]} is not one of {names}", start=match.start())
    return type


def need_type(cursor: Cursor, allowed: tuple[Type, ...]) -> Type:
    """`:d` right here."""
    type = parse_type(cursor, allowed)
    if type is None:
        cursor.fail("expected a type such as :d")
    return type
