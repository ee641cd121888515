"""Register files with windows: accesses with an index that stays between two bytes of the file."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.exec.jit.analysis.flow import analyse
from eumu.exec.jit.analysis.live_ranges import split_file
from eumu.exec.jit.analysis.windows import windows
from eumu.ir import Region, RootKind, Value
from eumu.types import BOOL, UD, UW
from exec.launching import RNE, Kernel, on_both

WIDTH, FILE = 16, 2048


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        yield


def kernel(*labels: str) -> Kernel:
    k = Kernel(*labels, width=WIDTH)
    k.root("FILE", FILE)
    k.root("a0", 2 * WIDTH, RootKind.ARF)
    return k


def is_cut(k: Kernel) -> bool:
    flow = analyse(k.function, lambda block, mask: False)
    return "FILE" not in split_file(k.function, flow).roots


def index(k: Kernel, rows: int, base: int, *, every: bool = False, last: int = 0) -> None:
    """Set the addresses: each lane's dword of one of some rows, from byte `base` on."""
    b = k.b
    data = k.input(0, k.item(WIDTH), UD)
    row = b.and_(data, k.number(UD, rows - 1)) if rows else data
    place = k.add(k.mul(row, k.number(UD, 4 * WIDTH)), b.iota(UD, WIDTH, 4))
    place = k.add(place, k.number(UD, base + last))
    mask = k.true() if every else k.mask()
    k.put("a0", b.convert(place, UW, rounding=RNE), mask)


def addresses(k: Kernel, lane: int | None = None) -> Value:
    """What `index` has set: of all lanes, or of one."""
    b, root = k.b, k.function.roots["a0"]
    region = Region.packed(2 * (lane or 0), 2)
    words = b.read(root, region, UW, WIDTH if lane is None else 1)
    base = b.splat(b.root_address(k.function.roots["FILE"], 0), words.width)
    return b.add(base, b.convert(words, UD, rounding=RNE), RNE)


def read(k: Kernel, mask: Value | None = None) -> Value:
    place = dict(offset=0, vstride=0, row=1, hstride=0)
    return k.b.read_indirect(addresses(k), UD, WIDTH, mask or k.mask(), **place)


def write(k: Kernel, x: Value, lanes: range = range(WIDTH)) -> None:
    """Lane by lane, as compilers do it."""
    for lane in lanes:
        one = k.b.const(BOOL, tuple(int(n == lane) for n in range(WIDTH)), WIDTH)
        mask = k.b.and_(k.mask(), one)
        k.b.write_indirect(addresses(k, lane), x, mask, offset=0, hstride=0)


def data(groups: int = 4, seed: int = 1) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.integers(0, 1 << 32, groups * WIDTH, np.uint32) for _ in range(2)]


def fill(k: Kernel, first: int, rows: int) -> None:
    for row in range(rows):
        x = k.add(k.input(1, k.item(WIDTH), UD), k.number(UD, 1000 * row))
        k.put("FILE", x, offset=first + 4 * WIDTH * row)


@pytest.mark.parametrize("rows", [1, 4, 16, 0])
def test_elements_of_an_array(rows: int) -> None:
    """Read, changed and written; other registers around it are what they were."""
    k = kernel()
    fill(k, 64, 18)
    index(k, rows, 128)
    old = read(k)
    write(k, k.add(old, k.number(UD, 5)))
    k.result(1, k.item(WIDTH), k.b.xor(read(k), k.get("FILE", UD, 64)))
    k.end()
    assert is_cut(k) == bool(rows)
    if rows:
        on_both(k, data(), 4, WIDTH)
        on_both(k, data(), 1, WIDTH - 3)
    else:
        with pytest.raises(Fault):
            on_both(k, data(), 4, WIDTH)


@pytest.mark.parametrize("base", [FILE - 64, FILE - 60, FILE - 128 - 4, 1 << 15])
def test_the_end_of_the_file(base: int) -> None:
    k = kernel()
    fill(k, FILE - 128, 2)
    index(k, 2, base)
    k.result(1, k.item(WIDTH), read(k))
    k.end()
    assert is_cut(k) == (base + 128 <= FILE)
    on_both(k, data(), 4, WIDTH)


