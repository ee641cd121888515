"""What an open text answers; `¦` marks the place that is asked about."""

from __future__ import annotations

import random
import re

import pytest

from eumu.isa.visa import VISA
from eumu.lsp.completion import Offer, complete, manual
from eumu.lsp.document import Document
from eumu.manual import page
from eumu.platforms import platform
from eumu.text import words
from eumu.text.parser import Parser, Source
from text.corpus import compiled
from text.test_fuzz import MUTATIONS

TEXT = """\
.version 4.1
.kernel "k" // V32 in a comment
.decl V32 v_type=G type=d num_elts=32 align=GRF
.decl A v_type=G type=ud num_elts=16 alias=<V32, 64>
.decl P1 v_type=P num_elts=16
.decl d v_type=G type=d num_elts=16
.decl M1 v_type=G type=d num_elts=16
.input V32 offset=64 size=%sizeof(V32)
L0:
    mov (M1, 16) V32(0,0)<1> M1(0,0)<1;1,0>
    (P1) add.sat (M1, 16) V32(0,0)<1> d(0,0)<1;1,0> 0x1:d /* V32 */
{
.decl V32 v_type=G type=f num_elts=16
    mov (M1, 16) V32(0,0)<1> 0x0:f
}
    cmp.lt (M1, 16) P1 A(0,0)<1;1,0> V32(0,0)<1;1,0>
    (P1) goto (M1, 16) L0
    lsc_load.ugm.uc.ca (M1, 16) V32:d32 flat[A]:a32
    jmp (M1, 1) L-end
    call (M1_NM, 1) sub
L-end:
    ret (M1_NM, 1)
.function "sub"
    mov (M1, 16) V32(0,0)<1> d(0,0)<1;1,0>
    ret (M1_NM, 1)
.global_function "other"
.decl V32 v_type=G type=w num_elts=32
L0:
    mov (M1, 16) V32(0,0)<1> 0x1:w
    fret (M1_NM, 1)
"""


def opened(text: str = TEXT) -> Document:
    document = Document("k.visaasm", platform("pvc"))
    document.update(text)
    return document


def at(marked: str, text: str = TEXT) -> tuple[int, int]:
    """Line and column of `¦` in a stretch of the text that is there once."""
    plain = marked.replace("¦", "")
    assert text.count(plain) == 1, plain
    before = text[: text.index(plain) + marked.index("¦")]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def lines_of(marked: str, *, declaration: bool = True) -> list[str]:
    """`line:column` of every word that names the same."""
    found = opened().uses(*at(marked), declaration=declaration)
    return [f"{s.line}:{s.column}" for s in found]


OUTER = ["3:7", "4:45", "8:8", "8:35", "10:18", "11:27", "16:38", "18:33", "24:18"]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("mov (M1, 16) V3¦2(0,0)<1> M1(", OUTER),
        ("alias=<V32¦, 64>", OUTER),
        ("%sizeof(¦V32)", OUTER),
        ("¦V32(0,0)<1> 0x0:f", ["13:7", "14:18"]),
        ("¦V32(0,0)<1> 0x1:w", ["27:7", "29:18"]),
        ("(¦P1) goto", ["5:7", "11:6", "16:21", "17:6"]),
        ("<1> ¦d(0,0)<1;1,0> 0x1", ["6:7", "11:39", "24:30"]),
        ("<1> ¦M1(0,0)", ["7:7", "10:30"]),
        ("flat[¦A]", ["4:7", "16:24", "18:46"]),
        ("goto (M1, 16) ¦L0", ["9:1", "17:24"]),
        ("jmp (M1, 1) L-e¦nd", ["19:17", "21:1"]),
        ("call (M1_NM, 1) s¦ub", ["20:21", "23:12"]),
        ("¦0x1:w", []),
    ],
)
def test_references(marked: str, expected: list[str]) -> None:
    assert lines_of(marked) == expected
    document = opened()
    definition = document.definition(*at(marked))
    if not expected:
        assert definition is None
        return
    assert definition is not None
    declared = [e for e in expected if e.startswith(f"{definition.line}:")]
    assert f"{definition.line}:{definition.column}" in declared
    without = lines_of(marked, declaration=False)
    assert without == [e for e in expected if e not in declared]


def test_words_of_a_line_with_an_error_are_found_too() -> None:
    text = TEXT.replace("add.sat (M1, 16) V32(0,0)<1> d(", "add.sat (M1, 16) V32(0,0)<1> d((")
    document = opened(text)
    found = document.uses(*at("add.sat (M1, 16) V¦32", text), declaration=True)
    assert [f"{s.line}:{s.column}" for s in found] == OUTER


