"""The speculative version of a thread begins again where lanes part or accesses are elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.errors import Fault
from eumu.exec.jit.analysis.flow import analyse
from eumu.exec.jit.driver import speculative
from eumu.ir import Region, Value
from eumu.types import UD
from exec.launching import Kernel, on_both

WIDTH = 16
GROUPS = 4000  # of one thread: more than it takes to give up trying, and to try again


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        yield


def two_ways(threads: int, *, is_increased: bool) -> Kernel:
    """Result = 2 x where x > 100, else x + 1; x may have been increased in memory before."""
    k = Kernel("start", "then", "else", "end", width=WIDTH)
    k.root("V", 4 * WIDTH)
    place = k.item(WIDTH * threads)
    x = k.input(0, place, UD)
    if is_increased:
        x = k.add(x, k.number(UD, 1))
        k.result(0, place, x)
    k.put("V", x)
    k.go("diverge", "then", "else", mask=k.b.cmp("gt", x, k.number(UD, 100)))
    for label in ("then", "else"):
        k.at(label)
        old = k.get("V")
        new = k.mul(old, k.number(UD, 2)) if label == "then" else k.add(old, k.number(UD, 1))
        k.result(1, k.item(WIDTH * threads), new)
        k.go("jump", "end")
    k.at("end")
    k.end()
    return k


def values(mixed: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Lanes of a thread are all small or all large, or of both kinds where it is `mixed`."""
    random = np.random.default_rng(3)
    large = np.repeat(random.random(len(mixed)) < 0.5, WIDTH)
    either = random.random(len(large)) < 0.5
    return np.where(np.where(np.repeat(mixed, WIDTH), either, large), 500, 7).astype(np.uint32)


def some(part: float) -> NDArray[np.bool_]:
    return np.random.default_rng(5).random(GROUPS) < part


@pytest.mark.parametrize("mixed", [0, 0.05, 0.5, 1, "first", "last"])
@pytest.mark.parametrize("is_increased", [False, True])
@pytest.mark.parametrize("threads", [1, 4])
def test_lanes_that_part(mixed: float | str, is_increased: bool, threads: int) -> None:
    number = np.arange(GROUPS)
    parted = {"first": number < GROUPS // 3, "last": number > GROUPS // 3}
    x = values(parted[mixed] if isinstance(mixed, str) else some(mixed))
    k = two_ways(threads, is_increased=is_increased)
    host = on_both(k, [x, np.zeros_like(x)], GROUPS // threads, WIDTH * threads)
    seen = x + 1 if is_increased else x
    np.testing.assert_array_equal(host.read(0), seen)
    np.testing.assert_array_equal(host.read(1), np.where(seen > 100, 2 * seen, seen + 1))


@pytest.mark.parametrize("mixed", [0, 0.5])
@pytest.mark.parametrize("fact", ["timestamp", "thread_id"])
def test_facts_before_lanes_part(mixed: float, fact: str) -> None:
    """They change nothing, and a thread that begins again counts from the beginning."""
    k = Kernel("start", "then", "end", width=WIDTH)
    k.root("FACT", 4)
    place = k.item(4 * WIDTH)
    k.put("FACT", k.b.special(fact, UD), k.true(1))
    k.go("diverge", "then", "end", mask=k.b.cmp("gt", k.input(0, place, UD), k.number(UD, 100)))
    k.at("then")
    now = k.b.read(k.function.roots["FACT"], Region.scalar(0), UD, WIDTH)
    k.result(1, k.item(4 * WIDTH), k.add(now, k.number(UD, 7)))
    k.go("jump", "end")
    k.at("end")
    k.end()
    places = speculative.untouched(k.function, speculative.together(k.function))
    assert (0, len(k.function.blocks[0].ops)) in places
    x = values(some(mixed))
    on_both(k, [x, np.zeros_like(x)], GROUPS // 4, 4 * WIDTH)


def test_variables_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function with so many that all stay in the thread's record has no speculative version."""
    monkeypatch.setattr("eumu.exec.jit.driver.suspend._MOST_VALUES", 0)
    for mixed in (0, 0.5):
        test_lanes_that_part(mixed, is_increased=False, threads=4)


def chased() -> Kernel:
    """Increases array 0 at the item, then copies what array 1 says from array 2 to array 3."""
    k = Kernel(width=WIDTH)
    place = k.item(WIDTH)
    k.result(0, place, k.add(k.input(0, place, UD), k.number(UD, 1)))
    first = k.input(1, k.mul(k.group_id(), k.number(UD, WIDTH)), UD)
    k.inst(1)
    k.result(3, place, k.input(2, k.add(first, k.lane()), UD))
    k.end()
    return k


def test_an_access_elsewhere_after_a_store() -> None:
    x, out = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    where = np.repeat([48, 0, 16, 32], WIDTH).astype(np.uint32)
    host = on_both(chased(), [x, where, 3 * x, out], 4)
    np.testing.assert_array_equal(host.read(0), x + 1)
    lanes = np.arange(64) % WIDTH
    np.testing.assert_array_equal(host.read(3), 3 * (where + lanes))


@pytest.mark.parametrize("thread", [0, 2, 3])
def test_a_fault_has_its_place(thread: int) -> None:
    where = np.repeat([48, 0, 16, 32], WIDTH).astype(np.uint32)
    where[WIDTH * thread] = 55
    x = np.arange(64, dtype=np.uint32)
    with pytest.raises(Fault, match="load of 4 bytes") as raised:
        on_both(chased(), [x, where, 3 * x, np.zeros(64, np.uint32)], 4)
    assert raised.value.group == (thread, 0, 0)
    assert raised.value.lanes == tuple(range(9, WIDTH))


def far(k: Kernel) -> Value:
    """An index into array 0 that is in array 1 for odd groups: they are 256 bytes apart."""
    odd = k.b.and_(k.group_id(), k.number(UD, 1))
    return k.add(k.local_id(), k.mul(odd, k.number(UD, (256 + 256) // 4)))


def test_one_instruction_accesses_two_allocations() -> None:
    k = Kernel(width=WIDTH)
    k.result(2, k.item(WIDTH), k.input(0, far(k), UD))
    k.end()
    arrays = [np.arange(64, dtype=np.uint32), np.arange(100, 164, dtype=np.uint32)]
    host = on_both(k, [*arrays, np.zeros(8 * WIDTH, np.uint32)], 8)
    rows = host.read(2).reshape(8, WIDTH)
    assert rows[0::2].tolist() == [arrays[0][:WIDTH].tolist()] * 4
    assert rows[1::2].tolist() == [arrays[1][:WIDTH].tolist()] * 4


def test_what_may_begin_again() -> None:
    k = two_ways(1, is_increased=True)
    assert speculative.can_be(k.function, analyse(k.function, lambda block, mask: False))
    places = speculative.untouched(k.function, speculative.together(k.function))
    names = [op.name for op in k.function.blocks[0].ops]
    assert (0, names.index("store")) in places
    assert (0, names.index("store") + 1) not in places
    assert not {block for block, _ in places} - {0}


def test_a_loop_is_not_speculative() -> None:
    k = Kernel("start", "end", width=WIDTH)
    k.go("diverge", "start", "end", mask=k.mask())
    k.at("end")
    k.end()
    assert not speculative.can_be(k.function, analyse(k.function, lambda block, mask: False))
