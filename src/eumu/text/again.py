"""Reads a text that is being edited again and again: what did not change is not read twice.

How a statement reads depends on its characters and on what its words name at that place, nothing
else.  A `LastReading` keeps the statements of one; such a statement is used again where one has
the same characters and all its words still name the same things.  Declarations stay the same
objects, so that what names them can stay; only their place in the text is renewed.
"""

from __future__ import annotations

import re
from typing import Any, Final

from eumu.errors import Diagnostic, Source, Span
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.kind import Names
from eumu.isa.kinds.variables import Declared
from eumu.isa.spec import Opcode
from eumu.program import Inst, Module, ScopeMark
from eumu.records import dataclass
from eumu.text.draft import Draft
from eumu.text.parser import Parser, Statement, in_order

_DECLARATION: Final = re.compile(r"[ \t]*\.decl\b")  # nothing before it
_WORDS: Final = re.compile(r"%?[A-Za-z_]\w*", re.ASCII)

# Words of a statement and what they named, None where that was nothing.
InstBuilder = tuple[tuple[str, Declared | None], ...]


def _meaning(text: str, names: Names) -> InstBuilder:
    return tuple((word, names.find(word)) for word in set(_WORDS.findall(text)))


def _still_means(meaning: InstBuilder, names: Names) -> bool:
    return all(names.find(word) is named for word, named in meaning)


@dataclass(slots=True, eq=False)
class _Instruction:
    """How an instruction was read; `where` numbers the names that were visible."""

    opcode: Opcode
    operands: tuple[Any, ...]
    start: int
    meaning: InstBuilder
    where: int


def _is_placed(statement: Statement, earlier: _Instruction, text: str) -> bool:
    """Whether a statement of the last reading is an instruction in the same columns."""
    inst, span = statement
    return (
        isinstance(inst, Inst)
        and inst.operands is earlier.operands
        and inst.opcode is earlier.opcode
        and (span.column, span.end_column) == (earlier.start + 1, len(text) + 1)
    )


@dataclass(slots=True, eq=False)
class _Declaration:
    """A declaration; `next` numbers the names that are visible behind it, 0 if that is not known.

    One that `hides` another has to be declared with care.
    """

    declared: Declared
    meaning: InstBuilder
    where: int
    next: int = 0
    hides: bool = False


def _move(declared: Declared, span: Span) -> None:
    """Give a declaration its place; nobody but the memory holds it, and all else is as it was."""
    object.__setattr__(declared, "span", span)


class LastReading:
    """The statements of the last reading of one text.  Its declarations and spans belong to it.

    All spans are in one source, whose text changes: those of lines that stay where they are stay.
    """

    def __init__(self) -> None:
        self.source = Source("", "")
        self.placed: dict[int, Statement] = {}  # instructions that have a line for themselves
        self.instructions: dict[str, list[_Instruction]] = {}
        self.declarations: dict[str, list[_Declaration]] = {}
        self.numbers = 0  # of sets of visible names: one set and one more declaration make the next


def parse_again(
    source: str, name: str, grf_bytes: int | None, memory: LastReading
) -> tuple[Module, tuple[Diagnostic, ...], list[Statement]]:
    """What `parse_statements` gives.

    An earlier result with the same memory is not valid any more: its declarations are in this one,
    at the place where they are now, and its spans are in the new text.
    """
    object.__setattr__(memory.source, "name", name)
    object.__setattr__(memory.source, "text", source)
    parser = _Parser(memory.source, grf_bytes, memory)
    module = parser.run()
    parser.finish()
    return module, in_order(parser.found), parser.statements or []


