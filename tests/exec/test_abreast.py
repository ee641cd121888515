"""Threads of a group side by side: the interpreter's results, and faults in every lane and turn."""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf
from random import Random

import numpy as np
import pytest

import eumu
from eumu.errors import Fault, Unsupported
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.driver import planning
from eumu.exec.jit.host import cache
from eumu.exec.jit.host.launch import Compiled
from eumu.exec.jit.host.target import Processor
from eumu.exec.jit.interface import Special
from eumu.exec.jit.llvm.layout import SITE_WORDS, Context
from eumu.ir import Function, Space, Value
from eumu.ir.passes import fold_modes
from eumu.types import UD, UQ, UW
from exec.launching import RNE, Host, Kernel, grid_of, on_both
from kernels.build import PROGRAMS

_ROWS, _TURNS, _WIDTH = 4, 5, 16
_LOCAL = (_WIDTH, _ROWS, 1)
_SIZE = _ROWS * (4 * _TURNS + _WIDTH)  # elements that a group reads
_WORDS = 5  # that a work item reads in each turn of a second loop
_GROUPS = 6  # the first ones learn where arrays are, and begin again


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "0")


def _row(k: Kernel, shift: int = 0) -> Value:
    """The row of a work item; another thread has the last one with another shift."""
    y = k.b.convert(k.get("Y", UW), UD, rounding=RNE)
    return k.b.and_(k.add(y, k.number(UD, shift)), k.number(UD, _ROWS - 1)) if shift else y


def _place(k: Kernel, shift: int) -> Value:
    """Where a work item begins to read: rows have four elements for each turn, and 16 more."""
    row = k.mul(_row(k, shift), k.number(UD, 4 * _TURNS + _WIDTH))
    return k.add(k.mul(k.group_id(), k.number(UD, _SIZE)), k.add(row, k.local_id()))


def _item(k: Kernel) -> Value:
    return k.add(k.mul(_row(k), k.number(UD, _WIDTH)), k.local_id())


def _result(k: Kernel) -> Value:
    return k.add(k.mul(k.group_id(), k.number(UD, _ROWS * _WIDTH)), _item(k))


def _turns(k: Kernel, shift: int = 0) -> None:
    """Sums of what each lane loads in the turns of a loop, up to the block "done"."""
    for name in ("TURN", "SUM", "MOST"):
        k.root(name, 64)
    k.put("MOST", k.number(UD, _TURNS))
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    index = k.add(_place(k, shift), k.mul(k.get("TURN"), k.number(UD, 4)))
    x = k.input(0, index, UD)
    k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 5)), x))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.get("MOST")))
    k.at("done")
    k.inst(2)


def _loop(shift: int = 0) -> Kernel:
    """Sums of what each lane loads in the turns of a loop."""
    k = Kernel("entry", "loop", "done")
    _turns(k, shift)
    k.result(1, _result(k), k.get("SUM"))
    k.end()
    return k


def _two_loops() -> Kernel:
    """The loop, and behind its result another one, of loads from local memory."""
    k = Kernel("entry", "loop", "done", "more", "end")
    _turns(k)
    k.result(1, _result(k), k.get("SUM"))
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "more")
    k.at("more")
    k.inst(3)
    total, place = k.get("SUM"), k.mul(_item(k), k.number(UD, 4))
    for word in range(_WORDS):
        there = k.add(place, k.number(UD, 4 * word))
        total = k.add(total, k.b.load(Space.SLM, there, k.mask(), UD)[0])
    k.put("SUM", total)
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "more", "end", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, 3)))
    k.at("end")
    k.inst(4)
    k.result(1, _result(k), k.get("SUM"))
    k.end()
    return k


