"""Calls of addresses in registers: compiled code that has no other way, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import eumu
from eumu import native
from eumu.errors import Fault
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.native import Program
from native.native_thread import END, execute

DATA = Path(__file__).with_name("data")
SYMBOLS = DATA.parents[1] / "zebin" / "data"
DEVICES = ("apl", pytest.param("skl", marks=pytest.mark.slow))
LEVELS = ("visa", "native")
ENGINES = ("interp", "jit")
MACHINES: dict[str, type[Engine]] = {"interp": Interpreter, "jit": Jit}


@cache
def _load(path: Path) -> eumu.Program:
    return eumu.load(path)


def _sum(a: int, b: int) -> int:
    return a + b


def _product(a: int, b: int) -> int:
    return a * b


def _polynomial(a: int, b: int) -> int:
    total = 0
    for _ in range(b):
        total = total * 3 + a
    return total


OPERATIONS: tuple[Callable[[int, int], int], ...] = (_sum, _product, _polynomial)
N = 61
VALUES = (np.arange(N, dtype=np.int32) * 7) % 23


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_function_pointers(device: str, engine: str, level: str) -> None:
    """Chosen by the host, and by each work-item."""
    program = _load(DATA / f"function_pointers.{device}.bin")
    dev = eumu.Device(device, engine=engine)
    x = dev.array(VALUES)
    for which, operation in enumerate(OPERATIONS):
        out = dev.array(N, np.int32)
        program["together"].launch(dev, N, args=[x, out, which], level=level)
        want = [operation(int(v), i & 7) for i, v in enumerate(VALUES)]
        assert out.numpy().tolist() == want
    out = dev.array(N, np.int32)
    program["apart"].launch(dev, N, args=[x, out], level=level)
    want = [OPERATIONS[i % 3](int(v), i & 7) if v & 1 else -1 for i, v in enumerate(VALUES)]
    assert out.numpy().tolist() == want


def _own(n: int, p: Sequence[int]) -> int:
    return p[n] if n <= 1 else n * _own(n - 1, p)


def _shared(n: int, p: Sequence[int]) -> int:
    return p[n] if n <= 1 else _shared(n - 1, p) + _shared(n - 2, p)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", DEVICES)
def test_recursion(device: str, engine: str, level: str) -> None:
    """A function of the kernel calls itself by its name, one of all kernels by its address."""
    program = _load(SYMBOLS / f"symbols.{device}.bin")
    dev = eumu.Device(device, engine=engine)
    values = [3, 5, 6]
    a = dev.array(np.array(values, np.int32))
    program["calls_own"].launch(dev, 1, 1, args=[a], level=level)
    assert a.numpy()[0] == _own(5, values) + _shared(6, values)
    same = dev.array(np.full(32, 7, np.int32))
    program["calls_shared"].launch(dev, 32, 32, args=[same, eumu.Local(128)], level=level)
    assert set(same.numpy().tolist()) == {_shared(7, [7, 7])}


def _run(text: str, engine: str) -> bytes:
    program: Program = native.parse(text + END)
    return execute(program, bytes(4096), MACHINES[engine]())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(W) mov (1|M0) r2.0<1>:d 8:d\njmpi r2.0", "a jump to where nothing begins"),
        ("(W) mov (1|M0) r2.0<1>:d -64:d\njmpi r2.0", "a jump to where nothing begins"),
        ("(W) mov (1|M0) r2.0<1>:d 0x8000:ud\ncall (8|M0) r3.0:ud r2.0", "a call of where nothing"),
        ("(W) mov (1|M0) r2.0<1>:d 4:d\nbrd (8|M0) r2.0", "a branch to where nothing begins"),
    ],
)
def test_distances_that_lead_nowhere(text: str, message: str, engine: str) -> None:
    with pytest.raises(Fault, match=message):
        _run(text, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_returns_without_a_call(engine: str) -> None:
    """Code may put the return address into a register itself, and jump."""
    text = """
(W) add (1|M0) r5.0<1>:ud ip<0;1,0>:ud 32:ud
(W) jmpi Lsub
    mov (8|M0) r6.0<1>:d 7:d
(W) jmpi Lend
Lsub:
    mov (8|M0) r7.0<1>:d 9:d
    ret (8|M0) r5.0
Lend:
    nop
"""
    registers = _run(text, engine)
    assert (registers[6 * 32], registers[7 * 32]) == (7, 9)
