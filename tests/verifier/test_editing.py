"""A text that is edited: checking it again finds what checking it afresh finds."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from eumu.errors import Diagnostic
from eumu.platforms import platform
from eumu.program import difference
from eumu.text import parse_statements
from eumu.verify import Editing, check_text
from text.corpus import compiled, lines, program

HERE = Path(__file__).parent
WORDS = (
    *(
        "(M1, 8)",
        "V33",
        "(0,0)<1>",
        ":d",
        "0x1:d",
        "P1",
        "{",
        "}",
        "/*",
        "*/",
        "//",
        "\\",
        "barrier",
    ),
    *(
        ".decl V33 v_type=G type=q num_elts=4",
        "L1:",
        "ret (M1, 1)",
        '.kernel "k2"',
        "%r0",
        "alias=",
    ),
    *(".kernel_attr SimdSize=8", "goto (M1, 8) L1", '.function "f"', "mov", ".sat", "avs (1)"),
)

Lines = list[str]


def _retype(text: Lines, at: int, chance: random.Random) -> None:
    line = text[at]
    place = chance.randrange(len(line) + 1)
    text[at] = line[:place] + chance.choice(WORDS) + line[place + chance.randrange(3) :]


def _digit(text: Lines, at: int, chance: random.Random) -> None:
    places = [k for k, c in enumerate(text[at]) if c.isdigit()] or [0]
    place = chance.choice(places)
    text[at] = text[at][:place] + chance.choice("0123456789") + text[at][place + 1 :]


def _remove(text: Lines, at: int, chance: random.Random) -> None:
    del text[at : at + chance.randrange(1, 3)]


def _insert(text: Lines, at: int, chance: random.Random) -> None:
    text.insert(at, chance.choice(WORDS))


def _blank(text: Lines, at: int, chance: random.Random) -> None:
    text.insert(at, "")


def _double(text: Lines, at: int, chance: random.Random) -> None:
    text.insert(chance.randrange(len(text)), text[at])


def _move(text: Lines, at: int, chance: random.Random) -> None:
    line = text.pop(at)
    text.insert(min(len(text), at + chance.randrange(-3, 4)) if at > 3 else at, line)


EDITS: tuple[Callable[[Lines, int, random.Random], None], ...] = (
    *(_retype, _retype, _digit, _digit, _remove, _insert, _blank, _double, _move),
)


def _sources() -> list[tuple[str, str]]:
    """(device, text): kernels of the compiler, several in one file, scopes, all golden lines."""
    texts = [
        (device, compiled(device, name)[0].text)
        for device, name in (("pvc", "saxpy"), ("skl", "switch_case"), ("apl", "reduce"))
    ]
    several = [t.text for t in compiled("pvc", "atomics")[:3]]
    bodies = [text.partition("\n")[2] for text in several]
    texts.append(("pvc", several[0].partition("\n")[0] + "\n" + "\n".join(bodies)))
    texts.append(("pvc", program(*(line.written for line in lines()), labels=("L1", "L2", "L-x"))))
    rules = [file.read_text() for file in sorted(HERE.glob("*.visa"))[::9]]
    first, *others = rules
    texts.append(("pvc", "\n".join([first, *(text.partition("\n")[2] for text in others)])))
    return texts


def _seen(found: list[Diagnostic]) -> list[tuple[object, ...]]:
    return [
        (d.code, d.message, d.severity, d.notes, d.spec, d.span and (d.span.line, d.span.column))
        + ((d.span.end_line, d.span.end_column) if d.span else ())
        for d in found
    ]


def _edited(text: Lines, original: Lines, chance: random.Random) -> Lines:
    """The next text: one edit on from the last, or from the original again."""
    if chance.random() < 0.25:
        text = original
    text = list(text)
    for _ in range(chance.choice((1, 1, 1, 3))):
        if text:
            chance.choice(EDITS)(text, chance.randrange(len(text)), chance)
    return text


def _compare(number: int, edits: int, seed: int) -> None:
    device, source = _sources()[number]
    chance = random.Random(seed)
    editing = Editing("x", platform(device))
    original = source.split("\n")
    text = original
    for _ in range(edits):
        now = "\n".join(text)
        found = editing.check(now)
        assert _seen(found) == _seen(check_text(now, "x", platform(device))), now
        module, _, statements = parse_statements(now, "x", platform(device).grf_bytes)
        assert difference(module, editing.module) == ""
        spans = [
            [(s.span.line, s.span.column) for s in ss] for ss in (statements, editing.statements)
        ]
        assert spans[0] == spans[1]
        places = [
            [d.span and d.span.line for k in m.kernels for d in k.declarations]
            for m in (module, editing.module)
        ]
        assert places[0] == places[1]
        text = _edited(text, original, chance)


@pytest.mark.parametrize("number", range(len(_sources())))
def test_what_is_found_after_edits(number: int) -> None:
    _compare(number, 25, number)


@pytest.mark.weekly
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("number", range(len(_sources())))
def test_what_is_found_after_many_edits(number: int, seed: int) -> None:
    _compare(number, 200, 1000 + seed)


@pytest.mark.parametrize(
    "line",
    [
        "{.decl Y v_type=G type=d num_elts=8",
        ".decl Y v_type=G type=d num_elts=8 }",
        "{.decl X v_type=G type=d num_elts=8",
        "{ .decl X v_type=G type=f num_elts=8 }",
        ".decl X v_type=G type=q num_elts=8 }",
        "{ mov (M1, 8) X(0,0)<1> 0x1:d",
        "    mov (M1, 8) X(0,0)<1> 0x1:d }",
        "  .decl X v_type=G type=d num_elts=%sizeof(X)",
        ".decl X v_type=G type=d \\\n num_elts=8",
        "mov (M1, 8) \\\nX(0,0)<1> 0x1:d",
        "X:",
        '.kernel "second"',
        ".version 4.1",
    ],
)
def test_lines_that_are_more_than_a_statement(line: str) -> None:
    """Each is put in, seen again with the lines around it moved, doubled, and taken out."""
    head = [".version 4.1", '.kernel "k"', ".decl X v_type=G type=d num_elts=8"]
    tail = ["mov (M1, 8) X(0,0)<1> 0x2:d", "barrier", "}", "{", "ret (M1, 1)"]
    editing = Editing("x", platform("pvc"))
    for text in (
        [*head, *tail],
        [*head, line, *tail],
        [*head, line, *tail],
        [*head, "", line, *tail],
        [*head, line, line, *tail],
        [line, *head, *tail, line],
        [*head, "{", line, *tail],
        [*head, "{", "", line, *tail],
        [*head, *tail],
    ):
        now = "\n".join(text)
        for _ in range(2):
            assert _seen(editing.check(now)) == _seen(check_text(now, "x", platform("pvc"))), now


def test_what_did_not_change_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from eumu.text import instruction

    read: list[str] = []
    original = instruction.InstructionReader.read

    def counted(self, cursor, names):  # type: ignore[no-untyped-def]
        read.append(cursor.text)
        return original(self, cursor, names)

    monkeypatch.setattr(instruction.InstructionReader, "read", counted)
    device, source = _sources()[0]
    editing = Editing("x", platform(device))
    editing.check(source)
    assert len(read) > 10
    read.clear()
    editing.check(source.replace('.kernel "', '// a line more\n.kernel "', 1))
    assert read == []
    last = source.rstrip().rsplit("\n", 1)[-1]
    editing.check(source + "\n" + last.split("//")[0].replace("(", " (", 1))
    assert len(read) == 1


def test_a_second_declaration_that_gets_into_braces_is_another_variable() -> None:
    """Outside braces the same declaration twice is one variable."""
    declared = ".decl V v_type=G type=d num_elts=16 align=GRF"
    code = "    mov (M1, 16) V(0,0)<1> 0x1:d"
    head = [".version 3.6", '.kernel "k"', declared]
    editing = Editing("x", platform("skl"))
    for body in ([declared, code], ["{", declared, code, "}"], [declared, code]):
        now = "\n".join([*head, *body, "    ret (M1, 1)"])
        editing.check(now)
        assert difference(parse_statements(now, "x", 32)[0], editing.module) == ""