def _tile(shift: int = 0) -> Kernel:
    """In each turn a group copies into local memory, meets, and reads what others wrote."""
    k = Kernel("entry", "loop", "read", "next", "done")
    for name in ("TURN", "SUM"):
        k.root(name, 64)
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    index = k.add(_place(k, shift), k.mul(k.get("TURN"), k.number(UD, 4)))
    k.b.store(Space.SLM, k.mul(_item(k), k.number(UD, 4)), k.mask(), [k.input(0, index, UD)])
    k.inst(2)
    k.go("barrier", "read", kind="sync")
    k.at("read")
    k.inst(3)
    total = k.get("SUM")
    for row in range(_ROWS):
        there = k.mul(k.add(k.local_id(), k.number(UD, row * _WIDTH)), k.number(UD, 4))
        (x,) = k.b.load(Space.SLM, there, k.mask(), UD)
        total = k.add(k.mul(total, k.number(UD, 3)), x)
    k.put("SUM", k.add(total, k.mul(_row(k), k.get("TURN"))))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, _TURNS)))
    k.at("done")
    k.inst(4)
    k.result(1, _result(k), k.get("SUM"))
    k.end()
    return k


_KERNELS = {"loop": _loop, "tile": _tile}


def _arrays(size: int = 0, results: int = 0, groups: int = _GROUPS) -> list[np.ndarray]:
    """What groups read, less `size` elements at the end, and what they write, less `results`."""
    values = np.random.default_rng(7).integers(0, 1 << 32, groups * _SIZE - size, np.uint32)
    return [values, np.zeros(groups * _ROWS * _WIDTH - results, np.uint32)]


def _misses(k: Kernel, groups: int = 3, **more: object) -> int:
    """How often threads that ran side by side had to begin again; nothing if none did."""
    jit, host = Jit(workers=1), Host(_arrays(groups=groups))
    jit.run(grid_of(fold_modes(k.function), host, groups, _LOCAL, **more), host)
    ((ready,),) = [jit._ready.values()]
    sites = [n for n, site in enumerate(ready.compiled.module.sites) if site.what == "abreast"]
    assert len(sites) == 1, "no version that runs threads side by side"
    return int(ready.idle[0].words[Context.SITES + SITE_WORDS * sites[0]])


@pytest.mark.parametrize("shift", range(_ROWS))
@pytest.mark.parametrize("name", _KERNELS)
def test_results(name: str, shift: int) -> None:
    on_both(_KERNELS[name](shift), _arrays(), _GROUPS, _LOCAL, slm_bytes=1024)


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("name", _KERNELS)
def test_they_run_side_by_side_once_the_extents_are_known(name: str, shift: int) -> None:
    """Each miss counts 16, each success takes one off: of 100 groups the first ones miss."""
    assert _misses(_KERNELS[name](shift), 100, slm_bytes=1024) == 0


@pytest.mark.parametrize("shift", range(_ROWS))
@pytest.mark.parametrize("name", _KERNELS)
def test_an_array_that_ends_anywhere_in_the_last_row(name: str, shift: int) -> None:
    """So one thread of the last group has a fault, in any turn and lane."""
    k, lanes = _KERNELS[name](shift), set[int]()
    for less in range(5, _SIZE // _ROWS + 1):
        with pytest.raises(Fault) as caught:
            on_both(k, _arrays(less), _GROUPS, _LOCAL, slm_bytes=1024)
        lanes.update(caught.value.lanes)
        assert caught.value.thread == _ROWS - 1 - shift
        assert caught.value.group == (_GROUPS - 1, 0, 0)
    assert lanes == set(range(_WIDTH))


@pytest.mark.parametrize("room", range(4, 1024, 84))
def test_local_memory_that_ends_anywhere(room: int) -> None:
    try:
        on_both(_tile(), _arrays(), _GROUPS, _LOCAL, slm_bytes=room)
    except Fault as fault:
        assert room < 4 * _ROWS * _WIDTH and fault.lanes
    else:
        assert room >= 4 * _ROWS * _WIDTH


@pytest.mark.parametrize("room", range(208, 288, 4))  # one thread goes outside
def test_a_loop_behind_them_whose_accesses_have_one_check(room: int) -> None:
    need = 4 * (_ROWS * _WIDTH + _WORDS - 1)
    try:
        on_both(_two_loops(), _arrays(), _GROUPS, _LOCAL, slm_bytes=room)
    except Fault as fault:
        assert room < need and fault.lanes
    else:
        assert room >= need


@pytest.mark.parametrize("less", range(1, _ROWS * _WIDTH, 5))
def test_a_store_behind_them_that_is_outside(less: int) -> None:
    """What comes after the part that runs side by side is each thread's own."""
    with pytest.raises(Fault) as caught:
        on_both(_loop(), _arrays(results=less), _GROUPS, _LOCAL)
    assert caught.value.thread == (_ROWS * _WIDTH - less) // _WIDTH
    assert caught.value.group == (_GROUPS - 1, 0, 0)


@pytest.mark.parametrize("thread", range(_ROWS))
@pytest.mark.parametrize("lane", [None, 0, 15])
@pytest.mark.parametrize("turns", [1, _TURNS - 1, _TURNS + 2])
def test_threads_and_lanes_that_leave_the_loop_at_another_time(
    thread: int, lane: int | None, turns: int
) -> None:
    k = Kernel("entry", "loop", "done")
    for name in ("TURN", "SUM", "MOST"):
        k.root(name, 64)
    k.put("MOST", k.number(UD, _TURNS))
    own = k.b.cmp("eq", _row(k), k.number(UD, thread))
    if lane is not None:
        own = k.b.and_(own, k.b.cmp("eq", k.lane(), k.number(UD, lane)))
    k.put("MOST", k.number(UD, turns), k.b.and_(own, k.mask()))
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    index = k.add(k.local_id(), k.mul(k.get("TURN"), k.number(UD, 4)))
    k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 5)), k.input(0, index, UD)))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.get("MOST")))
    k.at("done")
    k.inst(2)
    k.result(1, _result(k), k.get("SUM"))
    k.end()
    on_both(k, _arrays(groups=40), 40, _LOCAL)


