"""Surface and SVM messages: layouts, masks, offsets and scales against NumPy, byte by byte."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.exec.grid import BufferSurface
from eumu.platforms import platform
from isa.memory.machine import BASE, Bytes, Thread, noise, slow

MEMORY = 0x4000
SURFACE = BufferSurface(BASE, MEMORY)
PLATFORMS = ("skl", slow("pvc"))
EXECS = ("M5, 16", *(slow(e) for e in ("M1, 1", "M1, 8", "M3, 8", "M1, 32")))
CHANNELS = ["".join(c) for n in range(1, 5) for c in combinations("RGBA", n)]


def thread_for(device: str, memory: Bytes) -> Thread:
    return Thread(device, memory, lanes=25, predicate=0xA7E5_3F1D, surfaces={3: SURFACE})


def width(exec: str) -> int:
    return int(exec.split(", ")[1])


def dwords(values: NDArray[np.int64]) -> Bytes:
    """A register of 32 dwords."""
    full = np.zeros(32, "<u4")
    full[: values.size] = values
    return full.view(np.uint8)


def quadwords(values: NDArray[np.int64]) -> Bytes:
    """A register of 32 quadwords."""
    full = np.zeros(32, "<u8")
    full[: values.size] = values
    return full.view(np.uint8)


def places(seed: int, lanes: int, step: int, size: int = 0) -> NDArray[np.int64]:
    """Distinct multiples of `step` with `size` bytes each within the memory."""
    return np.random.default_rng(seed).permutation((MEMORY - 0x100) // max(step, size))[
        :lanes
    ] * max(step, size)


def moved(
    thread: Thread,
    exec: str,
    start: NDArray[np.int64],
    memory: Bytes,
    register: Bytes,
    pieces: list[tuple[int, int, int, int]],
    slot: int,
) -> tuple[Bytes, Bytes]:
    """Registers after a load and memory after a store that move `pieces` of each lane.

    A piece is (byte at the lane's address, byte of lane 0 in the register, size, zeros after it).
    """
    loaded, stored = register.copy(), memory.copy()
    for lane, piece in product(np.flatnonzero(thread.predicated(exec)), pieces):
        at, place, size, zeros = piece
        place, at = place + lane * slot, at + start[lane]
        stored[at : at + size] = register[place : place + size]
        loaded[place : place + size + zeros] = 0
        loaded[place : place + size] = memory[at : at + size]
    return loaded, stored


def check(
    thread: Thread, load: str, store: str, expected: tuple[Bytes, Bytes], *before: str
) -> None:
    """Run a load and, from the same state, a store."""
    memory, after = thread.run(*before, load)
    assert np.array_equal(after["D"], expected[0]), load
    assert np.array_equal(memory, thread.memory), load
    memory, after = thread.run(*before, store)
    assert np.array_equal(memory, expected[1]), store
    assert np.array_equal(after["D"], thread.registers["D"]), store


MOVS = "movs (M1_NM, 1) T6(0) 0x3:ud"


@pytest.mark.parametrize("exec", EXECS)
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("device", PLATFORMS)
def test_gather4_scaled(device: str, channels: str, exec: str) -> None:
    lanes = width(exec)
    pitch = max(platform(device).grf_bytes, 4 * lanes)
    thread = thread_for(device, noise(1, MEMORY))
    start = places(2, lanes, 16)
    thread.registers = {
        "A": dwords(start - 0x20),
        "O": dwords(np.array([7, 0x20])),
        "D": noise(3, 4 * pitch),
    }
    pieces = [("RGBA".index(c) * 4, m * pitch, 4, 0) for m, c in enumerate(channels)]
    expected = moved(thread, exec, start, thread.memory, thread.registers["D"], pieces, 4)
    check(
        thread,
        f"(P1) gather4_scaled.{channels} ({exec}) T6 0x20:ud A.0 D.0",
        f"(P1) scatter4_scaled.{channels} ({exec}) T6 O(0,1)<0;1,0> A.0 D.0",
        expected,
        MOVS,
    )


@pytest.mark.parametrize("exec", EXECS)
@pytest.mark.parametrize("size", (1, 2, 4))
@pytest.mark.parametrize("device", PLATFORMS)
def test_gather_scaled(device: str, size: int, exec: str) -> None:
    lanes = width(exec)
    thread = thread_for(device, noise(4, MEMORY))
    start = places(5, lanes, size)
    thread.registers = {"A": dwords(start - 0x40), "D": noise(6, 128)}
    expected = moved(
        thread, exec, start, thread.memory, thread.registers["D"], [(0, 0, size, 4 - size)], 4
    )
    check(
        thread,
        f"(P1) gather_scaled.{size} ({exec}) T6 0x40:ud A.0 D.0",
        f"(P1) scatter_scaled.{size} ({exec}) T6 0x40:ud A.0 D.0",
        expected,
        MOVS,
    )


@pytest.mark.parametrize("exec", ("M1, 1", "M1, 8", "M5, 16"))
@pytest.mark.parametrize("size", (1, 2, 4))
def test_gather_counts_elements(size: int, exec: str) -> None:
    lanes = width(exec)
    thread = thread_for("skl", noise(7, MEMORY))
    thread.predicate = 0xFFFF_FFFF
    start = places(8, lanes, size)
    thread.registers = {"A": dwords(start // size - 3), "D": noise(9, 128)}
    expected = moved(
        thread, exec, start, thread.memory, thread.registers["D"], [(0, 0, size, 4 - size)], 4
    )
    check(
        thread,
        f"gather.{size} ({exec}) T6 0x3:ud A.0 D.0",
        f"scatter.{size} ({exec}) T6 0x3:ud A.0 D.0",
        expected,
        MOVS,
    )


@pytest.mark.parametrize("exec", ("M1, 8", "M5, 16"))
@pytest.mark.parametrize("device", ("dg2", "pvc"))
def test_qw_gather(device: str, exec: str) -> None:
    lanes = width(exec)
    thread = thread_for(device, noise(10, MEMORY))
    start = places(11, lanes, 8)
    thread.registers = {"A": dwords(start), "D": noise(12, 256)}
    expected = moved(thread, exec, start, thread.memory, thread.registers["D"], [(0, 0, 8, 0)], 8)
    check(
        thread,
        f"(P1) qw_gather.1 ({exec}) T6 A.0 D.0",
        f"(P1) qw_scatter.1 ({exec}) T6 A.0 D.0",
        expected,
        MOVS,
    )


@pytest.mark.parametrize("exec", EXECS)
@pytest.mark.parametrize(("size", "count"), [*product((1, 4, 8), (1, 2, 4, 8))])
@pytest.mark.parametrize("device", PLATFORMS)
def test_svm_gather(device: str, size: int, count: int, exec: str) -> None:
    lanes = width(exec)
    thread = thread_for(device, noise(13, MEMORY))
    start = places(14, lanes, size, size * count)
    slot = size if size > 1 else max(4, count)
    grf = platform(device).grf_bytes
    pitch = max(grf, max(lanes, grf // 4) * size)  # of no fewer lanes than the hardware has
    pieces = [(k * size, k * pitch if size > 1 else k, size, 0) for k in range(count)]
    extent = count * pitch if size > 1 else 32 * slot
    thread.registers = {"A": quadwords(start + BASE), "D": noise(15, extent)}
    expected = moved(thread, exec, start, thread.memory, thread.registers["D"], pieces, slot)
    check(
        thread,
        f"(P1) svm_gather.{size}.{count} ({exec}) A.0 D.0",
        f"(P1) svm_scatter.{size}.{count} ({exec}) A.0 D.0",
        expected,
    )


@pytest.mark.parametrize("channels", ("R", "RGB", "GA", "RGBA"))
@pytest.mark.parametrize("device", PLATFORMS)
def test_svm_gather4scaled(device: str, channels: str) -> None:
    thread = thread_for(device, noise(16, MEMORY))
    start = places(17, 16, 16)
    thread.registers = {
        "A": quadwords(start - 8),
        "O:uq": quadwords(np.array([0, BASE + 8])),
        "D": noise(18, 256),
    }
    pieces = [("RGBA".index(c) * 4, m * 64, 4, 0) for m, c in enumerate(channels)]
    expected = moved(thread, "M5, 16", start, thread.memory, thread.registers["D"], pieces, 4)
    check(
        thread,
        f"(P1) svm_gather4scaled.{channels} (M5, 16) O(0,1)<0;1,0> A.0 D.0",
        f"(P1) svm_scatter4scaled.{channels} (M5, 16) O(0,1)<0;1,0> A.0 D.0",
        expected,
    )


@pytest.mark.parametrize("owords", (1, 2, 4, 8, 16))
@pytest.mark.parametrize("device", PLATFORMS)
def test_svm_blocks_ignore_the_mask(device: str, owords: int) -> None:
    size = 16 * owords
    thread = thread_for(device, noise(21, MEMORY))
    thread.lanes = 1
    thread.registers = {
        "A:uq": quadwords(np.array([0, BASE + 0x50, BASE + 0x90])),
        "D": noise(22, 512),
    }
    data = thread.registers["D"]
    memory, after = thread.run(
        f"svm_block_ld ({owords}) A(0,1)<0;1,0> D.32",
        f"svm_block_st ({owords}) A(0,2)<0;1,0> D.256",
    )
    wanted = np.r_[data[:32], thread.memory[0x50 : 0x50 + size], data[32 + size :]]
    assert np.array_equal(after["D"], wanted)
    wanted = thread.memory.copy()
    wanted[0x90 : 0x90 + size] = after["D"][256 : 256 + size]
    assert np.array_equal(memory, wanted)


@pytest.mark.parametrize("owords", (1, 2, 4, 8, 16))
@pytest.mark.parametrize("device", PLATFORMS)
def test_blocks_ignore_the_mask(device: str, owords: int) -> None:
    size = 16 * owords
    thread = thread_for(device, noise(19, MEMORY))
    thread.lanes = 1
    thread.registers = {"D": noise(20, 512)}
    data = thread.registers["D"]
    for name, offset, unit in (("oword_ld", 5, 16), ("oword_ld_unaligned", 36, 1)):
        _, after = thread.run(MOVS, f"{name} ({owords}) T6 {offset:#x}:ud D.32")
        at = offset * unit
        wanted = np.r_[data[:32], thread.memory[at : at + size], data[32 + size :]]
        assert np.array_equal(after["D"], wanted), name
    memory, _ = thread.run(MOVS, f"oword_st ({owords}) T6 0x9:ud D.64")
    wanted = thread.memory.copy()
    wanted[144 : 144 + size] = data[64 : 64 + size]
    assert np.array_equal(memory, wanted)
