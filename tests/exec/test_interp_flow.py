"""Divergence: the lowest waiting block of a thread runs next, with the lanes that wait there."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.interp import Interpreter
from eumu.exec.interp.waiting import MOST_FRAMES
from eumu.ir import Region, Space, Value
from eumu.ir.operations.ends import Switch
from eumu.types import BOOL, UD, UW
from exec.launching import RNE, Kernel, launch

LANES = np.arange(16)


def results(k: Kernel, count: int = 1, groups: int = 1, local: int = 16) -> list[list[int]]:
    host, _ = launch(k, [np.zeros(groups * local, np.uint32)] * count, groups=groups, local=local)
    return [host.read(n).tolist() for n in range(count)]


def counted(k: Kernel, name: str) -> None:
    """Add one to the root in the active lanes."""
    k.put(name, k.add(k.get(name), k.number(UD, 1)))


def logged(k: Kernel, digit: int) -> None:
    """Append a digit to each active lane's history of blocks."""
    k.put("LOG", k.add(k.mul(k.get("LOG"), k.number(UD, 10)), k.number(UD, digit)))


def active_bits(k: Kernel) -> Value:
    return k.b.splat(k.b.mask_bits(k.mask()), 16)


def below(k: Kernel, bound: int) -> Value:
    return k.b.cmp("lt", k.local_id(), k.number(UD, bound))


def test_lanes_meet_again_behind_a_forward_branch() -> None:
    k = Kernel("entry", "then", "join")
    k.root("SEEN", 64)
    k.root("JOIN", 64)
    k.go("diverge", "join", "then", mask=below(k, 5))
    k.at("then")
    k.put("SEEN", active_bits(k))
    k.go("jump", "join")
    k.at("join")
    k.put("JOIN", active_bits(k))
    k.result(0, k.lane(), k.get("SEEN"))
    k.result(1, k.lane(), k.get("JOIN"))
    k.end()
    seen, join = results(k, 2)
    assert seen == [0] * 5 + [0xFFE0] * 11
    assert join == [0xFFFF] * 16


def test_code_that_no_lane_reaches_does_not_run_even_without_a_mask() -> None:
    k = Kernel("entry", "skipped", "join")
    k.root("A", 64)
    k.go("diverge", "join", "skipped", mask=k.true())
    k.at("skipped")
    k.put("A", k.number(UD, 1), k.true())
    k.go("jump", "join")
    k.at("join")
    k.result(0, k.lane(), k.get("A"))
    k.end()
    assert results(k) == [[0] * 16]


def test_a_write_without_a_mask_reaches_lanes_that_wait_elsewhere() -> None:
    k = Kernel("entry", "one", "join")
    k.root("A", 64)
    k.go("diverge", "one", "join", mask=below(k, 1))
    k.at("one")
    k.put("A", k.number(UD, 3), k.true())
    k.go("jump", "join")
    k.at("join")
    k.result(0, k.lane(), k.get("A"))
    k.end()
    assert results(k) == [[3] * 16]


def test_a_loop_runs_each_lane_as_often_as_it_asks() -> None:
    k = Kernel("entry", "loop", "after")
    k.root("N", 64)
    k.root("LAST", 64)
    k.go("jump", "loop")
    k.at("loop")
    counted(k, "N")
    k.put("LAST", active_bits(k))
    k.go("diverge", "loop", "after", mask=k.b.cmp("lt", k.get("N"), k.local_id()))
    k.at("after")
    k.result(0, k.lane(), k.get("N"))
    k.result(1, k.lane(), k.get("LAST"))
    k.end()
    count, last = results(k, 2)
    assert count == [1, *range(1, 16)]
    assert last == [0xFFFF if n < 2 else 0xFFFF & -(1 << n) for n in range(16)]


