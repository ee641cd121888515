"""A text that is open in an editor: what is wrong with it, and what its words stand for.

Lines and columns of questions count from 0, as editors count; those of spans from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from eumu.errors import Diagnostic, EumuError, Source, Span
from eumu.isa.kinds.variables import NUMBERED, Declared, Scope, Variable
from eumu.isa.visa import VISA
from eumu.manual import page
from eumu.platforms import Platform
from eumu.program import Inst, LabelMark, ScopeMark
from eumu.records import dataclass
from eumu.text import Statement, format_text, print_declaration, print_item, words
from eumu.text.lines import without_comments
from eumu.text.parser import Directive
from eumu.verify import Editing

_TOKEN: Final = re.compile(r"\.?%?[\w$@?]+")
_LABEL: Final = re.compile(r"[A-Za-z_$@?][\w$@?\-]*")
_HEAD: Final = re.compile(r"\s*(?:\([^()]*\)\s*)?([A-Za-z_]\w*)((?:\.[\w.]*)?)")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_DECLARATION: Final = re.compile(r"\s*\.decl\s+")
_SUBROUTINE: Final = re.compile(r"\s*\.function\b")
_OBJECTS: Final = ("kernel", "global_function")

Named = Declared | LabelMark


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the text, where it begins (column from 0), and what it stands for."""

    text: str
    line: int
    column: int
    names: Named | None = None


@dataclass(frozen=True, slots=True)
class LineContext:
    """What holds at a line: the names that are visible and the number of the kernel."""

    scope: Scope
    kernel: int


