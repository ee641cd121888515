"""`dot` in the fast engine: the interpreter's bits, also without the processor's own products."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import Processor, host
from eumu.ir import Space
from eumu.types import BF, BOOL, HF, UB, UD, UQ, B, D, F, Type
from exec.launching import RNE, Kernel, launch

Bytes = NDArray[np.uint8]

# rows, columns, depth, group, a of its own for each column
SHAPES = [(8, 16, 8, 4, False), (3, 8, 2, 8, False), (1, 16, 4, 2, False), (2, 8, 3, 1, False)]
OWN = [(1, 16, 1, 4, True), (2, 8, 4, 2, True), (2, 8, 2, 4, True)]
KINDS = [(D, b, a) for b in (UB, B) for a in (UB, B)] + [(UD, B, B), (F, F, F), (F, HF, HF)]
KINDS += [(F, BF, BF), (F, HF, BF)]


def kernel(shape: tuple[int, ...], kinds: tuple[Type, Type, Type]) -> tuple[Kernel, list[int]]:
    """Reads x, b and a from one buffer and writes the sums to another; bytes of each."""
    rows, columns, depth, group, own = shape
    counts = (rows * columns, depth * columns * group, rows * depth * group * (columns**own))
    k, place, values, sizes = Kernel(), 0, [], []
    b, one = k.b, k.b.const(BOOL, 1)
    for type, count in zip(kinds, counts, strict=True):
        address = b.add(b.slice(k.argument(0), 0, 1), b.const(UQ, place), RNE)
        values.append(b.load_block(Space.FLAT, address, one, type, count))
        sizes.append(type.size * count)
        place += sizes[-1]
    sums = b.dot(*values, rows=rows, group=group)
    b.store_block(Space.FLAT, b.slice(k.argument(1), 0, 1), one, sums)
    k.end()
    return k, sizes


def operands(sizes: list[int], kinds: tuple[Type, Type, Type], seed: int) -> Bytes:
    """Random bits; few NaNs and infinities among floats, whose payload nothing defines."""
    rng = np.random.default_rng(seed)
    parts = []
    for size, type in zip(sizes, kinds, strict=True):
        raw = rng.integers(0, 256, size, np.uint8)
        if type.is_float:
            raw[type.size - 1 :: type.size] &= 0xBF  # below 2, or 1 for hf: sums stay finite
        parts.append(raw)
    return np.concatenate(parts)


def check(shape: tuple[int, ...], kinds: tuple[Type, Type, Type], jit: Engine) -> None:
    k, sizes = kernel(shape, kinds)
    data, room = operands(sizes, kinds, sum(shape)), np.zeros(sizes[0], np.uint8)
    results = [
        launch(k, [data, room], local=16, engine=engine)[0].read(1)
        for engine in (Interpreter(), jit)
    ]
    assert results[0].any() and (results[0] == results[1]).all(), (shape, kinds)


@pytest.mark.parametrize("shape", SHAPES + OWN, ids=str)
def test_like_the_interpreter(shape: tuple[int, ...]) -> None:
    for kinds in KINDS:
        check(shape, kinds, Jit(workers=1))


@pytest.mark.skipif("x86_64" not in host().triple, reason="restricts the features of an x86 host")
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: " ".join(map(str, kinds)))
def test_without_the_processors_products(kinds: tuple[Type, Type, Type]) -> None:
    processor = Processor(host().triple, "x86-64", "")
    for shape in (SHAPES[1], OWN[0]):
        check(shape, kinds, Jit(workers=1, processor=processor))


def test_an_extreme_sum_wraps() -> None:
    shape, kinds = SHAPES[0], (D, UB, UB)
    k, sizes = kernel(shape, kinds)
    data = np.full(sum(sizes), 0xFF, np.uint8)
    data[: sizes[0]].view(np.int32)[...] = 0x7FFF_FFFF
    host_, _ = launch(k, [data, np.zeros(sizes[0], np.uint8)], engine=Jit(workers=1))
    want = (0x7FFF_FFFF + 32 * 255 * 255) & 0xFFFF_FFFF
    assert (host_.read(1).view(np.uint32) == want).all()
