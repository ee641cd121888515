"""Where an operand stands in the text of its instruction."""

from __future__ import annotations

from typing import Any

from eumu.errors import Span
from eumu.isa.kinds.cursor import Cursor, ParseError
from eumu.isa.kinds.kind import Names
from eumu.isa.kinds.variables import Declared, Scope
from eumu.program import Inst, Kernel


class DeclaredNames(Names):
    """Every declaration of a kernel; of those that share a name, any will do for a place."""

    version = (0xFF, 0)  # what an instruction has is in its text, too

    def __init__(self, kernel: Kernel, grf_bytes: int) -> None:
        self._scope = Scope(None, grf_bytes)
        for declared in kernel.declarations:
            self._scope.declare(declared)

    def find(self, name: str) -> Declared | None:
        return self._scope.find(name)

    def suggest(self, name: str) -> str:
        return ""

    def size_of(self, name: str) -> int | None:
        return self._scope.size_of(name)


def operand_span(names: DeclaredNames, inst: Inst, field: str) -> Span | None:
    """The span of an operand, found by reading the instruction's line again.

    The instruction's own span where that fails: continued lines, programs without a text.
    """
    span = inst.span
    if span is None or span.line != span.end_line:
        return span
    cursor = Cursor(span.source, span.line, span.source.line(span.line), span.column - 1)
    try:
        return _walk(cursor, names, inst, field) or span
    except ParseError:
        return span


def _walk(cursor: Cursor, names: Any, inst: Inst, field: str) -> Span | None:
    for piece in inst.opcode.pieces:
        if piece.field is None:
            for word in piece.literal.split():
                cursor.expect(word)
            continue
        if piece.part:
            piece.field.kind.parse_part(piece.part, cursor)
            continue
        if piece.field.kind.optional and inst.operands[piece.field.index] is None:
            continue
        start = cursor.skip()
        piece.field.kind.parse(cursor, names)
        if piece.field.name == field:
            return cursor.span(start)
    return None
