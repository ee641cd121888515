"""A TextMate grammar, for Visual Studio Code and all editors that read such grammars."""

from __future__ import annotations

from typing import Any

from eumu.highlight.tokens import BLOCK_BEGIN, BLOCK_END, TokenClass, rules


def grammar() -> dict[str, Any]:
    """The grammar as it is written to a `.tmLanguage.json` file."""
    block = {"name": f"{TokenClass.BLOCK.textmate}.visa", "begin": BLOCK_BEGIN, "end": BLOCK_END}
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "vISA",
        "scopeName": "source.visa",
        "fileTypes": ["visaasm", "visa"],
        "patterns": [
            block,
            *({"name": f"{r.part.textmate}.visa", "match": r.pattern} for r in rules()),
        ],
    }
