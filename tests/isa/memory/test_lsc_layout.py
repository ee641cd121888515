"""LSC loads and stores: every data size, vector and execution size against NumPy, byte by byte."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.platforms import platform
from isa.memory.machine import BASE, Bytes, Thread, noise, slow

# Data size -> (bytes in memory, bytes in a register, byte of the register where memory's begin).
SIZES = {
    "d8": (1, 1, 0),
    "d16": (2, 2, 0),
    "d32": (4, 4, 0),
    "d64": (8, 8, 0),
    "d8c32": (1, 4, 0),
    "d16c32": (2, 4, 0),
    "d16c32h": (2, 4, 2),
}
VECTORS = {"d32": (1, 2, 3, 4, 8), "d64": (1, 2, 3, 4, 8)}
EXECS = (
    *("M1, 1", "M5, 16", "M1, 32"),
    *(slow(e) for e in ("M1, 2", "M3, 4", "M1, 8", "M1, 16", "M1_NM, 32", "M7_NM, 8")),
)
PLATFORMS = (slow("dg2"), "pvc")
MEMORY = 0x4000


SHAPES = [(size, n) for size in SIZES for n in VECTORS.get(size, (1,))]


def width(exec: str) -> int:
    return int(exec.split(", ")[1])


def block_pitch(device: str, lanes: int, slot: int) -> int:
    """Bytes from one vector element's block of registers to the next.

    A message of few lanes has the payload of the fewest that the hardware has: 8, and 16 on pvc.
    """
    least = {"dg2": 8, "pvc": 16}[device]
    return max(platform(device).grf_bytes, max(least, lanes) * slot)


def distinct_offsets(seed: int, lanes: int, step: int) -> NDArray[np.int64]:
    """Multiples of `step` within the memory, none twice."""
    return np.random.default_rng(seed).permutation(MEMORY // step)[:lanes] * step


def register(values: NDArray[np.int64], type: str) -> Bytes:
    """An address register with room for 32 lanes."""
    full = np.zeros(32, type)
    full[: values.size] = values
    return full.view(np.uint8)


@pytest.mark.parametrize("device", PLATFORMS)
@pytest.mark.parametrize("exec", EXECS)
@pytest.mark.parametrize(("size", "elements"), SHAPES)
def test_load(device: str, exec: str, size: str, elements: int) -> None:
    memory_bytes, slot, shift = SIZES[size]
    lanes = width(exec)
    pitch = block_pitch(device, lanes, slot)
    memory, before = noise(1, MEMORY), noise(2, pitch * elements)
    offsets = distinct_offsets(lanes * elements, lanes, memory_bytes * elements)
    thread = Thread(device, memory, lanes=27, predicate=0x5EAD_BEE5)
    thread.registers = {"A": register(offsets + BASE - 16, "u8"), "D": before}
    count = f"x{elements}" if elements > 1 else ""
    _, after = thread.run(f"(P1) lsc_load.ugm ({exec}) D:{size}{count} flat[A+0x10]:a64")

    wanted = before.copy()
    for lane, v in product(np.flatnonzero(thread.predicated(exec)), range(elements)):
        place = v * pitch + lane * slot
        source = offsets[lane] + v * memory_bytes
        wanted[place : place + slot] = 0
        wanted[place + shift : place + shift + memory_bytes] = memory[
            source : source + memory_bytes
        ]
    assert np.array_equal(after["D"], wanted)


@pytest.mark.parametrize("device", PLATFORMS)
@pytest.mark.parametrize("exec", EXECS)
@pytest.mark.parametrize(("size", "elements"), SHAPES)
def test_store(device: str, exec: str, size: str, elements: int) -> None:
    memory_bytes, slot, shift = SIZES[size]
    lanes = width(exec)
    pitch = block_pitch(device, lanes, slot)
    memory, data = noise(3, MEMORY), noise(4, pitch * elements)
    offsets = distinct_offsets(lanes + elements, lanes, memory_bytes * elements)
    thread = Thread(device, memory, lanes=21, predicate=0x0FED_4321)
    thread.registers = {"A": register(offsets + BASE + 64, "u8"), "D": data}
    count = f"x{elements}" if elements > 1 else ""
    after, _ = thread.run(f"(!P1) lsc_store.ugm ({exec}) flat[A-64]:a64 D:{size}{count}")

    wanted = memory.copy()
    chosen = thread.active(exec) & ~Thread(device, memory, predicate=0x0FED_4321).predicated(exec)
    for lane, v in product(np.flatnonzero(chosen), range(elements)):
        place = v * pitch + lane * slot + shift
        target = offsets[lane] + v * memory_bytes
        wanted[target : target + memory_bytes] = data[place : place + memory_bytes]
    assert np.array_equal(after, wanted)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("device", PLATFORMS)
@pytest.mark.parametrize("elements", (1, 2, 3, 4, 8, 16, 32, 64))
@pytest.mark.parametrize("size", ("d32", "d64"))
def test_transposed(device: str, size: str, elements: int) -> None:
    total = SIZES[size][0] * elements
    memory, before = noise(5, MEMORY), noise(6, 1024)
    thread = Thread(device, memory)
    thread.registers = {
        "A": register(np.array([BASE + 0x40]), "u8"),
        "B": register(np.array([BASE + 0x1000]), "u8"),
        "D": before,
    }
    count = f"x{elements}" if elements > 1 else ""
    out, after = thread.run(
        f"lsc_load.ugm (M1_NM, 1) D:{size}{count}t flat[A]:a64",
        f"lsc_store.ugm (M1_NM, 1) flat[B+8]:a64 D.{1024 - total}:{size}{count}t",
    )
    assert np.array_equal(after["D"], np.r_[memory[0x40 : 0x40 + total], before[total:]])
    wanted = memory.copy()
    wanted[0x1008 : 0x1008 + total] = after["D"][1024 - total :]
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("lanes", (0, 1))
def test_a_transposed_access_asks_the_mask_of_its_one_lane(lanes: int) -> None:
    memory, before = noise(7, MEMORY), noise(8, 64)
    thread = Thread("pvc", memory, lanes=32, predicate=lanes)
    thread.registers = {"A": register(np.array([BASE]), "u8"), "D": before}
    _, after = thread.run("(P1) lsc_load.ugm (M1, 1) D:d32x16t flat[A]:a64")
    assert np.array_equal(after["D"], memory[:64] if lanes else before)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("channels", ("x", "y", "w", "xz", "yw", "xyz", "zw", "xyzw"))
@pytest.mark.parametrize("device", PLATFORMS)
def test_quad(device: str, channels: str) -> None:
    lanes, pitch = 16, block_pitch(device, 16, 4)
    memory, before = noise(9, MEMORY), noise(10, 4 * pitch)
    load, store = (distinct_offsets(seed, lanes, 16) for seed in (1, 2))
    thread = Thread(device, memory, lanes=13)
    thread.registers = {
        "A": register(load + BASE, "u8"),
        "B": register(store + BASE, "u8"),
        "D": before,
    }
    out, after = thread.run(
        f"lsc_load_quad.ugm (M1, 16) D:d32.{channels} flat[A]:a64",
        f"lsc_store_quad.ugm (M1, 16) flat[B]:a64 D:d32.{channels}",
    )
    registers, stored = before.copy(), memory.copy()
    for lane, (m, channel) in product(range(13), enumerate("xyzw".index(c) for c in channels)):
        place, source, target = (
            m * pitch + lane * 4,
            load[lane] + channel * 4,
            store[lane] + channel * 4,
        )
        registers[place : place + 4] = memory[source : source + 4]
        stored[target : target + 4] = memory[source : source + 4]
    assert np.array_equal(after["D"], registers)
    assert np.array_equal(out, stored)


# The pitch as written, and in bytes for d32x2; it may be a number, a register, or left out.
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("pitch", "step"), (("", 8), (", 0xc", 12), (", PITCH(0,1)", 20)))
def test_strided(pitch: str, step: int) -> None:
    memory, before = noise(11, MEMORY), noise(12, 256)
    thread = Thread("pvc", memory, lanes=14)
    thread.registers = {
        "A": register(np.array([BASE + 0x80]), "u8"),
        "PITCH": np.array([0, 20], "<u4").view(np.uint8),
        "D": before,
    }
    out, after = thread.run(
        f"lsc_load_strided.ugm (M1, 16) D:d32x2 flat[A-0x10{pitch}]:a64",
        f"lsc_store_strided.ugm (M1, 16) flat[A+0x1000{pitch}]:a64 D:d32x2",
    )
    registers, stored = before.copy(), memory.copy()
    for lane, v in product(range(14), range(2)):
        place, source = v * 64 + lane * 4, 0x70 + lane * step + v * 4
        registers[place : place + 4] = memory[source : source + 4]
    for lane, v in product(range(14), range(2)):
        place, target = v * 64 + lane * 4, 0x1080 + lane * step + v * 4
        stored[target : target + 4] = registers[place : place + 4]
    assert np.array_equal(after["D"], registers)
    assert np.array_equal(out, stored)
