"""Loads that are checked once for all turns of a loop: results, and faults in every turn and lane.

Groups have four threads, which run side by side.  The numbers of a loop come from an array, so that
nobody knows them before it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.jit import Jit
from eumu.exec.jit.codegen import turns
from eumu.exec.jit.driver import abreast, module
from eumu.ir import Region, Space, Value
from eumu.ir.passes import fold_modes
from eumu.types import UD, UQ, UW, D, Q, Type, W
from exec.launching import RNE, Host, Kernel, grid_of, on_both
from exec.side_by_side import ITEMS, LOCAL, ROWS, WIDTH, item_of, misses, row_of

_GROUPS = 12  # each of the first ones learns where one load's array is, and begins again
_MANY = 200
_SLM = 4 * ITEMS
_NUMBERS = ("MOST", "STEP", "PITCH", "FIRST", "EACH")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "0")


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each loop, how many loads of a thread are checked in front of it."""
    monkeypatch.setenv("EUMU_CACHE", "off")
    found: list[int] = []
    begin = turns.begin

    def counted(*args: object) -> turns.Turning | None:
        turning = begin(*args)  # type: ignore[arg-type]
        found.append(len(turning.found[0]) if turning else 0)
        return turning

    monkeypatch.setattr(turns, "begin", counted)
    return found


def _scalar(k: Kernel, name: str, type: Type = D) -> Value:
    return k.b.read(k.function.roots[name], Region.scalar(0), type, 1)


def _flag(k: Kernel, relation: str, x: Value, y: Value) -> Value:
    return k.b.cmp(relation, x, y)


def _begin(k: Kernel) -> None:
    """Read the numbers of the loop; row r of a thread."""
    for name in (*_NUMBERS, "TURN", "SUM"):
        k.root(name, 8 * WIDTH)
    for n, name in enumerate(_NUMBERS):
        k.put(name, k.input(2, k.number(UD, n), D))
    k.put("TURN", k.b.const(D, 0, 1))
    k.put("SUM", k.number(UD, 0))
    k.go("jump", "loop")


def _index(k: Kernel, type: Type = D, *, rows: bool = True, shift: int = 0) -> Value:
    """first + item + turn * step, pitch for each row and more for each group, in a type;
    another thread has the last row with another shift."""
    way = k.mul(_scalar(k, "TURN"), _scalar(k, "STEP"))
    group = k.b.read(k.function.roots["R0"], Region.scalar(4), D, 1)
    way = k.add(way, k.mul(group, _scalar(k, "EACH")))
    first = k.b.splat(k.add(_scalar(k, "FIRST"), way), WIDTH)
    index = k.add(first, k.b.convert(k.local_id(), D, rounding=RNE))
    if rows:
        turned = k.b.and_(k.add(row_of(k), k.number(UD, shift)), k.number(UD, ROWS - 1))
        row = k.b.convert(turned, D, rounding=RNE)
        index = k.add(index, k.mul(row, k.b.splat(_scalar(k, "PITCH"), WIDTH)))
    return index if type is D else k.b.convert(index, type, rounding=RNE)


def _load(k: Kernel, index: Value, moved: int = 0) -> Value:
    """An element of array 0, from `moved` elements on."""
    wide = k.b.convert(index, Q, rounding=RNE)
    at = k.mul(k.add(wide, k.number(Q, moved)), k.number(Q, 4))
    place = k.add(k.b.convert(at, UQ, rounding=RNE), k.argument(0))
    return k.b.load(Space.FLAT, place, k.mask(), UD)[0]


def _count(k: Kernel, x: Value) -> None:
    k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 5)), x))
    k.put("TURN", k.add(_scalar(k, "TURN"), k.b.const(D, 1, 1)))


def _end(k: Kernel) -> None:
    k.at("done")
    k.inst(3)
    index = k.add(k.mul(k.group_id(), k.number(UD, ITEMS)), item_of(k))
    k.result(1, index, k.get("SUM"))
    k.end()


