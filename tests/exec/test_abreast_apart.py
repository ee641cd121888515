"""Threads of a group side by side that part: each has a mask, and all is as the interpreter says.

Lanes and threads go different ways at branches and in loops, meet at barriers or not, have faults
on side paths, and run different numbers of instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.jit import Jit
from eumu.ir import Space, Value
from eumu.ir.passes import fold_modes
from eumu.types import UD
from exec.launching import Host, Kernel, grid_of, on_both
from exec.side_by_side import ITEMS, LOCAL, ROWS, WIDTH, item_of, misses, row_of

_GROUPS = 5
_SLM = 8 * ITEMS


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "0")


def _start(k: Kernel, *roots: str) -> None:
    for name in roots:
        k.root(name, 4 * k.width)
        k.put(name, k.number(UD, 0))


def _put_result(k: Kernel, label: str) -> None:
    k.at(label)
    k.inst(9)
    place = k.add(k.mul(k.group_id(), k.number(UD, ITEMS)), item_of(k))
    k.result(1, place, k.get("SUM"))
    k.end()


def _arrays(less: int = 0, groups: int = _GROUPS) -> list[np.ndarray]:
    values = np.random.default_rng(5).integers(0, 1 << 32, groups * ITEMS + 64 - less, np.uint32)
    return [values, np.zeros(groups * ITEMS, np.uint32)]


def _load(k: Kernel, place: Value) -> Value:
    return k.b.load(Space.SLM, k.mul(place, k.number(UD, 4)), k.mask(), UD)[0]


def _store(k: Kernel, place: Value, x: Value) -> None:
    k.b.store(Space.SLM, k.mul(place, k.number(UD, 4)), k.mask(), [x])


def _tree(beyond: int = 0) -> Kernel:
    """Sums of a group: in each turn half as many work items add what others have, the one to the
    left of them in the end."""
    k = Kernel("entry", "turn", "read", "add", "next", "last", "done")
    _start(k, "SUM", "HALF")
    k.put("HALF", k.number(UD, ITEMS))
    k.go("jump", "turn")
    k.at("turn")
    k.inst(1)
    index = k.add(k.mul(k.group_id(), k.number(UD, ITEMS)), item_of(k))
    _store(k, item_of(k), k.add(k.input(0, index, UD), k.get("SUM")))
    k.go("barrier", "read", kind="sync")
    k.at("read")
    k.inst(2)
    k.put("HALF", k.b.shr(k.get("HALF"), k.number(UD, 1)))
    k.go("diverge", "add", "next", mask=k.b.cmp("lt", item_of(k), k.get("HALF")))
    k.at("add")
    k.inst(3)
    other = _load(k, k.add(k.add(item_of(k), k.get("HALF")), k.number(UD, beyond)))
    k.put("SUM", k.add(k.get("SUM"), other))
    k.go("jump", "next")
    k.at("next")
    k.inst(4)
    k.go("barrier", "last", kind="sync")
    k.at("last")
    k.inst(5)
    more = k.b.cmp("gt", k.get("HALF"), k.number(UD, 1))
    k.go("diverge", "turn", "done", mask=more)
    _put_result(k, "done")
    return k


def test_a_tree_of_sums() -> None:
    on_both(_tree(), _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)


def test_those_that_part_stay_side_by_side() -> None:
    assert misses(_tree(), _arrays(groups=60), 60, slm_bytes=_SLM) == 0


@pytest.mark.parametrize("beyond", range(ITEMS, 3 * ITEMS, 7))
def test_a_side_path_that_leaves_local_memory(beyond: int) -> None:
    """From some turn on no more lane is outside; before, any thread and lane may be the first."""
    try:
        on_both(_tree(beyond), _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)
    except Fault as fault:
        assert fault.lanes and beyond + ITEMS > _SLM // 4
    else:
        assert beyond + ITEMS <= _SLM // 4


def _side(way: Callable[[Kernel], Value], work: Callable[[Kernel], None]) -> Kernel:
    """Some lanes take a side path in each turn of a loop with a barrier."""
    k = Kernel("entry", "turn", "side", "join", "next", "done")
    _start(k, "SUM", "TURN")
    _store(k, item_of(k), item_of(k))
    k.go("jump", "turn")
    k.at("turn")
    k.inst(1)
    k.go("diverge", "side", "join", mask=way(k))
    k.at("side")
    k.inst(2)
    work(k)
    k.inst(3)
    k.go("jump", "join")
    k.at("join")
    k.inst(4)
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.inst(5)
    k.go("diverge", "turn", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, 4)))
    _put_result(k, "done")
    return k


def _is_one(row: int, lane: int | None, turn: int) -> Callable[[Kernel], Value]:
    """One lane of one thread in one turn, or all lanes of it."""

    def way(k: Kernel) -> Value:
        own = k.b.cmp("eq", row_of(k), k.number(UD, row))
        own = k.b.and_(own, k.b.cmp("eq", k.get("TURN"), k.number(UD, turn)))
        if lane is not None:
            own = k.b.and_(own, k.b.cmp("eq", k.lane(), k.number(UD, lane)))
        return own

    return way


@pytest.mark.parametrize(("lane", "turn"), [(None, 0), (0, 3), (7, 0), (15, 2)])
@pytest.mark.parametrize("row", range(ROWS))
@pytest.mark.parametrize("what", ["load", "store", "local load", "local store", "nothing"])
def test_one_thread_or_lane_that_parts(row: int, lane: int | None, turn: int, what: str) -> None:
    """What it does on its side path is fine, or a fault of exactly these lanes."""

    def work(outside: bool) -> Callable[[Kernel], None]:
        def do(k: Kernel) -> None:
            x, far = k.add(k.get("SUM"), item_of(k)), k.number(UD, 1 << 20 if outside else 0)
            if what == "load":
                x = k.input(0, k.add(item_of(k), far), UD)
            elif what == "local load":
                x = _load(k, k.add(item_of(k), far))
            elif what == "local store":
                _store(k, k.add(item_of(k), far), x)
            elif what == "store":
                place = k.add(k.add(k.mul(k.group_id(), k.number(UD, ITEMS)), item_of(k)), far)
                k.result(1, place, x)
            k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 3)), x))

        return do

    way = _is_one(row, lane, turn)
    on_both(_side(way, work(False)), _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)
    if what != "nothing":
        with pytest.raises(Fault) as caught:
            on_both(_side(way, work(True)), _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)
        assert caught.value.thread == row
        assert caught.value.lanes == (tuple(range(WIDTH)) if lane is None else (lane,))


@pytest.mark.parametrize("row", range(ROWS))
@pytest.mark.parametrize("lane", [None, 0, 15])
def test_a_load_of_one_lane_on_a_side_path(row: int, lane: int | None) -> None:
    def work(k: Kernel) -> None:
        place = k.b.const(UD, 4 * WIDTH * row, 1)
        x = k.b.load_block(Space.SLM, place, k.true(1), UD, 8)
        k.b.store_block(Space.SLM, place, k.true(1), x)
        k.put("SUM", k.add(k.get("SUM"), k.number(UD, 1)))

    on_both(_side(_is_one(row, lane, 1), work), _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)


@pytest.mark.parametrize("row", range(ROWS))
@pytest.mark.parametrize(("lane", "turn"), [(None, 0), (0, 2), (15, 1)])
def test_a_barrier_that_not_all_meet(row: int, lane: int | None, turn: int) -> None:
    k = Kernel("entry", "turn", "side", "join", "next", "done")
    _start(k, "SUM", "TURN")
    k.go("jump", "turn")
    k.at("turn")
    k.inst(1)
    k.go("diverge", "side", "join", mask=_is_one(row, lane, turn)(k))
    k.at("side")
    k.inst(2)
    k.put("SUM", k.add(k.get("SUM"), k.number(UD, 1)))
    k.go("barrier", "join", kind="sync")
    k.at("join")
    k.inst(3)
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.go("diverge", "turn", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, 4)))
    _put_result(k, "done")
    with pytest.raises(Fault) as caught:
        on_both(k, _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)
    assert caught.value.code == "divergent-barrier"


@pytest.mark.parametrize("row", [None, *range(ROWS)])
@pytest.mark.parametrize("value", [0, 1])
def test_a_scalar_branch_on_a_side_path(row: int | None, value: int) -> None:
    """Members that run it may go different ways."""
    k = Kernel("entry", "turn", "side", "one", "two", "join", "next", "done")
    _start(k, "SUM", "TURN")
    k.go("jump", "turn")
    k.at("turn")
    k.inst(1)
    odd = k.b.cmp("eq", k.b.and_(item_of(k), k.number(UD, 1)), k.number(UD, 1))
    k.go("diverge", "side", "join", mask=odd)
    k.at("side")
    k.inst(2)
    wanted = k.number(UD, row or 0)
    flags = k.b.cmp("eq", row_of(k) if row is not None else k.get("TURN"), wanted)
    bits = k.b.mask_bits(flags)
    flag = k.b.cmp("ne" if value else "eq", bits, k.b.const(bits.type, 0, 1))
    k.go("branch", "one", "two", mask=flag)
    k.at("one")
    k.inst(3)
    k.put("SUM", k.add(k.get("SUM"), k.number(UD, 5)))
    k.go("jump", "join")
    k.at("two")
    k.inst(4)
    k.put("SUM", k.mul(k.add(k.get("SUM"), item_of(k)), k.number(UD, 7)))
    k.go("jump", "join")
    k.at("join")
    k.inst(5)
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.go("diverge", "turn", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, 4)))
    _put_result(k, "done")
    on_both(k, _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)


@pytest.mark.parametrize("fuel", [1, 3, 6, 8, 9, 10, 12, 20, 26, 40])
def test_fuel_ends_where_it_ends_for_threads_by_themselves(fuel: int) -> None:
    """Those who are left out of a block do not spend."""
    function, said = fold_modes(_tree().function), []
    for patience in (0, inf):
        host = Host(_arrays())
        grid = grid_of(function, host, _GROUPS, LOCAL, slm_bytes=_SLM, fuel=fuel)
        try:
            said.append(str(Jit(workers=1, patience=patience).run(grid, host)))
        except Fault as fault:
            assert fault.code == "endless-loop"
            said.append(str(fault))
    assert said[0] == said[1]


@pytest.mark.parametrize("width", [8, 16, 32])
def test_loops_that_load_nothing_have_no_more_members_than_hide_their_sums(width: int) -> None:
    """All others share what they load."""
    found = []
    for loads in (False, True):
        k = Kernel("entry", "turn", "done", width=width)
        _start(k, "SUM", "TURN")
        k.go("jump", "turn")
        k.at("turn")
        x = k.input(0, k.local_id(), UD) if loads else k.lane()
        k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 3)), x))
        k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
        most = k.b.and_(item_of(k), k.number(UD, 7))
        k.go("diverge", "turn", "done", mask=k.b.cmp("lt", k.get("TURN"), most))
        k.at("done")
        k.result(1, k.item(256), k.get("SUM"))
        k.end()
        host = Host([np.arange(256, dtype=np.uint32), np.zeros(512, np.uint32)])
        grid = grid_of(fold_modes(k.function), host, 2, 256)
        found.append(Jit(workers=1).special(grid).members * width)
        on_both(k, host.arrays, 2, 256)
    assert found == [64, 256]


# ---- at random: statements are ("work",), ("meet",), ("if", way, body, other), ("loop", way, body)

Tree = list[tuple[object, ...]]


def _statements(random: Random, depth: int, all_there: bool) -> Tree:
    made: Tree = []
    for _ in range(random.randrange(1, 4)):
        kind = random.choice(("work", "work", "if", "if", "loop", "meet"))
        if kind == "if" and depth:
            ways = [_statements(random, depth - 1, False) for _ in range(random.randrange(1, 3))]
            made.append(("if", random.randrange(5), *ways))
        elif kind == "loop" and depth:
            way = random.randrange(3)
            made.append(("loop", way, _statements(random, depth - 1, all_there and not way)))
        elif kind == "meet" and all_there:
            made.append(("meet", random.randrange(ITEMS)))
        else:
            made.append(("work", random.randrange(4), random.randrange(1, 50)))
    return made


class _Writer:
    """Writes the blocks of a tree; labels are numbers in program order."""

    def __init__(self, tree: Tree, width: int) -> None:
        count = 2 + self._count(tree)
        self.k = Kernel(*map(str, range(count)), width=width)
        self.here, self.loops = 0, 0
        _start(self.k, "SUM", *(f"TURN{n}" for n in range(9)))
        _store(self.k, item_of(self.k), item_of(self.k))
        self.write(tree)
        self.go("jump", self.here + 1)
        _put_result(self.k, str(self.here + 1))

    def _count(self, tree: Tree) -> int:
        sizes = {"work": 0, "meet": 2, "if": 2, "loop": 2}
        inner = (x for statement in tree for x in statement if isinstance(x, list))
        more = sum(1 for s in tree if s[0] == "if" and len(s) == 4)
        return more + sum(sizes[str(s[0])] for s in tree) + sum(map(self._count, inner))

    def go(self, name: str, *targets: int, **more: object) -> None:
        self.k.go(name, *map(str, targets), **more)

    def at(self, label: int) -> None:
        self.here = label
        self.k.at(str(label))
        self.k.inst(label + 1)

    def write(self, tree: Tree) -> None:
        for statement in tree:
            getattr(self, f"_{statement[0]}")(*statement[1:])

    def _work(self, kind: int, number: int) -> None:
        k, x = self.k, self.k.number(UD, number)
        if kind == 0:
            index = k.add(item_of(k), k.mul(k.group_id(), k.number(UD, ITEMS)))
            x = k.input(0, index, UD)
        elif kind == 1 and not self.loops:
            x = k.input(0, k.b.and_(k.get("SUM"), k.number(UD, 63)), UD)
        elif kind == 2:
            x = _load(k, item_of(k))
        k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 3)), x))
        if kind == 3:
            _store(k, item_of(k), k.get("SUM"))

    def _meet(self, away: int) -> None:
        """Leave a value, meet, and take that of another work item."""
        k = self.k
        _store(k, k.add(item_of(k), k.number(UD, ITEMS)), k.get("SUM"))
        self.go("barrier", self.here + 1, kind="sync")
        self.at(self.here + 1)
        place = k.b.and_(k.add(item_of(k), k.number(UD, away)), k.number(UD, ITEMS - 1))
        x = _load(k, k.add(place, k.number(UD, ITEMS)))
        k.put("SUM", k.add(k.get("SUM"), x))
        self.go("barrier", self.here + 1, kind="sync")
        self.at(self.here + 1)

    def _if(self, way: int, body: Tree, other: Tree | None = None) -> None:
        k, start = self.k, self.here
        x = (row_of(k), k.lane(), item_of(k), k.get("SUM"), k.get(f"TURN{max(0, self.loops - 1)}"))[
            way
        ]
        mask = k.b.cmp("lt", k.b.and_(x, k.number(UD, 7)), k.number(UD, 1 + (start + way) % 4))
        behind = start + 1 + self._count(body)
        self.go("diverge", start + 1, behind + 1, mask=mask)
        self.at(start + 1)
        self.write(body)
        end = behind + 1 + (0 if other is None else self._count(other) + 1)
        self.go("jump", end)
        self.at(behind + 1)
        if other is not None:
            self.write(other)
            self.go("jump", end)
            self.at(end)

    def _loop(self, way: int, body: Tree) -> None:
        k, turn = self.k, f"TURN{self.loops}"
        self.loops += 1
        k.put(turn, k.number(UD, 0))
        start = self.here + 1
        self.go("jump", start)
        self.at(start)
        self.write(body)
        k.put(turn, k.add(k.get(turn), k.number(UD, 1)))
        most = (k.number(UD, 3), row_of(k), k.b.and_(k.get("SUM"), k.number(UD, 3)))[way]
        self.go("diverge", start, self.here + 1, mask=k.b.cmp("lt", k.get(turn), most))
        self.at(self.here + 1)
        self.loops -= 1


@pytest.mark.parametrize("seed", range(40))
def test_random_ways(seed: int) -> None:
    random = Random(seed)
    tree = [*_statements(random, 2, True), ("meet", 5), *_statements(random, 3, True)]
    k = _Writer(tree, WIDTH).k
    on_both(k, _arrays(), _GROUPS, LOCAL, slm_bytes=_SLM)
