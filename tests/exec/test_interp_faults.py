"""Endless loops, spinning, traps, and what the interpreter does not model."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault, InternalError, Unsupported
from eumu.exec.interp import Interpreter
from eumu.ir import Region, Space, Value
from eumu.types import UD, UQ, F
from exec.launching import Host, Kernel, grid_of, launch


def at_line(fault: Fault, line: int) -> bool:
    return fault.span is not None and fault.span.line == line


def test_an_endless_loop_uses_up_its_budget() -> None:
    k = Kernel("entry", "loop", "body", "after")
    k.inst(1)
    k.go("jump", "loop")
    k.at("loop")
    k.inst(2)
    k.go("diverge", "body", "after", mask=k.b.cmp("ge", k.local_id(), k.number(UD, 30)))
    k.at("body")
    k.inst(5)
    k.go("jump", "loop")
    k.at("after")
    k.end()
    with pytest.raises(Fault, match="instruction budget") as caught:
        launch(k, groups=2, local=40, fuel=3_000)
    fault = caught.value
    assert at_line(fault, 6) and fault.group == (0, 0, 0) and fault.thread in (1, 2)


def test_the_budget_is_per_thread() -> None:
    k = Kernel("entry", "loop", "after")
    k.root("N", 64)
    k.go("jump", "loop")
    k.at("loop")
    k.inst(1)
    k.put("N", k.add(k.get("N"), k.number(UD, 1)))
    k.go("diverge", "loop", "after", mask=k.b.cmp("lt", k.get("N"), k.number(UD, 99)))
    k.at("after")
    k.end()
    _, stats = launch(k, groups=30, fuel=101)
    assert stats.instructions == 30 * 101
    with pytest.raises(Fault, match="fuel=100"):
        launch(k, groups=30, fuel=100)


def test_straight_code_may_also_be_too_long() -> None:
    k = Kernel("entry", "next")
    k.inst(0)
    k.put("ARG0", k.lanes(UQ, 1), k.true(1))
    k.inst(1)
    k.go("jump", "next")
    k.at("next")
    k.inst(2)
    k.put("ARG0", k.lanes(UQ, 1), k.true(1))
    k.inst(3)
    k.end()
    with pytest.raises(Fault, match="instruction budget") as caught:
        launch(k, fuel=1)
    assert at_line(caught.value, 3)


# ---- fairness


def flag_place(k: Kernel) -> Value:
    return k.address(0, k.number(UD, 0), 4)


@pytest.mark.parametrize("seed", [0, 7])
def test_a_thread_that_spins_lets_the_other_threads_run(seed: int) -> None:
    """Thread 0 waits, in an early block, for what thread 1 stores in a late one."""
    k = Kernel("entry", "spin", "done", "work", "store")
    k.root("N", 64)
    first = k.b.cmp("eq", k.b.special("thread_id", UD), k.lanes(UD, 0))
    k.go("branch", "spin", "work", mask=first)
    k.at("spin")
    (x,) = k.b.load(Space.FLAT, flag_place(k), k.mask(), UD)
    k.put("N", k.add(k.get("N"), k.number(UD, 1)))
    k.go("diverge", "spin", "done", mask=k.b.cmp("eq", x, k.number(UD, 0)))
    k.at("done")
    k.result(1, k.local_id(), k.number(UD, 5))
    k.end()
    k.at("work")
    k.put("N", k.add(k.get("N"), k.number(UD, 1)))
    k.go("diverge", "work", "store", mask=k.b.cmp("lt", k.get("N"), k.number(UD, 200)))
    k.at("store")
    k.b.store(Space.FLAT, flag_place(k), k.mask(), [k.number(UD, 1)])
    k.end()
    arrays = [np.zeros(1, np.uint32), np.zeros(16, np.uint32)]
    host, once = launch(k, arrays, 1, 32, seed=seed)
    assert (host.read(1) == 5).all()
    assert launch(k, arrays, 1, 32, seed=seed)[1] == once


def lock_kernel() -> Kernel:
    """while (cmpxchg(lock, 0, 1)); counter++ without an atomic; lock = 0."""
    k = Kernel("entry", "spin", "critical", "after")
    k.root("OLD", 64)
    k.go("jump", "spin")
    k.at("spin")
    one, zero = k.number(UD, 1), k.number(UD, 0)
    old = k.b.atomic("cmpxchg", Space.FLAT, flag_place(k), k.mask(), UD, [one, zero])
    k.put("OLD", old)
    k.inst(1)
    k.go("diverge", "spin", "critical", mask=k.b.cmp("ne", old, zero))
    k.at("critical")
    count = k.address(0, k.number(UD, 1), 4)
    (x,) = k.b.load(Space.FLAT, count, k.mask(), UD)
    k.b.store(Space.FLAT, count, k.mask(), [k.add(x, k.number(UD, 1))])
    k.b.atomic("xchg", Space.FLAT, flag_place(k), k.mask(), UD, [k.number(UD, 0)])
    k.go("jump", "after")
    k.at("after")
    k.end()
    return k


def test_lanes_that_spin_for_a_lock_let_its_holder_run() -> None:
    host, _ = launch(lock_kernel(), [np.zeros(2, np.uint32)], groups=1, local=18, fuel=1 << 20)
    assert host.read(0).tolist() == [0, 18]


def test_a_long_loop_is_not_mistaken_for_spinning() -> None:
    """Lanes that wait at the join stay there however long the others compute."""
    k = Kernel("entry", "loop", "join")
    k.root("N", 64)
    k.root("MET", 64)
    k.go("diverge", "loop", "join", mask=k.b.cmp("lt", k.local_id(), k.number(UD, 4)))
    k.at("loop")
    k.put("N", k.add(k.get("N"), k.number(UD, 1)))
    k.go("diverge", "loop", "join", mask=k.b.cmp("lt", k.get("N"), k.number(UD, 3000)))
    k.at("join")
    k.result(0, k.lane(), k.b.splat(k.b.mask_bits(k.mask()), 16))
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint32)])
    assert (host.read(0) == 0xFFFF).all()


def test_a_lock_never_given_back_ends_with_the_budget() -> None:
    k = lock_kernel()
    with pytest.raises(Fault, match="instruction budget") as caught:
        launch(k, [np.ones(2, np.uint32)], local=16, fuel=2_000)
    assert at_line(caught.value, 2)


# ---- the rest


def test_a_trap_says_why() -> None:
    k = Kernel("entry", "bad", "after")
    k.go("diverge", "bad", "after", mask=k.b.cmp("ge", k.item(16), k.number(UD, 30)))
    k.at("bad")
    k.inst(4)
    k.go("trap", reason="the switch fell through")
    k.at("after")
    k.end()
    with pytest.raises(Fault, match="the switch fell through") as caught:
        launch(k, groups=4)
    assert at_line(caught.value, 5)
    assert caught.value.group == (1, 0, 0) and caught.value.lanes == (14, 15)


def test_what_is_not_modelled_says_so_with_its_place() -> None:
    unknown = Kernel()
    unknown.inst(1)
    unknown.b.special("frobnication", UD)
    unknown.end()
    with pytest.raises(Unsupported, match=r"k.visaasm:2:1: .*frobnication"):
        launch(unknown)
    symbol = Kernel()
    symbol.b.symbol("table")
    symbol.end()
    with pytest.raises(Unsupported, match="table"):
        launch(symbol)


class Sampler:
    """A record of a request that the host may or may not know."""


def message_kernel() -> Kernel:
    k = Kernel()
    x = k.b.message(Sampler(), k.mask(), [k.local_id()], [(UD, 16)])[0]
    k.result(0, k.lane(), x)
    k.end()
    return k


def test_a_message_without_a_host_that_takes_it() -> None:
    with pytest.raises(Unsupported, match="Sampler messages"):
        launch(message_kernel(), [np.zeros(16, np.uint32)])


def test_a_message_goes_to_the_host() -> None:
    class Answering(Host):
        def message(self, record, threads, mask, arguments):  # type: ignore[no-untyped-def]
            assert isinstance(record, Sampler) and mask.all() and threads.tolist() == [0]
            return [arguments[0] * 2]

    host = Answering([np.zeros(16, np.uint32)])
    Interpreter().run(grid_of(message_kernel().function, host), host)
    assert host.read(0).tolist() == list(range(0, 32, 2))


def test_symbols_are_addresses_of_the_grid() -> None:
    k = Kernel()
    base = k.b.splat(k.b.symbol("table"), 16)
    k.b.store(Space.FLAT, k.add(base, k.b.iota(UQ, 16, 4)), k.mask(), [k.lane()])
    k.end()
    host = Host([np.zeros(16, np.uint32)])
    grid = grid_of(k.function, host, symbols={"table": host.addresses[0]})
    Interpreter().run(grid, host)
    assert host.read(0).tolist() == list(range(16))


def test_a_rounding_that_is_not_folded_is_refused() -> None:
    k = Kernel()
    k.b.add(k.number(F, 1.0), k.number(F, 2.0))
    k.end()
    host = Host([])
    with pytest.raises(InternalError, match="%cr0"):
        Interpreter().run(grid_of(k.function, host), host)


def test_time_goes_on() -> None:
    k = Kernel("entry", "next")
    k.root("T", 8)
    k.put("T", k.b.special("timestamp", UQ), k.true(1))
    k.inst(1)
    k.go("jump", "next")
    k.at("next")
    k.inst(2)
    later = k.b.special("timestamp", UQ)
    before = k.b.read(k.function.roots["T"], Region.scalar(0), UQ, 1)
    passed = k.b.select(k.b.cmp("gt", later, before), k.lanes(UD, 1), k.lanes(UD, 0))
    k.result(0, k.lane(), k.b.splat(passed, 16))
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint32)])
    assert (host.read(0) == 1).all()
