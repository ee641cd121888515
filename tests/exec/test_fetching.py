"""Walks down the columns of large arrays, which are prefetched: results and faults are the same."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import eumu
from eumu.errors import Fault
from eumu.exec.jit.driver.module import build
from eumu.exec.jit.host.target import host
from eumu.exec.jit.interface import Special
from eumu.ir import Space
from eumu.ir.passes import fold_modes
from eumu.types import UB, UD, UQ, UW, Type
from exec.launching import RNE, Kernel, on_both
from kernels import build as programs

ROW = 4096  # dwords
SPECIAL = Special(True, (), 0, 0, range(0), 0, 0, (0,) * 16)
LARGE, SMALL = 256, 16  # rows: 4 MiB do not stay in the caches of a core


def sums(rows: int, *, stores: bool = False, turned: bool = False, type: Type = UD) -> Kernel:
    """Each work item adds up a column, from the first row or the last one on."""
    k = Kernel("entry", "loop", "done")
    k.root("PLACE", 128)
    k.root("SUM", 64)
    k.root("TURN", 64)
    first = k.number(UQ, 4 * ROW * (rows - 1) if turned else 0)
    k.put("PLACE", k.add(k.address(0, k.item(64), type.size), first))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    (x,) = k.b.load(Space.FLAT, k.get("PLACE", UQ), k.mask(), type)
    k.put("SUM", k.add(k.get("SUM"), x if type is UD else k.b.convert(x, UD)))
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


@pytest.mark.parametrize("type", [UB, UW])
@pytest.mark.parametrize("rows", [SMALL, LARGE])
def test_sums_of_narrow_columns(rows: int, type: Type) -> None:
    arrays = data(rows)
    got = on_both(sums(rows, type=type), arrays, 2, 64)
    columns = arrays[0].view(type.dtype)[:, :128]
    assert (got.read(1) == columns.sum(0, dtype=np.uint32)).all()


def _fetches(k: Kernel) -> bool:
    return "@llvm.prefetch" in build(fold_modes(k.function), SPECIAL, host().target).text


def test_only_loops_that_load_prefetch() -> None:
    assert _fetches(sums(LARGE))
    assert not _fetches(sums(LARGE, stores=True))


def test_half_a_line_is_prefetched_and_less_is_not() -> None:
    assert _fetches(sums(LARGE, type=UW))  # sixteen lanes
    assert not _fetches(sums(LARGE, type=UB))


# ---- stores

_ITEMS = 1 << 16  # of 16 dwords each, in 4 MiB


def _counts(engine: str, rows: int, first: int, count: int) -> tuple[str, NDArray[np.int32]]:
    """Work items that each store a row of 64 bytes: the fault, and all that there is of rows."""
    device = eumu.Device("pvc", engine=engine)
    kernel = eumu.load(programs.BIN / "pvc" / "private_array.bin")["private_array"]
    values = np.random.default_rng(5).integers(0, 256, 32 * (_ITEMS + 512), np.uint8)
    out = device.array(np.full(16 * rows, -1, np.int32))
    said = ""
    try:
        kernel.launch(device, count, 32, [device.array(values), out], global_offset=first)
    except Fault as fault:
        said = str(fault)
    return said, out.numpy()


@pytest.mark.parametrize("rows", [256, _ITEMS])
def test_rows_that_lanes_store_one_by_one(rows: int) -> None:
    """What the next thread will store to is fetched, if the array is large."""
    (said, expected), (found, got) = (_counts(e, rows, 0, 256) for e in ("interp", "jit"))
    assert said == found == ""
    assert (got == expected).all() and (got[: 16 * 256] >= 0).all()


@pytest.mark.parametrize("first", [_ITEMS - 128, _ITEMS - 96, _ITEMS - 1])
def test_a_row_behind_the_last_one_faults(first: int) -> None:
    """What is fetched behind the array is no fault."""
    inside, outside = _ITEMS - first & -32, 256
    for count in (inside, outside) if inside else (outside,):
        (said, expected), (found, got) = (
            _counts(e, _ITEMS, first, count) for e in ("interp", "jit")
        )
        assert said == found and bool(said) is (count == outside)
        if not said:
            assert (got == expected).all()


def test_the_first_of_a_row_of_stores_fetches() -> None:
    """One instruction for each lane, not one for each element."""
    device = eumu.Device("pvc", engine="jit")
    kernel = eumu.load(programs.BIN / "pvc" / "private_array.bin")["private_array"]
    args = [device.array(32 * 256, np.uint8), device.array(16 * 256, np.int32)]
    text = kernel.listing(device, "llvm", 256, 32, args)
    fetches = [line for line in text.splitlines() if "call void @llvm.prefetch" in line]
    assert len([line for line in fetches if "i32 1, i32 3, i32 1" in line]) == kernel.simd_width