def test_crossing_gotos_run_in_block_order() -> None:
    """Lane 0: a-c-d-f, lane 1: a-b-e-f, lane 2: a-b-d-f, lane 3: a-e-f."""
    k = Kernel("a", "b", "c", "d", "e", "f")
    k.root("LOG", 64)
    k.root("WHO", 64)
    k.root("HELP", 64)
    lane = k.local_id()

    def among(*lanes: int) -> Value:
        return k.lanes(BOOL, *[int(n in lanes) for n in range(16)])

    logged(k, 1)
    k.put("HELP", k.b.and_(lane, k.number(UD, 3)))
    k.go("diverge", "e", "b", mask=among(3))
    k.at("b")
    k.go("diverge", "c", "d", mask=among(0))
    k.at("c")
    logged(k, 3)
    k.go("jump", "d")
    k.at("d")
    k.put("WHO", active_bits(k))
    logged(k, 4)
    k.go("diverge", "f", "e", mask=k.b.not_(among(1)))
    k.at("e")
    logged(k, 5)
    k.go("jump", "f")
    k.at("f")
    logged(k, 6)
    k.result(0, k.lane(), k.get("LOG"))
    k.result(1, k.lane(), k.get("WHO"))
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint32)] * 2, local=4)
    assert host.read(0)[:4].tolist() == [1346, 1456, 146, 156]
    assert host.read(1)[:4].tolist() == [0b111, 0b111, 0b111, 0]


def test_a_backward_branch_out_of_a_nested_loop() -> None:
    """for i: for j: if (j == lane) continue-outer — counts against a plain loop."""
    k = Kernel("outer", "inner", "next_j", "next_i", "after")
    for name in ("I", "J", "SUM"):
        k.root(name, 64)
    k.put("J", k.number(UD, 0))
    k.go("jump", "inner")
    k.at("inner")
    k.put("SUM", k.add(k.get("SUM"), k.add(k.get("I"), k.number(UD, 1))))
    k.go("diverge", "next_i", "next_j", mask=k.b.cmp("eq", k.get("J"), k.local_id()))
    k.at("next_j")
    counted(k, "J")
    k.go("diverge", "inner", "next_i", mask=k.b.cmp("lt", k.get("J"), k.number(UD, 8)))
    k.at("next_i")
    counted(k, "I")
    k.go("diverge", "outer", "after", mask=k.b.cmp("lt", k.get("I"), k.number(UD, 3)))
    k.at("after")
    k.result(0, k.lane(), k.get("SUM"))
    k.end()
    assert results(k) == [[sum((i + 1) * min(n + 1, 8) for i in range(3)) for n in range(16)]]


def test_a_uniform_branch_takes_every_lane() -> None:
    k = Kernel("entry", "then", "join")
    k.root("A", 64)
    odd = k.b.and_(k.b.slice(k.group_id(), 0, 1), k.lanes(UD, 1))
    k.go("branch", "then", "join", mask=k.b.cmp("ne", odd, k.lanes(UD, 0)))
    k.at("then")
    k.put("A", k.number(UD, 5))
    k.go("jump", "join")
    k.at("join")
    k.result(0, k.item(16), k.get("A"))
    k.end()
    assert results(k, groups=6) == [([0] * 16 + [5] * 16) * 3]


def test_switch_has_a_default() -> None:
    k = Kernel("entry", "one", "zero", "other", "join")
    k.root("A", 64)
    k.b.terminate(Switch((k.b.slice(k.group_id(), 0, 1),), (2, 1, 3)))
    for label, value in (("one", 11), ("zero", 10), ("other", 99)):
        k.at(label)
        k.put("A", k.number(UD, value))
        k.go("jump", "join")
    k.at("join")
    k.result(0, k.item(16), k.get("A"))
    k.end()
    (got,) = results(k, groups=4)
    assert got[::16] == [10, 11, 99, 99]


def test_diverge_with_an_offset_sends_the_lanes_outside_to_else() -> None:
    k = Kernel("entry", "then", "join")
    k.root("A", 64)
    k.go("diverge", "then", "join", mask=k.true(4), offset=8)
    k.at("then")
    k.put("A", k.number(UD, 1))
    k.go("jump", "join")
    k.at("join")
    k.result(0, k.lane(), k.get("A"))
    k.end()
    assert results(k) == [[0] * 8 + [1] * 4 + [0] * 4]


