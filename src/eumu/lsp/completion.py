"""What may be written at a place in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Final

from eumu.isa.kinds.variables import Declared
from eumu.isa.visa import VISA
from eumu.lsp.document import Document, LineContext
from eumu.manual import page
from eumu.records import dataclass
from eumu.text import print_declaration, words


class Sort(Enum):
    """What an offered word is."""

    INSTRUCTION = "instruction"
    WORD = "word"
    DIRECTIVE = "directive"
    KEY = "key"
    TYPE = "type"
    VARIABLE = "variable"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class Offer:
    """A word that may stand in a line from `start` (column from 0) on."""

    text: str
    sort: Sort
    start: int
    detail: str = ""


_DIRECTIVE: Final = re.compile(r"\s*\.(\w*)$")
_MNEMONIC: Final = re.compile(r"\s*(?:\([^()]*\)\s*)?([A-Za-z_]\w*)?$")
_DOTTED: Final = re.compile(r"\s*(?:\([^()]*\)\s*)?([A-Za-z_]\w*)((?:\.\w*)+)$")
_PREDICATE: Final = re.compile(r"\s*\(\s*!?\s*(\w*)$")
_COMBINED: Final = re.compile(r"\s*\(\s*!?\s*\w+\.(\w*)$")
_DECLARATION: Final = re.compile(r"\s*\.decl\s+\w+\s(.*)$")
_ATTRIBUTE: Final = re.compile(r"\s*\.kernel_attr\s+(\w*)$")
_INPUT: Final = re.compile(r"\s*\.(?:input|parameter|implicit_\w+)\s+(\w*)$")
_TYPE: Final = re.compile(r":(\w*)$")
_WORD: Final = re.compile(r"%?[\w$@?]*$")
_HEAD: Final = re.compile(r"\s*(?:\([^()]*\)\s*)?([A-Za-z_]\w*)")


def complete(document: Document, line: int, column: int) -> list[Offer]:
    """What may stand at a place, the word that is being written there left out."""
    before = document.code(line)[:column]
    if len(before) < column or before.count('"') % 2:  # in a comment or a string
        return []
    place = document.place(line)
    for pattern, offers in _CONTEXTS:
        if match := pattern.match(before) if pattern is not _TYPE else pattern.search(before):
            return list(offers(document, place, match))
    return list(_operands(document, place, before))


Offers = Callable[[Document, LineContext, re.Match[str]], Iterable[Offer]]


def _directives(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    for word, line in words.DIRECTIVES.items():
        yield Offer(f".{word}", Sort.DIRECTIVE, match.start(1) - 1, line)


def _mnemonics(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    start = match.start(1) if match[1] else match.end()
    for name in words.mnemonics():
        opcodes = VISA.find(name)
        detail = opcodes[0].doc.partition("\n")[0] if opcodes else VISA.unmodelled[name]
        yield Offer(name, Sort.INSTRUCTION, start, detail)
    if not match[0].strip():
        for word in words.STATEMENTS:
            yield Offer(word, Sort.DIRECTIVE, start)


def _sub_words(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    written = match[2].split(".")[1:-1]
    start = match.end() - len(match[2].rpartition(".")[2])
    for word in words.sub_words(match[1]):
        if word not in written:
            yield Offer(word, Sort.WORD, start, f"of {match[1]}")


def _predicates(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    return _variables(place, match.start(1), "P")


def _combined(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    return _plain(("any", "all"), Sort.WORD, match.start(1))


def _attributes(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    return _plain(words.KERNEL_ATTRIBUTES, Sort.KEY, match.start(1))


def _inputs(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    return _variables(place, match.start(1), "GST")


def _types(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    return _plain(words.TYPE_NAMES, Sort.TYPE, match.start(1))


def _declaration(document: Document, place: LineContext, match: re.Match[str]) -> Iterator[Offer]:
    rest = match[1]
    value = re.search(r"(\w+)\s*=\s*(\w*)$", rest)
    if re.search(r"alias\s*=\s*<\s*(\w*)$", rest):
        yield from _variables(place, _start(match), "G")
    elif re.search(r"attrs\s*=\s*\{[^}]*$", rest):
        yield from _plain(words.VARIABLE_ATTRIBUTES, Sort.KEY, _start(match))
    elif value is None:
        for key in words.DECLARATION_KEYS:
            if not re.search(rf"\b{key}\s*=", rest):
                yield Offer(f"{key}=", Sort.KEY, _start(match))
    elif value[1] == "v_type":
        for letter, meaning in words.CATEGORIES.items():
            yield Offer(letter, Sort.KEY, _start(match), meaning)
    elif value[1] == "type":
        yield from _plain(words.VARIABLE_TYPES, Sort.TYPE, _start(match))
    elif value[1] == "align":
        yield from _plain(words.ALIGNMENT_WORDS, Sort.KEY, _start(match))


def _operands(document: Document, place: LineContext, before: str) -> Iterator[Offer]:
    word = _WORD.search(before)
    start = word.start() if word else len(before)
    head = _HEAD.match(before)
    if head and any(o.flow for o in VISA.find(head[1])):
        for name, mark in document.labels(place.kernel).items():
            yield Offer(name, Sort.LABEL, start, f"line {mark.span.line}" if mark.span else "")
    if re.search(r"\(\s*\w*$", before) and head and before[head.end() :].count("(") == 1:
        yield from _plain(words.MASKS, Sort.WORD, start)
    yield from _variables(place, start, "GAPST")


_CONTEXTS: Final[tuple[tuple[re.Pattern[str], Offers], ...]] = (
    (_DIRECTIVE, _directives),
    (_MNEMONIC, _mnemonics),
    (_DOTTED, _sub_words),
    (_COMBINED, _combined),
    (_PREDICATE, _predicates),
    (_DECLARATION, _declaration),
    (_ATTRIBUTE, _attributes),
    (_INPUT, _inputs),
    (_TYPE, _types),
)


def _start(match: re.Match[str]) -> int:
    """Where the word begins that ends a match."""
    word = re.search(r"\w*$", match[0])
    return match.end() - (len(word[0]) if word else 0)


def _plain(texts: Iterable[str], sort: Sort, start: int) -> Iterator[Offer]:
    return (Offer(text, sort, start) for text in texts)


def _variables(place: LineContext, start: int, categories: str) -> Iterator[Offer]:
    for name in dict.fromkeys(place.scope):
        declared = place.scope.find(name)
        if declared is not None and declared.category in categories:
            yield Offer(name, Sort.VARIABLE, start, _detail(declared))


def _detail(declared: Declared) -> str:
    if declared.predefined is not None:
        return "predefined"
    return print_declaration(declared).partition(f"{declared.name} ")[2]


def manual(name: str) -> str:
    """The pages of an instruction, as `eumu explain` prints them."""
    return "\n\n".join("\n".join(page(opcode)) for opcode in VISA.find(name))
