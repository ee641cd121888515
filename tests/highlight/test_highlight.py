"""Both highlighters know every word of every text; the lines of the corpus say what they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eumu.cli import main
from eumu.highlight.textmate import grammar
from eumu.isa.visa import VISA
from eumu.text import words
from text.corpus import compiled, lines, program, programs

pytest.importorskip("pygments", reason="Pygments is not installed")

from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Error, Token

from eumu.highlight.lexer import VisaLexer

ROOT = Path(__file__).parents[1]
Pieces = list[tuple[str, str]]  # what, text


def by_pygments(text: str) -> Pieces:
    found = list(VisaLexer(stripnl=False, ensurenl=False).get_tokens(text))
    return [(str(kind), piece) for kind, piece in found]


# ---- a reader of TextMate grammars: line by line, the earliest match, of those the first


def by_textmate(text: str, compile: Any = re.compile) -> Pieces:
    patterns = grammar()["patterns"]
    compiled_patterns = [(compile(p.get("match") or p["begin"]), p) for p in patterns]
    open_block: dict[str, Any] | None = None
    found: Pieces = []
    for line in text.splitlines(keepends=True):
        at = 0
        while at < len(line):
            if open_block is not None:
                end = compile(open_block["end"]).search(line, at)
                stop = end.end() if end else len(line)
                found.append((open_block["name"], line[at:stop]))
                open_block, at = (None if end else open_block), stop
                continue
            matches = [
                (m.start(), n, m, p)
                for n, (r, p) in enumerate(compiled_patterns)
                if (m := r.search(line, at))
            ]
            if not matches:
                found.append(("", line[at:]))
                break
            start, _, match, pattern = min(matches, key=lambda m: m[:2])
            found += [("", line[at:start])] if start > at else []
            found.append((pattern["name"], match.group()))
            open_block = pattern if "begin" in pattern else None
            at = match.end()
    return found


def _texts() -> Iterator[str]:
    yield program(*(line.written for line in lines()), labels=("L1", "L2", "L-x", "add"))
    for folder in ("memory", "calls"):
        for file in sorted((ROOT / "runs").glob(f"{folder}/*.visa"))[:20]:
            yield file.read_text()
    for file in sorted((ROOT / "verifier").glob("*.ok.visa"))[::6]:
        yield file.read_text()
    for device, name in programs()[::15]:
        yield compiled(device, name)[0].text[:20_000].rpartition("\n")[0]


TEXTS = list(_texts())


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_pygments_knows_every_word(number: int) -> None:
    text = TEXTS[number]
    found = by_pygments(text)
    assert "".join(piece for _, piece in found) == text.replace("\r\n", "\n")
    assert [piece for kind, piece in found if kind == str(Error)] == []


@pytest.mark.parametrize("number", range(0, len(TEXTS), 4))
def test_both_say_the_same(number: int) -> None:
    text = TEXTS[number][:6000].rpartition("\n")[0]
    names = {p.pygments: f"{p.textmate}.visa" for p in _parts()}
    one = [
        (names[k.removeprefix("Token.")], p) for k, p in by_pygments(text) if "Whitespace" not in k
    ]
    other = [(k, p) for k, p in by_textmate(text) if k]
    gaps = [p for k, p in by_textmate(text) if not k and p.strip()]
    assert gaps == []
    assert _joined(one) == _joined(other)


def test_the_engine_of_editors_reads_the_grammar_alike() -> None:
    """Oniguruma is what editors match with; Python's expressions differ in places."""
    reason = "pip install onigurumacffi asks the engine of editors, too"
    oniguruma = pytest.importorskip("onigurumacffi", reason=reason)
    text = TEXTS[0]
    assert by_textmate(text, oniguruma.compile) == by_textmate(text)


def _parts() -> Any:
    from eumu.highlight.tokens import TokenClass

    return TokenClass


def _joined(pieces: Pieces) -> Pieces:
    """Pieces of one comment put together."""
    found: Pieces = []
    for kind, piece in pieces:
        if found and "block" in kind and found[-1][0] == kind and not found[-1][1].endswith("*/"):
            found[-1] = kind, found[-1][1] + piece
        else:
            found.append((kind, piece))
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "    (P1) add.sat (M1_NM, 16) V1(0,0)<1> %tsc(0,0)<0;1,0> 0x1f:d // c",
            [
                ("Name.Variable", "P1"),
                ("Keyword", "add"),
                ("Name.Decorator", ".sat"),
                ("Keyword.Pseudo", "M1_NM"),
                ("Literal.Number", "16"),
                ("Name.Variable", "V1"),
                ("Name.Builtin", "%tsc"),
                ("Literal.Number", "0x1f"),
                ("Keyword.Type", ":d"),
                ("Comment.Single", "// c"),
            ],
        ),
        (
            ".decl V v_type=G type=hf num_elts=8 attrs={Output}",
            [
                ("Keyword.Declaration", ".decl"),
                ("Name.Attribute", "v_type"),
                ("Keyword.Type", "hf"),
                ("Name.Attribute", "num_elts"),
                ("Name.Attribute", "Output"),
            ],
        ),
        ("    svm_atomic.add (8) V.0", [("Keyword", "svm_atomic"), ("Name.Decorator", ".add")]),
        ("L-1: /* a // b", [("Name.Label", "L-1"), ("Comment.Multiline", "/*")]),
        (
            "    lsc_load.ugm (M1, 8) V:d32x4 flat[A+0x10]:a64",
            [("Name.Decorator", "flat"), ("Keyword.Type", ":a64")],
        ),
    ],
)
def test_words(line: str, expected: Pieces) -> None:
    found = [(kind.removeprefix("Token."), piece) for kind, piece in by_pygments(line)]
    for piece in expected:
        assert piece in found


def test_what_is_no_word_is_an_error() -> None:
    assert (str(Error), "#") in by_pygments("    add # 1\n")
    assert ("", " # ") in by_textmate("add # 1\n")


def test_every_instruction_is_one() -> None:
    for name in words.mnemonics():
        assert (str(Token.Keyword), name) in by_pygments(f"    {name} (M1, 8)\n")
    assert len(VISA.mnemonics()) > 100


def test_pygments_finds_the_lexer() -> None:
    assert get_lexer_by_name("visa").name == "vISA"
    assert get_lexer_for_filename("k.visaasm").name == "vISA"
    assert VisaLexer.analyse_text('.version 4.1\n.kernel "k"\n') == 1.0
    assert VisaLexer.analyse_text("int main() {}") == 0.0


def test_the_printed_grammar(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "--format", "textmate"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == grammar()
    assert printed["scopeName"] == "source.visa"
    for pattern in printed["patterns"]:  # what the engines of editors cannot read
        text = pattern.get("match", pattern.get("begin"))
        assert "(?P" not in text and "[]" not in text and not re.search(r"\(\?<=[^)]*[*+|]", text)
