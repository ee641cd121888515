"""Affine forms hold in the lanes that have them only: both engines read the same addresses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.ir import Region, Space, Value
from eumu.types import UD, UQ, UW
from exec.launching import RNE, Kernel, launch

WIDTH = 16


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        yield


def ids(k: Kernel) -> Value:
    return k.b.convert(k.get("X", UW), UD, rounding=RNE)


def small(k: Kernel) -> Value:
    """The first seven lanes, which nothing says at compile time."""
    return k.b.cmp("lt", k.mul(ids(k), ids(k)), k.number(UD, 40))


def places(k: Kernel, argument: int, offsets: Value) -> Value:
    root = k.function.roots[f"ARG{argument}"]
    base = k.b.splat(k.b.read(root, Region.scalar(0), UQ, 1), WIDTH)
    return k.add(base, k.b.convert(offsets, UQ, rounding=RNE))


def copy(k: Kernel, mask: Value) -> None:
    """Lane n of the result becomes the word that V says."""
    (x,) = k.b.load(Space.FLAT, places(k, 0, k.get("V")), mask, UD)
    k.b.store(Space.FLAT, places(k, 1, k.mul(ids(k), k.number(UD, 4))), mask, [x])


def predicated_write(k: Kernel) -> None:
    k.put("V", k.number(UD, 80), k.true())
    k.put("V", k.mul(ids(k), k.number(UD, 4)), k.b.and_(k.mask(), small(k)))
    copy(k, k.mask())


def every_lane_in_a_branch(k: Kernel) -> None:
    k.put("V", k.number(UD, 80), k.true())
    k.go("diverge", "then", "end", mask=small(k))
    k.at("then")
    k.put("V", k.mul(ids(k), k.number(UD, 4)))
    copy(k, k.true())
    k.go("jump", "end")
    k.at("end")


def other_half_in_a_branch(k: Kernel) -> None:
    """V is written in the lanes where lane n + 8 executes, and read where lane n does."""
    k.put("V", k.number(UD, 80), k.true())
    k.go("diverge", "then", "end", mask=small(k))
    k.at("then")
    half = k.b.mul(k.b.iota(UD, 8), k.b.const(UD, 4, 8), RNE)
    k.b.write_root(k.function.roots["V"], Region.packed(0, 4), half, k.b.exec_mask(8, 8))
    base = k.b.splat(k.b.read(k.function.roots["ARG0"], Region.scalar(0), UQ, 1), 8)
    offsets = k.b.read(k.function.roots["V"], Region.packed(0, 4), UD, 8)
    address = k.add(base, k.b.convert(offsets, UQ, rounding=RNE))
    (x,) = k.b.load(Space.FLAT, address, k.b.exec_mask(0, 8), UD)
    k.b.write_root(k.function.roots["V"], Region.packed(0, 4), x, k.b.exec_mask(0, 8))
    to = places(k, 1, k.mul(ids(k), k.number(UD, 4)))
    k.b.store(Space.FLAT, to, k.mask(), [k.get("V")])
    k.go("jump", "end")
    k.at("end")


@pytest.mark.parametrize("body", [predicated_write, every_lane_in_a_branch, other_half_in_a_branch])
def test_lanes_outside_the_pattern(body: Callable[[Kernel], None]) -> None:
    results = []
    for engine in (Interpreter(), Jit(workers=1)):
        k = Kernel("start", "then", "end", width=WIDTH)
        k.root("V", 4 * WIDTH)
        body(k)
        if k.b.block is k.function.blocks[0]:
            k.go("jump", "end")
            k.at("end")
        k.end()
        then = k.function.blocks[1]
        if then.end is None:
            k.at("then")
            k.go("jump", "end")
        arrays = [np.arange(100, 164, dtype=np.uint32), np.zeros(WIDTH, np.uint32)]
        host, _ = launch(k, arrays, engine=engine)  # type: ignore[arg-type]
        results.append(host.read(1).tolist())
    assert results[1] == results[0]
    assert results[0] != list(range(100, 100 + WIDTH))


def uniform(k: Kernel, groups: int, count: int, first: int) -> None:
    """All lanes of a group load from one address, and add up what they got."""
    numbers = [n * groups // WIDTH for n in range(WIDTH)]
    offsets = k.lanes(UD, *(first + 4 * count * n for n in numbers))
    loaded = k.b.load(Space.FLAT, places(k, 0, offsets), k.mask(), UD, count)
    total = k.number(UD, 0)
    for n, x in enumerate(loaded, 1):
        total = k.add(total, k.mul(x, k.number(UD, n)))
    k.b.store(Space.FLAT, places(k, 1, k.mul(ids(k), k.number(UD, 4))), k.mask(), [total])


@pytest.mark.parametrize("first", [0, 12, 60 * 4, 64 * 4])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("groups", [1, 2, 4, 8])
def test_lanes_that_load_from_one_address(groups: int, count: int, first: int) -> None:
    results: list[object] = []
    for engine in (Interpreter(), Jit(workers=1)):
        k = Kernel(width=WIDTH)
        uniform(k, groups, count, first)
        k.end()
        arrays = [np.arange(100, 164, dtype=np.uint32), np.zeros(WIDTH, np.uint32)]
        try:
            host, _ = launch(k, arrays, engine=engine)  # type: ignore[arg-type]
            results.append(host.read(1).tolist())
        except Fault as fault:
            results.append(str(fault))
    assert results[1] == results[0]
    assert isinstance(results[0], str) == (first + 4 * count * groups > 256)
