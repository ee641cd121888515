"""The barrier of the message gateway: every row of its payload, bit by bit.

G1 to G6 of the PRM chapter "Message Gateway".  Gen9 has no public message for a predicated barrier,
so that the predicate mask is ignored here; `eumu.device.chip` has a model of what it collects.
"""

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
def test_g6_the_compilers_idiom(engine: str) -> None:
    meet = """
(W) and (8|M0) r20.0<1>:ud r0.2<0;1,0>:ud 0x8F000000:ud
(W) mov (1|M0) n0.0<1>:ud 0:ud
(W) send (1|M0) null r20 0x3 0x02000004
(W) wait n0.0<0;1,0>:ud
"""
    assert _sum(COUNT + meet + SEE + ADD + meet + RESULT, engine) == THREADS * THREADS


@pytest.mark.parametrize("number", range(32))
def test_g3_there_are_32_of_them(number: int) -> None:
    """Bits 27:24 of M0.2, and bit 31."""
    word = (number >> 4) << 31 | (number & 15) << 24
    assert _sum(_code(word), "jit" if number == 21 else "interp") == THREADS * THREADS


def test_g3_two_numbers_are_two_barriers() -> None:
    """Half of the threads come to each, with a count of two; without it neither opens."""
    count = 1 << 15 | 2 << 9
    text = """
(W) cmp (1|M0) (lt)f0.0 null<1>:ud sr0.0<0;1,0>:ud 2:ud
(W) mov (8|M0) r20.0<1>:ud 0:ud
(W) mov (1|M0) r20.2<1>:ud {left}:ud
(W&f0.0) mov (1|M0) r20.2<1>:ud {right}:ud
(W) mov (1|M0) n0.0<1>:ud 0:ud
(W) send (1|M0) null r20 0x3 0x02000004
(W) wait n0.0<0;1,0>:ud
(W) mov (8|M0) r17.0<1>:ud 5:ud
"""
    apart = text.format(left=count | 3 << 24, right=count | 1 << 31 | 3 << 24)
    assert _sum(apart, "interp") == 5
    with pytest.raises(Fault):
        _sum(text.format(left=3 << 24, right=1 << 31 | 3 << 24), "interp")


@pytest.mark.parametrize("engine", ENGINES)
def test_g4_a_count_may_be_said(engine: str) -> None:
    assert _sum(_code(1 << 15 | THREADS << 9), engine) == THREADS * THREADS


def test_g4_of_four_threads_one_waits_in_vain_for_two_more() -> None:
    """Three open the barrier; without the enabling bit the count is ignored."""
    with pytest.raises(Fault):
        _sum(_code(1 << 15 | 3 << 9), "interp")
    assert _sum(_code(3 << 9), "interp") == THREADS * THREADS


@pytest.mark.parametrize("engine", ENGINES)
def test_g4_a_count_stays(engine: str) -> None:
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


def test_g4_too_great_a_count_is_a_deadlock() -> None:
    with pytest.raises(Fault):
        _sum(_code(1 << 15 | (THREADS + 1) << 9), "interp")


@pytest.mark.parametrize("bit", range(9, 15))
def test_g4_every_bit_of_the_count(bit: int) -> None:
    """As many threads as the bit says open the barrier, one fewer do not."""
    threads = 1 << bit - 9
    code = _code(1 << 15 | 1 << bit)
    assert _sum(code, "interp", threads) == threads * threads
    if threads > 1:
        with pytest.raises(Fault):
            _sum(code, "interp", threads - 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_g4_threads_that_say_different_counts_are_a_fault(engine: str) -> None:
    text = """
(W) mov (8|M0) r20.0<1>:ud 0:ud
(W) add (1|M0) r21.0<1>:ud sr0.0<0;1,0>:ud 2:ud
(W) shl (1|M0) r21.0<1>:ud r21.0<0;1,0>:ud 9:ud
(W) or (1|M0) r20.2<1>:ud r21.0<0;1,0>:ud 0x8000:ud
(W) mov (1|M0) n0.0<1>:ud 0:ud
(W) send (1|M0) null r20 0x3 0x02000004
(W) wait n0.0<0;1,0>:ud
"""
    with pytest.raises(Fault, match="this thread says 3 producers"):
        _sum(text, engine)


@pytest.mark.parametrize("register", ["n0.1", "n0.2"])
def test_nothing_else_notifies(register: str) -> None:
    with pytest.raises(Unsupported, match=r"another notification than n0\.0"):
        _sum(f"(W) wait {register}<0;1,0>:ud\n", "interp")


IGNORED = [30, *range(16, 24), *range(9)]


@pytest.mark.parametrize("bit", IGNORED)
def test_g5_other_bits_of_the_word_are_ignored(bit: int) -> None:
    """Of the threads, only the first sets the bit."""
    text = _code(5 << 24).replace(
        "(W) send (1|M0) null r20",
        f"""(W) cmp (1|M0) (eq)f0.0 null<1>:ud sr0.0<0;1,0>:ud 0:ud
(W&f0.0) or (1|M0) r20.2<1>:ud r20.2<0;1,0>:ud {1 << bit:#x}:ud
(W) send (1|M0) null r20""",
    )
    assert _sum(text, "jit" if bit == 30 else "interp") == THREADS * THREADS


def test_every_bit_of_the_word_has_a_row() -> None:
    rows = [*IGNORED, 31, *range(24, 28), 15, *range(9, 15)]
    assert sorted([*rows, 28, 29]) == list(range(32))  # the text has no row for 29:28


# M0.3 is the predicate mask, which plain barriers ignore; the text ends with M0.5.
@pytest.mark.parametrize("dword", [0, 1, 3, 4, 5, 6, 7])
def test_g1_g2_other_dwords_are_ignored(dword: int) -> None:
    rng = random.Random(dword)
    word, then = rng.getrandbits(32) | 0x8001, "(W) mov (1|M0) n0.0"
    text = _code(0).replace(then, f"(W) mov (1|M0) r20.{dword}<1>:ud {word:#x}:ud\n{then}")
    assert _sum(text, "interp") == THREADS * THREADS


def test_g7_other_functions_of_the_gateway_say_what_they_are() -> None:
    with pytest.raises(Unsupported, match="message gateway: forward"):
        _sum("(W) send (1|M0) null r20 0x3 0x02000002", "interp")