class _Parser(Parser):
    def __init__(self, source: Source, grf_bytes: int | None, memory: LastReading) -> None:
        self._statements: list[Statement] = []
        super().__init__(source, grf_bytes, self._statements)
        self._memory = memory
        self._old = {text: list(reversed(d)) for text, d in memory.declarations.items()}
        self._instructions_read: dict[str, list[_Instruction]] = {}
        self._declarations_read: dict[str, list[_Declaration]] = {}
        self._declaring: _Declaration | None = None
        self._where = 0
        self._outer: list[int] = []
        self._placed: dict[int, Statement] = {}

    def finish(self) -> None:
        """Remember this reading, and nothing older."""
        memory = self._memory
        memory.instructions = self._instructions_read
        memory.declarations = self._declarations_read
        memory.placed = self._placed

    # ---- instructions

    def _statement(self, cursor: Cursor) -> None:
        draft, text = self._draft, cursor.text
        if draft is not None and type(cursor) is Cursor:
            for earlier in self._memory.instructions.get(text, ()):
                if earlier.where == self._where or _still_means(earlier.meaning, draft.names):
                    self._again(earlier, cursor, draft)
                    return
            old = self._old.get(text)
            if old and old[-1].where == self._where and old[-1].next and not old[-1].hides:
                self._declare_again(old.pop(), cursor, draft)
                return
        super()._statement(cursor)

    def _again(self, earlier: _Instruction, cursor: Cursor, draft: Draft) -> None:
        earlier.where = self._where
        text, line = cursor.text, cursor.line
        self._remember(text, earlier)
        statement = self._memory.placed.get(line)
        if statement is None or not _is_placed(statement, earlier, text):
            span = Span(self.source, line, earlier.start + 1, line, len(text) + 1)
            statement = Statement(Inst(earlier.opcode, earlier.operands, span), span)
        assert isinstance(statement.read, Inst)
        draft.body.append(statement.read)
        self._statements.append(statement)
        self._placed[line] = statement

    def _remember(self, text: str, earlier: _Instruction) -> None:
        same = self._instructions_read.get(text)
        if same is None:
            self._instructions_read[text] = [earlier]
        elif earlier not in same:
            same.append(earlier)

    def _instruction(self, cursor: Cursor) -> Inst:
        start = cursor.skip()
        inst = super()._instruction(cursor)
        text = cursor.text
        alone = not text[:start].strip() and cursor.pos == len(text)
        if alone and type(cursor) is Cursor and self._draft is not None:
            meaning = _meaning(text, self._draft.names)
            remembered = _Instruction(inst.opcode, inst.operands, start, meaning, self._where)
            self._remember(text, remembered)
        return inst

    # ---- declarations

    def _declare_again(self, earlier: _Declaration, cursor: Cursor, draft: Draft) -> None:
        """Where the same names are visible, the same declaration makes the same visible."""
        text, line, declared = cursor.text, cursor.line, earlier.declared
        statement = self._memory.placed.get(line)
        if statement is None or statement.read is not declared:
            column = len(text) - len(text.lstrip()) + 1
            statement = Statement(declared, Span(self.source, line, column, line, len(text) + 1))
            _move(declared, statement.span)
        draft.names.scope.declare(declared)
        draft.declarations.append(declared)
        self._statements.append(statement)
        self._placed[line] = statement
        self._declarations_read.setdefault(text, []).append(earlier)
        self._where = earlier.next

    def _read_declaration(self, cursor: Cursor, names: Names) -> Declared:
        text = cursor.text
        self._declaring = None
        if type(cursor) is not Cursor or not _DECLARATION.match(text):
            return super()._read_declaration(cursor, names)
        old = self._old.get(text)
        if old and _still_means(old[-1].meaning, names):
            earlier = old.pop()
            if earlier.where != self._where:
                earlier.where, earlier.next = self._where, 0
            cursor.pos = len(text)
            _move(earlier.declared, cursor.span(len(text) - len(text.lstrip())))
        else:
            meaning = _meaning(text[cursor.pos :], names)
            earlier = _Declaration(super()._read_declaration(cursor, names), meaning, self._where)
            if not cursor.at_end():
                return earlier.declared
        earlier.hides = names.find(earlier.declared.name) is not None
        self._declarations_read.setdefault(text, []).append(earlier)
        self._declaring = earlier
        return earlier.declared

    def _declaration(self, cursor: Cursor) -> Declared:
        declared = super()._declaration(cursor)
        declaring = self._declaring
        if declaring is not None and declaring.declared is not declared:
            declaring.next = 0  # the same variable once more: in braces it would be another one
        elif declaring is not None and declaring.next:
            self._where = declaring.next
        else:
            self._memory.numbers += 1
            self._where = self._memory.numbers
            if declaring is not None:
                declaring.next = self._where
        return declared

    # ---- which names are visible

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