def test_some_lanes_end_and_the_others_go_on() -> None:
    k = Kernel("entry", "rest")
    k.go("ret", "rest", mask=below(k, 6))
    k.at("rest")
    k.result(0, k.lane(), active_bits(k))
    k.end()
    assert results(k) == [[0] * 6 + [0xFFC0] * 10]


# ---- calls


def called(k: Kernel, after: str) -> None:
    """A subroutine body: adds 100 and notes who ran it."""
    k.put("A", k.add(k.get("A"), k.number(UD, 100)))
    k.put("WHO", active_bits(k))
    k.go("ret", after, mask=k.true())


def test_a_call_in_divergent_code() -> None:
    """Blocks of the subroutine lie behind those where the other lanes wait: frames come first."""
    k = Kernel("entry", "else", "join", "sub")
    k.root("A", 64)
    k.root("WHO", 64)
    k.go("call", "sub", "else", mask=below(k, 3))
    k.at("else")
    counted(k, "A")
    k.go("jump", "join")
    k.at("join")
    k.result(0, k.lane(), k.get("A"))
    k.result(1, k.lane(), k.get("WHO"))
    k.end()
    k.at("sub")
    called(k, "sub")
    a, who = results(k, 2)
    assert a == [101] * 3 + [1] * 13
    assert who == [7] * 3 + [0] * 13


def test_a_call_that_no_lane_makes() -> None:
    k = Kernel("entry", "join", "sub")
    k.root("A", 64)
    k.root("WHO", 64)
    k.go("call", "sub", "join", mask=below(k, 0))
    k.at("join")
    k.result(0, k.lane(), k.get("A"))
    k.end()
    k.at("sub")
    called(k, "sub")
    assert results(k) == [[0] * 16]


def test_lanes_return_at_different_times() -> None:
    k = Kernel("entry", "after", "sub", "sub_loop")
    k.root("N", 64)
    k.root("BACK", 64)
    k.go("call", "sub", "after", mask=k.true())
    k.at("after")
    k.put("BACK", active_bits(k))
    k.result(0, k.lane(), k.get("N"))
    k.result(1, k.lane(), k.get("BACK"))
    k.end()
    k.at("sub")
    k.go("ret", "sub_loop", mask=below(k, 2))
    k.at("sub_loop")
    counted(k, "N")
    k.go("ret", "sub_loop", mask=k.b.cmp("ge", k.get("N"), k.local_id()))
    n, back = results(k, 2)
    assert n == [0, 0, *range(2, 16)]
    assert back == [0xFFFF] * 16