@pytest.mark.parametrize(
    ("marked", "parts"),
    [
        ("add.s¦at", ["dst[i] = src0[i] + src1[i]", "page         vISA ADD"]),
        ("lsc_l¦oad", ["lsc_load", "page         vISA LSC_UNTYPED"]),
        (
            "¦A(0,0)<1;1,0> V32",
            [
                "alias=<V32, 64>",
                "1 registers of 64 bytes on pvc",
                "byte 64 of `.decl V32",
                "line 4",
            ],
        ),
        ("goto (M1, 16) L¦0", ["L0:", "line 9, 1 branch to it"]),
        (".de¦cl A", ["Declares a variable"]),
        (".inp¦ut", ["has a value at entry"]),
        ("// V3¦2 in", []),
        ("/* V3¦2 */", []),
    ],
)
def test_hover(marked: str, parts: list[str]) -> None:
    found = opened().hover(*at(marked))
    assert all(part in found for part in parts)
    assert bool(found) == bool(parts)


def test_hover_shows_what_explain_prints() -> None:
    document = opened(".version 4.1\n.kernel k\n    add3 (M1, 8)")
    shown = document.hover(2, 5)
    for opcode in VISA.find("add3"):
        assert "\n".join(page(opcode)) in shown
    assert manual("add3") in shown.replace("```\n\n```visa\n", "\n")


def test_hover_on_what_is_predefined_or_not_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    name, reason = "unheard_of", "nobody has described it"
    monkeypatch.setitem(VISA.unmodelled, name, reason)
    text = f".version 4.1\n.kernel k\n    {name} (M1, 8) %tsc(0,0)<1>"
    document = opened(text)
    assert reason in document.hover(2, 5)
    assert "predefined general variable" in document.hover(
        2, text.rindex("%tsc") - text.rindex("\n") + 1
    )


def offers(line: str, text: str = TEXT) -> list[Offer]:
    """What is offered at the end of a line that is put behind the label L-end."""
    text = text.replace("L-end:\n", f"L-end:\n{line}\n")
    at_line = text[: text.index("L-end:\n")].count("\n") + 1
    return complete(opened(text), at_line, len(line))


@pytest.mark.parametrize(
    ("line", "some", "none"),
    [
        ("    ", {"add", "lsc_load", "LOC"}, {"V32", ".decl"}),
        ("    (P1) ad", {"add", "addc"}, {"LOC", "V32"}),
        ("    lsc_load.", {"ugm", "slm", "uc.ca"}, {"add", "df", "V32"}),
        ("    lsc_load.ugm.", {"uc.ca"}, {"ugm"}),
        ("    nbarrier.", {"signal", "wait"}, {"sat"}),
        ("    add.", {"sat"}, {"lt"}),
        ("    cmp.", {"lt", "eq"}, {"sat"}),
        (".", {".decl", ".kernel_attr"}, {"add"}),
        (".decl X ", {"v_type=", "type=", "alias="}, {"V32"}),
        (".decl X v_type=", {"G", "P"}, {"d"}),
        (".decl X v_type=G type=", {"ud", "hf"}, {"v", "G"}),
        (".decl X v_type=G type=d num_elts=8 al", {"align=", "alias="}, {"type="}),
        (".decl X v_type=G type=d num_elts=8 align=", {"GRF", "dword"}, {"d"}),
        (".decl X v_type=G type=d num_elts=8 alias=<", {"V32", "A"}, {"P1"}),
        (".decl X v_type=G type=d num_elts=8 attrs={", {"Output"}, {"V32"}),
        (".kernel_attr ", {"SimdSize", "Target"}, {"V32"}),
        (".input ", {"V32"}, {"P1"}),
        ("    (", {"P1"}, {"V32"}),
        ("    (P1.", {"any", "all"}, {"sat"}),
        ("    mov (", {"M1", "M5_NM"}, {"add"}),
        ("    mov (M1, 16) ", {"V32", "A", "%tsc", "P1"}, {"add", "L0"}),
        ("    mov (M1, 16) %", {"%tsc", "%null"}, {"add"}),
        ("    mov (M1, 16) V32(0,0)<1> 0x1:", {"d", "hf", "v"}, {"V32"}),
        ("    goto (M1, 16) ", {"L0", "L-end", "sub"}, {"add"}),
        ("    mov (M1, 16) // ", set(), {"V32", "add"}),
        ('    FILE "', set(), {"V32", "add"}),
    ],
)
def test_completion(line: str, some: set[str], none: set[str]) -> None:
    found = {offer.text: offer for offer in offers(line)}
    assert some <= found.keys()
    assert not none & found.keys()


