"""Where an access goes: flat, shared local, scratch, surfaces by index, and their bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from eumu.addresses import SCRATCH_STATE, SURFACE_STATE_BASE
from eumu.errors import BuildError, Fault, Unsupported
from eumu.exec.grid import BufferSurface
from isa.memory.machine import BASE, Bytes, Thread, noise

pytestmark = pytest.mark.usefixtures("engine")

MEMORY = noise(1, 0x1000)


def dwords(*values: int, count: int = 32) -> Bytes:
    full = np.zeros(count, "<u4")
    full[: len(values)] = values
    return full.view(np.uint8)


def steps(first: int = 0, step: int = 4) -> Bytes:
    return dwords(*range(first, first + 32 * step, step))


def thread(device: str = "pvc", **surfaces: BufferSurface) -> Thread:
    bound = {int(k[1:]): s for k, s in surfaces.items()}
    return Thread(device, MEMORY.copy(), surfaces=bound)


# (store, load, store the offset A and load from B): what one writes the other finds.
LOCAL = {
    "lsc": ("lsc_store.slm (M1, 32) flat[A]:a32 X:d32", "lsc_load.slm (M1, 32) D:d32 flat[A]:a32"),
    "words": (
        "lsc_store.slm (M1, 32) flat[W]:a16 X:d32",
        "lsc_load.slm (M1, 32) D:d32 flat[A]:a32",
    ),
    "pointer bit": (
        "lsc_store.slm (M1, 32) flat[A+0x10000000]:a32 X:d32",
        "gather4_scaled.R (M1, 32) %slm 0x0:ud A.0 D.0",
    ),
    "pointer bit in the scalar": (
        "scatter4_scaled.R (M1, 32) %slm 0x10000000:ud A.0 X.0",
        "lsc_load.slm (M1, 32) D:d32 flat[A]:a32",
    ),
    "block": (
        "lsc_store.slm (M1_NM, 1) flat[A]:a32 X:d32x32t",
        "oword_ld (8) %slm 0x0:ud D.0",
    ),
    "scratch": (
        "scatter4_scaled.R (M1, 32) %scratch 0x10:ud A.0 X.0",
        "gather_scaled.4 (M1, 32) %scratch 0x10:ud A.0 D.0",
    ),
    "scratch by its state": (
        "lsc_store.ugm.wb.wb (M1, 32) ss(S)[A]:a32 X:d32",
        "lsc_load.ugm (M1, 32) D:d32 ss(S)[A]:a32",
    ),
    "scratch both ways": (
        "scatter4_scaled.R (M1, 32) %scratch 0x0:ud A.0 X.0",
        "lsc_load.ugm (M1, 32) D:d32 bss(S)[A]:a32",
    ),
}


@pytest.mark.parametrize("name", LOCAL)
def test_what_is_stored_is_found(name: str) -> None:
    store, load = LOCAL[name]
    t = thread()
    words = np.zeros(64, "<u2")
    words[:32] = np.arange(32) * 4
    t.registers = {
        "A": steps(),
        "W": words.view(np.uint8),
        "S": dwords(SCRATCH_STATE - SURFACE_STATE_BASE),
        "X": noise(2, 128),
        "D": noise(3, 128),
    }
    memory, after = t.run(store, load)
    assert np.array_equal(after["D"], t.registers["X"])
    assert np.array_equal(memory, MEMORY)


SURFACES = {
    "movs": ("movs (M1_NM, 1) T6(0) 0x9:ud", "gather4_scaled.R (M1, 32) T6 0x0:ud A.0 D.0"),
    "movs of a register": (
        "movs (M1_NM, 1) T6(0) N(0,1)<0;1,0>",
        "gather_scaled.4 (M1, 32) T6 0x0:ud A.0 D.0",
    ),
    "bti": ("", "lsc_load.ugm (M1, 32) D:d32 bti(0x9)[A]:a32"),
    "bti in a register": ("", "lsc_load.ugm (M1, 32) D:d32 bti(N(0,1))[A]:a32"),
    "ss": ("", "lsc_load.ugm (M1, 32) D:d32 ss(N(0,2))[A]:a32"),
    "bss": ("", "lsc_load.ugm.uc.uc (M1, 32) D:d32 bss(N(0,2))[A]:a32"),
    "block": ("", "lsc_load.ugm (M1_NM, 1) D:d32x32t bti(0x9)[A]:a32"),
}


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_by_index(name: str) -> None:
    t = thread(s9=BufferSurface(BASE + 0x100, 0x80), s131136=BufferSurface(BASE + 0x200, 0x80))
    t.registers = {"A": steps(), "N": dwords(7, 9, 65600), "D": noise(3, 128)}
    _, after = t.run(*[text for text in SURFACES[name] if text])
    start = 0x200 if "ss(" in SURFACES[name][1] else 0x100
    assert np.array_equal(after["D"], MEMORY[start : start + 0x80])


@pytest.mark.parametrize("strict", (False, True))
def test_bounds_of_a_surface(strict: bool) -> None:
    t = thread(s9=BufferSurface(BASE, 0x40, strict))
    t.registers = {"A": steps(), "X": noise(2, 128), "D": noise(3, 128)}
    program = (
        "lsc_store.ugm (M1, 32) bti(0x9)[A]:a32 X:d32",
        "lsc_load.ugm (M1, 32) D:d32 bti(0x9)[A]:a32",
    )
    if strict:
        with pytest.raises(Fault, match="outside the 64 bytes of surface 9"):
            t.run(*program)
        return
    memory, after = t.run(*program)
    assert np.array_equal(memory, np.r_[t.registers["X"][:0x40], MEMORY[0x40:]])
    assert np.array_equal(after["D"], np.r_[t.registers["X"][:0x40], np.zeros(0x40, np.uint8)])


@pytest.mark.parametrize(("form", "size"), [("d32x8t", 4), ("d64x8t", 8)])
def test_a_block_of_eight_may_be_of_five(form: str, size: int) -> None:
    """Release 26.27 joins `a[3] + a[7]` to a block of eight: `a` may end behind the fifth."""
    load = f"lsc_load.ugm (M1_NM, 1) D:{form} bti(0x9)[A]:a32"
    for inside in (5, 6, 7):
        t = thread(s9=BufferSurface(BASE + 0x100, 0x40 + inside * size))
        t.registers = {"A": dwords(0x40), "D": noise(3, 128)}
        _, after = t.run(load)
        wanted = np.zeros(8 * size, np.uint8)
        wanted[: inside * size] = MEMORY[0x140 : 0x140 + inside * size]
        assert np.array_equal(after["D"][: 8 * size], wanted)


@pytest.mark.parametrize(
    ("form", "size", "at"),
    [
        ("d32x8t", 16, 0),
        ("d32x8t", 19, 0),
        ("d64x8t", 32, 0),
        ("d32x16t", 32, 0),
        ("d32x4t", 12, 0),
        ("d32x8t", 64, 64),
        ("d32x8t", 64, -4),
    ],
)
def test_other_blocks_are_inside_a_surface(form: str, size: int, at: int) -> None:
    t = thread(s9=BufferSurface(BASE + 0x100, size))
    t.registers = {"A": dwords(at & 0xFFFF_FFFF), "D": noise(3, 128)}
    with pytest.raises(Fault, match=f"outside the {size} bytes of surface 9"):
        t.run(f"lsc_load.ugm (M1_NM, 1) D:{form} bti(0x9)[A]:a32")


# (element of D that is used last, whether the surface may end behind the tenth of 16 elements).
LAST_USED = [(9, True), (3, True), (10, False), (15, False)]


@pytest.mark.parametrize("moves", [0, 1, 2])
@pytest.mark.parametrize(("last", "is_enough"), LAST_USED)
def test_elements_of_a_block_that_nobody_uses(last: int, is_enough: bool, moves: int) -> None:
    """What is joined is moved to other variables as a whole (Rodinia's myocyte, release 26.27)."""
    t = thread("dg2", s9=BufferSurface(BASE + 0x100, 40))
    registers = ["D", "E", "F"]
    t.registers = {"A": dwords(0), **{r: noise(3, 64) for r in registers}, "X": noise(4, 128)}
    program = ["lsc_load.ugm (M1_NM, 1) D:d32x16t bti(0x9)[A]:a32"]
    for source, to in pairwise(registers[: moves + 1]):
        for half in ("0,0", "1,0"):
            program.append(f"mov (M1_NM, 8) {to}({half})<1> {source}({half})<1;1,0>")
    program.append(
        f"mul (M1_NM, 1) X(0,0)<1> {registers[moves]}({last // 8},{last % 8})<0;1,0> 3:d"
    )
    if is_enough:
        _, after = t.run(*program)
        expected = MEMORY[0x100 + 4 * last :][:4].view("<u4") * np.uint32(3)
        assert after["X"].view("<u4")[0] == expected[0]
        assert not after["D"][40:].any()
        return
    with pytest.raises(Fault, match="block load of 64 bytes at 0x0 is outside the 40 bytes"):
        t.run(*program)


def test_eight_elements_that_are_used_are_inside() -> None:
    """What a program reads itself, as by `intel_sub_group_block_read` in eight lanes."""
    t = thread("dg2", s9=BufferSurface(BASE + 0x100, 28))
    t.registers = {"A": dwords(0), "D": noise(3, 64), "X": noise(4, 128)}
    program = ["lsc_load.ugm (M1_NM, 1) D:d32x8t bti(0x9)[A]:a32"]
    program += ["add (M1_NM, 8) X(0,0)<1> D(0,0)<1;1,0> 1:d"]
    with pytest.raises(Fault, match="block load of 32 bytes at 0x0 is outside the 28 bytes"):
        t.run(*program)


def test_a_block_that_is_read_with_an_index_is_wanted_whole() -> None:
    t = thread("dg2", s9=BufferSurface(BASE + 0x100, 40))
    t.registers = {
        "A": dwords(0),
        "D": noise(3, 64),
        "X": noise(4, 128),
        "O:uw": dwords(4, count=1),
    }
    program = ["lsc_load.ugm (M1_NM, 1) D:d32x16t bti(0x9)[A]:a32"]
    program += ["addr_add (M1_NM, 1) A0(0)<1> &D O(0,0)<0;1,0>"]
    program += ["mov (M1_NM, 1) X(0,0)<1> r[A0(0),0]<0;1,0>:ud"]
    with pytest.raises(Fault, match="outside the 40 bytes of surface 9"):
        t.run(*program)


def test_offsets_beyond_32_bits_are_outside_a_surface() -> None:
    t = thread(s9=BufferSurface(BASE, 0x80, strict=False))
    offsets = np.arange(32, dtype="<u8") * 4 + (np.arange(32) % 2 << 32).astype("<u8")
    t.registers = {"A": offsets.view(np.uint8), "D": noise(3, 128)}
    _, after = t.run("lsc_load.ugm (M1, 32) D:d32 bti(0x9)[A]:a64")
    inside = np.arange(32) % 2 == 0
    wanted = np.where(inside, MEMORY[:0x80].view("<u4"), 0)
    assert np.array_equal(after["D"].view("<u4"), wanted)


def test_32_bit_flat_addresses_are_zero_extended() -> None:
    t = thread()
    t.registers = {"A": steps(0x8000_0000), "D": noise(3, 128)}
    with pytest.raises(Fault) as caught:
        t.run("lsc_load.ugm (M1, 32) D:d32 flat[A-4]:a32")
    assert caught.value.address == 0x7FFF_FFFC


def test_scale_applies_to_the_address_alone() -> None:
    t = thread(s0=BufferSurface(BASE, 0x1000))
    t.registers = {"A": steps(0, 1), "D": noise(3, 128)}
    _, after = t.run("lsc_load.ugm (M1, 32) D:d32 bti(0x0)[4*A+0x23]:a32")
    assert np.array_equal(after["D"], MEMORY[0x23 : 0x23 + 128])


def test_a_load_over_its_own_addresses() -> None:
    t = thread(s0=BufferSurface(BASE, 0x1000))
    t.registers = {"A": np.r_[steps(0, 32), noise(4, 384)]}
    _, after = t.run("lsc_load_quad.ugm (M1, 32) A:d32.xzw bti(0x0)[A]:a32")
    table = MEMORY[: 32 * 32].reshape(32, 32)
    wanted = [table[:, 4 * c : 4 * c + 4].reshape(-1) for c in (0, 2, 3)]
    assert np.array_equal(after["A"][:384], np.concatenate(wanted))


def test_a_prefetch_reads_nothing() -> None:
    t = thread()
    t.registers = {"A": dwords(count=64)}
    memory, _ = t.run("lsc_load.ugm (M1, 32) %null:d32 flat[A]:a64")
    assert np.array_equal(memory, MEMORY)


def test_status_has_a_bit_per_active_lane() -> None:
    t = thread()
    t.lanes, t.predicate = 20, 0xFFFF_0FF1
    t.registers = {"A": dwords(count=64), "D": noise(3, 8)}
    _, after = t.run("(P1) lsc_load_status.ugm (M1, 32) D:d32 flat[A]:a64")
    assert after["D"].view("<u4").tolist() == [0x000F_0FF1, t.registers["D"].view("<u4")[1]]


UNSUPPORTED = {
    "lsc_load.slm (M1, 32) D:d32 arg[A]:a32": "shared local memory at arg a32",
    "lsc_load.slm (M1, 32) D:d32 flat[A]:a64": "shared local memory at flat a64",
    "lsc_load.ugm (M1, 8) D:d32x4t flat[A]:a64": "transposed data of more than one lane",
    "lsc_store.ugm (M1, 8) flat[A]:a64 %null:d32": "a store without data",
    "lsc_atomic_iadd.ugm (M1, 8) D:d8 flat[A]:a64 A %null": "d8; d16c32, d32, d64 are defined",
    "lsc_atomic_icas.ugm (M1, 8) D:d32 flat[A]:a64 A %null": "without the source that it needs",
    "gather4_scaled.R (M1, 8) T1 0x0:ud A.0 D.0": "predefined surface T1",
}


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_what_is_not_defined_is_refused(text: str) -> None:
    t = thread()
    t.registers = {"A": dwords(count=64), "D": dwords()}
    with pytest.raises(Unsupported, match=UNSUPPORTED[text]):
        t.run(text)


WRONG = {
    "lsc_load.ugm.wb.wb (M1, 8) D:d32 flat[A]:a64": "caching 'wb.wb' is not known to a load",
    "lsc_store.ugm.uc (M1, 8) flat[A]:a64 D:d32": "caching 'uc.df' is not known to a store",
    "lsc_load.ugm (M1, 8) D:d8x4 flat[A]:a64": "only d32 and d64 have vectors",
    "lsc_load.ugm (M1, 8) D:d32x5 flat[A]:a64": "x1, x2, x3, x4, x8, x16, x32, x64",
    "lsc_load.ugm (M1, 8) D:d32 flat[3*A]:a64": "scale 3 is not a power of two",
    "lsc_load.ugm (M1, 8) D:d32 flat[A]": "the size of an address",
    "lsc_load.ugm (M1, 8) D flat[A]:a64": "the shape of the data",
    "lsc_load_quad.ugm (M1, 8) D:d32.zx flat[A]:a64": "channels in the order xyzw",
    "lsc_load.urb (M1, 8) D:d32 flat[A]:a64": "shared function 'urb' is not one of ugm, ugml, slm",
    "gather4_scaled.GR (M1, 8) T6 0x0:ud A.0 D.0": "channels in the order RGBA",
    "gather_scaled.3 (M1, 8) T6 0x0:ud A.0 D.0": "the number of bytes is not one of 1, 2, 4",
    "svm_gather.4.3 (M1, 8) A.0 D.0": "the number of blocks is not one of 1, 2, 4, 8",
    "oword_ld (3) T6 0x0:ud D.0": "a block of 3 owords is not one of",
    "dword_atomic.nand (M1, 8) T6 A.0 A.0 %null.0 D.0": "atomic operation 'nand' is not one of",
    "dword_atomic.add.64 (M1, 8) T6 A.0 A.0 %null.0 D.0": "no atomic operation of 64 bits",
    "gather4_scaled.R (M1, 8) D 0x0:ud A.0 D.0": "expected a surface variable",
    "gather4_scaled.R (M1, 8) T6 0x0:ud A D.0": "byte offset, as in V32.0",
    "lsc_fence.ugm.none": r"expected '\.'",
    "lsc_fence.ugm.flush.gpu": "flush 'flush' is not one of none, evict",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_explained(text: str) -> None:
    t = thread()
    t.registers = {"A": dwords(count=64), "D": dwords()}
    with pytest.raises(BuildError, match=WRONG[text]):
        t.run(text)
