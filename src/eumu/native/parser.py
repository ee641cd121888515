"""Assembly text to instructions.

A line is a label, an instruction, or both; `//` begins a comment.  Sizes of instructions are known
before their operands, so that labels may stand behind the branches to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace
from difflib import get_close_matches
from typing import Any

from eumu.errors import BuildError, Diagnostic, Source
from eumu.isa.gen9 import GEN9
from eumu.isa.gen9.bits import Undecodable, Unencodable
from eumu.isa.kinds.cursor import Cursor, ParseError
from eumu.isa.spec import Opcode
from eumu.native.gen8 import require
from eumu.native.program import FULL, HALF, Instruction, Program
from eumu.native.words import compact, decode_word, encode_word, field_kind, native_platform
from eumu.platforms import Platform
from eumu.records import dataclass

_COMMENT = re.compile(r"//.*|/\*.*?\*/")
_LABEL = re.compile(r"([A-Za-z_]\w*)\s*:")
_HEAD = re.compile(r"[ \t]*(?:\([^()]*\)[ \t]*)?([A-Za-z_]\w*)")
_COMPACTED = re.compile(r"\{[^}]*\bCompacted\b[^}]*\}")
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[A-Za-z_]\w*|L-\d+")
_OFFSET = re.compile(r"L(-?\d+)")


@dataclass(slots=True)
class _Line:
    """One instruction's text and place, and what its kinds may ask (`isa.gen9.kinds.Line`)."""

    cursor: Cursor
    offset: int
    compacted: bool
    labels: dict[str, int]
    known: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)

    def target(self, cursor: Cursor) -> int:
        """The offset that a label names; L with a number may be a place without a label."""
        start = cursor.skip()
        match = cursor.need(_NAME, "a label")
        if match.group() in self.labels:
            return self.labels[match.group()]
        offset = _OFFSET.fullmatch(match.group())
        if offset is None:
            cursor.fail(f"label '{match.group()}' is not defined", start=start, code="label")
        return int(offset[1])


def parse(text: str, name: str = "", platform: str | Platform = "bxt") -> Program:
    """The program of a text; raises `BuildError` with every fault of it."""
    target = native_platform(platform)
    diagnostics: list[Diagnostic] = []
    instructions: list[Instruction] = []
    for line in _lines(Source(name or "text", text), diagnostics):
        try:
            instructions.append(_instruction(line))
        except ParseError as error:
            diagnostics.append(error.diagnostic)
    if diagnostics:
        raise BuildError.of(diagnostics)
    require(instructions, target, name)
    return Program(tuple(instructions), target, name)


def _lines(source: Source, diagnostics: list[Diagnostic]) -> list[_Line]:
    lines: list[_Line] = []
    labels: dict[str, int] = {}
    offset = 0
    for number, raw in enumerate(source.text.split("\n"), 1):
        text = _COMMENT.sub(lambda m: " " * len(m.group()), raw).rstrip()
        cursor = Cursor(source, number, text)
        while label := cursor.match(_LABEL):
            if label[1] in labels:
                message = f"label '{label[1]}' is defined twice"
                span = cursor.span(label.start(), label.end(1) - 1)
                diagnostics.append(Diagnostic("label", message, span))
            labels[label[1]] = offset
        if not cursor.at_end():
            compacted = _COMPACTED.search(text) is not None
            lines.append(_Line(cursor, offset, compacted, labels))
            offset += HALF if compacted else FULL
    return lines


def _instruction(line: _Line) -> Instruction:
    cursor = line.cursor
    start = cursor.skip()
    opcode = _opcode(cursor)
    operands: list[Any] = [None] * len(opcode.fields)
    for piece in opcode.pieces:
        if piece.field is None:
            for word in _words(piece.literal):
                cursor.expect(word)
        elif piece.part:
            part = f"{piece.field.name}.{piece.part}"
            line.parts[part] = field_kind(piece.field.kind).parse_part(piece.part, cursor)
        else:
            operand = field_kind(piece.field.kind).parse(cursor, line)
            operands[piece.field.index] = line.known[piece.field.name] = operand
    if not cursor.at_end():
        cursor.fail("expected the end of the line")
    return _settle(line, opcode, tuple(operands), start)


def _words(literal: str) -> Iterator[str]:
    """`math` and `.inv` of a template's literal, which must stand without blanks between them."""
    yield from literal.split()


def _opcode(cursor: Cursor) -> Opcode:
    head = _HEAD.match(cursor.text, cursor.skip())
    if head is None:
        cursor.fail("expected an instruction or a label")
    candidates = GEN9.find(head[1])
    if not candidates:
        close = get_close_matches(head[1], GEN9.mnemonics(), n=1)
        guess = f"; did you mean '{close[0]}'?" if close else ""
        message = f"there is no instruction '{head[1]}'{guess}"
        cursor.fail(message, start=head.start(1), code="opcode")
    after = cursor.text[head.end() :]
    for opcode in candidates:
        suffix = opcode.literal_after_mnemonic()
        rest = after[len(suffix) :] if suffix and after.startswith(suffix) else None
        if not suffix or (rest is not None and not _WORD.match(rest)):
            return opcode
    allowed = ", ".join(f"{o.mnemonic}{o.literal_after_mnemonic()}" for o in candidates)
    cursor.fail(f"'{head[1]}' is followed by its function: {allowed}", start=head.start(1))


def _settle(line: _Line, opcode: Opcode, operands: tuple[Any, ...], start: int) -> Instruction:
    """The instruction as its word reads back, which must say what the text says."""
    cursor = line.cursor
    span = cursor.span(start, len(cursor.text) - 1)
    try:
        word = encode_word(Instruction(opcode, operands, line.offset, line.compacted))
        half = compact(word, loose=True) if line.compacted else None
        if line.compacted and half is None:
            message = f"this {opcode} has no compacted form"
            raise ParseError(Diagnostic("compaction", message, span))
        read = decode_word(word if half is None else half, line.offset)
    except (Undecodable, Unencodable) as error:
        raise ParseError(Diagnostic("encoding", str(error), span)) from None
    if (read.opcode, read.operands) != (opcode, operands):
        message = f"this {opcode} cannot be encoded with these operands together"
        raise ParseError(Diagnostic("encoding", message, span))
    return replace(read, span=span)