@pytest.mark.parametrize("name", _KERNELS)
@pytest.mark.parametrize("fuel", [1, 5, 9, 14, 20, 30])
def test_fuel_ends_where_it_ends_for_threads_by_themselves(name: str, fuel: int) -> None:
    function, said = fold_modes(_KERNELS[name]().function), []
    for patience in (0, inf):
        host = Host(_arrays())
        try:
            jit = Jit(workers=1, patience=patience)
            grid = grid_of(function, host, _GROUPS, _LOCAL, slm_bytes=1024, fuel=fuel)
            said.append(str(jit.run(grid, host)))
        except Fault as fault:
            assert fault.code == "endless-loop"
            said.append(str(fault))
    assert said[0] == said[1]


def test_registers_of_32_bytes() -> None:
    """Local ids begin behind a header of eight dwords, which all threads of a group share."""
    k = Kernel("entry", "loop", "done")
    for name in ("TURN", "SUM"):
        k.root(name, 64)
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "loop")
    k.at("loop")
    index = k.add(k.local_id(), k.mul(k.get("TURN"), k.number(UD, 4)))
    k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 5)), k.input(0, index, UD)))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, _TURNS)))
    k.at("done")
    k.result(1, k.item(64), k.get("SUM"))
    k.end()
    function, arenas = fold_modes(k.function), []
    places = {"R0": 0, "X": 32, "Y": 64, "Z": 96}
    function.inputs = [
        replace(i, payload_offset=places.get(i.root.name, i.payload_offset), size=min(i.size, 32))
        for i in function.inputs
    ]
    for engine in (Interpreter(), Jit(workers=1)):
        host = Host(_arrays(groups=20))
        grid = grid_of(function, host, 20, 64)
        payload = replace(grid.payload, r0=(0,) * 8, local_id_offset=32, local_id_pitch=32)
        engine.run(replace(grid, payload=payload), host)
        arenas.append(host.arena)
    assert (arenas[0] == arenas[1]).all()


@pytest.mark.parametrize("other", [0, 1, 2])
def test_arrays_that_change_from_group_to_group(other: int) -> None:
    """A site learns another extent in each group: threads begin again, then by themselves."""
    k = Kernel("entry", "loop", "done")
    for name in ("TURN", "SUM", "BASE"):
        k.root(name, 128)
    odd = k.b.cmp("eq", k.b.and_(k.group_id(), k.number(UD, 1)), k.number(UD, 1))
    k.put("BASE", k.b.select(odd, k.argument(0), k.argument(other)))
    k.put("TURN", k.number(UD, 0))
    k.go("jump", "loop")
    k.at("loop")
    index = k.add(k.local_id(), k.mul(k.get("TURN"), k.number(UD, 4)))
    scaled = k.mul(k.b.convert(index, UQ, rounding=RNE), k.number(UQ, 4))
    (x,) = k.b.load(Space.FLAT, k.add(k.get("BASE", UQ), scaled), k.mask(), UD)
    k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 5)), x))
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, _TURNS)))
    k.at("done")
    k.result(1, _result(k), k.get("SUM"))
    k.end()
    arrays = _arrays(groups=300)
    arrays.append(arrays[0][::-1].copy())
    on_both(k, arrays, 300, _LOCAL)


