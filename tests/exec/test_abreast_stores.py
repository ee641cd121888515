"""Threads of a group side by side that store to global memory, and may begin again after that."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.ir import Region, Space, Value
from eumu.types import UD, UQ
from exec.launching import RNE, Kernel, on_both
from exec.side_by_side import ITEMS, LOCAL, WIDTH, item_of, misses, row_of

_TURNS = 4
_GROUPS = 6
_SLM = 4 * ITEMS


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "0")


def _place(k: Kernel) -> Value:
    return k.add(k.mul(k.group_id(), k.number(UD, ITEMS)), item_of(k))


def _kernel(
    source: int, target: int, *, differ: int = -1, side: int = -1, often: bool = True
) -> Kernel:
    """In each turn work items add what they load to a sum, which they store at the end or `often`;
    in turn `differ` rows take different scalar branches, so that they begin again; in turn `side`
    only odd lanes store, and none of row 2."""
    k = Kernel("entry", "turn", "store", "odd", "even", "join", "next", "done")
    for name in ("SUM", "TURN"):
        k.root(name, 4 * WIDTH)
        k.put(name, k.number(UD, 0))
    k.go("jump", "turn")
    k.at("turn")
    k.inst(1)
    x = k.input(source, _place(k), UD)
    k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 3)), k.add(x, k.number(UD, 1))))
    late = k.b.cmp("ne", k.get("TURN"), k.number(UD, side % 99))
    odd = k.b.cmp("eq", k.b.and_(k.lane(), k.number(UD, 1)), k.number(UD, 1))
    some = k.b.or_(late, k.b.and_(odd, k.b.cmp("ne", row_of(k), k.number(UD, 2))))
    k.go("diverge", "store", "odd", mask=some)
    k.at("store")
    k.inst(2)
    if often:
        k.result(target, _place(k), k.get("SUM"))
    k.go("jump", "odd")
    k.at("odd")
    k.inst(3)
    here = k.b.and_(
        k.b.cmp("eq", k.get("TURN"), k.number(UD, differ % 99)),
        k.b.cmp("eq", row_of(k), k.number(UD, 1)),
    )
    flag = k.b.cmp("ne", k.b.mask_bits(here), k.b.const(UD, 0, 1))
    k.go("branch", "even", "join", mask=flag)
    k.at("even")
    k.inst(4)
    k.put("SUM", k.add(k.get("SUM"), k.number(UD, 5)))
    k.go("jump", "join")
    k.at("join")
    k.inst(5)
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.inst(6)
    k.go("diverge", "turn", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, _TURNS)))
    k.at("done")
    k.inst(7)
    k.result(target, _place(k), k.get("SUM"))
    k.end()
    return k


def _arrays(less: int = 0, groups: int = _GROUPS) -> list[np.ndarray]:
    values = np.random.default_rng(9).integers(0, 1 << 32, groups * ITEMS, np.uint32)
    return [values, np.zeros(groups * ITEMS - less, np.uint32)]


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("side", [-1, 0, 2])
@pytest.mark.parametrize("differ", [-1, 0, 1, 3])
@pytest.mark.parametrize("often", [False, True])
def test_what_is_stored(target: int, side: int, differ: int, often: bool) -> None:
    """Also where the array is the one that is loaded from, and threads begin again after stores."""
    k = _kernel(0, target, differ=differ, side=side, often=often)
    on_both(k, _arrays(groups=40), 40, LOCAL, slm_bytes=_SLM)


def test_they_stay_side_by_side_to_the_end() -> None:
    assert misses(_kernel(0, 1), _arrays(groups=100), 100, slm_bytes=_SLM) == 0
    assert misses(_kernel(0, 1, side=1), _arrays(groups=100), 100, slm_bytes=_SLM) == 0


def test_an_array_that_is_loaded_and_stored_to_is_left_to_each_thread() -> None:
    """They leave where they would store, and do not begin again."""
    assert misses(_kernel(0, 0, often=False), _arrays(groups=100), 100, slm_bytes=_SLM) == 0


@pytest.mark.parametrize("less", range(1, ITEMS, 5))
@pytest.mark.parametrize("side", [-1, 0])
def test_an_array_that_ends_anywhere_in_the_last_group(less: int, side: int) -> None:
    with pytest.raises(Fault) as caught:
        on_both(_kernel(0, 1, side=side), _arrays(less), _GROUPS, LOCAL, slm_bytes=_SLM)
    assert caught.value.group == (_GROUPS - 1, 0, 0)
    assert side == 0 or caught.value.thread == (ITEMS - less) // WIDTH


def test_arrays_that_change_from_group_to_group() -> None:
    """Odd groups load from the array that even groups store to."""
    k = Kernel("entry", "next", "done")
    odd = k.b.cmp("eq", k.b.and_(k.group_id(), k.number(UD, 1)), k.number(UD, 1))
    source = k.b.select(odd, k.argument(1), k.argument(0))
    target = k.b.select(odd, k.argument(0), k.argument(1))
    scaled = k.mul(k.b.convert(_place(k), UD, rounding=RNE), k.number(UD, 4))
    wide = k.b.convert(scaled, UQ, rounding=RNE)
    k.root("SUM", 4 * WIDTH)
    k.root("THERE", 8 * WIDTH)
    (x,) = k.b.load(Space.FLAT, k.add(source, wide), k.mask(), UD)
    k.put("SUM", k.add(x, k.number(UD, 1)))
    k.put("THERE", k.add(target, wide))
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.b.store(Space.FLAT, k.get("THERE", UQ), k.mask(), [k.get("SUM")])
    k.go("barrier", "done", kind="sync")
    k.at("done")
    k.b.store(Space.FLAT, k.get("THERE", UQ), k.mask(), [k.mul(k.get("SUM"), k.get("SUM"))])
    k.end()
    on_both(k, _arrays(groups=200), 200, LOCAL, slm_bytes=_SLM)


@pytest.mark.parametrize("apart", [1, 3])
def test_a_side_path_that_learns_of_the_array_that_is_stored_to(apart: int) -> None:
    """Odd groups load from it, on a side path; all begin again after they have stored."""
    k = Kernel("entry", "side", "meet", "store", "odd", "even", "done")
    k.root("SUM", 4 * WIDTH)
    k.put("SUM", _place(k))
    k.go("diverge", "side", "meet", mask=k.b.cmp("lt", k.lane(), k.number(UD, apart)))
    k.at("side")
    k.inst(1)
    is_odd = k.b.cmp("eq", k.b.and_(k.group_id(), k.number(UD, 1)), k.number(UD, 1))
    source = k.b.select(is_odd, k.argument(1), k.argument(0))
    place = k.mul(k.b.convert(_place(k), UQ, rounding=RNE), k.number(UQ, 4))
    (x,) = k.b.load(Space.FLAT, k.add(source, place), k.mask(), UD)
    k.put("SUM", k.add(x, k.number(UD, 1)))
    k.go("jump", "meet")
    k.at("meet")
    k.inst(2)
    k.go("barrier", "store", kind="sync")
    k.at("store")
    k.inst(3)
    k.result(1, _place(k), k.get("SUM"))
    own = k.b.cmp("eq", row_of(k), k.number(UD, 1))
    flag = k.b.cmp("ne", k.b.mask_bits(own), k.b.const(UD, 0, 1))
    k.go("branch", "odd", "even", mask=flag)
    for label in ("odd", "even"):
        k.at(label)
        k.inst(4)
        k.go("jump", "done")
    k.at("done")
    k.end()
    on_both(k, _arrays(groups=30), 30, LOCAL, slm_bytes=_SLM)


def test_an_element_that_one_thread_stores() -> None:
    """A block of one element for each group, from its first row."""
    k = Kernel("entry", "next", "one", "done")
    k.root("SUM", 4 * WIDTH)
    k.put("SUM", k.input(0, _place(k), UD))
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.inst(1)
    k.go("diverge", "one", "done", mask=k.b.cmp("eq", row_of(k), k.number(UD, 0)))
    k.at("one")
    k.inst(2)
    roots = k.function.roots
    group = k.b.read(roots["R0"], Region.scalar(4), UD, 1)
    place = k.b.mul(k.b.convert(group, UQ, rounding=RNE), k.b.const(UQ, 4, 1), RNE)
    there = k.b.add(k.b.read(roots["ARG1"], Region.scalar(0), UQ, 1), place, RNE)
    k.b.store_block(Space.FLAT, there, k.true(1), k.b.read(roots["SUM"], Region.scalar(4), UD, 1))
    k.go("jump", "done")
    k.at("done")
    k.inst(3)
    k.end()
    assert misses(k, _arrays(groups=100), 100, slm_bytes=_SLM) == 0
    on_both(k, _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)
    with pytest.raises(Fault) as caught:
        on_both(k, _arrays(_GROUPS * (ITEMS - 1) + 1), _GROUPS, LOCAL, slm_bytes=_SLM)
    assert (caught.value.group, caught.value.thread) == ((_GROUPS - 1, 0, 0), 0)
