"""Numbers that a loop makes of its elements, some turns at once: results, and faults in every turn.

Each thread has a row of elements; a group's four threads run side by side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.jit.codegen import turns
from eumu.ir import Region, Space, Value
from eumu.types import UD, UQ, D, F, Q
from exec.launching import RNE, Kernel, on_both
from exec.side_by_side import ITEMS, LOCAL, ROWS, WIDTH, item_of, row_of

_GROUPS = 6
_NUMBERS = ("MOST", "PITCH", "EACH")
_Make = Callable[[Kernel, Value], Value]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "0")


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Of each loop, the operations of a thread that are done for some turns at once."""
    monkeypatch.setenv("EUMU_CACHE", "off")
    found: list[list[str]] = []
    begin = turns.begin

    def counted(*args: object) -> turns.Turning | None:
        turning = begin(*args)  # type: ignore[arg-type]
        rows = turning.rows[0] if turning else ()
        found.append([step.op.name for row in rows for step in row.scaled.steps])
        return turning

    monkeypatch.setattr(turns, "begin", counted)
    return found


def _scalar(k: Kernel, name: str) -> Value:
    return k.b.read(k.function.roots[name], Region.scalar(0), D, 1)


def _alike(k: Kernel, name: str) -> Value:
    """A register's first element in all lanes."""
    return k.b.read(k.function.roots[name], Region.scalar(0), F, WIDTH)


def _element(k: Kernel, step: int = 1) -> Value:
    """That of this turn in the thread's row."""
    way = k.mul(_scalar(k, "TURN"), k.b.const(D, step, 1))
    group = k.b.read(k.function.roots["R0"], Region.scalar(4), D, 1)
    way = k.add(way, k.mul(group, _scalar(k, "EACH")))
    row = k.b.convert(row_of(k), D, rounding=RNE)
    index = k.add(k.b.splat(way, WIDTH), k.mul(row, k.b.splat(_scalar(k, "PITCH"), WIDTH)))
    at = k.mul(k.b.convert(index, Q, rounding=RNE), k.number(Q, 4))
    place = k.add(k.b.convert(at, UQ, rounding=RNE), k.argument(0))
    k.root("ELEMENT", 64)
    k.put("ELEMENT", k.b.load(Space.FLAT, place, k.mask(), UD)[0])
    return k.get("ELEMENT", F)


def _product(k: Kernel, x: Value) -> Value:
    return k.b.mul(_alike(k, "SCALE"), x, RNE)


def _chain(k: Kernel, x: Value) -> Value:
    """x² scaled, and a constant more, through a register."""
    k.root("BETWEEN", 64)
    k.put("BETWEEN", k.b.mul(k.b.mul(x, x, RNE), _alike(k, "SCALE"), RNE))
    return k.b.add(k.get("BETWEEN", F), k.number(F, 0x40490FDB), RNE)


def _own(k: Kernel, x: Value) -> Value:
    """Other lanes have other numbers."""
    return k.b.mul(k.get("SCALE", F), x, RNE)


def _changing(k: Kernel, x: Value) -> Value:
    """What it is multiplied with is another number in the next turn."""
    product = k.b.mul(_alike(k, "SCALE"), x, RNE)
    k.put("SCALE", k.b.add(k.get("SCALE", F), k.get("SCALE", F), RNE))
    return product


def _plain(k: Kernel, x: Value) -> Value:
    return x


def _begin(k: Kernel) -> None:
    for name in (*_NUMBERS, "TURN", "SUM", "SCALE"):
        k.root(name, 64)
    for n, name in enumerate(_NUMBERS):
        k.put(name, k.input(2, k.number(UD, n), D))
    k.put("SCALE", k.input(3, k.local_id(), F))
    k.put("TURN", k.b.const(D, 0, 1))
    k.put("SUM", k.number(F, 0))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)


def _end(k: Kernel) -> None:
    k.put("TURN", k.add(_scalar(k, "TURN"), k.b.const(D, 1, 1)))
    k.go("branch", "loop", "done", mask=k.b.cmp("lt", _scalar(k, "TURN"), _scalar(k, "MOST")))
    k.at("done")
    k.inst(3)
    index = k.add(k.mul(k.group_id(), k.number(UD, ITEMS)), item_of(k))
    k.result(1, index, k.get("SUM", UD))
    k.end()


def _kernel(make: _Make = _product, *, step: int = 1, stores: bool = False) -> Kernel:
    """Sums of numbers times what each lane has."""
    k = Kernel("entry", "loop", "done")
    _begin(k)
    number = make(k, _element(k, step))
    lane = k.b.convert(k.local_id(), F, rounding=RNE)
    k.put("SUM", k.b.add(k.b.mul(number, lane, RNE), k.get("SUM", F), RNE))
    if stores:
        k.result(1, item_of(k), k.get("SUM", UD))
    _end(k)
    return k


def _arrays(size: int, most: int, pitch: int, each: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(3)
    values = random.normal(size=size).astype(np.float32)
    values[::7] = np.float32(1e-40)  # a denormal number
    values[3::11] = np.inf
    with np.errstate(invalid="ignore"):  # of two kinds of NaNs, either may come out of a sum
        values[5::13] = np.subtract(np.inf, np.inf, dtype=np.float32)
    scale = random.normal(size=WIDTH).astype(np.float32)
    numbers = np.array([most, pitch, each], np.int32)
    return [values, np.zeros(_GROUPS * ITEMS, np.uint32), numbers, scale]


@pytest.mark.parametrize("make", [_product, _chain])
@pytest.mark.parametrize("most", [1, 2, 15, 16, 17, 31, 32, 33, 100])
def test_results(make: _Make, most: int, rows: list[list[str]]) -> None:
    """The array ends behind the last element."""
    on_both(_kernel(make), _arrays(most + 40 * (ROWS - 1), most, 40), _GROUPS, LOCAL)
    assert rows and all("mul" in names for names in rows)


@pytest.mark.parametrize("most", [1, 5, 16, 19, 40])
def test_an_array_that_ends_anywhere(most: int) -> None:
    """So each turn of the last group's last thread is once the one that faults."""
    need = most + 25 * (ROWS - 1)
    for less in range(-1, min(most, 20) + 1):
        arrays = _arrays(need * _GROUPS - less, most, 25, each=need)
        try:
            on_both(_kernel(), arrays, _GROUPS, LOCAL)
        except Fault as fault:
            assert less > 0 and fault.group == (_GROUPS - 1, 0, 0)
            assert fault.thread == ROWS - 1
        else:
            assert less <= 0


@pytest.mark.parametrize(
    ("make", "step", "stores"),
    [
        (_own, 1, False),
        (_changing, 1, False),
        (_plain, 1, False),
        (_product, 2, False),
        (_product, 1, True),
    ],
)
def test_what_is_made_turn_by_turn(
    make: _Make, step: int, stores: bool, rows: list[list[str]]
) -> None:
    """Other lanes have others, they change, elements are not neighbours, or memory may change."""
    k = _kernel(make, step=step, stores=stores)
    on_both(k, _arrays(400, 40, 40), _GROUPS, LOCAL)
    assert not any("mul" in names for names in rows)


def test_every_access_is_asserted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_PARANOID", "1")
    for most in (1, 16, 35):
        on_both(_kernel(), _arrays(most + 40 * (ROWS - 1), most, 40), _GROUPS, LOCAL)