def test_what_has_no_loop_and_no_barrier_runs_thread_by_thread() -> None:
    k = Kernel()
    k.result(1, _item(k), k.input(0, _item(k), UD))
    k.end()
    jit, host = Jit(workers=1), Host(_arrays())
    grid = grid_of(fold_modes(k.function), host, 1, _LOCAL)
    assert jit.special(grid).members == 0


@pytest.mark.parametrize("space", [Space.SLM, Space.SCRATCH])
def test_what_each_thread_has_for_itself_is_not_shared(space: Space) -> None:
    """Each lane keeps its sum in memory, in turns; no thread sees that of another."""
    k = Kernel("entry", "loop", "next", "done")
    k.root("TURN", 64)
    k.put("TURN", k.number(UD, 0))
    own = k.lane() if space is Space.SCRATCH else _item(k)
    k.b.store(space, k.mul(own, k.number(UD, 4)), k.mask(), [_result(k)])
    k.go("jump", "loop")
    k.at("loop")
    own = k.lane() if space is Space.SCRATCH else _item(k)
    there = k.mul(own, k.number(UD, 4))
    (x,) = k.b.load(space, there, k.mask(), UD)
    k.b.store(space, there, k.mask(), [k.add(k.mul(x, k.number(UD, 3)), k.get("TURN"))])
    k.go("barrier", "next", kind="sync")
    k.at("next")
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    k.go("diverge", "loop", "done", mask=k.b.cmp("lt", k.get("TURN"), k.number(UD, _TURNS)))
    k.at("done")
    own = k.lane() if space is Space.SCRATCH else _item(k)
    (x,) = k.b.load(space, k.mul(own, k.number(UD, 4)), k.mask(), UD)
    k.result(1, _result(k), x)
    k.end()
    on_both(k, _arrays(), _GROUPS, _LOCAL, slm_bytes=1024, scratch_bytes=256)


