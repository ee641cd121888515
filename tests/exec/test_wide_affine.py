"""Lanes that are far apart are no affine form; what has wrapped is not where its offset says."""

from __future__ import annotations

import numpy as np
import pytest

from eumu.errors import Fault, InternalError
from eumu.exec.grid import BufferSurface
from eumu.exec.jit.llvm.constants import refuse_wide
from eumu.exec.jit.llvm.lanes import shape_of_constants
from eumu.ir import Space
from eumu.types import UD, UQ
from exec.launching import RNE, Host, Kernel, on_both

TOP = 1 << 63


@pytest.mark.parametrize("beside", [-4, 64, 4096])
def test_lanes_that_are_all_numbers_apart_do_not_pass_one_check(beside: int) -> None:
    """From the first byte to the last they are 2**64: a count that has wrapped would let them pass.

    The first group shows the place the array; what the others store lies beside it.
    """
    k = Kernel()
    inside = [TOP + 4 * n for n in range(8)]
    outside = [TOP + 256 + beside + 4 * n for n in range(4)]
    few = [0, 4, TOP - 8, TOP - 4]
    offsets = [x & (1 << 64) - 1 for x in (*few, *inside, *outside)]
    far = k.add(k.lanes(UQ, *offsets), k.number(UQ, TOP))
    first = k.lanes(UD, *[9] * 4, *[0] * 8, *[1] * 4)
    mask = k.b.and_(k.mask(), k.b.cmp("le", first, k.group_id()))
    k.b.store(Space.FLAT, k.add(far, k.argument(0)), mask, [k.number(UD, 7)])
    k.end()
    with pytest.raises(Fault, match="outside every allocation"):
        on_both(k, [np.zeros(64, np.uint32)], groups=4)


def test_a_store_to_lanes_far_away_is_a_fault() -> None:
    k = Kernel()
    far = [(n << 60) + 4 * n for n in range(16)]
    place = k.add(k.lanes(UQ, *far), k.argument(0))
    k.b.store(Space.FLAT, place, k.mask(), [k.lane()])
    k.end()
    with pytest.raises(Fault, match="outside every allocation"):
        on_both(k, [np.zeros(64, np.uint32)])


@pytest.mark.parametrize("factor", [0xFFFF_FFFE, 0xFFFF_FFFF])
def test_lanes_in_the_upper_half_are_made_wider(factor: int) -> None:
    """0 and 2**32 - 2 are that far apart as quadwords, and 2 as dwords: no sure affine form."""
    k = Kernel()
    bits = k.lanes(UD, *(n & 1 for n in range(16)))
    wide = k.b.convert(k.mul(bits, k.number(UD, factor)), UQ, rounding=RNE)
    k.result(0, k.lane(), wide)
    k.end()
    host = on_both(k, [np.zeros(16, np.uint64)])
    assert host.read(0).tolist() == [0, factor] * 8


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_no_shape_is_as_wide_as_half_of_its_type(bits: int) -> None:
    half = 1 << (bits - 1)
    assert shape_of_constants((0, half - 1), bits) is not None
    assert shape_of_constants((0, half), bits) is None
    assert shape_of_constants((half - 1, 0, half), bits) is None


def test_a_mask_of_all_ones_clears_nothing() -> None:
    """Whether it does was asked by a shift of 32 bits, after which the rest was no code."""
    k = Kernel()
    place = k.add(k.mul(k.lane(), k.number(UD, 4)), k.group_id())
    place = k.b.and_(place, k.number(UD, 0xFFFF_FFFF))
    k.b.load(Space.SURFACE, place, k.mask(), UD, 1, k.b.const(UD, 0))
    k.result(0, k.lane(), k.number(UD, 5))
    k.end()
    arrays = [np.zeros(16, np.uint32)]
    surface = BufferSurface(Host(arrays).addresses[0], 64)
    assert on_both(k, arrays, surfaces={0: surface}).read(0).tolist() == [5] * 16


@pytest.mark.parametrize("text", ["%x = lshr i32 %y, 32", "%x = shl <4 x i8> %y, splat (i8 8)"])
def test_a_shift_by_all_bits_is_an_internal_error(text: str) -> None:
    with pytest.raises(InternalError, match="a shift by"):
        refuse_wide(text)
    refuse_wide(
        text.replace("32,", "64,").replace("i32", "i64").replace("splat (i8 8", "splat (i8 7")
    )


WIDE = [
    "%x = add i64 %y, 18446744073709551616",
    "%x = icmp ult i32 %y, 4294967296",
    "store i8 -129, ptr %p",
    "%x = add <2 x i16> %y, <i16 1, i16 65536>",
    "%x = phi i8 [ 256, %a ], [ 0, %b ]",
    "%x = mul nuw i64 %y, -9223372036854775809",
]


@pytest.mark.parametrize("text", WIDE)
def test_a_constant_that_does_not_fit_is_an_internal_error(text: str) -> None:
    with pytest.raises(InternalError, match="a constant of"):
        refuse_wide(text)


def test_no_module_with_such_a_constant_becomes_code() -> None:
    """LLVM reads it as 0."""
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    from eumu.exec.jit.host.compiler import compile_text
    from eumu.exec.jit.host.target import host

    text = "define i64 @f(i64 %y) {{\n  %x = add i64 %y, {}\n  ret i64 %x\n}}\n"
    assert compile_text(text.format((1 << 64) - 1), host())
    with pytest.raises(InternalError, match="a constant of"):
        compile_text(text.format(1 << 64), host())


@pytest.mark.parametrize("count", [16, 32, 64])
def test_a_block_beyond_a_lenient_surface_leaves_everything_as_it_was(count: int) -> None:
    """Its bytes are more than the place has where such stores go."""
    k = Kernel()
    data = k.b.const(UQ, tuple(range(count)), count)
    one, surface = k.b.shuffle(k.mask(), (0,)), k.b.const(UD, 0)
    k.b.store_block(Space.SURFACE, k.b.const(UD, 1 << 20), one, data, surface)
    found = k.b.load_block(Space.SURFACE, k.b.const(UD, 1 << 20), one, UQ, count, surface)
    k.result(1, k.lane(), k.b.shuffle(found, tuple(range(16))))
    k.end()
    arrays = [np.zeros(8, np.uint64), np.full(16, 7, np.uint64)]
    address = Host(arrays).addresses[0]
    host = on_both(k, arrays, surfaces={0: BufferSurface(address, 64, strict=False)})
    assert not host.read(0).any()
    assert not host.read(1).any()


@pytest.mark.parametrize("start", [48, 52, 60, 61, 63, 64, 0xFFFF_FFFC])
def test_elements_of_a_lane_end_with_the_surface_one_by_one(start: int) -> None:
    k = Kernel()
    surface, mask = k.b.const(UD, 0), k.mask()
    place = k.add(k.number(UD, start), k.mul(k.lane(), k.number(UD, 0)))
    k.b.store(Space.SURFACE, place, mask, [k.number(UD, n + 1) for n in range(4)], surface)
    for n, x in enumerate(k.b.load(Space.SURFACE, place, mask, UD, 4, surface)):
        k.result(1, k.add(k.lane(), k.number(UD, 16 * n)), x)
    k.end()
    arrays = [np.zeros(64, np.uint8), np.zeros(64, np.uint32)]
    address = Host(arrays).addresses[0]
    host = on_both(k, arrays, surfaces={0: BufferSurface(address, 64, strict=False)})
    held = min(4, max(0, 64 - start) // 4)
    assert host.read(1).reshape(4, 16)[:, 0].tolist() == [*range(1, held + 1), *[0] * (4 - held)]
