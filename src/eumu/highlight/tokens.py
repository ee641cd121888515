"""What the stretches of vISA text are, as regular expressions that every highlighter knows.

The words are those of the registry and the parser.  The first rule that fits counts; strings and
comments are closed where they begin, except `/* */`, which may go on over lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from eumu.records import dataclass
from eumu.text import words


class TokenClass(Enum):
    """A part of speech, with its names in Pygments and in TextMate grammars."""

    COMMENT = "Comment.Single", "comment.line.double-slash"
    BLOCK = "Comment.Multiline", "comment.block"
    STRING = "Literal.String.Double", "string.quoted.double"
    LABEL = "Name.Label", "entity.name.label"
    DIRECTIVE = "Keyword.Declaration", "keyword.other.directive"
    INSTRUCTION = "Keyword", "keyword.operator.word.mnemonic"
    MODIFIER = "Name.Decorator", "storage.modifier"
    MASK = "Keyword.Pseudo", "constant.language.mask"
    KEY = "Name.Attribute", "entity.other.attribute-name"
    TYPE = "Keyword.Type", "storage.type"
    PREDEFINED = "Name.Builtin", "variable.language"
    NUMBER = "Literal.Number", "constant.numeric"
    NAME = "Name.Variable", "variable.other"
    OPERATOR = "Operator", "keyword.operator"
    PUNCTUATION = "Punctuation", "punctuation.separator"

    @property
    def pygments(self) -> str:
        return self.value[0]

    @property
    def textmate(self) -> str:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what it matches."""

    part: TokenClass
    pattern: str


def _any(words: Iterable[str]) -> str:
    """A pattern for one of some words, the longest first."""
    return "(?:" + "|".join(sorted(map(_plain, words), key=lambda w: (-len(w), w))) + ")"


def _plain(word: str) -> str:
    return word.replace(".", r"\.")


_IDENTIFIER: Final = r"[A-Za-z_$@?][\w$@?]*"
_HEAD: Final = r"^[ \t]*"
_WORDS: Final = r"(?![\w$@?])"

BLOCK_BEGIN: Final = r"/\*"
BLOCK_END: Final = r"\*/"


def rules() -> list[Rule]:
    """The rules in order; block comments come before them."""
    models = ("flat", "bti", "ss", "bss", "arg")
    attributes = (*words.KERNEL_ATTRIBUTES, *words.VARIABLE_ATTRIBUTES)
    return [
        Rule(TokenClass.COMMENT, r"//[^\n]*"),
        Rule(TokenClass.STRING, r'"(?:[^"\\\n]|\\.)*"'),
        Rule(TokenClass.LABEL, r"^[A-Za-z_$@?][\w$@?\-]*(?=:)"),
        Rule(TokenClass.DIRECTIVE, rf"{_HEAD}\.(?:{_any(words.DIRECTIVES)}|implicit_\w+)\b"),
        Rule(TokenClass.DIRECTIVE, rf"{_HEAD}{_any(words.STATEMENTS)}\b"),
        Rule(TokenClass.KEY, rf"\b{_any((*words.DECLARATION_KEYS, 'offset', 'size'))}(?=[ \t]*=)"),
        Rule(TokenClass.KEY, rf"\b{_any(attributes)}{_WORDS}"),
        Rule(TokenClass.TYPE, rf"(?<=type=){_any(words.VARIABLE_TYPES)}{_WORDS}"),
        Rule(TokenClass.TYPE, rf":(?:{_any(words.TYPE_NAMES)}{_WORDS}|[A-Za-z]\w*)"),
        Rule(TokenClass.MODIFIER, rf"\.{_any(words.all_sub_words())}{_WORDS}"),
        Rule(TokenClass.MASK, rf"(?<=\(){_any(words.MASKS)}(?=[ \t]*[,)])"),
        Rule(TokenClass.MODIFIER, rf"\b{_any(models)}(?=[ \t]*[\[(])"),
        Rule(TokenClass.PREDEFINED, rf"{_any((*words.PREDEFINED_NAMES, '%sizeof'))}{_WORDS}"),
        Rule(TokenClass.INSTRUCTION, rf"\b{_any(words.mnemonics())}{_WORDS}"),
        Rule(TokenClass.NUMBER, r"\b0[xX][0-9a-fA-F]+"),
        Rule(TokenClass.NUMBER, r"\b\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)?"),
        Rule(TokenClass.NAME, _IDENTIFIER),
        Rule(TokenClass.OPERATOR, r"<<|>>|[-+*/%&|^~!=]"),
        Rule(TokenClass.PUNCTUATION, r"[\[\](){}<>,;:.\\]"),
    ]