@pytest.mark.parametrize("case", ["every", "executing", "other lanes", "predicated"])
def test_lanes_that_do_not_execute_have_other_addresses(case: str) -> None:
    """In a branch half of the lanes get addresses of a window, the others have any."""
    k = kernel("entry", "then", "end")
    fill(k, 0, 32)
    index(k, 32, 0)
    half = k.b.cmp("lt", k.b.and_(k.local_id(), k.number(UD, 7)), k.number(UD, 3))
    k.go("diverge", "then", "end", mask=half)
    k.at("then")
    index(k, 4, 512, every=case == "every")
    mask = k.true() if case == "other lanes" else k.mask()
    if case == "predicated":
        index(k, 2, 0)
        odd = k.b.cmp("eq", k.b.and_(k.local_id(), k.number(UD, 1)), k.number(UD, 1))
        words = k.b.const(UW, tuple(640 + 4 * n for n in range(WIDTH)), WIDTH)
        k.put("a0", words, k.b.and_(k.mask(), odd))
    x = read(k, mask)
    k.put("FILE", x, k.true(), offset=256)
    k.go("jump", "end")
    k.at("end")
    k.result(1, k.item(WIDTH), k.add(k.get("FILE", UD, 256), k.get("FILE", UD, 512)))
    k.end()
    assert is_cut(k) == (case in ("every", "executing"))
    on_both(k, data(), 4, WIDTH)


@pytest.mark.parametrize("to", [0, 8])
def test_addresses_of_other_lanes(to: int) -> None:
    """Eight lanes write addresses, and these or the other eight read at them."""
    k = kernel("entry", "then", "end")
    fill(k, 0, 32)
    index(k, 32, 0)
    low = k.b.cmp("lt", k.local_id(), k.number(UD, 11))
    k.go("diverge", "then", "end", mask=low)
    k.at("then")
    words = k.b.const(UW, tuple(640 + 4 * n for n in range(8)), 8)
    k.b.write_root(k.function.roots["a0"], Region.packed(0, 2), words, k.b.exec_mask(0, 8))
    words = k.b.read(k.function.roots["a0"], Region.packed(0, 2), UW, 8)
    base = k.b.splat(k.b.root_address(k.function.roots["FILE"], 0), 8)
    place = k.b.add(base, k.b.convert(words, UD, rounding=RNE), RNE)
    strides = dict(offset=0, vstride=0, row=1, hstride=0)
    x = k.b.read_indirect(place, UD, 8, k.b.exec_mask(to, 8), **strides)
    region = Region.packed(256 + 4 * to, 4)
    k.b.write_root(k.function.roots["FILE"], region, x, k.b.exec_mask(to, 8))
    k.go("jump", "end")
    k.at("end")
    k.result(1, k.item(WIDTH), k.get("FILE", UD, 256))
    k.end()
    assert is_cut(k) == (to == 0)
    on_both(k, data(), 4, WIDTH)


@pytest.mark.parametrize("lane", [3, 4])
def test_the_address_of_another_lane(lane: int) -> None:
    """Lane 3 writes where it wants to, or where lane 4 does, which may not execute."""
    k = kernel("entry", "then", "end")
    fill(k, 0, 32)
    index(k, 32, 0)
    k.go("diverge", "then", "end", mask=k.b.cmp("lt", k.local_id(), k.number(UD, 4)))
    k.at("then")
    index(k, 2, 256)
    one = k.b.const(BOOL, tuple(int(n == 3) for n in range(WIDTH)), WIDTH)
    mask = k.b.and_(k.mask(), one)
    k.b.write_indirect(addresses(k, lane), k.number(UD, 7), mask, offset=0, hstride=0)
    k.go("jump", "end")
    k.at("end")
    total = k.get("FILE")
    for offset in range(64, FILE, 64):
        total = k.b.xor(k.mul(total, k.number(UD, 5)), k.get("FILE", UD, offset))
    k.result(1, k.item(WIDTH), total)
    k.end()
    assert is_cut(k) == (lane == 3)
    on_both(k, data(), 4, WIDTH)


