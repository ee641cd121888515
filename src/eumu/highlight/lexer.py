"""A Pygments lexer; `pygmentize -l visa` finds it where eumu is installed."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Whitespace, string_to_tokentype

from eumu.highlight.tokens import BLOCK_BEGIN, BLOCK_END, TokenClass, rules

_BLOCK = string_to_tokentype(TokenClass.BLOCK.pygments)


class VisaLexer(RegexLexer):  # type: ignore[misc]
    """vISA assembly text."""

    name = "vISA"
    aliases: ClassVar[list[str]] = ["visa"]
    filenames: ClassVar[list[str]] = ["*.visaasm", "*.visa"]
    mimetypes: ClassVar[list[str]] = ["text/x-visa"]
    url = "https://github.com/intel/intel-graphics-compiler/tree/master/documentation/visa"

    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\s+", Whitespace),
            (BLOCK_BEGIN, _BLOCK, "comment"),
            *((rule.pattern, string_to_tokentype(rule.part.pygments)) for rule in rules()),
        ],
        "comment": [
            (BLOCK_END, _BLOCK, "#pop"),
            (r"[^*]+", _BLOCK),
            (r"\*", _BLOCK),
        ],
    }

    def analyse_text(text: str) -> float:
        """How likely a text is vISA: it begins with its version, perhaps after comments."""
        return 1.0 if ".version" in text[:200] and ".kernel" in text else 0.0
