"""Accumulators against Python integers; division and square root against exact arithmetic."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from eumu import native
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from native.native_thread import END, execute

ENGINES = {"interp": Interpreter, "jit": Jit}
EDGES = (0, 1, 2, 0xFFFF, 0x10000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def _signed(x: int, bits: int) -> int:
    return x - (x >> bits - 1 << bits)


def _run(text: str, before: dict[int, bytes], engine: str) -> bytes:
    registers = bytearray(4096)
    for number, data in before.items():
        registers[32 * number : 32 * number + len(data)] = data
    return execute(native.parse(text + END), bytes(registers), ENGINES[engine]())


def _dwords(values: list[int]) -> bytes:
    return b"".join((v & M32).to_bytes(4, "little") for v in values)


def _read(registers: bytes, number: int, size: int = 4, count: int = 8) -> list[int]:
    start = 32 * number
    return [
        int.from_bytes(registers[start + k * size : start + (k + 1) * size], "little")
        for k in range(count)
    ]


def _pairs() -> list[tuple[list[int], list[int]]]:
    """Rows of eight pairs: every edge with every other, and random ones."""
    rng = np.random.default_rng(4)
    both = [(x, y) for x in EDGES for y in EDGES]
    both += [(int(a), int(b)) for a, b in rng.integers(0, 1 << 32, (32, 2))]
    rows = [both[k : k + 8] for k in range(0, len(both), 8)]
    return [([x for x, _ in row], [y for _, y in row]) for row in rows]


PRODUCT = """
(W)     mul (8|M0)    acc0.0<1>:{t}    r1.0<8;8,1>:{t}  r2.0<16;8,2>:uw
        mach (8|M0)   r3.0<1>:{t}      r1.0<8;8,1>:{t}  r2.0<8;8,1>:{t}  {{AccWrEn}}
        mov (8|M0)    r4.0<1>:{t}      acc0.0<8;8,1>:{t}
        mul (8|M0)    acc0.0<1>:{t}    r1.0<8;8,1>:{t}  r2.0<8;8,1>:{t}
        shr (8|M0)    r5.0<1>:ud       acc0.0<8;8,1>:{t}  16:w
        mov (8|M0)    r6.0<1>:{q}      acc0.0<8;8,1>:{t}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sign", ["unsigned", "signed"])
def test_a16_products_of_dwords_have_64_bits(sign: str, engine: str) -> None:
    """The compiler's macro, and a product that is read back in parts."""
    t, q = ("d", "q") if sign == "signed" else ("ud", "uq")
    value: Callable[[int], int] = (lambda x: _signed(x, 32)) if sign == "signed" else int
    for xs, ys in _pairs():
        after = _run(PRODUCT.format(t=t, q=q), {1: _dwords(xs), 2: _dwords(ys)}, engine)
        exact = [value(x) * value(y) & M64 for x, y in zip(xs, ys, strict=True)]
        assert _read(after, 3) == [p >> 32 for p in exact]
        assert _read(after, 4) == [p & M32 for p in exact]
        assert _read(after, 5) == [p >> 16 & M32 for p in exact]
        assert _read(after, 6, 8) == exact


SUM = """
        add (8|M0)    acc0.0<1>:ud     r1.0<8;8,1>:ud   r2.0<8;8,1>:ud
        mov (8|M0)    r3.0<1>:q        acc0.0<8;8,1>:ud
        add (8|M0)    acc0.0<1>:ud     acc0.0<8;8,1>:ud r2.0<8;8,1>:ud
        mov (8|M0)    r5.0<1>:ud       acc0.0<8;8,1>:ud
"""


def test_a14_sums_have_33_bits() -> None:
    """FFFFFFFFh + FFFFFFFFh is 1FFFFFFFEh, whose highest bit is the sign."""
    for xs, ys in _pairs():
        after = _run(SUM, {1: _dwords(xs), 2: _dwords(ys)}, "interp")
        wrapped = [_signed(x + y & (1 << 33) - 1, 33) for x, y in zip(xs, ys, strict=True)]
        assert _read(after, 3, 8) == [w & M64 for w in wrapped]
        assert _read(after, 5) == [x + 2 * y & M32 for x, y in zip(xs, ys, strict=True)]
    after = _run(SUM, {1: _dwords([M32] * 8), 2: _dwords([M32] * 8)}, "jit")
    assert _read(after, 3, 8) == [-2 & M64] * 8


WORDS = """
        mul (16|M0)   acc0.0<1>:w      r1.0<16;16,1>:w  r2.0<16;16,1>:w
        mac (16|M0)   r3.0<1>:d        r1.0<16;16,1>:w  r2.0<16;16,1>:w
"""


def test_a15_sixteen_words_accumulate() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.integers(-(1 << 15), 1 << 15, (2, 16))
    before = {1: x.astype("<i2").tobytes(), 2: y.astype("<i2").tobytes()}
    registers = bytearray(4096)
    for number, data in before.items():
        registers[32 * number : 32 * number + 32] = data
    code = native.parse(WORDS + END)
    after = execute(code, bytes(registers), Interpreter(), 16)
    assert _read(after, 3, 4, 16) == [int(2 * a * b) & M32 for a, b in zip(x, y, strict=True)]


CARRY = """
        addc (8|M0)   r3.0<1>:ud       r1.0<8;8,1>:ud   r2.0<8;8,1>:ud  {AccWrEn}
        mov (8|M0)    r4.0<1>:ud       acc0.0<8;8,1>:ud
        subb (8|M0)   r5.0<1>:ud       r1.0<8;8,1>:ud   r2.0<8;8,1>:ud  {AccWrEn}
        mov (8|M0)    r6.0<1>:ud       acc0.0<8;8,1>:ud
"""