@pytest.mark.parametrize("groups", [1, 3])
def test_recursion_with_a_frame_per_call(groups: int) -> None:
    """f(n) = n ? n + f(n-1) : 0, each lane to its own depth."""
    k = Kernel("entry", "after", "f", "deeper", "back")
    for name in ("N", "SUM"):
        k.root(name, 64)
    k.put("N", k.add(k.local_id(), k.group_id()))
    k.go("call", "f", "after", mask=k.true())
    k.at("after")
    k.result(0, k.item(16), k.get("SUM"))
    k.result(1, k.item(16), active_bits(k))
    k.end()
    k.at("f")
    k.go("ret", "deeper", mask=k.b.cmp("eq", k.get("N"), k.number(UD, 0)))
    k.at("deeper")
    k.put("SUM", k.add(k.get("SUM"), k.get("N")))
    k.put("N", k.b.sub(k.get("N"), k.number(UD, 1), RNE))
    k.go("call", "f", "back", mask=k.true())
    k.at("back")
    k.go("ret", "back", mask=k.true())
    total, active = results(k, 2, groups=groups)
    depth = [lane + group for group in range(groups) for lane in range(16)]
    assert total == [n * (n + 1) // 2 for n in depth]
    assert active == [0xFFFF] * 16 * groups


def test_endless_recursion_is_a_fault() -> None:
    k = Kernel("entry", "after", "f")
    k.inst(1)
    k.go("call", "f", "after", mask=k.true())
    k.at("after")
    k.end()
    k.at("f")
    k.inst(2)
    k.go("call", "f", "after", mask=k.true())
    with pytest.raises(Fault, match=f"more than {MOST_FRAMES} nested calls") as caught:
        launch(k)
    assert caught.value.span is not None and caught.value.span.line == 3


# ---- many threads


def test_threads_at_different_blocks_do_not_disturb_each_other() -> None:
    """Every thread has its own trip count; all counts and sums come out right."""
    k = Kernel("entry", "loop", "odd", "even", "next", "after")
    for name in ("N", "SUM"):
        k.root(name, 64)
    k.go("jump", "loop")
    k.at("loop")
    bit = k.b.and_(k.b.shr(k.item(32), k.get("N")), k.number(UD, 1))
    k.go("diverge", "odd", "even", mask=k.b.cmp("ne", bit, k.number(UD, 0)))
    k.at("odd")
    k.put("SUM", k.add(k.get("SUM"), k.number(UD, 3)))
    k.go("jump", "next")
    k.at("even")
    k.put("SUM", k.add(k.get("SUM"), k.number(UD, 1)))
    k.go("jump", "next")
    k.at("next")
    counted(k, "N")
    bound = k.b.and_(k.mul(k.item(32), k.number(UD, 7)), k.number(UD, 15))
    k.go("diverge", "loop", "after", mask=k.b.cmp("lt", k.get("N"), bound))
    k.at("after")
    k.result(0, k.item(32), k.get("SUM"))
    k.end()
    items = np.arange(50 * 32)
    want = []
    for item in items.tolist():
        rounds = max(1, item * 7 & 15)
        want.append(sum(3 if item >> n & 1 else 1 for n in range(rounds)))
    for batch in (16, 512, 8192):
        host, stats = launch(
            k, [np.zeros(len(items), np.uint32)], 50, 32, engine=Interpreter(batch_lanes=batch)
        )
        assert host.read(0).tolist() == want
        assert (stats.threads, stats.groups) == (100, 50)


def test_instructions_are_counted_once_per_thread() -> None:
    k = Kernel("entry", "loop", "after")
    k.root("N", 64)
    k.inst(0)
    k.go("jump", "loop")
    k.at("loop")
    for inst in (1, 2):
        k.inst(inst)
        counted(k, "N")
    k.inst(3)
    k.go("diverge", "loop", "after", mask=k.b.cmp("lt", k.get("N"), k.number(UD, 10)))
    k.at("after")
    k.inst(4)
    k.end()
    _, stats = launch(k, groups=7, local=32)
    assert stats.instructions == 14 * (1 + 5 * 3 + 1)


def test_group_ids_and_local_ids_in_three_dimensions() -> None:
    k = Kernel(width=8)
    r0 = k.function.roots["R0"]

    def group(dword: int) -> Value:
        return k.b.splat(k.b.read(r0, Region.scalar(4 * dword), UD, 1), 8)

    def local(name: str) -> Value:
        return k.b.convert(k.get(name, UW), UD, rounding=RNE)

    parts = [group(1), group(6), group(7), local("X"), local("Y"), local("Z")]
    sizes = [3, 2, 2, 5, 2, 3]
    index = k.number(UD, 0)
    for part, size in zip(reversed(parts), reversed(sizes), strict=True):
        index = k.add(k.mul(index, k.number(UD, size)), part)
    place = k.address(0, index, 4)
    k.b.atomic("inc", Space.FLAT, place, k.mask(), UD)
    k.end()
    items = 3 * 2 * 2 * 5 * 2 * 3
    host, stats = launch(k, [np.zeros(items, np.uint32)], (3, 2, 2), (5, 2, 3))
    assert host.read(0).tolist() == [1] * items
    assert (stats.threads, stats.groups) == (12 * 4, 12)
