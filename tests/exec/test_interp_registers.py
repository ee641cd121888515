"""Roots, regions, flags, masks on writes, and register-indirect access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eumu.errors import Fault
from eumu.ir import Region, RootKind
from eumu.types import BOOL, UB, UD, UQ, UW, Type, W
from exec.launching import RNE, Kernel, launch, on_both

REGIONS = [
    Region.packed(0, 4),
    Region.packed(8, 4),
    Region.scalar(12),
    Region.strided(0, 8),
    Region.strided(3, 4),  # unaligned
    Region(0, 0, 4, 4),  # <0;4,1>
    Region(0, 16, 2, 8),  # <4;2,2>
    Region(4, 8, 4, 4),  # overlapping rows
    Region(60, -4, 1, 0),  # backwards
    Region(0, 16, 3, 4),  # rows that do not divide the width
    Region(0, 1, 1, 0),  # elements that overlap
]


def little(data: bytes) -> int:
    return int.from_bytes(data, "little")


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("type", [UB, UW, UD, UQ], ids=str)
@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_read_follows_the_region(region: Region, type: Type, groups: int) -> None:
    k = Kernel("entry", width=8)
    root = k.root("V", 256)
    pattern = bytes(n * 73 & 0xFF for n in range(256))
    for n in range(0, 256, 8):
        k.b.write_root(
            root, Region.packed(n, 8), k.lanes(UQ, little(pattern[n : n + 8])), k.true(1)
        )
    x = k.b.read(root, region, type, 8)
    k.result(0, k.lane(), x)
    k.end()
    host, _ = launch(k, [np.zeros(8, type.dtype)], groups=groups, local=8)
    want = [little(pattern[o : o + type.size]) for o in region.offsets(8)]
    assert host.read(0).tolist() == want


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("type", [UB, UW, UD, UQ], ids=str)
@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_write_keeps_bytes_outside_the_region_and_the_mask(
    region: Region, type: Type, masked: bool, threads: int
) -> None:
    k = Kernel(width=8)
    root = k.root("V", 128)
    k.b.write_root(root, Region.packed(0, 8), k.b.const(UQ, 0x1122334455667788, 8), k.true())
    lanes = [(0x0101010101010101 * (n + 1)) & ((1 << type.bits) - 1) for n in range(8)]
    mask = k.lanes(BOOL, 1, 0, 1, 1, 0, 0, 1, 0) if masked else k.true()
    k.b.write_root(root, region, k.lanes(type, *lanes), mask)
    for n in range(16):
        x = k.b.splat(k.b.read(root, Region.scalar(8 * n), UQ, 1), 8)
        k.result(0, k.number(UD, n), x)
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint64)], groups=threads, local=8)
    want = bytearray(
        little(b"\x88\x77\x66\x55\x44\x33\x22\x11").to_bytes(8, "little") * 8 + bytes(64)
    )
    keep = [1, 0, 1, 1, 0, 0, 1, 0] if masked else [1] * 8
    for lane, offset, on in zip(lanes, region.offsets(8), keep, strict=True):
        if on:
            want[offset : offset + type.size] = lane.to_bytes(type.size, "little")
    assert host.read(0).tobytes() == bytes(want)


def test_a_value_read_keeps_its_lanes_when_the_root_is_written() -> None:
    """Bodies read every source before they write: a swap needs no care."""
    k = Kernel()
    a, b = k.root("A", 64), k.root("B", 64)
    k.put("A", k.local_id())
    k.put("B", k.add(k.local_id(), k.number(UD, 100)))
    x, y = k.get("A"), k.get("B")
    shifted = k.b.shuffle(x, [*range(1, 16), 0])
    k.put("A", y)
    k.put("B", x)
    k.result(0, k.lane(), k.get("A"))
    k.result(1, k.lane(), k.get("B"))
    k.result(2, k.lane(), shifted)
    k.end()
    assert (a.size, b.size) == (64, 64)
    host, _ = launch(k, [np.zeros(16, np.uint32)] * 3)
    assert host.read(0).tolist() == list(range(100, 116))
    assert host.read(1).tolist() == list(range(16))
    assert host.read(2).tolist() == [*range(1, 16), 0]


def test_a_root_written_from_itself_one_lane_over() -> None:
    k = Kernel()
    root = k.root("A", 128)
    k.put("A", k.local_id())
    x = k.b.read(root, Region.packed(0, 4), UD, 16)
    k.b.write_root(root, Region.packed(4, 4), x, k.true())
    k.result(0, k.lane(), k.get("A"))
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint32)])
    assert host.read(0).tolist() == [0, *range(15)]


def test_lanes_that_do_not_run_keep_every_bit() -> None:
    """A group of 20 items leaves 12 lanes of its second thread off; NoMask code sees them."""
    k = Kernel()
    k.root("A", 64)
    k.put("A", k.number(UD, 7), k.true())
    k.put("A", k.number(UD, 9))
    thread = k.b.splat(k.b.special("thread_id", UD), 16)
    k.result(0, k.add(k.lane(), k.b.shl(thread, k.number(UD, 4))), k.get("A"), k.true())
    k.end()
    host, _ = launch(k, [np.zeros(32, np.uint32)], local=20)
    assert host.read(0).tolist() == [9] * 20 + [7] * 12


def test_flags_are_bits_with_an_offset() -> None:
    k = Kernel()
    flag = k.root("P", 32, RootKind.FLAG)
    odd = k.b.cmp("ne", k.b.and_(k.local_id(), k.number(UD, 1)), k.number(UD, 0))
    low = k.b.cmp("lt", k.local_id(), k.number(UD, 4))
    k.b.write_flag(flag, 0, odd, k.true())
    k.b.write_flag(flag, 16, k.true(), low)
    k.b.write_flag(flag, 2, k.b.not_(k.b.read_flag(flag, 2, 4)), k.lanes(BOOL, 1, 1, 1, 0))
    bits = k.b.splat(k.b.mask_bits(k.b.read_flag(flag, 0, 32)), 16)
    k.result(0, k.lane(), bits)
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint32)])
    assert host.read(0)[0] == (0xAAAA ^ 0b11100) | 0xF << 16


def test_a_flag_may_be_the_mask_of_its_own_write() -> None:
    k = Kernel()
    flag = k.root("P", 16, RootKind.FLAG)
    k.b.write_flag(flag, 0, k.b.cmp("lt", k.local_id(), k.number(UD, 8)), k.true())
    old = k.b.read_flag(flag, 0, 8)
    k.b.write_flag(flag, 4, k.b.not_(k.b.read_flag(flag, 4, 8)), old)
    k.result(0, k.lane(), k.b.splat(k.b.mask_bits(k.b.read_flag(flag, 0, 16)), 16))
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint32)])
    assert host.read(0)[0] == 0xFF ^ 0xFF0


@pytest.mark.parametrize("offset", [0, 8, 24])
def test_exec_mask_from_an_offset(offset: int) -> None:
    k = Kernel(width=32)
    mask = k.b.exec_mask(offset, 16)
    bits = k.b.splat(k.b.mask_bits(mask), 32)
    k.result(0, k.lane(), bits)
    k.end()
    host, _ = launch(k, [np.zeros(32, np.uint32)], local=20)
    assert host.read(0)[0] == (((1 << 20) - 1) >> offset) & 0xFFFF


# ---- register-indirect access


def gathered(k: Kernel, addresses: Any, **shape: int) -> list[int]:
    x = k.b.read_indirect(addresses, UD, 16, k.mask(), **shape)
    k.result(0, k.lane(), x)
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint32)])
    result: list[int] = host.read(0).tolist()
    return result


def table(k: Kernel) -> Any:
    """A root of 32 dwords 0, 10, 20, …"""
    root = k.root("T", 128)
    ten = k.mul(k.lane(), k.number(UD, 10))
    k.put("T", ten, k.true())
    k.put("T", k.add(ten, k.number(UD, 160)), k.true(), offset=64)
    return k.b.root_address(root, 0)


def test_one_address_for_all_lanes() -> None:
    k = Kernel()
    start = table(k)
    assert gathered(k, start, offset=8, vstride=16, row=2, hstride=4) == [
        10 * (2 + 4 * (n // 2) + n % 2) for n in range(16)
    ]


def test_one_address_per_row() -> None:
    k = Kernel()
    start = table(k)
    rows = k.b.shl(k.b.slice(k.b.shuffle(k.lane(), range(15, -1, -1)), 0, 4), k.b.const(UD, 3, 4))
    addresses = k.add(k.b.splat(start, 4), rows)
    assert gathered(k, addresses, offset=-8, vstride=0, row=4, hstride=4) == [
        10 * ((15 - n // 4) * 2 + n % 4 - 2) for n in range(16)
    ]


def test_one_address_per_lane_with_garbage_in_lanes_that_are_off() -> None:
    k = Kernel()
    start = table(k)
    k.root("A", 64, RootKind.ADDR)
    k.put("A", k.number(UD, 0xFFFF_FFF0), k.true())
    reverse = k.b.sub(k.number(UD, 9), k.local_id(), RNE)
    k.put("A", k.add(k.b.splat(start, 16), k.b.shl(reverse, k.number(UD, 2))))
    x = k.b.read_indirect(k.get("A"), UD, 16, k.mask(), offset=0, vstride=0, row=1, hstride=0)
    k.result(0, k.lane(), x)
    k.end()
    host, _ = launch(k, [np.full(16, 5, np.uint32)], local=10)
    assert host.read(0).tolist() == [90 - 10 * n for n in range(10)] + [5] * 6


def test_write_through_an_address() -> None:
    k = Kernel()
    start = table(k)
    mask = k.b.cmp("ge", k.local_id(), k.number(UD, 4))
    words = k.b.convert(k.local_id(), W, rounding=RNE)
    k.b.write_indirect(start, words, mask, offset=2, hstride=4)
    k.result(0, k.lane(), k.get("T"))
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint32)])
    assert host.read(0).tolist() == [10 * n | (n << 16 if n >= 4 else 0) for n in range(16)]


OUTSIDE = pytest.mark.parametrize("distance", [-4, 65, 128, 0x10000, -(1 << 31), 1 << 31])


@OUTSIDE
def test_a_write_outside_every_variable_is_a_fault(distance: int) -> None:
    k = Kernel()
    start = table(k)
    k.inst(3)
    k.b.write_indirect(start, k.lane(), k.mask(), offset=distance, hstride=4)
    k.end()
    with pytest.raises(Fault, match="outside every variable") as caught:
        launch(k, groups=2)
    assert caught.value.span is not None and caught.value.span.line == 4
    assert caught.value.group == (0, 0, 0)
    assert caught.value.lanes[-1] == (15 if distance != -4 else 0)


@OUTSIDE
def test_a_read_outside_every_variable_is_zero(distance: int) -> None:
    """Each element by itself, and one that is half inside is outside."""
    k = Kernel()
    start = table(k)
    one = k.b.read_indirect(start, UD, 16, k.mask(), offset=distance, vstride=0, row=16, hstride=4)
    k.result(0, k.lane(), one)
    each = k.b.add(k.b.splat(start, 16), k.mul(k.lane(), k.number(UD, 4)), RNE)
    many = k.b.read_indirect(each, UD, 16, offset=distance, vstride=0, row=1, hstride=0)
    k.result(1, k.lane(), many)
    k.end()
    host = on_both(k, [np.full(16, 7, np.uint32) for _ in range(2)])
    data = (10 * np.arange(32, dtype="<u4")).tobytes()
    places = [distance + 4 * n for n in range(16)]
    want = [little(data[p : p + 4]) if 0 <= p <= len(data) - 4 else 0 for p in places]
    assert host.read(0).tolist() == host.read(1).tolist() == want


def _variables(uses: str) -> tuple[Kernel, Any, int]:
    """A kernel of T and U, an address, and the distance from there to U.

    The kernel takes U's address, or another thread of a pair looks at U, or neither.
    """
    k = Kernel()
    start = table(k)
    other = k.root("U", 64)
    k.put("U", k.add(k.lane(), k.number(UD, 7)), k.true())
    if uses == "address":
        k.b.root_address(other, 0)
    elif uses == "partner":
        k.b.partner(other, Region.packed(0, 4), UD, 16)
    return k, start, other.address - k.function.roots["T"].address


USES = pytest.mark.parametrize("uses", ["address", "partner", "nothing"])


@USES
def test_a_read_reaches_variables_whose_address_is_taken(uses: str) -> None:
    k, start, distance = _variables(uses)
    x = k.b.read_indirect(start, UD, 16, offset=distance, vstride=0, row=16, hstride=4)
    k.result(0, k.lane(), x)
    k.end()
    host = on_both(k, [np.full(32, 5, np.uint32)], local=32)
    want = list(range(7, 23)) if uses == "address" else [0] * 16
    assert host.read(0).tolist()[:16] == want


@USES
def test_a_write_reaches_variables_whose_address_is_taken(uses: str) -> None:
    k, start, distance = _variables(uses)
    k.b.write_indirect(start, k.lane(), k.mask(), offset=distance, hstride=4)
    k.result(0, k.lane(), k.get("U"))
    k.end()
    if uses == "address":
        host = on_both(k, [np.full(32, 5, np.uint32)], local=32)
        assert host.read(0).tolist()[:16] == list(range(16))
        return
    with pytest.raises(Fault, match="outside every variable whose address") as caught:
        on_both(k, [np.full(32, 5, np.uint32)], local=32)
    assert caught.value.lanes == tuple(range(16))


def test_where_no_address_is_taken_there_is_nothing_to_reach() -> None:
    k = Kernel()
    place = k.number(UD, k.root("T", 64).address)
    x = k.b.read_indirect(place, UD, 16, offset=0, vstride=0, row=1, hstride=0)
    k.result(0, k.lane(), x)
    k.end()
    assert on_both(k, [np.full(16, 5, np.uint32)]).read(0).tolist() == [0] * 16
    k = Kernel()
    place = k.b.const(UD, k.root("T", 64).address)
    k.b.write_indirect(place, k.lane(), k.mask(), offset=0, hstride=4)
    k.end()
    with pytest.raises(Fault, match="outside every variable whose address"):
        on_both(k)


def test_the_largest_type_in_the_last_bytes_of_a_root() -> None:
    k = Kernel()
    root = k.root("ODD", 13)
    k.b.write_root(root, Region.scalar(5), k.lanes(UQ, 0x0102030405060708), k.true(1))
    k.result(0, k.lane(), k.b.splat(k.b.read(root, Region.scalar(5), UQ, 1), 16))
    k.end()
    host, _ = launch(k, [np.zeros(16, np.uint64)])
    assert host.read(0)[0] == 0x0102030405060708
