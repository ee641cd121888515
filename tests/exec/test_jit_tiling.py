"""Groups beside each other run together, one after the other or row by row."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.grid import Grid
from eumu.exec.jit.host import autotuner, engine
from eumu.ir import Region, Value
from eumu.types import UD, UW
from exec.launching import RNE, Kernel, grid_of, on_both

WIDTH = 16
LOCAL = (32, 4, 2)  # a row is two threads
GROUPS = (70, 3, 2)  # more in a row than run together
ITEMS = tuple(n * m for n, m in zip(LOCAL, GROUPS, strict=True))


@pytest.fixture(params=["groups", "rows", "tried"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("EUMU_CACHE", "off")
    which = {"groups": slice(0, 1), "rows": slice(1, 2), "tried": slice(0, 2)}[request.param]
    monkeypatch.setattr(engine, "orders", lambda grid: autotuner.orders(grid)[which])
    return str(request.param)


def splat(k: Kernel, dword: int) -> Value:
    return k.b.splat(k.b.read(k.function.roots["R0"], Region.scalar(4 * dword), UD, 1), WIDTH)


def place(k: Kernel) -> Value:
    """The linear number of each lane's work item in the grid, x first."""
    ids = []
    for name, dword, size in zip("XYZ", (1, 6, 7), LOCAL, strict=True):
        local = k.b.convert(k.get(name, UW), UD, rounding=RNE)
        ids.append(k.add(k.mul(splat(k, dword), k.number(UD, size)), local))
    row = k.add(k.mul(ids[2], k.number(UD, ITEMS[1])), ids[1])
    return k.add(k.mul(row, k.number(UD, ITEMS[0])), ids[0])


def copy() -> Kernel:
    """Result 3 = 3 x + 1, where array 1 says which x."""
    k = Kernel(width=WIDTH)
    here = place(k)
    x = k.input(0, k.input(1, here, UD), UD)
    k.result(2, here, k.add(k.mul(x, k.number(UD, 3)), k.number(UD, 1)))
    k.end()
    return k


def arrays() -> list[np.ndarray]:
    count = int(np.prod(ITEMS))
    x = np.random.default_rng(1).integers(0, 1 << 30, count, np.uint32)
    return [x, np.arange(count, dtype=np.uint32), np.zeros_like(x)]


def test_every_item_runs_once(order: str) -> None:
    x, where, out = arrays()
    where = np.roll(where.reshape(-1, WIDTH), 5, 0).reshape(-1)
    host = on_both(copy(), [x, where, out], GROUPS, LOCAL)
    np.testing.assert_array_equal(host.read(2), 3 * x[where] + 1)


def item(group: int, thread: int) -> int:
    """The first work item of a thread."""
    gx, gy, gz = group % GROUPS[0], group // GROUPS[0] % GROUPS[1], group // GROUPS[0] // GROUPS[1]
    local = thread * WIDTH
    x, y, z = local % LOCAL[0], local // LOCAL[0] % LOCAL[1], local // LOCAL[0] // LOCAL[1]
    row = (gz * LOCAL[2] + z) * ITEMS[1] + gy * LOCAL[1] + y
    return row * ITEMS[0] + gx * LOCAL[0] + x


@pytest.mark.parametrize(
    "bad",
    [
        [(75, 3)],
        [(80, 0), (75, 15), (78, 7)],  # the first group's is last by rows
        [(75, 15), (75, 2), (75, 9)],
        [(65, 15), (70, 0)],
        [(0, 15), (1, 0)],
    ],
)
def test_the_first_fault_in_launch_order(bad: list[tuple[int, int]], order: str) -> None:
    x, where, out = arrays()
    for group, thread in bad:
        where[item(group, thread) + 4] = len(x)
    with pytest.raises(Fault, match="load of 4 bytes") as raised:
        on_both(copy(), [x, where, out], GROUPS, LOCAL)
    group, thread = min(bad)
    assert raised.value.thread == thread
    assert raised.value.group == (group % 70, group // 70 % 3, group // 210)
    assert raised.value.lanes == (4,)


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        ((32, 4, 1), (8, 2)),
        ((16, 4, 1), (4, 1)),
        ((8, 8, 1), (4, 1)),
        ((256, 1, 1), (16,)),
        ((24, 2, 1), (3,)),
        ((16, 1, 3), (3, 1)),
    ],
)
def test_orders(local: tuple[int, int, int], expected: tuple[int, ...]) -> None:
    k = Kernel(width=WIDTH)
    k.end()

    class NoHost:
        addresses: tuple[int, ...] = ()

    grid: Grid = grid_of(k.function, NoHost(), (4, 4, 1), local)  # type: ignore[arg-type]
    assert autotuner.orders(grid) == expected