@pytest.mark.parametrize(
    ("line", "text", "start"),
    [
        ("    lsc_load.ug", "ugm", 13),
        ("    mov (M1, 16) %ts", "%tsc", 17),
        (".de", ".decl", 0),
        ("    (P1) ad", "add", 9),
        ("    mov (M1, 16) V32(0,0)<1> 0x1:h", "hf", 33),
    ],
)
def test_an_offer_takes_the_place_of_what_is_typed(line: str, text: str, start: int) -> None:
    assert next(o for o in offers(line) if o.text == text).start == start


def test_inner_scopes_offer_their_own_names() -> None:
    inner = TEXT.replace(
        "    mov (M1, 16) V32(0,0)<1> 0x0:f", ".decl INNER v_type=P num_elts=8\n    "
    )
    line = inner[: inner.index("INNER")].count("\n") + 1
    inside = {
        o.text
        for o in complete(opened(inner.replace("\n    \n", "\n    sel (M1, 8) \n")), line, 16)
    }
    assert "INNER" in inside
    assert "INNER" not in {o.text for o in offers("    mov (M1, 16) ", inner)}


# ---- every word of the compiler's texts


@pytest.mark.parametrize(("device", "name"), [("pvc", "atomics"), ("skl", "switch_case")])
def test_words_of_compiled_programs(device: str, name: str) -> None:
    """Every operand that names a variable is found from its declaration, and the reverse."""
    text = compiled(device, name)[0].text
    document = Document("k", platform(device))
    document.update(text)
    used = re.findall(r"(?<![\w.:%])V\d{3,}(?=\(|:|\.|>|\[|\]|,| )", re.sub(r"//.*", "", text))
    names = sorted(set(used), key=used.index)[:40]
    assert len(names) > 10
    for name in names:
        line = next(k for k, found in enumerate(document.lines) if f".decl {name} " in found)
        spans = document.uses(line, 6, declaration=True)
        assert len(spans) == used.count(name), name
        for span in spans:
            assert document.definition(span.line - 1, span.column - 1) == spans[0]


# ---- texts in any state


@pytest.mark.parametrize("seed", range(3))
def test_damaged_texts_are_answered(seed: int) -> None:
    """No text and no place makes a question fail; what is named is where it is said to be."""
    chance = random.Random(seed)
    named = 0
    for _ in range(60):
        text = TEXT
        for _ in range(chance.choice((1, 2, 8))):
            text = chance.choice(MUTATIONS)(text, chance)
        document = opened(text)
        document.formatted()
        for _ in range(12):
            line = chance.randrange(len(document.lines) + 2)
            length = len(document.lines[line]) if line < len(document.lines) else 0
            column = chance.randrange(length + 3)
            document.hover(line, column)
            complete(document, line, column)
            word = document.word(line, column)
            found = document.uses(line, column, declaration=True)
            if word is not None and word.names is not None:
                named += 1
                assert (word.line + 1, word.column + 1) in [(s.line, s.column) for s in found]
            for span in found:
                at_line = document.lines[span.line - 1]
                assert word and at_line[span.column - 1 : span.end_column - 1] == word.text
    assert named > 50


# ---- the words


def test_words_are_those_of_the_parser() -> None:
    assert set(words.DIRECTIVES) == set(Parser(Source("", ""), None)._directives)


def test_every_sub_word_of_compiled_programs_is_known() -> None:
    found = set()
    for device, name in (
        ("pvc", "atomics"),
        ("skl", "atomics"),
        ("pvc", "reduce"),
        ("apl", "convert"),
    ):
        for text in compiled(device, name):
            for line in text.text.splitlines():
                if match := re.match(r"\s+(?:\(.*?\) )?([a-z]\w*)((?:\.[a-zA-Z]\w*)+) \(", line):
                    found |= {(match[1], word) for word in match[2][1:].split(".")}
    assert len(found) > 10
    for mnemonic, word in found:
        known = {w for words_ in words.sub_words(mnemonic) for w in words_.split(".")}
        assert word in known, (mnemonic, word)


def test_line_ends_of_other_systems() -> None:
    for end in ("\r\n", "\r"):
        document = opened(TEXT.replace("\n", end))
        assert document.definition(*at("goto (M1, 16) ¦L0")) == opened().definition(
            *at("goto (M1, 16) ¦L0")
        )
