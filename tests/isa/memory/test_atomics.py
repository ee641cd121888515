"""Atomic operations of every family against one lane after the other in plain Python."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from eumu.exec.grid import BufferSurface
from isa.memory.machine import BASE, Bytes, Thread

pytestmark = pytest.mark.usefixtures("engine")

Number = int | float
Rule = Callable[[Number, Number, Number], Number]

# Name in dword_atomic and svm_atomic -> (kind of number, sources, the rule).
LEGACY: dict[str, tuple[str, int, Rule]] = {
    "add": ("u", 1, lambda old, x, y: old + x),
    "sub": ("u", 1, lambda old, x, y: old - x),
    "inc": ("u", 0, lambda old, x, y: old + 1),
    "dec": ("u", 0, lambda old, x, y: old - 1),
    "min": ("u", 1, lambda old, x, y: min(old, x)),
    "max": ("u", 1, lambda old, x, y: max(old, x)),
    "xchg": ("u", 1, lambda old, x, y: x),
    "cmpxchg": ("u", 2, lambda old, x, y: x if old == y else old),
    "and": ("u", 1, lambda old, x, y: int(old) & int(x)),
    "or": ("u", 1, lambda old, x, y: int(old) | int(x)),
    "xor": ("u", 1, lambda old, x, y: int(old) ^ int(x)),
    "minsint": ("s", 1, lambda old, x, y: min(old, x)),
    "maxsint": ("s", 1, lambda old, x, y: max(old, x)),
    "predec": ("u", 0, lambda old, x, y: old - 1),
    "fmin": ("f", 1, lambda old, x, y: min(old, x)),
    "fmax": ("f", 1, lambda old, x, y: max(old, x)),
    "fcmpwr": ("f", 2, lambda old, x, y: y if old == x else old),
    "fadd": ("f", 1, lambda old, x, y: old + x),
    "fsub": ("f", 1, lambda old, x, y: old - x),
}
# LSC name -> the legacy name of the same thing; those that differ are below.
SAME = {
    "iinc": "inc",
    "idec": "dec",
    "store": "xchg",
    "iadd": "add",
    "isub": "sub",
    "smin": "minsint",
    "smax": "maxsint",
    "umin": "min",
    "umax": "max",
    "fadd": "fadd",
    "fsub": "fsub",
    "fmin": "fmin",
    "fmax": "fmax",
    "and": "and",
    "or": "or",
    "xor": "xor",
}
LSC: dict[str, tuple[str, int, Rule]] = {
    **{name: LEGACY[other] for name, other in SAME.items()},
    "load": ("u", 0, lambda old, x, y: old),
    "icas": ("u", 2, lambda old, x, y: y if old == x else old),
    "fcas": ("f", 2, lambda old, x, y: y if old == x else old),
}

LANES = 16
_FLOAT = {16: "<e", 32: "<f", 64: "<d"}


def decode(pattern: int, kind: str, bits: int) -> Number:
    if kind == "f":
        return float(struct.unpack(_FLOAT[bits], pattern.to_bytes(bits // 8, "little"))[0])
    return pattern - (1 << bits) if kind == "s" and pattern >> (bits - 1) else pattern


def encode(value: Number, kind: str, bits: int) -> int:
    if kind == "f":
        return int.from_bytes(struct.pack(_FLOAT[bits], value), "little")
    return int(value) & ((1 << bits) - 1)


def patterns(kind: str, bits: int, seed: int, count: int) -> list[int]:
    """Few different numbers, so that comparisons come out both ways."""
    few = [0.0, 1.5, -2.0, 3.25] if kind == "f" else [0, 1, 5, -1, -7, 1 << (bits - 1)]
    choice = np.random.default_rng(seed).integers(0, len(few), count)
    return [encode(few[k], kind, bits) for k in choice]


def packed(values: list[int], bits: int, slot: int) -> Bytes:
    return np.frombuffer(b"".join(v.to_bytes(slot, "little") for v in values), np.uint8).copy()


def sequence(
    rule: Rule, kind: str, bits: int, cells: list[int], index: list[int], active: list[bool],
    x: list[int], y: list[int], *, new: bool = False,
) -> tuple[list[int], dict[int, int]]:  # fmt: skip
    """Cells after all lanes in order, and what each active lane gets."""
    got: dict[int, int] = {}
    cells = list(cells)
    for lane in range(LANES):
        if active[lane]:
            old = cells[index[lane]]
            numbers = [decode(v, kind, bits) for v in (old, x[lane], y[lane])]
            cells[index[lane]] = encode(rule(*numbers), kind, bits)
            got[lane] = cells[index[lane]] if new else old
    return cells, got


def run_case(
    device: str, instruction: str, row: tuple[str, int, Rule], bits: int, base: int, *,
    new: bool = False, exec: str = "M5, 16",
) -> None:  # fmt: skip
    """Sixteen lanes, some inactive, on four cells."""
    kind, _, rule = row
    cells, x, y = (patterns(kind, bits, seed, n) for seed, n in ((1, 4), (2, LANES), (3, LANES)))
    index = [int(k) for k in np.random.default_rng(4).integers(0, 4, LANES)]
    slot = max(4, bits // 8)
    thread = Thread(device, packed(cells, bits, bits // 8), lanes=29, predicate=0xF7DF_0000)
    thread.surfaces = {0: BufferSurface(BASE, thread.memory.size)}
    address = [base + k * (bits // 8) for k in index]
    junk = 0xA5A5 << 16 if bits == 16 else 0  # the upper half of a 16-bit operand means nothing
    thread.registers = {
        "A": packed(address, 0, 8 if base else 4),
        "X": packed([v | junk for v in x], bits, slot),
        "Y": packed([v | junk for v in y], bits, slot),
        "D": packed([0xDEAD] * LANES, bits, slot),
    }
    memory, after = thread.run("movs (M1_NM, 1) T6(0) 0x0:ud", f"(P1) {instruction}")
    active = [bool(a) for a in thread.predicated(exec)]
    cells, got = sequence(rule, kind, bits, cells, index, active, x, y, new=new)
    assert memory.tobytes() == packed(cells, bits, bits // 8).tobytes()
    wanted = [got.get(lane, 0xDEAD) for lane in range(LANES)]
    assert after["D"].tobytes() == packed(wanted, bits, slot).tobytes()


def sources(count: int, null: str, suffix: str) -> list[str]:
    return [f"X{suffix}" if count > 0 else null, f"Y{suffix}" if count > 1 else null]


@pytest.mark.parametrize("bits", (16, 32))
@pytest.mark.parametrize("name", LEGACY)
def test_dword_atomic(name: str, bits: int) -> None:
    src0, src1 = sources(LEGACY[name][1], "%null.0", ".0")
    suffix = ".16" if bits == 16 else ""
    text = f"dword_atomic.{name}{suffix} (M5, 16) T6 A.0 {src0} {src1} D.0"
    run_case("tgllp", text, LEGACY[name], bits, 0, new=name == "predec")


@pytest.mark.parametrize("bits", (16, 32, 64))
@pytest.mark.parametrize("name", LEGACY)
def test_svm_atomic(name: str, bits: int) -> None:
    src0, src1 = sources(LEGACY[name][1], "%null.0", ".0")
    suffix = "" if bits == 32 else f".{bits}"
    text = f"svm_atomic.{name}{suffix} (M5, 16) A.0 D.0 {src0} {src1}"
    run_case("pvc", text, LEGACY[name], bits, BASE, new=name == "predec")


@pytest.mark.parametrize("size", ("d16c32", "d32", "d64"))
@pytest.mark.parametrize("name", LSC)
def test_lsc_atomic(name: str, size: str) -> None:
    src1, src2 = sources(LSC[name][1], "%null", "")
    bits = {"d16c32": 16, "d32": 32, "d64": 64}[size]
    text = f"lsc_atomic_{name}.ugm.uc.wb (M5, 16) D:{size} flat[A]:a64 {src1} {src2}"
    run_case("pvc", text, LSC[name], bits, BASE)


@pytest.mark.parametrize("name", LSC)
def test_lsc_atomic_through_a_surface(name: str) -> None:
    src1, src2 = sources(LSC[name][1], "%null", "")
    text = f"lsc_atomic_{name}.ugm (M5, 16) D:d32 bti(0x0)[A]:a32 {src1} {src2}"
    run_case("dg2", text, LSC[name], 32, 0)


def test_a_result_that_nobody_wants() -> None:
    thread = Thread("pvc", packed([5], 32, 4), lanes=32)
    thread.registers = {"A": packed([BASE] * 32, 64, 8)}
    memory, _ = thread.run("lsc_atomic_iinc.ugm (M1, 32) %null:d32 flat[A]:a64 %null %null")
    assert memory.view("<u4")[0] == 37
