"""Walks down the columns of large arrays, which are prefetched: results and faults are the same."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.errors import Fault
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host.target import host
from eumu.exec.jit.interface import Special
from eumu.ir import Space
from eumu.ir.passes import fold_modes
from eumu.types import UD, UQ
from exec.launching import RNE, Kernel, on_both

ROW = 4096  # dwords
SPECIAL = Special(True, (), 0, 0, range(0), 0, 0, (0,) * 16)
LARGE, SMALL = 256, 16  # rows: 4 MiB do not stay in the caches of a core


def sums(rows: int, *, stores: bool = False, turned: bool = False) -> Kernel:
    """Each work item adds up a column, from the first row or the last one on."""
    k = Kernel("entry", "loop", "done")
    k.root("PLACE", 128)
    k.root("SUM", 64)
    k.root("TURN", 64)
    first = k.number(UQ, 4 * ROW * (rows - 1) if turned else 0)
    k.put("PLACE", k.add(k.address(0, k.item(64), 4), first))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    (x,) = k.b.load(Space.FLAT, k.get("PLACE", UQ), k.mask(), UD)
    k.put("SUM", k.add(k.get("SUM"), x))
    if stores:
        k.result(1, k.item(64), k.get("SUM"))
    step = k.number(UQ, 4 * ROW)
    place = k.get("PLACE", UQ)
    k.put("PLACE", k.b.sub(place, step, RNE) if turned else k.add(place, step))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, rows)))
    k.at("done")
    k.inst(2)
    k.result(1, k.item(64), k.get("SUM"))
    k.end()
    return k


def data(rows: int) -> list[NDArray[np.uint32]]:
    r = np.random.default_rng(3)
    return [r.integers(0, 1 << 32, (rows, ROW), np.uint32), np.zeros(128, np.uint32)]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rows", [SMALL, LARGE])
def test_sums_of_columns(rows: int, *, turned: bool) -> None:
    arrays = data(rows)
    got = on_both(sums(rows, turned=turned), arrays, 2, 64)
    assert (got.read(1) == arrays[0].sum(0, dtype=np.uint32)[:128]).all()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rows", [SMALL, LARGE])
def test_a_row_too_many_faults(rows: int, *, turned: bool) -> None:
    """What is prefetched beyond the array is no fault, what is loaded there is one."""
    kernel, arrays = sums(rows + 1), data(rows)
    if turned:  # past the beginning
        kernel = sums(rows, turned=True)
        arrays[0] = arrays[0][:-1]
    with pytest.raises(Fault) as caught:
        on_both(kernel, arrays, 2, 64)
    assert caught.value.span is not None and caught.value.span.line == 2


def test_only_loops_that_load_prefetch() -> None:
    def fetches(k: Kernel) -> bool:
        target = host().target
        return "@llvm.prefetch" in build(fold_modes(k.function), SPECIAL, target).text

    assert fetches(sums(LARGE))
    assert not fetches(sums(LARGE, stores=True))
