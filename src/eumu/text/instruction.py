"""One instruction: walks the template that its opcode declares.

Operands repeat a lot within a kernel.  What a kind made of a stretch of text is kept and used
again where the same kind meets the same stretch, as long as no name has changed its meaning.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from typing import Any

from eumu.isa.kinds.cursor import Cursor, ParseError
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.spec import Opcode, Registry
from eumu.program import Inst
from eumu.records import dataclass

_HEAD = re.compile(r"[ \t]*(?:\([^()]*\)[ \t]*)?([A-Za-z_]\w*)")
_WORD = re.compile(r"\w+|[^\w\s]+")

# A stretch up to the next blank, where the next thing cannot belong to the same operand.
_STRETCH = re.compile(
    r'[ \t]*+((?:\([^()]*\))?+\S*+)(?=[ \t]*+(?:$|[\w%&~!$@?"-]|\((?:-|abs\b|~)))'
)


@dataclass(frozen=True, slots=True)
class _Step:
    """A piece of a template: words to expect, or an operand or a part of one."""

    words: tuple[str, ...]
    index: int = -1
    kind: Kind | None = None
    part: str = ""
    completes: bool = False


# The code of a diagnostic about an instruction that exists and is not modelled.
UNMODELLED = "unmodelled"


class InstructionReader:
    """Reads the instructions of one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[tuple[Kind, str], Any] = {}
        self._unknown: dict[str, str] = {}

    def forget(self) -> None:
        """Names have changed their meaning."""
        self._known.clear()

    def read(self, cursor: Cursor, names: Names) -> Inst:
        """The instruction at the cursor; raises `ParseError`."""
        start = cursor.skip()
        head = _HEAD.match(cursor.text, start)
        if head is None:
            if cursor.text[start] == "(":
                message = "a predicate is written (P1) or (!P1) before the instruction"
                cursor.fail(message, start=start)
            cursor.fail("expected an instruction, a label or a directive")
        candidates = self._registry.find(head[1])
        spelled = ""
        if not candidates and (candidates := self._registry.documented(head[1])):
            spelled = head[1]
        if len(candidates) != 1:
            candidates = self._choose(cursor, head, candidates)
        opcode, operands = self._first(cursor, names, candidates, spelled)
        return Inst(opcode, operands, cursor.span(start))

    def _choose(
        self, cursor: Cursor, head: re.Match[str], candidates: list[Opcode]
    ) -> list[Opcode]:
        """The instructions whose literal suffix (`.o` of `add3.o`) stands after the mnemonic."""
        if not candidates:
            reason = self._registry.unmodelled.get(head[1])
            if reason is not None:
                message = f"instruction '{head[1]}' is not supported: {reason}"
                cursor.fail(message, start=head.start(1), code=UNMODELLED)
            cursor.fail(self._unknown_message(head[1]), start=head.start(1), code="opcode")
        suffixes = {opcode: opcode.literal_after_mnemonic() for opcode in candidates}
        fitting = [o for o, s in suffixes.items() if _follows(cursor.text, head.end(), s)]
        if not fitting:
            allowed = ", ".join(repr(s) for s in suffixes.values())
            cursor.pos = head.end()
            cursor.fail(f"expected one of {allowed} after '{head[1]}'")
        longest = len(suffixes[fitting[0]])
        return [o for o in fitting if len(suffixes[o]) == longest]

    def _first(
        self, cursor: Cursor, names: Names, candidates: list[Opcode], spelled: str
    ) -> tuple[Opcode, tuple[Any, ...]]:
        """The first candidate that fits; else the error that lies farthest to the right."""
        if len(candidates) == 1:
            return candidates[0], self._operands(cursor, names, candidates[0], spelled)
        start = cursor.pos
        farthest: tuple[tuple[int, int], ParseError] | None = None
        for opcode in candidates:
            cursor.pos = start
            try:
                return opcode, self._operands(cursor, names, opcode, spelled)
            except ParseError as error:
                span = error.diagnostic.span
                place = (span.line, span.column) if span else (0, 0)
                if farthest is None or place > farthest[0]:
                    farthest = place, error
        assert farthest is not None
        raise farthest[1]

    def _operands(
        self, cursor: Cursor, names: Names, opcode: Opcode, spelled: str
    ) -> tuple[Any, ...]:
        operands: list[Any] = [None] * len(opcode.fields)
        parts: dict[int, dict[str, Any]] = {}
        for step in _steps(opcode):
            kind = step.kind
            if kind is None:
                words = step.words
                if spelled and words[0] == opcode.mnemonic:
                    words = _as_spelled(words, spelled)
                for word in words:
                    cursor.expect(word)
            elif step.part:
                name, value = kind.parse_part(step.part, cursor)
                if value:
                    parts.setdefault(step.index, {})[name] = value
            else:
                operand = self._operand(cursor, names, kind)
                if parts and step.index in parts:
                    operand = _merged(cursor, operand, parts[step.index])
                if step.completes:
                    kind.complete(cursor, operand)
                operands[step.index] = operand
        return tuple(operands)

    def _operand(self, cursor: Cursor, names: Names, kind: Kind) -> Any:
        if kind.optional:  # mostly absent, so there is nothing to look up
            return kind.parse(cursor, names)
        stretch = _STRETCH.match(cursor.text, cursor.pos)
        if stretch is None:
            return kind.parse(cursor, names)
        key = kind, stretch[1]
        operand = self._known.get(key)
        if operand is not None:
            cursor.pos = stretch.end()
            return operand
        operand = kind.parse(cursor, names)
        if cursor.pos == stretch.end():
            self._known[key] = operand
        return operand

    def _unknown_message(self, word: str) -> str:
        reason = self._unknown.get(word)
        if reason is not None:
            return reason
        mnemonics = self._registry.mnemonics()
        message = f"unknown instruction '{word}'"
        if close := get_close_matches(word.lower(), mnemonics, 1):
            message += f"; did you mean '{close[0]}'?"
        self._unknown[word] = message
        return message


def _follows(text: str, pos: int, suffix: str) -> bool:
    if not suffix:
        return True
    end = pos + len(suffix)
    if not text.startswith(suffix, pos):
        return False
    return not (suffix[-1].isalnum() and text[end : end + 1].isalnum())


def _as_spelled(words: tuple[str, ...], spelled: str) -> tuple[str, ...]:
    """The words of a mnemonic as documents spell them: `ADD3O` is all of `add3.o`."""
    letters = "".join(word for word in words if word.isalnum())
    return (spelled,) if spelled.lower() == letters else (spelled, *words[1:])


@cache
def _steps(opcode: Opcode) -> tuple[_Step, ...]:
    steps = []
    for piece in opcode.pieces:
        if piece.field is not None:
            kind = piece.field.kind
            completes = type(kind).complete is not Kind.complete
            steps.append(_Step((), piece.field.index, kind, piece.part, completes))
        elif words := tuple(_WORD.findall(piece.literal)):
            steps.append(_Step(words))
    return tuple(steps)


def _merged(cursor: Cursor, operand: Any, parts: dict[str, Any]) -> Any:
    """The operand with the parts that were written apart from it."""
    for name in parts:
        if not hasattr(operand, name):
            cursor.fail(f"this operand has no '{name}'", start=cursor.pos)
    return replace(operand, **parts)
