"""Damaged programs: only diagnostics come out, and what is still read prints as itself."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from eumu import text
from eumu.errors import Severity
from eumu.program import difference
from text.corpus import compiled, lines, program

# Words of the grammar in wrong places do more damage than random characters.
TOKENS = (
    *(
        "(",
        ")",
        "<",
        ">",
        "<1;1,0>",
        "[",
        "]",
        "{",
        "}",
        ".",
        ":",
        ";",
        ",",
        '"',
        "\\",
        "\\\n",
        "/*",
    ),
    *("//", "&", "r[", "%", "%null", "%r0", "%sizeof(", "-", "~", "!", "0x", "99999999999", ":d"),
    *(":zz", "\n", "\r\n", "\r", "\t", "\0", "é", "M1", "M5_NM", "P1", "T6", "A0(0)", "V0", ".sat"),
    *(".any", ".decl", ".kernel", ".input", "alias=<", "align=", "num_elts=", "attrs={", "FILE"),
    *("flat[", "]:a64", ":d32x4t", "bti(", "ss(", ".ugm", ".uc", "label:", "\nlabel:\n", "LOC 3"),
)
ROUNDS = 150


def _sources() -> list[str]:
    texts = [compiled(d, name)[0].text for d, name in (("pvc", "saxpy"), ("skl", "saxpy"))]
    texts.append(compiled("apl", "switch_case")[0].text)
    texts.append(program(*(line.written for line in lines()), labels=("L1", "L2", "L-x", "add")))
    return texts


def _replace(source: str, random: random.Random) -> str:
    at = random.randrange(len(source))
    return (
        source[:at] + chr(random.choice((0, 9, 13, 34, 46, 127, 233, 0x1F600))) + source[at + 1 :]
    )


def _delete(source: str, random: random.Random) -> str:
    at = random.randrange(len(source))
    return source[:at] + source[at + random.randrange(1, 12) :]


def _insert(source: str, random: random.Random) -> str:
    at = random.randrange(len(source))
    return source[:at] + random.choice(TOKENS) + source[at:]


def _digit(source: str, random: random.Random) -> str:
    digits = [k for k, c in enumerate(source) if c.isdigit()]
    at = random.choice(digits)
    return source[:at] + random.choice("0123456789") + source[at + 1 :]


def _swap_lines(source: str, random: random.Random) -> str:
    split = source.split("\n")
    a, b = random.randrange(len(split)), random.randrange(len(split))
    split[a], split[b] = split[b], split[a]
    return "\n".join(split)


def _join_lines(source: str, random: random.Random) -> str:
    split = source.split("\n")
    at = random.randrange(len(split) - 1)
    return "\n".join([*split[:at], split[at] + split[at + 1], *split[at + 2 :]])


def _cut(source: str, random: random.Random) -> str:
    return source[: random.randrange(len(source))]


MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    *(_replace, _delete, _insert, _insert, _digit, _digit, _swap_lines, _join_lines),
)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_programs_give_diagnostics(seed: int) -> None:
    chance = random.Random(seed)
    source = _sources()[seed]
    accepted = 0
    for _ in range(ROUNDS):
        damaged = source
        for _ in range(chance.choice((1, 1, 2, 8))):
            damaged = chance.choice(MUTATIONS)(damaged, chance)
        if chance.random() < 0.1:
            damaged = _cut(damaged, chance)
        accepted += _check(damaged)
    assert 0 < accepted < ROUNDS  # the mutations neither miss nor destroy everything


def _check(source: str) -> bool:
    """Whether a text is read; if so, its printed form is the same program."""
    module, found = text.parse_with_diagnostics(source)
    for diagnostic in found:
        assert diagnostic.message
        assert diagnostic.span is not None
        assert 1 <= diagnostic.span.line <= source.count("\n") + 1
        str(diagnostic)
    if any(d.severity is Severity.ERROR for d in found):
        return False
    assert difference(module, text.parse(text.print_module(module))) == ""
    return True


@pytest.mark.parametrize("seed", range(3))
def test_soup_of_words_gives_diagnostics(seed: int) -> None:
    chance = random.Random(seed)
    words = [w for line in lines() for w in line.written.split()] + list(TOKENS)
    for _ in range(ROUNDS):
        statements = [
            " ".join(chance.choices(words, k=chance.randrange(1, 8)))
            for _ in range(chance.randrange(1, 12))
        ]
        _check(program(*statements))
