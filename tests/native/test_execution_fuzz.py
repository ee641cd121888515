"""Random and mutated words are run: they compute something, or end in an error for the user."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from eumu import native
from eumu.errors import BuildError, Fault, Unsupported
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.isa.gen9.bits import COMPACT, Undecodable
from eumu.native.words import decode_word, uncompact
from eumu.platforms import platform
from native.native_thread import END, execute
from native.samples import words

WORDS = [word for word, _ in words("words.txt")]
REGISTERS = bytes(range(256)) * 16
DIAGNOSED = (BuildError, Unsupported, Fault)
BXT = platform("bxt")


def _word(rng: random.Random) -> int:
    """A full word: random, or a sample with some bits changed."""
    if rng.random() < 0.25:
        return rng.getrandbits(128) & ~COMPACT.mask
    word = rng.choice(WORDS)
    if word & COMPACT.mask:
        word = uncompact(word & (1 << 64) - 1)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        word ^= 1 << rng.randrange(128)
    return word & ~COMPACT.mask


def outcomes(seed: int, count: int, engine: Engine) -> Counter[str]:
    """How many words ran, or why they did not; any other error is the test's failure."""
    rng, found = random.Random(seed), Counter[str]()
    (end,) = native.parse(END).instructions
    for _ in range(count):
        word = _word(rng)
        try:
            instruction = decode_word(word)
        except Undecodable:
            found["undecodable"] += 1
            continue
        code = native.Program((instruction, replace(end, offset=instruction.size)), BXT, "word")
        try:
            execute(code, REGISTERS, engine, rng.choice((8, 16, 32)))
            found["ran"] += 1
        except DIAGNOSED as error:
            assert str(error)
            found[type(error).__name__] += 1
        except Exception as error:
            raise AssertionError(f"word {word:#034x}") from error
    return found


def test_words_run_or_are_diagnosed() -> None:
    found = outcomes(1, 800, Interpreter())
    assert found["ran"] > 300 and found["BuildError"] and found["Fault"]


def test_words_on_the_fast_engine() -> None:
    assert outcomes(2, 25, Jit())["ran"] > 5


@pytest.mark.weekly
def test_many_words_run_or_are_diagnosed() -> None:
    assert outcomes(3, 12_000, Interpreter())["ran"] > 5_000


def test_a_wait_for_an_immediate_is_diagnosed() -> None:
    """A word whose operand is none of the architecture's notifications."""
    instruction = decode_word(0x30D0CF7DC154BF0C0C5A1E7EC6096A30)
    (end,) = native.parse(END).instructions
    code = native.Program((instruction, replace(end, offset=instruction.size)), BXT, "word")
    with pytest.raises(Unsupported, match=r"n0\.0"):
        execute(code, REGISTERS, Interpreter(), 8)