def test_an_index_that_a_loop_increases_is_anywhere() -> None:
    k = kernel("entry", "loop", "end")
    k.root("N", 4 * WIDTH)
    fill(k, 0, 32)
    k.go("jump", "loop")
    k.at("loop")
    n = k.get("N")
    k.put("a0", k.b.convert(k.mul(n, k.number(UD, 4)), UW, rounding=RNE), k.true())
    k.put("FILE", read(k, k.true()), offset=64)
    k.put("N", k.add(n, k.number(UD, 1)), k.true())
    k.go("diverge", "loop", "end", mask=k.b.cmp("lt", k.get("N"), k.number(UD, 40)))
    k.at("end")
    k.result(1, k.item(WIDTH), k.get("FILE", UD, 64))
    k.end()
    assert not is_cut(k)
    on_both(k, data(), 4, WIDTH)


def test_lane_numbers_of_another_block() -> None:
    """Registers keep what they have from block to block, if no lane kept something else."""
    for every in (False, True):
        k = kernel("entry", "next")
        fill(k, 256, 4)
        own = k.b.const(UW, tuple(256 + 4 * n for n in range(WIDTH)), WIDTH)
        k.put("FILE", own, k.true() if every else None, offset=1024)
        k.go("diverge", "next", "next", mask=k.mask())
        k.at("next")
        row = k.b.and_(k.input(0, k.item(WIDTH), UD), k.number(UD, 3))
        place = k.mul(k.b.convert(row, UW, rounding=RNE), k.number(UW, 4 * WIDTH))
        k.put("a0", k.add(place, k.get("FILE", UW, 1024)))
        k.result(1, k.item(WIDTH), read(k))
        k.end()
        assert is_cut(k) == every
        on_both(k, data(), 4, WIDTH)


def random_kernel(random: Random) -> Kernel:
    """Windows that overlap, registers beside and inside them, in branches and loops."""
    k = kernel("entry", "loop", "then", "next", "end")
    k.root("N", 4 * WIDTH)
    fill(k, 0, 32)

    def statements(count: int) -> None:
        for _ in range(count):
            offset = random.choice([0, 64, 128, 512, 520, 576, 1024, 1984])
            choice = random.random()
            every = random.random() < 0.3
            if choice < 0.3:
                mask = k.true() if every else None
                k.put("FILE", k.add(k.get("FILE", UD, offset), k.lane()), mask, offset=offset)
            elif choice < 0.5:
                index(k, random.choice([1, 2, 4, 8]), random.choice([0, 64, 500, 512, 1024]))
                k.put("FILE", read(k, k.true() if every and random.random() < 0.3 else None))
            else:
                index(
                    k, random.choice([1, 2, 4, 8]), random.choice([0, 64, 512, 1536]), every=every
                )
                x = read(k)
                start = random.randrange(WIDTH)
                write(k, k.add(x, k.get("FILE", UD, offset)), range(start, WIDTH))

    statements(2)
    k.go("jump", "loop")
    k.at("loop")
    statements(2)
    odd = k.b.and_(k.get("FILE", UD, random.choice([0, 512])), k.number(UD, 1))
    k.go("diverge", "then", "next", mask=k.b.cmp("eq", odd, k.number(UD, 1)))
    k.at("then")
    statements(2)
    k.go("jump", "next")
    k.at("next")
    k.put("N", k.add(k.get("N"), k.number(UD, 1)))
    more = k.b.cmp("lt", k.get("N"), k.b.and_(k.local_id(), k.number(UD, 3)))
    k.go("diverge", "loop", "end", mask=more)
    k.at("end")
    total = k.get("FILE")
    for offset in range(64, FILE, 64):
        total = k.b.xor(k.mul(total, k.number(UD, 5)), k.get("FILE", UD, offset))
    k.result(1, k.item(WIDTH), total)
    k.end()
    return k


@pytest.mark.parametrize("seed", range(16))
def test_random_files(seed: int) -> None:
    k = random_kernel(Random(seed))
    on_both(k, data(4, seed), 4, WIDTH if seed % 2 else WIDTH - 5)


def test_most_random_files_are_cut() -> None:
    assert sum(is_cut(random_kernel(Random(seed))) for seed in range(16)) > 8


def test_what_a_window_is() -> None:
    k = kernel()
    index(k, 4, 64)
    k.result(1, k.item(WIDTH), read(k))
    k.end()
    flow = analyse(k.function, lambda block, mask: False)
    found = windows(k.function, flow, k.function.roots["FILE"])
    assert found is not None
    ((window,),) = (found.values(),)
    assert (window.start, window.end) == (64, 64 + 4 * 64)