def test_carry_and_borrow() -> None:
    for xs, ys in _pairs():
        after = _run(CARRY, {1: _dwords(xs), 2: _dwords(ys)}, "interp")
        assert _read(after, 3) == [x + y & M32 for x, y in zip(xs, ys, strict=True)]
        assert _read(after, 4) == [x + y >> 32 for x, y in zip(xs, ys, strict=True)]
        assert _read(after, 5) == [x - y & M32 for x, y in zip(xs, ys, strict=True)]
        assert _read(after, 6) == [int(x < y) for x, y in zip(xs, ys, strict=True)]


def test_a5_floats_of_other_quarters_are_in_acc1() -> None:
    text = """
        mov (16|M0)   acc0.0<1>:f      0.0:f
        add (8|M8)    r2.0<1>:f        r1.0<8;8,1>:f    1.0:f  {AccWrEn}
        mov (8|M0)    r3.0<1>:f        acc0.0<8;8,1>:f
        mov (8|M0)    r4.0<1>:f        acc1.0<8;8,1>:f
"""
    registers = bytes(32) + struct.pack("<8f", *range(8)) + bytes(4096 - 64)
    after = execute(native.parse(text + END), registers, Interpreter(), 16)
    assert struct.unpack_from("<8f", after, 3 * 32) == (0.0,) * 8
    assert struct.unpack_from("<8f", after, 4 * 32) == tuple(k + 1.0 for k in range(8))


def test_a3_the_disable_bit_stops_implicit_updates_only() -> None:
    text = """
        mov (8|M0)    acc0.0<1>:d      7:d
(W)     or (1|M0)     cr0.0<1>:ud      cr0.0<0;1,0>:ud  2:ud
        add (8|M0)    r2.0<1>:d        r1.0<8;8,1>:d    1:d  {AccWrEn}
        mov (8|M0)    r3.0<1>:d        acc0.0<8;8,1>:d
        mov (8|M0)    acc0.0<1>:d      9:d
        mov (8|M0)    r4.0<1>:d        acc0.0<8;8,1>:d
"""
    after = _run(text, {}, "interp")
    assert _read(after, 2) == [1] * 8
    assert _read(after, 3) == [7] * 8
    assert _read(after, 4) == [9] * 8


def test_a17_special_accumulators_have_two_bits() -> None:
    text = """
        mov (8|M0)    mme0.0<1>:ud     r1.0<8;8,1>:ud
        mov (8|M0)    r2.0<1>:ud       mme0.0<8;8,1>:ud
"""
    assert _read(_run(text, {1: _dwords([M32, 4, 5, 6, 7, 0, 1, 2])}, "jit"), 2) == [
        *(3, 0, 1, 2, 3, 0, 1, 2)
    ]


DIVISION = """
(W)     or (1|M0)     cr0.0<1>:ud      cr0.0<0;1,0>:ud  0x4C0:uw
        math.invm (4|M0) (eo)f1.0 r8.mme0:df r1.nomme:df r2.nomme:df
(~f1.0) if (4|M0) Lend Lend
        mov (4|M0)    r8.0<1>:df       0:w
Lend:
        endif (4|M0) Lnext
Lnext:
        math.rsqtm (4|M0) (eo)f0.0 r9.mme0:df (abs)r1.nomme:df
"""


def _double(bits: int) -> float:
    return float(struct.unpack("<d", bits.to_bytes(8, "little"))[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_a18_division_and_root_are_correctly_rounded(engine: str) -> None:
    """Of doubles, by the macros: no neighbour is nearer to the exact result."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal(16) * 10.0 ** rng.integers(-300, 300, 16)
    y = rng.standard_normal(16) * 10.0 ** rng.integers(-300, 300, 16)
    for k in range(0, 16, 4):
        a, b = x[k : k + 4].tolist(), y[k : k + 4].tolist()
        before = {1: struct.pack("<4d", *a), 2: struct.pack("<4d", *b)}
        after = _run(DIVISION, before, engine)
        quotients = [_double(v) for v in _read(after, 8, 8, 4)]
        roots = [_double(v) for v in _read(after, 9, 8, 4)]
        for p, q, quotient, root in zip(a, b, quotients, roots, strict=True):
            assert quotient == _nearest(Fraction(p) / Fraction(q))
            assert root == math.sqrt(abs(p))


def _nearest(exact: Fraction) -> float:
    """Python rounds a ratio of integers to nearest, ties to even."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


NEGATED = """
        add (8|M0)      r3.0<1>:q      r1.0<8;8,1>:ud   -r2.0<8;8,1>:ud
        add (8|M0)(sat) r7.0<1>:ud     r1.0<8;8,1>:ud   -r2.0<8;8,1>:ud
        add (8|M0)      r8.0<1>:ud     r1.0<8;8,1>:ud   -r2.0<8;8,1>:ud
        shr (8|M0)      r9.0<1>:ud     -r2.0<8;8,1>:ud  1:w
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_negated_unsigned_dword_has_33_bits(engine: str) -> None:
    """Intel's finalizer reads a dword as the 64 bits that it was converted to, negated or not."""
    for xs, ys in _pairs():
        after = _run(NEGATED, {1: _dwords(xs), 2: _dwords(ys)}, engine)
        assert _read(after, 3, 8) == [x - y & M64 for x, y in zip(xs, ys, strict=True)]
        assert _read(after, 7) == [max(x - y, 0) for x, y in zip(xs, ys, strict=True)]
        assert _read(after, 8) == [x - y & M32 for x, y in zip(xs, ys, strict=True)]
        assert _read(after, 9) == [(-y & M64) >> 1 & M32 for y in ys]
