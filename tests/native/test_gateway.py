"""The barrier of the message gateway: every bit of its payload."""

from __future__ import annotations

import random

import pytest

from eumu import native
from eumu.errors import Fault, Unsupported
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from native.native_thread import END, execute

THREADS = 4
ENGINES = {"interp": Interpreter, "jit": Jit}
# Every thread counts up the dword at 0; then each adds what it sees at 4, whatever it saw before.
COUNT = """
(W) mov (8|M0) r10.0<1>:ud 0:ud
(W) send (1|M0) r11 r10 0xC 0x0210B5FE
"""
SEE = """
(W) mov (8|M0) r12.0<1>:ud 0:ud
(W) send (1|M0) r13 r12 0xC 0x02106EFE
"""
BARRIER = """
(W) mov (8|M0) r20.0<1>:ud {other}:ud
(W) mov (1|M0) r20.2<1>:ud {word}:ud
(W) mov (1|M0) n0.0<1>:ud 0:ud
(W) send (1|M0) null r20 0x3 0x02000004
(W) wait n0.0<0;1,0>:ud
"""
ADD = """
(W) mov (8|M0) r14.0<1>:ud 4:ud
(W) mov (8|M0) r15.0<1>:ud r13.0<0;1,0>:ud
(W) sends (1|M0) r16 r14 r15 0x4C 0x0210B7FE
"""
RESULT = """
(W) send (1|M0) r17 r14 0xC 0x02106EFE
"""


def _code(word: int, other: int = 0) -> str:
    meet = BARRIER.format(word=word, other=other)
    return COUNT + meet + SEE + ADD + meet + RESULT


def _sum(text: str, engine: str, threads: int = THREADS) -> int:
    """What all threads saw, added up."""
    registers = execute(native.parse(text + END), bytes(4096), ENGINES[engine](), threads=threads)
    return int.from_bytes(registers[17 * 32 : 17 * 32 + 4], "little")


def test_without_it_threads_see_less() -> None:
    """On the fast engine, where one thread runs after the other."""
    assert _sum(COUNT + SEE + ADD + RESULT, "jit") < THREADS * THREADS


@pytest.mark.parametrize("engine", ENGINES)
def test_the_compilers_idiom(engine: str) -> None:
    meet = """
(W) and (8|M0) r20.0<1>:ud r0.2<0;1,0>:ud 0x8F000000:ud
(W) mov (1|M0) n0.0<1>:ud 0:ud
(W) send (1|M0) null r20 0x3 0x02000004
(W) wait n0.0<0;1,0>:ud
"""
    assert _sum(COUNT + meet + SEE + ADD + meet + RESULT, engine) == THREADS * THREADS


@pytest.mark.parametrize("number", range(0, 32, 5))
def test_there_are_32_of_them(number: int) -> None:
    word = (number >> 4) << 31 | (number & 15) << 24
    assert _sum(_code(word), "interp") == THREADS * THREADS


@pytest.mark.parametrize("engine", ENGINES)
def test_a_count_may_be_said(engine: str) -> None:
    assert _sum(_code(1 << 15 | THREADS << 9), engine) == THREADS * THREADS


def test_of_four_threads_one_waits_in_vain_for_two_more() -> None:
    """Three open the barrier; without the enabling bit the count is ignored."""
    with pytest.raises(Fault):
        _sum(_code(1 << 15 | 3 << 9), "interp")
    assert _sum(_code(3 << 9), "interp") == THREADS * THREADS


@pytest.mark.parametrize("engine", ENGINES)
def test_a_count_stays(engine: str) -> None:
    """Two threads of four come again, and say no count."""
    again = f"""
(W) cmp (1|M0) (lt)f0.0 null<1>:ud sr0.0<0;1,0>:ud 2:ud
(W&~f0.0) jmpi Lend
{BARRIER.format(word=0, other=0)}
Lend:
"""
    told = BARRIER.format(word=1 << 15 | 2 << 9, other=0)
    assert _sum(told + COUNT + again + "(W) mov (8|M0) r17.0<1>:ud 5:ud", engine) == 5
    with pytest.raises(Fault):
        _sum(COUNT + again + "(W) mov (8|M0) r17.0<1>:ud 5:ud", engine)


def test_too_great_a_count_is_a_deadlock() -> None:
    with pytest.raises(Fault):
        _sum(_code(1 << 15 | (THREADS + 1) << 9), "interp")


def test_all_other_bits_are_ignored() -> None:
    rng = random.Random(7)
    for _ in range(4):
        word = rng.getrandbits(32) & (1 << 30 | 0xFF << 16 | 0x1FF)
        assert _sum(_code(word, rng.getrandbits(32)), "interp") == THREADS * THREADS


def test_other_functions_of_the_gateway_say_what_they_are() -> None:
    with pytest.raises(Unsupported, match="message gateway: forward"):
        _sum("(W) send (1|M0) null r20 0x3 0x02000002", "interp")
