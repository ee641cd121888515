"""Reads a text that is being edited again and again: what did not change is not read twice.

How a statement reads depends on its characters and on what its words name at that place, nothing
else.  A `Memory` keeps the statements of the last reading; one is used again where a statement has
the same characters and all its words still name the same things.  Declarations stay the same
objects, so that what names them can stay; only their place in the text is renewed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from eumu.errors import Diagnostic, Source, Span
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.variables import Declared
from eumu.isa.spec import Names, Opcode
from eumu.program import Inst, Module, ScopeMark
from eumu.text.draft import Draft
from eumu.text.parser import Parser, Statement, in_order

_DECLARATION: Final = re.compile(r"[ \t]*(\.)decl(?!\w)")
_WORDS: Final = re.compile(r"%?[A-Za-z_]\w*", re.ASCII)

# Words of a statement and what they named, None where that was nothing.
Meaning = tuple[tuple[str, Declared | None], ...]


def _meaning(text: str, names: Names) -> Meaning:
    return tuple((word, names.find(word)) for word in set(_WORDS.findall(text)))


def _still_means(meaning: Meaning, names: Names) -> bool:
    return all(names.find(word) is found for word, found in meaning)


@dataclass(slots=True, eq=False)
class _Instruction:
    """How an instruction was read; `where` numbers the names that were visible."""

    opcode: Opcode
    operands: tuple[Any, ...]
    start: int
    meaning: Meaning
    where: int


@dataclass(slots=True, eq=False)
class _Declaration:
    declared: Declared
    meaning: Meaning
    where: int


class Memory:
    """The statements of the last reading of one text.  Its declarations belong to it."""

    def __init__(self) -> None:
        self.instructions: dict[str, list[_Instruction]] = {}
        self.declarations: dict[str, list[_Declaration]] = {}
        # Sets of visible names: one set and one more declaration make the next.
        self.after: dict[tuple[int, Declared], int] = {}


def parse_again(
    source: str, name: str, grf_bytes: int | None, memory: Memory
) -> tuple[Module, tuple[Diagnostic, ...], list[Statement]]:
    """What `parse_statements` gives.

    Declarations of an earlier result with the same memory are not valid any more: they are in
    this one, at the place where they are now.
    """
    parser = _Parser(Source(name, source), grf_bytes, memory)
    module = parser.run()
    parser.finish()
    return module, in_order(parser.found), parser.statements or []


class _Parser(Parser):
    def __init__(self, source: Source, grf_bytes: int | None, memory: Memory) -> None:
        self._statements: list[Statement] = []
        super().__init__(source, grf_bytes, self._statements)
        self._memory = memory
        self._old = {text: list(reversed(d)) for text, d in memory.declarations.items()}
        self._instructions_read: dict[str, list[_Instruction]] = {}
        self._declarations_read: dict[str, list[_Declaration]] = {}
        self._after: dict[tuple[int, Declared], int] = {}
        self._numbers = max(memory.after.values(), default=0)
        self._where = 0
        self._outer: list[int] = []

    def finish(self) -> None:
        """Remember this reading, and nothing older."""
        memory = self._memory
        memory.instructions = self._instructions_read
        memory.declarations = self._declarations_read
        memory.after = self._after

    # ---- instructions

    def _statement(self, cursor: Cursor) -> None:
        draft, text = self._draft, cursor.text
        if draft is not None and type(cursor) is Cursor:
            for known in self._memory.instructions.get(text, ()):
                if known.where == self._where or _still_means(known.meaning, draft.names):
                    self._again(known, cursor, draft)
                    return
            if text in self._old and (start := _DECLARATION.match(text)):
                cursor.pos = start.end()
                self._keep(self._declaration(cursor), cursor, start.start(1))
                return
        super()._statement(cursor)

    def _again(self, known: _Instruction, cursor: Cursor, draft: Draft) -> None:
        known.where = self._where
        text, line = cursor.text, cursor.line
        self._remember(text, known)
        span = Span(self.source, line, known.start + 1, line, len(text) + 1)
        inst = Inst(known.opcode, known.operands, span)
        draft.body.append(inst)
        self._statements.append(Statement(inst, span))

    def _remember(self, text: str, known: _Instruction) -> None:
        same = self._instructions_read.setdefault(text, [])
        if known not in same:
            same.append(known)

    def _instruction(self, cursor: Cursor) -> Inst:
        start = cursor.skip()
        inst = super()._instruction(cursor)
        text = cursor.text
        alone = not text[:start].strip() and cursor.pos == len(text)
        if alone and type(cursor) is Cursor and self._draft is not None:
            meaning = _meaning(text, self._draft.names)
            known = _Instruction(inst.opcode, inst.operands, start, meaning, self._where)
            self._remember(text, known)
        return inst

    # ---- declarations

    def _read_declaration(self, cursor: Cursor, names: Names) -> Declared:
        text = cursor.text
        if type(cursor) is not Cursor:
            return super()._read_declaration(cursor, names)
        old = self._old.get(text)
        if old and (old[-1].where == self._where or _still_means(old[-1].meaning, names)):
            known = old.pop()
            known.where = self._where
            cursor.pos = len(text)
            # Nobody but the memory holds it, and its place is all that has changed.
            span = cursor.span(len(text) - len(text.lstrip()))
            object.__setattr__(known.declared, "span", span)
        else:
            meaning = _meaning(text[cursor.pos :], names)
            known = _Declaration(super()._read_declaration(cursor, names), meaning, self._where)
            if not cursor.at_end():
                return known.declared
        self._declarations_read.setdefault(text, []).append(known)
        return known.declared

    def _declaration(self, cursor: Cursor) -> Declared:
        declared = super()._declaration(cursor)
        self._see(declared)
        return declared

    # ---- which names are visible

    def _see(self, declared: Declared) -> None:
        key = self._where, declared
        number = self._memory.after.get(key) or self._after.get(key)
        if number is None:
            number = self._numbers = self._numbers + 1
        self._after[key] = self._where = number

    def _brace(self, cursor: Cursor, brace: str) -> ScopeMark:
        mark = super()._brace(cursor, brace)
        if mark.opens:
            self._outer.append(self._where)
        else:
            self._where = self._outer.pop()
        return mark

    def _begin(self, *arguments: Any, **named: Any) -> None:
        super()._begin(*arguments, **named)
        self._where, self._outer = 0, []