def _loop(type: Type = D, moved: int = 0, *, rows: bool = True, shift: int = 0) -> Kernel:
    """Sums of what each lane loads in the turns of a loop that a scalar branch ends."""
    k = Kernel("entry", "loop", "done")
    _begin(k)
    k.at("loop")
    k.inst(1)
    _count(k, _load(k, _index(k, type, rows=rows, shift=shift), moved))
    k.inst(2)
    k.go("branch", "loop", "done", mask=_flag(k, "lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    _end(k)
    return k


def _tile(*, shift: int = 0) -> Kernel:
    """The same, through local memory: threads meet in each turn."""
    k = Kernel("entry", "loop", "read", "next", "done")
    _begin(k)
    k.at("loop")
    k.inst(1)
    there = k.mul(item_of(k), k.number(UD, 4))
    k.b.store(Space.SLM, there, k.mask(), [_load(k, _index(k, shift=shift))])
    k.go("barrier", "read", kind="sync")
    k.at("read")
    k.inst(2)
    row = k.b.and_(k.add(row_of(k), k.number(UD, 1)), k.number(UD, ROWS - 1))
    other = k.add(k.mul(row, k.number(UD, WIDTH)), k.local_id())
    (x,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
    _count(k, x)
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.go("branch", "loop", "done", mask=_flag(k, "lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    _end(k)
    return k


_KERNELS = {"loop": _loop, "tile": _tile}


def _arrays(
    size: int, numbers: Sequence[int], groups: int = _GROUPS, each: int = 0
) -> list[np.ndarray]:
    """What is read, the results, and the numbers of the loop; groups read `each` elements on."""
    numbers = *numbers, each
    values = np.random.default_rng(7).integers(0, 1 << 32, size, np.uint32)
    return [values, np.zeros(groups * ITEMS, np.uint32), np.array(numbers, np.int32)]


def _need(most: int, step: int, pitch: int, first: int) -> int:
    """How many elements a loop reads from the first one of the array on."""
    return max(first + t * step + r * pitch + WIDTH for t in (0, most - 1) for r in (0, ROWS - 1))


@pytest.mark.parametrize("name", _KERNELS)
@pytest.mark.parametrize(
    "numbers",
    [
        (1, 5, 32, 0),
        (7, 1, 32, 0),
        (9, 16, 3, 2),
        (300, 4, 100, 0),
        (6, 0, 40, 0),
        (6, -7, 40, 35),
        (7, 3, -20, 60),
        (5, -16, -16, 112),
    ],
)
def test_results(name: str, numbers: tuple[int, int, int, int], begun: list[int]) -> None:
    k, size = _KERNELS[name](), _need(*numbers)
    on_both(k, _arrays(size, numbers), _GROUPS, LOCAL, slm_bytes=_SLM)
    assert begun and set(begun) == {1}
    assert misses(k, _arrays(size, numbers, _MANY), _MANY, slm_bytes=_SLM) == 0


@pytest.mark.parametrize("shift", range(ROWS))
@pytest.mark.parametrize(
    ("name", "numbers"),
    [("loop", (4, 3, 25, 0)), ("loop", (3, -9, 34, 18)), ("tile", (3, 9, 34, 0))],
)
def test_an_array_that_ends_anywhere(
    name: str, numbers: tuple[int, int, int, int], shift: int
) -> None:
    """So in each lane and turn of one thread of the last group there is a fault once."""
    k, need, found = _KERNELS[name](shift=shift), _need(*numbers), set[int]()
    for less in range(-1, numbers[2] + 1):
        arrays = _arrays(need * _GROUPS - less, numbers, each=need)
        try:
            on_both(k, arrays, _GROUPS, LOCAL, slm_bytes=_SLM)
        except Fault as fault:
            assert less > 0 and fault.group == (_GROUPS - 1, 0, 0)
            assert fault.thread == ROWS - 1 - shift
            found.update(fault.lanes)
        else:
            assert less <= 0
    assert found == set(range(WIDTH))


@pytest.mark.parametrize("name", _KERNELS)
@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("late", range(-1, 3))
def test_walks_that_pass_the_beginning(name: str, most: int, late: int) -> None:
    """The last turn of the last group begins `late` elements before the array."""
    first = 16 * (most - 1) - late + _GROUPS - 1
    arrays = _arrays(400, (most, -16, 16, first), each=-1)
    try:
        on_both(_KERNELS[name](), arrays, _GROUPS, LOCAL, slm_bytes=_SLM)
    except Fault as fault:
        assert fault.thread == 0 and fault.group == (_GROUPS - late, 0, 0)
    else:
        assert late <= 0


@pytest.mark.parametrize("late", range(-1, 3))
@pytest.mark.parametrize("step", [1, 5, -1, -5])
@pytest.mark.parametrize("type", [UW, W])
def test_indices_that_leave_a_small_type_come_again(type: Type, step: int, late: int) -> None:
    """The last turn is `late` elements beyond the last number, or the first one; the array has
    elements there, too."""
    edge = type.maximum - WIDTH + 1 if step > 0 else type.minimum
    first = edge - 5 * step + (late if step > 0 else -late)
    arrays = _arrays((1 << 16) + 200, (6, step, 0, first))
    on_both(_loop(type, 100 - type.minimum), arrays, _GROUPS, LOCAL)


@pytest.mark.parametrize("late", range(-3, 4))
@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("type", [UD, D])
def test_indices_that_leave_their_type_are_outside(type: Type, step: int, late: int) -> None:
    """Behind the last number comes the first one, far away; the array lies around the last one."""
    edge = type.maximum - WIDTH + 1
    each = max(1, late)  # only the last group comes there
    first = edge - 5 * step + late - each * (_GROUPS - 1)
    wrapped = first - (1 << 32) if first > D.maximum else first
    arrays = _arrays(200, (6, step, 0, wrapped), each=each)
    k = _loop(type, 100 - edge, rows=False)
    if late <= 0:
        on_both(k, arrays, _GROUPS, LOCAL)
    else:
        with pytest.raises(Fault) as caught:
            on_both(k, arrays, _GROUPS, LOCAL)
        assert max(caught.value.lanes) == WIDTH - 1
        assert caught.value.group == (_GROUPS - 1, 0, 0)


@pytest.mark.parametrize("own", ["STEP", "FIRST", "MOST"])
@pytest.mark.parametrize("less", [0, 1, 40])
def test_threads_whose_numbers_differ(own: str, less: int) -> None:
    """Each row goes its own step, from its own place, or so many turns (then they begin again)."""
    k = Kernel("entry", "loop", "done")
    for name in (*_NUMBERS, "TURN", "SUM"):
        k.root(name, 8 * WIDTH)
    for n, name in enumerate(_NUMBERS):
        x = k.input(2, k.number(UD, n), D)
        row = k.b.convert(row_of(k), D, rounding=RNE)
        k.put(name, k.add(x, row) if name == own else x)
    k.put("TURN", k.b.const(D, 0, 1))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    _count(k, _load(k, _index(k)))
    k.go("branch", "loop", "done", mask=_flag(k, "lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    _end(k)
    need = {"STEP": 5 * 7 + 120, "FIRST": 5 * 4 + 123, "MOST": 8 * 4 + 120}[own] + WIDTH
    arrays = _arrays(need * _GROUPS - less, (6, 4, 40, 0), each=need)
    if less:
        with pytest.raises(Fault) as caught:
            on_both(k, arrays, _GROUPS, LOCAL)
        assert caught.value.group == (_GROUPS - 1, 0, 0)
    else:
        on_both(k, arrays, _GROUPS, LOCAL)


def test_a_step_that_differs_from_lane_to_lane(begun: list[int]) -> None:
    k = Kernel("entry", "loop", "done")
    _begin(k)
    k.at("loop")
    turn = k.b.splat(_scalar(k, "TURN"), WIDTH)
    lanes = k.b.convert(k.local_id(), D, rounding=RNE)
    _count(k, _load(k, k.mul(turn, lanes)))
    k.go("branch", "loop", "done", mask=_flag(k, "lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    _end(k)
    on_both(k, _arrays(16 * WIDTH, (9, 0, 0, 0)), _GROUPS, LOCAL)
    assert not any(begun)


def test_an_index_that_a_load_gives(begun: list[int]) -> None:
    """Of the two loads the first one is checked in front of the loop."""
    k = Kernel("entry", "loop", "done")
    _begin(k)
    k.at("loop")
    x = k.b.and_(_load(k, _index(k)), k.number(UD, 63))
    _count(k, _load(k, k.b.convert(x, D, rounding=RNE)))
    k.go("branch", "loop", "done", mask=_flag(k, "lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    _end(k)
    on_both(k, _arrays(300, (9, 4, 40, 0)), _GROUPS, LOCAL)
    assert set(begun) <= {0, 1}


def test_numbers_that_change_in_the_loop() -> None:
    """The step itself grows: no turn is like the last one."""
    k = Kernel("entry", "loop", "done")
    _begin(k)
    k.at("loop")
    _count(k, _load(k, _index(k)))
    k.put("STEP", k.add(_scalar(k, "STEP"), k.b.const(D, 3, 1)))
    k.go("branch", "loop", "done", mask=_flag(k, "lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    _end(k)
    on_both(k, _arrays(700, (9, 4, 40, 0)), _GROUPS, LOCAL)


def test_a_loop_in_a_loop() -> None:
    """The inner one begins anew, from another place, in each turn of the outer one."""
    k = Kernel("entry", "outer", "loop", "next", "done")
    k.root("OUTER", 64)
    k.put("OUTER", k.b.const(D, 0, 1))
    _begin_outer(k)
    k.at("loop")
    k.inst(1)
    _count(k, _load(k, _index(k)))
    k.go("branch", "loop", "next", mask=_flag(k, "lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    k.at("next")
    k.put("FIRST", k.add(_scalar(k, "FIRST"), k.b.const(D, 9, 1)))
    k.put("OUTER", k.add(_scalar(k, "OUTER"), k.b.const(D, 1, 1)))
    k.go("branch", "outer", "done", mask=_flag(k, "lt", _scalar(k, "OUTER"), k.b.const(D, 4, 1)))
    _end(k)
    need = 4 * 5 + 40 * 3 + WIDTH + 27
    on_both(k, _arrays(need, (6, 4, 40, 0)), _GROUPS, LOCAL)
    assert misses(k, _arrays(need, (6, 4, 40, 0), _MANY), _MANY) == 0
    for less in range(1, 28, 2):
        with pytest.raises(Fault) as caught:
            arrays = _arrays(need * _GROUPS - less, (6, 4, 40, 0), each=need)
            on_both(k, arrays, _GROUPS, LOCAL)
        assert caught.value.group == (_GROUPS - 1, 0, 0)


def _begin_outer(k: Kernel) -> None:
    for name in (*_NUMBERS, "TURN", "SUM"):
        k.root(name, 8 * WIDTH)
    for n, name in enumerate(_NUMBERS):
        k.put(name, k.input(2, k.number(UD, n), D))
    k.put("SUM", k.number(UD, 0))
    k.go("jump", "outer")
    k.at("outer")
    k.put("TURN", k.b.const(D, 0, 1))
    k.go("jump", "loop")


@pytest.mark.parametrize("name", _KERNELS)
@pytest.mark.parametrize("fuel", [3, 8, 13, 20, 41, 200])
def test_fuel_ends_where_it_ends_for_threads_by_themselves(name: str, fuel: int) -> None:
    function, said = fold_modes(_KERNELS[name]().function), []
    for patience in (0, inf):
        host = Host(_arrays(300, (9, 4, 40, 0)))
        try:
            jit = Jit(workers=1, patience=patience)
            grid = grid_of(function, host, _GROUPS, LOCAL, slm_bytes=_SLM, fuel=fuel)
            said.append(str(jit.run(grid, host)))
        except Fault as fault:
            assert fault.code == "endless-loop"
            said.append(str(fault))
    assert said[0] == said[1]


def test_a_loop_that_looks_up_many_times() -> None:
    """It has more instructions than a thread runs until it looks up."""
    numbers = 9000, 1, 8, 0
    on_both(_loop(), _arrays(_need(*numbers), numbers), _GROUPS, LOCAL)


@pytest.mark.parametrize("meet", [False, True])
def test_lanes_that_meet_in_the_midst_of_a_loop(
    meet: bool, begun: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would find a number of turns that nobody counted: such a version is not made."""
    declare, side_by_side = abreast.Abreast._declare, module.side_by_side
    made: list[bool] = []

    def declared(self: abreast.Abreast) -> None:
        declare(self)
        self.rejoined.update(b for loop in self.loops.values() for b in loop.blocks[1:] if meet)

    def noted(*args: Any) -> Any:
        version = side_by_side(*args)
        made.append(version is not None)
        return version

    monkeypatch.setattr(abreast.Abreast, "_declare", declared)
    monkeypatch.setattr(module, "side_by_side", noted)
    numbers = (7, 1, 32, 0)
    on_both(_tile(), _arrays(_need(*numbers), numbers), _GROUPS, LOCAL, slm_bytes=_SLM)
    assert begun and any(made) is not meet


def test_arrays_that_change_from_group_to_group() -> None:
    """A site learns another extent in each group."""
    k = Kernel("entry", "loop", "done")
    k.root("BASE", 128)
    odd = k.b.cmp("eq", k.b.and_(k.group_id(), k.number(UD, 1)), k.number(UD, 1))
    k.put("BASE", k.b.select(odd, k.argument(0), k.argument(3)))
    _begin(k)
    k.at("loop")
    wide = k.b.convert(_index(k), UQ, rounding=RNE)
    place = k.add(k.get("BASE", UQ), k.mul(wide, k.number(UQ, 4)))
    _count(k, k.b.load(Space.FLAT, place, k.mask(), UD)[0])
    k.go("branch", "loop", "done", mask=_flag(k, "lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    _end(k)
    arrays = _arrays(300, (9, 4, 40, 0), 200)
    arrays.append(arrays[0][::-1].copy())
    on_both(k, arrays, 200, LOCAL)