class Document:
    """One open text."""

    def __init__(self, name: str, device: Platform) -> None:
        self.name, self.device = name, device
        self.text = ""
        self._editing = Editing(name, device)

    def update(self, text: str) -> list[Diagnostic]:
        """The text has changed: what is wrong with it now.

        A line ends in a line feed, a carriage return, or both.
        """
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        for attribute in ("lines", "_code", "_labels"):
            self.__dict__.pop(attribute, None)
        return self._editing.check(self.text)

    @property
    def statements(self) -> list[Statement]:
        """What could be read, in the order of the text."""
        return self._editing.statements

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _code(self) -> list[str]:
        """The lines without comments, every word in its place."""
        return without_comments(Source(self.name, self.text), []).split("\n")

    def code(self, line: int) -> str:
        """A line without its comments; empty past the end."""
        return self._code[line] if 0 <= line < len(self._code) else ""

    def formatted(self) -> str | None:
        """The text in its canonical layout, None where it has errors."""
        try:
            return format_text(self.text, self.name)
        except EumuError:
            return None

    # ---- what is visible

    def place(self, line: int) -> LineContext:
        """What holds behind a line."""
        *_, last = self._places(line, line)
        return last[1]

    def _places(self, first: int, last: int) -> Iterator[tuple[int, LineContext]]:
        """Lines and what holds behind each of them."""
        scope, kernel, at = Scope(None, self.device.grf_bytes), 0, 0
        statements = self.statements
        for line in range(first, last + 1):
            while at < len(statements) and statements[at].span.line - 1 <= line:
                read = statements[at].read
                at += 1
                if isinstance(read, Directive) and read.word in _OBJECTS:
                    scope, kernel = Scope(None, self.device.grf_bytes), kernel + 1
                elif isinstance(read, Declared):
                    scope.declare(read)
                elif isinstance(read, ScopeMark):
                    scope = Scope(scope) if read.opens else scope.outer or scope
            yield line, LineContext(scope, kernel)

    def labels(self, kernel: int) -> dict[str, LabelMark]:
        """The labels of a kernel by name; subroutines are labels too."""
        return self._labels[kernel]

    @cached_property
    def _labels(self) -> list[dict[str, LabelMark]]:
        scopes: list[dict[str, LabelMark]] = [{}]
        for read, _ in self.statements:
            if isinstance(read, Directive) and read.word in _OBJECTS:
                scopes.append({})
            elif isinstance(read, LabelMark):
                scopes[-1].setdefault(read.name, read)
        return scopes

    # ---- words

    def word(self, line: int, column: int) -> Word | None:
        """The word at a place, None in comments and between words."""
        code = self.code(line)
        place = self.place(line)
        labels = self.labels(place.kernel)
        for match in _LABEL.finditer(code):
            mark = labels.get(match[0]) if match.start() <= column <= match.end() else None
            if mark is not None and _is_label(code, match):
                return Word(match[0], line, match.start(), mark)
        if any(s.start() < column < s.end() for s in _STRING.finditer(code)):
            return None
        for match in _TOKEN.finditer(code):
            if match.start() <= column <= match.end():
                text, start = match[0], match.start()
                if text.startswith("."):
                    if not code[:start].strip():  # a directive
                        return Word(text, line, start)
                    text, start = text[1:], start + 1
                names = place.scope.find(text)
                return Word(text, line, start, names if _names(code, start, text) else None)
        return None

    # ---- answers

    def hover(self, line: int, column: int) -> str:
        """What the word at a place is, in Markdown; empty where there is nothing to say."""
        word = self.word(line, column)
        if word is None:
            return self._instruction(line, column)
        if isinstance(word.names, LabelMark):
            return self._label(word.names)
        if isinstance(word.names, Declared):
            return self._variable(word.names)
        if word.text.startswith(".") and word.text[1:] in words.DIRECTIVES:
            return words.DIRECTIVES[word.text[1:]]
        return self._instruction(line, column)

    def _instruction(self, line: int, column: int) -> str:
        head = _HEAD.match(self.code(line))
        if head is None or not head.start(1) <= column <= head.end():
            return ""
        opcodes = VISA.find(head[1])
        inst = next((s.read for s in self.statements if s.span.line == line + 1), None)
        if isinstance(inst, Inst) and inst.opcode in opcodes:
            opcodes = [inst.opcode]
        if not opcodes and (reason := VISA.unmodelled.get(head[1])):
            return f"`{head[1]}` is not modelled: {reason}"
        return "\n\n".join(_block("\n".join(page(opcode))) for opcode in opcodes)

    def _label(self, mark: LabelMark) -> str:
        count = sum(1 for _ in self.references(mark)) - 1
        where = f"line {mark.span.line}, " if mark.span else ""
        return f"{_block(print_item(mark))}\n\n{where}{_counted(count, 'branch', 'branches')} to it"

    def _variable(self, declared: Declared) -> str:
        if declared.predefined is not None:
            type = (
                f", {declared.count} of :{declared.type}" if isinstance(declared, Variable) else ""
            )
            kind = words.CATEGORIES[declared.category]
            return f"{_block(declared.name)}\n\npredefined {kind}{type}"
        lines = [_block(print_declaration(declared))]
        if isinstance(declared, Variable):
            grf = self.device.grf_bytes
            registers = f"{declared.size / grf:g} registers of {grf} bytes on {self.device}"
            lines.append(f"{_counted(declared.size, 'byte', 'bytes')}: {registers}")
            owner, offset = declared.origin()
            if owner is not declared:
                lines.append(f"byte {offset} of `{print_declaration(owner)}`")
        if declared.span:
            lines.append(f"line {declared.span.line}")
        return "\n\n".join(lines)

    def definition(self, line: int, column: int) -> Span | None:
        """Where what the word at a place names is declared."""
        word = self.word(line, column)
        if word is None or word.names is None or word.names.span is None:
            return None
        spans = self.references(word.names)
        return next((s for s in spans if s.line == _line_of(word.names)), word.names.span)

    def uses(self, line: int, column: int, *, declaration: bool) -> list[Span]:
        """Every word that names what the word at a place names."""
        word = self.word(line, column)
        if word is None or word.names is None:
            return []
        own = _line_of(word.names)
        return [s for s in self.references(word.names) if declaration or s.line != own]

    def references(self, named: Named) -> Iterator[Span]:
        """Every word that names a variable or label, its declaration first where it is there."""
        kernel = self.place(named.span.line - 1).kernel if named.span else None
        beyond = r"\w$@?\-" if isinstance(named, LabelMark) else r"\w$@?"
        # A predefined variable has a number, too.
        names = [named.name, *(name for name, match in NUMBERED.items() if match is named)]
        either = "|".join(map(re.escape, names))
        pattern = re.compile(rf"(?<![\w.:%$@?])(?:{either})(?![{beyond}])")
        source = Source(self.name, self.text)
        for line, place in self._places(0, len(self._code) - 1):
            code = self._code[line]
            if kernel not in (None, place.kernel) or not any(name in code for name in names):
                continue
            for match in pattern.finditer(code):
                if self._means(named, place, code, match):
                    yield Span(source, line + 1, match.start() + 1, line + 1, match.end() + 1)

    def _means(self, named: Named, place: LineContext, code: str, match: re.Match[str]) -> bool:
        if isinstance(named, LabelMark):
            return _is_label(code, match)
        if any(s.start() < match.start() < s.end() for s in _STRING.finditer(code)):
            return False
        if not _names(code, match.start(), match[0]) or place.scope.find(match[0]) is not named:
            return False
        return not (named.name in self.labels(place.kernel) and _is_label(code, match))


def _line_of(named: Named) -> int:
    return named.span.line if named.span else 0


def _is_label(code: str, match: re.Match[str]) -> bool:
    """Whether a label's name stands where labels do: before ':', or where a branch has its."""
    if match.start() == 0 and code[match.end() : match.end() + 1] == ":":
        return True
    if _SUBROUTINE.match(code):
        return True
    head = _HEAD.match(code)
    if head is None or not any(opcode.flow for opcode in VISA.find(head[1])):
        return False
    return ")" in code[head.end() : match.start()]  # behind the execution size


_MASK: Final = re.compile(r"M[1-8](?:_NM)?$|NoMask$")


def _names(code: str, start: int, text: str) -> bool:
    """Whether a word in this place may name a variable: no type, mask, key or value of one."""
    before = code[:start]
    if before.endswith((":", ".")):
        return False
    if declaration := _DECLARATION.match(code):
        return start == declaration.end() or bool(re.search(r"(?:<|%sizeof\W*)\s*$", before))
    if before.lstrip().startswith((".kernel", ".global", ".func", ".version", ".file", ".loc")):
        return False
    after = code[start + len(text) :]
    return not (_MASK.match(text) and re.search(r"\(\s*$", before) and after.lstrip()[:1] == ",")


def _block(text: str) -> str:
    return f"```visa\n{text}\n```"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
