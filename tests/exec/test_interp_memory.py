"""Address spaces: what a load, store or atomic touches, in which order, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eumu import addresses
from eumu.errors import Fault
from eumu.exec.interp import Interpreter
from eumu.ir import Space, Value
from eumu.types import BOOL, DF, HF, UB, UD, UQ, UW, D, F, Q, Type, W
from exec.launching import RNE, UNTOUCHED, BufferSurface, Host, Kernel, grid_of, launch

TYPES = [UB, UW, UD, UQ, HF, F, DF]


@pytest.mark.parametrize("shift", [0, 1, 2, 3, 6])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("type", TYPES, ids=str)
def test_elements_at_any_byte(type: Type, count: int, shift: int) -> None:
    """Load and store `count` elements per lane at unaligned, unevenly spaced addresses."""
    k = Kernel(width=8)
    lane = k.local_id()
    spread = k.add(k.mul(lane, lane), k.mul(lane, k.number(UD, 25)))
    offset = k.add(k.b.convert(spread, UQ, rounding=RNE), k.number(UQ, shift))
    source, target = k.add(k.argument(0), offset), k.add(k.argument(1), offset)
    values = k.b.load(Space.FLAT, source, k.mask(), type, count)
    k.b.store(Space.FLAT, target, k.mask(), values)
    k.end()
    rng = np.random.default_rng(shift)
    data = rng.integers(0, 256, 512, np.uint8)
    host, _ = launch(k, [data, np.zeros(512, np.uint8)], local=8)
    want = np.zeros(512, np.uint8)
    for n in range(8):
        start = n * n + 25 * n + shift
        want[start : start + count * type.size] = data[start : start + count * type.size]
    assert host.read(1).tolist() == want.tolist()
    assert (host.arena[-256:] == UNTOUCHED).all()


def test_lanes_that_are_off_read_zero_and_store_nothing() -> None:
    k = Kernel()
    k.root("A", 64)
    some = k.b.cmp("lt", k.local_id(), k.number(UD, 5))
    wild = k.b.select(some, k.address(0, k.local_id(), 4), k.number(UQ, 12345))
    (x,) = k.b.load(Space.FLAT, wild, some, UD)
    k.b.store(Space.FLAT, k.b.select(some, k.address(1, k.lane(), 4), wild), some, [x])
    k.result(2, k.lane(), x)
    nobody = k.b.cmp("lt", k.local_id(), k.number(UD, 0))
    (none,) = k.b.load(Space.FLAT, wild, nobody, UD)
    k.b.store(Space.FLAT, wild, nobody, [none])
    k.b.atomic("inc", Space.FLAT, wild, nobody, UD)
    k.end()
    data = np.arange(100, 116, dtype=np.uint32)
    host, _ = launch(k, [data, np.zeros(16, np.uint32), np.zeros(16, np.uint32)])
    assert host.read(1).tolist() == host.read(2).tolist() == [*range(100, 105), *[0] * 11]


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_the_last_lane_wins_where_stores_overlap(step: int) -> None:
    """Lanes `step` bytes apart store two dwords each: lane by lane, thread by thread."""
    k = Kernel()
    place = k.mul(k.item(16), k.number(UD, step))
    target = k.add(k.argument(0), k.b.convert(place, UQ, rounding=RNE))
    first = k.add(k.mul(k.item(16), k.number(UD, 0x01010101)), k.number(UD, 1))
    k.b.store(Space.FLAT, target, k.mask(), [first, k.b.not_(first)])
    k.end()
    host, _ = launch(k, [np.zeros(400, np.uint8)], groups=8)
    want = bytearray(400)
    for item in range(128):
        x = (item * 0x01010101 + 1) & 0xFFFFFFFF
        want[step * item : step * item + 8] = (x | (~x & 0xFFFFFFFF) << 32).to_bytes(8, "little")
    assert host.read(0).tobytes() == bytes(want)


def test_blocks_load_and_store_consecutive_elements() -> None:
    k = Kernel()
    first = k.b.slice(k.address(0, k.mul(k.group_id(), k.number(UD, 16)), 2), 0, 1)
    second = k.b.slice(k.address(1, k.mul(k.group_id(), k.number(UD, 16)), 2), 0, 1)
    x = k.b.load_block(Space.FLAT, first, k.true(1), UW, 16)
    even = k.b.cmp("eq", k.b.and_(k.group_id(), k.number(UD, 1)), k.number(UD, 0))
    k.b.store_block(Space.FLAT, second, k.b.slice(even, 0, 1), k.b.shuffle(x, range(15, -1, -1)))
    off = k.b.load_block(Space.FLAT, k.lanes(UQ, 0), k.b.const(BOOL, 0), UD, 16)
    k.result(2, k.lane(), off)
    k.end()
    data = np.arange(64, dtype=np.uint16)
    host, _ = launch(k, [data, np.full(64, 7, np.uint16), np.ones(16, np.uint32)], groups=4)
    rows = data.reshape(4, 16)[:, ::-1].copy()
    rows[1::2] = 7
    assert (host.read(1).reshape(4, 16) == rows).all()
    assert (host.read(2) == 0).all()


def test_shared_local_memory_is_the_groups_own() -> None:
    k = Kernel("entry", "after")
    mine = k.mul(k.local_id(), k.number(UD, 4))
    k.b.store(Space.SLM, mine, k.mask(), [k.add(k.item(32), k.number(UD, 1000))])
    k.go("barrier", "after", kind="sync")
    k.at("after")
    other = k.b.sub(k.number(UD, 31), k.local_id(), RNE)
    (x,) = k.b.load(Space.SLM, k.mul(other, k.number(UD, 4)), k.mask(), UD)
    k.result(0, k.item(32), x)
    k.end()
    host, _ = launch(k, [np.zeros(320, np.uint32)], 10, 32, slm_bytes=128)
    items = np.arange(320).reshape(10, 32)
    assert (host.read(0).reshape(10, 32) == items[:, ::-1] + 1000).all()


def test_local_memory_is_fresh_in_every_group() -> None:
    k = Kernel()
    (x,) = k.b.load(Space.SLM, k.mul(k.lane(), k.number(UD, 4)), k.mask(), UD)
    k.result(0, k.item(16), x)
    k.b.store(Space.SLM, k.mul(k.lane(), k.number(UD, 4)), k.mask(), [k.number(UD, 1)])
    k.end()
    host, _ = launch(
        k, [np.ones(64, np.uint32)], 4, slm_bytes=64, engine=Interpreter(batch_lanes=16)
    )
    assert (host.read(0) == 0).all()


def test_scratch_is_the_threads_own_however_it_is_reached() -> None:
    k = Kernel()
    place = k.mul(k.lane(), k.number(UD, 4))
    k.b.store(Space.SCRATCH, place, k.mask(), [k.item(32)])
    index = k.lanes(UD, addresses.SCRATCH_STATE)
    (x,) = k.b.load(Space.SURFACE, place, k.mask(), UD, surface=index)
    k.result(0, k.item(32), x)
    k.end()
    host, _ = launch(k, [np.zeros(128, np.uint32)], 4, 32, scratch_bytes=64)
    assert host.read(0).tolist() == list(range(128))


def surface_kernel(count: int = 1) -> Kernel:
    """Each lane copies `count` dwords at 4*count*lane from surface 3 to surface 5."""
    k = Kernel()
    place = k.mul(k.local_id(), k.number(UD, 4 * count))
    x = k.b.load(Space.SURFACE, place, k.mask(), UD, count, k.lanes(UD, 3))
    k.b.store(Space.SURFACE, place, k.mask(), x, k.lanes(UD, 5))
    k.end()
    return k


def test_surfaces_are_bound_by_index() -> None:
    data = [np.arange(100, 116, dtype=np.uint32), np.zeros(16, np.uint32)]
    probe = Host(data)
    bound = {3: BufferSurface(probe.addresses[0], 64), 5: BufferSurface(probe.addresses[1], 64)}
    host, _ = launch(surface_kernel(), data, surfaces=bound)
    assert (host.read(1) == host.read(0)).all()


@pytest.mark.parametrize(("size", "kept"), [(64, 16), (40, 10), (42, 10), (0, 0)])
def test_a_lenient_surface_gives_zero_and_drops_stores_out_of_bounds(size: int, kept: int) -> None:
    data = [np.arange(100, 116, dtype=np.uint32), np.full(16, 7, np.uint32)]
    probe = Host(data)
    source = BufferSurface(probe.addresses[0], 64)
    target = BufferSurface(probe.addresses[1], size, strict=False)
    for count in (1, 4):
        local = 16 // count
        bound = {3: source, 5: target}
        host, _ = launch(surface_kernel(count), data, local=local, surfaces=bound)
        assert host.read(1).tolist() == [*range(100, 100 + kept), *[7] * (16 - kept)]
        bound = {3: BufferSurface(source.address, size, strict=False), 5: source}
        bound[5] = BufferSurface(target.address, 64)
        host, _ = launch(surface_kernel(count), data, local=local, surfaces=bound)
        assert host.read(1).tolist() == [*range(100, 100 + kept), *[0] * (16 - kept)]


def test_lenient_surfaces_and_atomics() -> None:
    k = Kernel()
    place = k.mul(k.lane(), k.number(UD, 4))
    old = k.b.atomic("inc", Space.SURFACE, place, k.mask(), UD, surface=k.lanes(UD, 0))
    k.result(1, k.lane(), old)
    k.end()
    data = [np.arange(5, 21, dtype=np.uint32), np.ones(16, np.uint32)]
    bound = {0: BufferSurface(Host(data).addresses[0], 32, strict=False)}
    host, _ = launch(k, data, surfaces=bound)
    assert host.read(0).tolist() == [*range(6, 14), *range(13, 21)]
    assert host.read(1).tolist() == [*range(5, 13), *[0] * 8]


def test_reserved_indices_reach_local_and_stateless_memory() -> None:
    k = Kernel()
    place = k.mul(k.local_id(), k.number(UD, 4))
    slm = k.lanes(UD, addresses.BTI_SLM)
    k.b.store(Space.SURFACE, place, k.mask(), [k.local_id()], slm)
    (x,) = k.b.load(Space.SLM, place, k.mask(), UD)
    k.result(0, k.lane(), x)
    stateless = k.lanes(UD, addresses.BTI_STATELESS)
    k.inst(1)
    k.b.store(Space.SURFACE, place, k.mask(), [x], stateless)
    k.end()
    with pytest.raises(Fault, match="outside every allocation") as caught:
        launch(k, [np.zeros(16, np.uint32)], slm_bytes=64)
    assert caught.value.span is not None and caught.value.span.line == 2


def test_surface_indices_may_differ_between_threads() -> None:
    k = Kernel()
    index = k.b.slice(k.add(k.group_id(), k.number(UD, 3)), 0, 1)
    place = k.mul(k.lane(), k.number(UD, 4))
    k.b.store(Space.SURFACE, place, k.mask(), [k.item(16)], index)
    k.end()
    data = [np.zeros(16, np.uint32) for _ in range(3)]
    bound = {3 + n: BufferSurface(a, 64) for n, a in enumerate(Host(data).addresses)}
    host, _ = launch(k, data, groups=3, surfaces=bound)
    assert [host.read(n).tolist() for n in range(3)] == np.arange(48).reshape(3, 16).tolist()


def test_a_surface_outside_device_memory_cannot_be_reached() -> None:
    with pytest.raises(Fault, match="in memory of surface 3: 0 of 64 bytes"):
        launch(surface_kernel(), surfaces={3: BufferSurface(0x1000, 64)})


# ---- what is refused


def faulting(space: Space, address: Callable[[Kernel], Value], surface: int | None = None) -> Fault:
    """The fault of a store of two dwords by the 21 items of each of two groups."""
    k = Kernel()
    k.inst(2)
    index = None if surface is None else k.lanes(UD, surface)
    k.b.store(space, address(k), k.mask(), [k.lane(), k.lane()], index)
    k.end()
    data = [np.zeros(64, np.uint32)]
    bound = {1: BufferSurface(Host(data).addresses[0], 256)}
    with pytest.raises(Fault) as caught:
        launch(k, data, 2, 21, slm_bytes=80, scratch_bytes=64, surfaces=bound)
    return caught.value


def test_a_store_past_an_allocation_names_the_place() -> None:
    fault = faulting(Space.FLAT, lambda k: k.address(0, k.add(k.item(21), k.number(UD, 32)), 4))
    assert fault.group == (1, 0, 0) and fault.thread == 0 and fault.kernel == "k"
    assert fault.lanes == (10, 11, 12, 13, 14, 15)  # item 31 of 21+10 is the first at dword 63
    assert fault.address is not None and fault.address % 256 == 252
    assert fault.span is not None and fault.span.line == 3
    assert "store of 8 bytes" in str(fault) and "some buffer" in str(fault)


@pytest.mark.parametrize(
    "where", [0, 8, addresses.DEVICE_BASE - 1, addresses.DEVICE_BASE + 252, (1 << 64) - 4]
)
def test_wild_addresses(where: int) -> None:
    fault = faulting(Space.FLAT, lambda k: k.number(UQ, where))
    assert fault.address == where and fault.thread == 0 and len(fault.lanes) == 16


@pytest.mark.parametrize(
    ("space", "surface", "words"),
    [
        (Space.SLM, None, "outside the 80 bytes of shared local memory"),
        (Space.SURFACE, addresses.BTI_SLM, "outside the 80 bytes of shared local memory"),
        (Space.SCRATCH, None, "outside the 64 bytes of scratch space"),
        (Space.SURFACE, 1, "outside the 256 bytes of surface 1"),
        (Space.SURFACE, 9, "no surface is bound"),
        (Space.SURFACE, addresses.BTI_BINDLESS, "no surface is bound"),
        (Space.SURFACE, addresses.SURFACE_STATE_BASE, "no surface is bound"),
    ],
)
def test_offsets_outside_a_space(space: Space, surface: int | None, words: str) -> None:
    for far in (0xFFFF_FFF8, 0x1000, 250):
        fault = faulting(space, lambda k, far=far: k.number(UD, far), surface)
        assert words in fault.reason and fault.address == far


def test_offsets_of_the_second_half_of_a_wide_thread() -> None:
    """Lane numbers in a fault are those of the thread, also in a (M5, 16) instruction."""
    k = Kernel(width=32)
    k.inst(1)
    mask = k.b.exec_mask(16, 16)
    offset = k.b.const(UD, [0] * 15 + [0x100], 16)
    k.b.store(Space.SLM, offset, mask, [k.b.const(UD, 0, 16)])
    k.end()
    with pytest.raises(Fault) as caught:
        launch(k, local=32, slm_bytes=64)
    assert caught.value.lanes == (31,)


# ---- atomics


def by_hand(operation: str, old: Any, x: Any, y: Any, type: Type) -> Any:
    """What is stored, on Python or NumPy scalars."""
    mask = (1 << type.bits) - 1
    if operation in ("min", "max"):
        keep = (old < x) if operation == "min" else (old >= x)
        return old if keep or x != x else x
    if type.is_float:
        return {"add": lambda: type.dtype.type(old + x), "sub": lambda: type.dtype.type(old - x),
                "xchg": lambda: x, "load": lambda: old,
                "cmpxchg": lambda: x if old == y else old}[operation]()  # fmt: skip
    result = {"add": old + x, "sub": old - x, "inc": old + 1, "dec": old - 1, "predec": old - 1,
              "and": old & x, "or": old | x, "xor": old ^ x, "xchg": x, "load": old,
              "cmpxchg": x if old == y else old}[operation] & mask  # fmt: skip
    return result - mask - 1 if type.is_signed and result > mask >> 1 else result


CASES = [
    *[(name, type) for type in (UB, UW, W, UD, D, UQ, Q) for name in
      ("add", "sub", "inc", "dec", "predec", "and", "or", "xor", "xchg", "load", "min", "max",
       "cmpxchg")],
    *[(name, type) for type in (HF, F, DF) for name in
      ("add", "sub", "xchg", "load", "min", "max", "cmpxchg")],
]  # fmt: skip
OPERANDS = {"inc": 0, "dec": 0, "predec": 0, "load": 0, "cmpxchg": 2}


@pytest.mark.parametrize("spread", ["one", "few", "each", "misaligned"])
@pytest.mark.parametrize(("operation", "type"), CASES, ids=lambda v: str(v))
def test_atomics_are_done_lane_by_lane(operation: str, type: Type, spread: str) -> None:
    """All lanes on one cell, on three, on one each, or on cells that overlap."""
    items = 48
    index = [{"one": 0, "few": n % 3, "each": n, "misaligned": 0}[spread] for n in range(items)]
    offset = [n * type.size for n in index]
    if spread == "misaligned":
        offset = [1 + (5 * n) % (3 * type.size) for n in range(items)]
    rng = np.random.default_rng(11)
    low, high = (0, 9) if not type.is_signed else (-5, 5)
    xs = rng.integers(low, high, items).astype(type.dtype)
    ys = rng.integers(low, high, items).astype(type.dtype)
    if type.is_float:
        xs = (xs.astype(np.float64) / 3).astype(type.dtype)
        xs[7] = np.nan if operation in ("min", "max") else xs[7]
    k = Kernel(arguments=5)
    item = k.item(24)
    place = k.add(k.argument(0), k.b.convert(k.input(1, item, UD), UQ, rounding=RNE))
    data = [k.input(2, item, type), k.input(3, item, type)][: OPERANDS.get(operation, 1)]
    old = k.b.atomic(operation, Space.FLAT, place, k.mask(), type, data)
    k.result(4, item, old)
    k.end()
    cells = np.full(items + 8, 3, type.dtype)
    arrays = [cells, np.array(offset, np.uint32), xs, ys, np.zeros(items, type.dtype)]
    host, _ = launch(k, arrays, 2, 24)

    memory, returned = bytearray(cells.tobytes()), b""
    with np.errstate(all="ignore"):
        for n in range(items):
            here = slice(offset[n], offset[n] + type.size)
            before = np.frombuffer(bytes(memory[here]), type.dtype)[0]
            scalar = (lambda v: v) if type.is_float else int
            after = by_hand(operation, scalar(before), scalar(xs[n]), scalar(ys[n]), type)
            memory[here] = np.array([after], type.dtype).tobytes()
            returned += bytes(memory[here]) if operation == "predec" else before.tobytes()
    assert host.read(0).tobytes() == bytes(memory)
    assert host.read(4).tobytes() == returned


def test_atomics_on_local_memory_count_every_item() -> None:
    k = Kernel("entry", "after")
    zero = k.number(UD, 0)
    old = k.b.atomic("inc", Space.SLM, zero, k.mask(), UD)
    k.root("OLD", 64)
    k.put("OLD", old)
    k.go("barrier", "after", kind="sync")
    k.at("after")
    (total,) = k.b.load(Space.SLM, k.number(UD, 0), k.mask(), UD)
    k.result(0, k.item(40), total)
    k.result(1, k.item(40), k.get("OLD"))
    k.end()
    host, _ = launch(k, [np.zeros(200, np.uint32)] * 2, 5, 40, slm_bytes=4)
    assert (host.read(0) == 40).all()
    assert (np.sort(host.read(1).reshape(5, 40), axis=1) == np.arange(40)).all()


def test_a_grid_of_no_group_does_nothing() -> None:
    k = Kernel()
    k.end()
    host = Host([])
    stats = Interpreter().run(grid_of(k.function, host, 0), host)
    assert (stats.instructions, stats.threads, stats.groups) == (0, 0, 0)
