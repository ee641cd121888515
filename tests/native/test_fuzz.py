"""Random and mutated words and texts: only instructions or diagnostics come out."""

from __future__ import annotations

import random

import pytest

from eumu import native
from eumu.errors import BuildError, Diagnostic
from eumu.native.words import decode_word, encode_instruction
from native.samples import rows, words

WORDS = [word for word, _ in words("words.txt")]
BRANCHES = [int(line.split()[0], 16) for line in rows("branches.txt") if not line.startswith("L")]
COUNT = 10_000


def _word(rng: random.Random) -> bytes:
    """A random word, or a sample with some bits or its opcode changed."""
    kind = rng.random()
    if kind < 0.2:
        return rng.randbytes(rng.choice((8, 16)))
    word = rng.choice(WORDS + BRANCHES)
    size = 8 if word >> 29 & 1 else 16
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        word ^= 1 << rng.randrange(size * 8)
    if kind < 0.4:
        word = word & ~0x7F | rng.choice(WORDS + BRANCHES) & 0x7F
    return word.to_bytes(size, "little")


def test_words() -> None:
    assert _decoded(9, COUNT) > COUNT // 4


@pytest.mark.weekly
def test_a_million_words() -> None:
    assert _decoded(10, 1_000_000) > 250_000


def _decoded(seed: int, count: int) -> int:
    """Words through decode, encode, print, parse and check; how many were read back."""
    rng = random.Random(seed)
    decoded = 0
    for _ in range(count):
        data = _word(rng)
        findings = native.check(data)
        assert all(isinstance(f, Diagnostic) for f in findings)
        assert "".join(map(str, findings)) == "".join(map(str, native.check(data)))
        try:
            program = native.decode(data)
        except BuildError as error:
            assert error.diagnostics
            assert any(f.code == "encoding" for f in findings)
            continue
        assert not any(f.code == "encoding" for f in findings)
        assert native.encode(program) == data
        text = native.print_program(program, native.message_note)
        assert text.strip() or not program.instructions
        decoded += _parses_again(program, text)
    return decoded


def _parses_again(program: native.Program, text: str) -> int:
    """Whether a text gives the same operands again; what it cannot say are diagnostics."""
    try:
        again = native.parse(text)
    except BuildError as error:
        assert error.diagnostics
        return 0
    assert len(again.instructions) == len(program.instructions)
    return 1


def test_texts() -> None:
    rng = random.Random(10)
    texts = [text for _, text in words("words.txt")]
    letters = "".join(sorted(set("".join(texts))))
    for _ in range(COUNT // 5):
        text = rng.choice(texts)
        for _ in range(rng.choice((1, 2, 4))):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(("", rng.choice(letters))) + text[at + rng.randrange(3) :]
        try:
            program = native.parse(text)
        except BuildError as error:
            assert error.diagnostics
            continue
        for instruction in program.instructions:
            data = encode_instruction(instruction)
            again = decode_word(int.from_bytes(data, "little"), instruction.offset)
            assert again.operands == instruction.operands
