"""Loops of threads by themselves whose loads are checked once for many turns, as lanes leave.

As in a triangle of a matrix, each lane begins an outer loop one further on, and all leave it where
it ends: so lanes leave one by one, and an inner loop runs with those that are left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.jit.codegen import counted
from eumu.ir import Region, Space, Value
from eumu.types import UD, UQ, UW, D, Q, Type, W
from exec.launching import RNE, Kernel, on_both

_WIDTH, _GROUPS, _END = 16, 3, 21  # the number at which lanes leave
_NUMBERS = ("MOST", "STEP", "FIRST", "EACH")


@pytest.fixture(autouse=True)
def _never_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "1000000")


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each loop, whether its turns are counted."""
    monkeypatch.setenv("EUMU_CACHE", "off")
    found: list[bool] = []
    begin = counted.begin

    def noted(k: object, header: int) -> bool:
        is_counted = begin(k, header)  # type: ignore[arg-type]
        found.append(is_counted)
        return is_counted

    monkeypatch.setattr(counted, "begin", noted)
    return found


def _scalar(k: Kernel, name: str, type: Type = D) -> Value:
    return k.b.read(k.function.roots[name], Region.scalar(0), type, 1)


def _load(k: Kernel, index: Value, moved: int = 0) -> Value:
    wide = k.b.convert(index, Q, rounding=RNE)
    at = k.mul(k.add(wide, k.number(Q, moved)), k.number(Q, 4))
    place = k.add(k.b.convert(at, UQ, rounding=RNE), k.argument(0))
    return k.b.load(Space.FLAT, place, k.mask(), UD)[0]


def _kernel(
    type: Type = D, moved: int = 0, *, apart: int = 1, changes: str = "", stores: bool = False
) -> Kernel:
    """Sums over turns of what lies `FIRST` + number + turn * `STEP` elements on.

    A number is `changes` in the inner loop, too: by a constant, or in a way that is unlike from
    lane to lane.  Lanes begin with numbers that are so far `apart`.
    """
    k = Kernel("entry", "outer", "loop", "next", "done")
    for name in (*_NUMBERS, "TURN", "SUM", "NUMBER"):
        k.root(name, 64)
    for n, name in enumerate(_NUMBERS):
        k.put(name, k.input(2, k.number(UD, n), D))
    lanes = k.b.convert(k.local_id(), D, rounding=RNE)
    k.put("NUMBER", k.add(k.mul(lanes, k.number(D, apart)), k.number(D, 1)))
    k.put("SUM", k.number(UD, 0))
    k.go("jump", "outer")
    k.at("outer")
    k.put("TURN", k.b.const(D, 0, 1), k.true(1))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    way = k.mul(_scalar(k, "TURN"), _scalar(k, "STEP"))
    group = k.b.read(k.function.roots["R0"], Region.scalar(4), D, 1)
    way = k.add(k.add(way, k.mul(group, _scalar(k, "EACH"))), _scalar(k, "FIRST"))
    index = k.add(k.b.splat(way, _WIDTH), k.get("NUMBER", D))
    if type is not D:
        index = k.b.convert(index, type, rounding=RNE)
    x = _load(k, index, moved)
    k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 5)), x))
    if changes == "alike":
        k.put("NUMBER", k.add(k.get("NUMBER", D), k.number(D, 2)))
    elif changes == "unlike":
        odd = k.b.and_(k.local_id(), k.number(UD, 1))
        k.put("NUMBER", k.add(k.get("NUMBER", D), k.b.convert(odd, D, rounding=RNE)))
    if stores:
        k.result(1, k.item(_WIDTH), k.get("SUM"))
    k.put("TURN", k.add(_scalar(k, "TURN"), k.b.const(D, 1, 1)), k.true(1))
    k.inst(2)
    more = k.b.cmp("lt", _scalar(k, "TURN"), _scalar(k, "MOST"))
    k.go("branch", "loop", "next", mask=more)
    k.at("next")
    k.put("NUMBER", k.add(k.get("NUMBER", D), k.number(D, 1)))
    k.go("diverge", "outer", "done", mask=k.b.cmp("lt", k.get("NUMBER", D), k.number(D, _END)))
    k.at("done")
    k.inst(3)
    k.result(1, k.item(_WIDTH), k.get("SUM"))
    k.end()
    return k