@pytest.mark.parametrize("limit", [1, planning.MOST_OPERATIONS])
def test_long_kernels_run_thread_by_thread(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_OPERATIONS", limit)
    monkeypatch.setenv("EUMU_CACHE", "off")
    if limit == 1:
        with pytest.raises(AssertionError, match="no version"):
            _misses(_loop())
    else:
        assert _misses(_loop(), 100) == 0


# ---- at random


def _random_kernel(random: Random) -> tuple[Kernel, tuple[int, int, int]]:
    """A loop in which work items load, and often meet and exchange values; some rows may leave it
    early, or go another way in some turns.  Values go through two halves of local memory in turns,
    so that one barrier a turn is enough."""
    width = random.choice((8, 16, 32))
    local = random.choice(((width, 4, 1), (2 * width, 2, 1), (width // 2, 4, 1), (4 * width, 1, 1)))
    meets, parts = random.random() < 0.6, random.random() < 0.3
    k = Kernel("entry", "loop", "read", "odd", "next", "done", width=width)
    for name in ("TURN", "SUM", "MOST"):
        k.root(name, 4 * width)
    k.put("TURN", k.number(UD, 0))
    early = k.number(UD, random.randrange(2)) if parts and not meets else k.number(UD, 0)
    k.put("MOST", k.b.sub(k.number(UD, _TURNS), k.mul(_row(k), early), RNE))
    k.go("jump", "loop")
    k.at("loop")
    item = k.add(k.mul(_row(k), k.number(UD, local[0])), k.local_id())
    index = k.add(k.mul(k.get("TURN"), k.number(UD, random.choice((0, 1, 4, 9)))), k.local_id())
    for value, most in ((_row(k), 40), (k.group_id(), 50)):
        index = k.add(index, k.mul(value, k.number(UD, random.randrange(most))))
    x = k.add(k.input(0, index, UD), k.mul(k.get("SUM"), k.number(UD, 3)))
    k.put("SUM", x)
    if meets:
        half = k.mul(k.b.and_(k.get("TURN"), k.number(UD, 1)), k.number(UD, 512))
        place = k.add(k.mul(item, k.number(UD, 4)), half)
        k.b.store(Space.SLM, place, k.mask(), [x])
        k.go("barrier", "read", kind="sync")
    else:
        k.go("jump", "read")
    k.at("read")
    if meets:
        for _ in range(random.randrange(1, 6)):
            half = k.mul(k.b.and_(k.get("TURN"), k.number(UD, 1)), k.number(UD, 512))
            place = k.add(k.local_id(), k.number(UD, local[0] * random.randrange(local[1])))
            place = k.add(k.mul(place, k.number(UD, 4)), half)
            (other,) = k.b.load(Space.SLM, place, k.mask(), UD)
            k.put("SUM", k.add(k.mul(k.get("SUM"), k.number(UD, 5)), other))
    way = _row(k) if parts else k.get("TURN")
    k.go("diverge", "odd", "next", mask=k.b.cmp("lt", way, k.number(UD, random.randrange(4))))
    k.at("odd")
    k.put("SUM", k.add(k.get("SUM"), k.get("TURN")))
    k.go("jump", "next")
    k.at("next")
    k.put("TURN", k.add(k.get("TURN"), k.number(UD, 1)))
    more = k.b.cmp("lt", k.get("TURN"), k.get("MOST"))
    k.go("diverge", "loop", "done", mask=more)
    k.at("done")
    size = k.number(UD, local[0] * local[1])
    item = k.add(k.mul(_row(k), k.number(UD, local[0])), k.local_id())
    k.result(1, k.add(k.mul(k.group_id(), size), item), k.get("SUM"))
    k.end()
    return k, local


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(seed: int) -> None:
    k, local = _random_kernel(Random(seed))
    arrays = [
        np.random.default_rng(seed).integers(0, 1 << 32, 2000, np.uint32),
        np.zeros(_GROUPS * local[0] * local[1], np.uint32),
    ]
    on_both(k, arrays, _GROUPS, local, slm_bytes=1024)


# ---- when the code is made


def test_a_kernel_that_runs_for_long_gets_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EUMU_ABREAST", "20")
    monkeypatch.setenv("EUMU_CACHE", "off")
    program = next(p for p in PROGRAMS if p.name == "sgemm").elf("pvc")
    device, kernel, n = eumu.Device("pvc", engine="jit"), eumu.load(program)["sgemm"], 128
    values = np.random.default_rng(3).random((2, n, n), np.float32)
    a, b = (device.array(x) for x in values)
    c = device.array(np.zeros((n, n), np.float32))

    def launch() -> tuple[int, bytes]:
        report = kernel.launch(device, (n, n), (16, 16), [a, b, c, n, n, 1.0, 0.0])
        return report.instructions, c.numpy().tobytes()

    first, jit = launch(), device._engines["jit"]
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert launch() == first
        if any(ready.better and ready.is_outdated for ready in jit._ready.values()):
            break
    for _ in range(20):
        assert launch() == first
    sites = [s.what for ready in jit._ready.values() for s in ready.compiled.module.sites]
    assert "abreast" in sites


def test_code_that_exceeds_a_limit_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """What there is runs on, and nobody asks again."""
    asked, plain = [], cache.compiled

    def compiled(function: Function, special: Special, processor: Processor) -> Compiled:
        if special.members:
            asked.append(special)
            raise Unsupported("a kernel that takes too long to compile")
        return plain(function, special, processor)

    monkeypatch.setattr(cache, "compiled", compiled)
    jit, host = Jit(workers=1, patience=1e-9), Host(_arrays())
    function = fold_modes(_loop().function)
    for _ in range(4):
        jit.run(grid_of(function, host, _GROUPS, _LOCAL), host)
        with pytest.raises(Unsupported):
            jit.settle()
    assert len(asked) == 1