def _arrays(size: int, numbers: Sequence[int]) -> list[np.ndarray]:
    values = np.random.default_rng(7).integers(0, 1 << 32, size, np.uint32)
    return [values, np.zeros(_GROUPS * _WIDTH, np.uint32), np.array(numbers, np.int32)]


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("apart", [0, 1])
@pytest.mark.parametrize(("most", "step"), [(1, 3), (2, 0), (7, 1), (9, 30), (300, 4), (6, -7)])
def test_results(most: int, step: int, apart: int, stores: bool, begun: list[bool]) -> None:
    first = max(0, -step * (most - 1))
    size = first + max(0, step) * (most - 1) + _END
    on_both(_kernel(apart=apart, stores=stores), _arrays(size, (most, step, first, 0)), _GROUPS)
    assert any(begun)


@pytest.mark.parametrize(("most", "step"), [(1, 3), (4, 1), (5, 9), (3, 40)])
def test_an_array_that_ends_anywhere(most: int, step: int) -> None:
    """In the last group, where lanes have left, each turn is the first to fault once."""
    need, found = step * (most - 1) + _END, set[int]()
    for less in (*range(-1, _END), need):
        arrays = _arrays(need * _GROUPS - less, (most, step, 0, need))
        try:
            on_both(_kernel(), arrays, _GROUPS)
        except Fault as fault:
            assert less > 0 and fault.group == (_GROUPS - 1, 0, 0)
            found.update(fault.lanes)
        else:
            assert less <= 0
    assert found == set(range(_WIDTH))


@pytest.mark.parametrize("late", range(-1, 4))
@pytest.mark.parametrize("most", [1, 2, 5])
def test_walks_that_pass_the_beginning(most: int, late: int) -> None:
    """The lowest lane's last turn in the last group begins `late` elements before the array."""
    first = 8 * (most - 1) - late - 1 + _GROUPS - 1
    arrays = _arrays(400, (most, -8, first, -1))
    try:
        on_both(_kernel(), arrays, _GROUPS)
    except Fault as fault:
        assert late > 0 and fault.lanes[0] == 0
    else:
        assert late <= 0


@pytest.mark.parametrize("late", range(-2, 3))
@pytest.mark.parametrize("step", [1, 5, -1, -5])
@pytest.mark.parametrize("type", [UW, W])
def test_indices_that_leave_a_small_type_come_again(type: Type, step: int, late: int) -> None:
    """The last turn of the highest or lowest lane is `late` beyond its last number."""
    edge = type.maximum - _END + 1 if step > 0 else type.minimum
    first = edge - 5 * step + (late if step > 0 else -late)
    arrays = _arrays((1 << 16) + 200, (6, step, first, 0))
    on_both(_kernel(type, 100 - type.minimum), arrays, _GROUPS)


@pytest.mark.parametrize("changes", ["alike", "unlike"])
@pytest.mark.parametrize("less", [0, 1, 9])
def test_numbers_that_change_in_the_inner_loop(changes: str, less: int) -> None:
    """Lanes move on by their numbers, too: alike, or each by its own."""
    arrays = _arrays(100 - 8 * less, (9, 2, 0, 0))
    try:
        on_both(_kernel(changes=changes), arrays, _GROUPS)
    except Fault:
        assert less


@pytest.mark.parametrize("apart", [2, 3, -1])
def test_lanes_that_are_farther_apart(apart: int) -> None:
    on_both(_kernel(apart=apart), _arrays(200, (9, 2, 48, 0)), _GROUPS)


def test_every_access_is_asserted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_PARANOID", "1")
    on_both(_kernel(), _arrays(30 + _END, (11, 3, 0, 0)), _GROUPS)
