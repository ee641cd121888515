"""Rows of the PRM's chapters on the execution unit, accumulators and regions that need a run.

Names of tests say the row: G1 to G6 are fields of the gateway's payload (test_gateway.py), E1 to
E12 the features of the overview, A1 to A18 the accumulators, and numbers as 8.2 the region rules.
What an instruction may not do is in rules.txt, by the same ids.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

from eumu import native
from eumu.errors import BuildError, Fault
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from native.native_thread import END, execute

HERE = Path(__file__).parent
ENGINES = {"interp": Interpreter, "jit": Jit}
REGISTER = 32


def _noise(seed: int) -> bytearray:
    """Registers of small floats, so that no operation rounds or is undefined."""
    rng = np.random.default_rng(seed)
    return bytearray(rng.integers(-50, 50, 1024).astype(np.float32).tobytes())


def _run(text: str, registers: bytes, engine: str = "interp", width: int = 16) -> bytes:
    return execute(native.parse(text + END), registers, ENGINES[engine](), width)


def _floats(registers: bytes, number: int, count: int = 8) -> list[float]:
    return list(struct.unpack_from(f"<{count}f", registers, REGISTER * number))


def _halves(registers: bytes, number: int, count: int = 16) -> list[float]:
    return list(struct.unpack_from(f"<{count}e", registers, REGISTER * number))


def _dwords(registers: bytes, number: int, count: int = 8) -> list[int]:
    return list(struct.unpack_from(f"<{count}I", registers, REGISTER * number))


# ---- the overview


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
def test_e1_e3_the_width_is_the_instructions(width: int) -> None:
    """32 channels of words, 16 of dwords: as many as two registers have."""
    type, limit = ("w", 32) if width == 32 else ("d", 16)
    registers = _run(f"mov ({width}|M0) r10.0<1>:{type} 7:w", bytes(4096), width=32)
    found = struct.unpack_from(f"<{limit}{'h' if type == 'w' else 'i'}", registers, 320)
    assert list(found) == [7] * width + [0] * (limit - width)


def test_e2_kinds_of_operations() -> None:
    """In parallel, along a vector, logical, and branches."""
    text = """
    add (4|M0) r10.0<1>:f r1.0<4;4,1>:f r1.0<4;4,1>:f
    dp4 (4|M0) r11.0<1>.xyzw:f r1.0<4>.xyzw:f r1.0<4>.xyzw:f {Align16}
    xor (4|M0) r12.0<1>:ud r1.0<4;4,1>:ud r1.0<4;4,1>:ud
    cmp (4|M0) (gt)f0.0 null<1>:f r1.0<4;4,1>:f 2.0:f
    (f0.0) if (4|M0) Lend Lend
    mov (4|M0) r13.0<1>:d 1:d
    Lend: endif (4|M0) Lout
    Lout: nop
    """.replace("Lend:", "Lend:\n").replace("Lout:", "Lout:\n")
    before = bytearray(4096)
    struct.pack_into("<4f", before, REGISTER, 1, 2, 3, 4)
    after = _run(text, before, width=4)
    assert _floats(after, 10, 4) == [2, 4, 6, 8]
    assert _floats(after, 11, 4) == [30] * 4
    assert _dwords(after, 12, 4) == [0] * 4
    assert _dwords(after, 13, 4) == [0, 0, 1, 1]


def test_e4_masks_and_together() -> None:
    """Enables of the destination, the predicate, and the execution mask."""
    text = """
    mov (8|M0) f0.0<1>:uw 0x3F:uw
    (f0.0) mov (8|M0) r10.0<1>.xyz:d 5:d {Align16}
    """.replace("mov (8|M0) f0.0", "(W) mov (1|M0) f0.0")
    program = native.parse(text + END)
    after = execute(program, bytes(4096), Interpreter(), 8, lanes=5)
    assert _dwords(after, 10) == [5, 5, 5, 0, 5, 0, 0, 0]


def test_e5_compacted_code_does_the_same() -> None:
    text = "add (8|M0) r10.0<1>:f r1.0<8;8,1>:f r2.0<8;8,1>:f"
    code = native.encode(native.parse(f"{text} {{Compacted}}"))
    assert len(code) == 8
    program = native.decode(code + native.encode(native.parse(END)))
    before = _noise(1)
    after = execute(program, before, Interpreter(), 8)
    want = [x + y for x, y in zip(_floats(before, 1), _floats(before, 2), strict=True)]
    assert _floats(after, 10) == want


def test_e7_three_sources_implied_ones_and_two_results() -> None:
    text = """
    mad (8|M0) r10.0<1>:f r1.0<2;1>:f r2.0<2;1>:f r3.0<1>:f
    mov (8|M0) acc0.0<1>:f r1.0<8;8,1>:f
    mac (8|M0) r11.0<1>:f r2.0<8;8,1>:f r3.0<8;8,1>:f
    mov (8|M0) r4.0<1>:ud 17:ud
    mov (8|M0) r5.0<1>:ud 5:ud
    math.idiv (8|M0) r12.0<1>:ud r4.0<8;8,1>:ud r5.0<8;8,1>:ud
    """
    before = _noise(2)
    x, y, z = (_floats(before, k) for k in (1, 2, 3))
    after = _run(text, before, width=8)
    want = [a + b * c for a, b, c in zip(x, y, z, strict=True)]
    assert _floats(after, 10) == _floats(after, 11) == want
    assert (_dwords(after, 12), _dwords(after, 13)) == ([3] * 8, [2] * 8)


def test_e8_e9_e10_regions_addresses_and_packed_immediates() -> None:
    """A region, the same by an address, and v, uv and vf immediates."""
    text = """
    (W) mov (1|M0) a0.0<1>:uw 36:uw
    mov (8|M0) r10.0<1>:f r1.1<16;4,2>:f
    mov (8|M0) r11.0<1>:f r[a0.0]<16;4,2>:f
    mov (8|M0) r12.0<1>:w 0xFEDC3210:v
    mov (8|M0) r13.0<1>:uw 0xFEDC3210:uv
    mov (4|M0) r14.0<1>:f 0x00B03830:vf
    """
    before = _noise(3)
    after = _run(text, before, width=8)
    x = _floats(before, 1, 32)
    want = [x[1 + 16 * row + 2 * column] for row in range(2) for column in range(4)]
    assert _floats(after, 10) == _floats(after, 11) == want
    assert struct.unpack_from("<8h", after, 12 * REGISTER) == (0, 1, 2, 3, -4, -3, -2, -1)
    assert struct.unpack_from("<8H", after, 13 * REGISTER) == (0, 1, 2, 3, 12, 13, 14, 15)
    assert _floats(after, 14, 4) == [1.0, 1.5, -1.0, 0.0]


def test_e12_code_is_not_where_data_are() -> None:
    """A store to where ip points is outside of every allocation."""
    text = """
    (W) mov (8|M0) r10.0<1>:ud 0:ud
    (W) mov (1|M0) r10.0<1>:ud ip<0;1,0>:ud
    (W) sends (8|M0) null:ud r10 r12 0x4C 0x020D40FF
    """
    with pytest.raises(Fault, match="outside every allocation"):
        _run(text, bytes(4096))


# ---- accumulators


def test_a1_there_are_ten() -> None:
    word = native.encode(native.parse("mov (8|M0) r10.0<1>:ud acc0.0<8;8,1>:ud"))
    for number in range(16):
        changed = bytearray(word)
        changed[8] = changed[8] & 0x1F | (number & 7) << 5  # bits 76:69 are the register's number
        changed[9] = changed[9] & 0xE0 | 0x20 >> 3 | number >> 3
        if number < 10:
            text = native.print_program(native.decode(bytes(changed)))
            assert (f"acc{number}." if number < 2 else f"mme{number - 2}.") in text
        else:
            with pytest.raises(BuildError, match="does not exist"):
                native.decode(bytes(changed))


@pytest.mark.parametrize("engine", ENGINES)
def test_a2_channels_have_guard_bits(engine: str) -> None:
    """Eight dwords or sixteen words; what does not fit a word comes back in a wider type."""
    text = """
    mul (16|M0) acc0.0<1>:w r1.0<16;16,1>:w r1.0<16;16,1>:w
    mov (16|M0) r10.0<1>:d acc0.0<16;16,1>:w
    """
    before = bytearray(4096)
    values = [k * 2000 - 30000 for k in range(16)]
    struct.pack_into("<16h", before, REGISTER, *values)
    after = _run(text, before, engine)
    assert struct.unpack_from("<16i", after, 320) == tuple(v * v for v in values)


@pytest.mark.parametrize("engine", ENGINES)
def test_a4_channels_that_are_off_keep_their_value(engine: str) -> None:
    text = """
    mov (16|M0) acc0.0<1>:w 9:w
    (W) mov (1|M0) f0.0<1>:uw 0x5A3C:uw
    (f0.0) add (16|M0) r10.0<1>:w r1.0<16;16,1>:w 1:w {AccWrEn}
    mov (16|M0) r11.0<1>:w acc0.0<16;16,1>:w
    """
    after = _run(text, bytes(4096), engine)
    want = tuple(1 if 0x5A3C >> k & 1 else 9 for k in range(16))
    assert struct.unpack_from("<16h", after, 11 * REGISTER) == want


# The examples of the text: which accumulators an implicit update takes.
UPDATES = {
    "add (16|M0) r10.0<1>:f r1.0<8;8,1>:f r3.0<8;8,1>:f {AccWrEn}": (True, True),
    "add (8|M0) r10.0<1>:f r1.0<8;8,1>:f r3.0<8;8,1>:f {AccWrEn}": (True, False),
    "add (8|M8) r10.0<1>:f r1.0<8;8,1>:f r3.0<8;8,1>:f {AccWrEn}": (False, True),
    "add (8|M24) r10.0<1>:f r1.0<8;8,1>:f r3.0<8;8,1>:f {AccWrEn}": (False, True),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", UPDATES)
def test_a5_the_accumulator_of_a_quarter(text: str, engine: str) -> None:
    clear = "mov (16|M0) acc0.0<1>:f 7000.0:f\n"
    show = "\nmov (16|M0) r20.0<1>:f acc0.0<8;8,1>:f"
    before = _noise(4)
    after = _run(clear + text + show, before, engine, 32)
    sums = [a + b for a, b in zip(_floats(before, 1, 16), _floats(before, 3, 16), strict=True)]
    for half, updated in enumerate(UPDATES[text]):
        source = half if all(UPDATES[text]) else 0
        want = sums[8 * source : 8 * source + 8] if updated else [7000.0] * 8
        assert _floats(after, 20 + half) == want


@pytest.mark.parametrize("engine", ENGINES)
def test_a5_the_accumulator_of_a_half(engine: str) -> None:
    """`add (16) r10:hf r11:hf r12:hf {AccWrEn, H2}` updates acc1."""
    text = """
    mov (16|M0) acc0.0<1>:hf 7.0:hf
    add (16|M16) r10.0<1>:hf r1.0<16;16,1>:hf 1.0:hf {AccWrEn}
    mov (16|M0) r20.0<1>:hf acc0.0<16;16,1>:hf
    mov (16|M0) r21.0<1>:hf acc1.0<16;16,1>:hf
    """
    before = bytearray(4096)
    struct.pack_into("<16e", before, REGISTER, *range(16))
    after = _run(text, before, engine, 32)
    assert _halves(after, 20) == [7.0] * 16
    assert _halves(after, 21) == [k + 1.0 for k in range(16)]


def test_a5_integers_of_other_quarters_are_in_acc0() -> None:
    """acc1 holds no dwords: the quarter does not matter."""
    text = """
    mov (8|M0) acc0.0<1>:d 9:d
    add (8|M8) r10.0<1>:d r1.0<8;8,1>:d 1:d {AccWrEn}
    mov (8|M0) r11.0<1>:d acc0.0<8;8,1>:d
    """
    assert _dwords(_run(text, bytes(4096)), 11) == [1] * 8


@pytest.mark.parametrize("engine", ENGINES)
def test_a15_floats_have_the_precision_of_registers(engine: str) -> None:
    """Sums in an accumulator round as those in a register do."""
    text = """
    add (4|M0) acc0.0<1>:df r1.0<4;4,1>:df r2.0<4;4,1>:df
    add (4|M0) r10.0<1>:df r1.0<4;4,1>:df r2.0<4;4,1>:df
    mov (4|M0) r11.0<1>:df acc0.0<4;4,1>:df
    add (8|M0) acc0.0<1>:f r3.0<8;8,1>:f r4.0<8;8,1>:f
    add (8|M0) r12.0<1>:f r3.0<8;8,1>:f r4.0<8;8,1>:f
    mov (8|M0) r13.0<1>:f acc0.0<8;8,1>:f
    """
    rng = np.random.default_rng(9)
    before = bytearray(4096)
    before[32:96] = (rng.standard_normal(8) * 1e9).tobytes()
    before[96:160] = (
        (rng.standard_normal(16) * 10.0 ** rng.integers(-5, 5, 16)).astype("f4").tobytes()
    )
    after = _run(text, before, engine, 8)
    assert after[320:352] == after[352:384]
    assert after[384:416] == after[416:448]


# ---- regions


# Instruction, and the two that the text says are the same.  It has r17.0 as the last source of all,
# where eight words of r16 are left.
SPLITS = {
    "8.1": (
        "mov (16|M0) r[a0.0]<1>:f r10.0<8;8,1>:f",
        "mov (8|M0) r[a0.0]<1>:f r10.0<8;8,1>:f",
        "mov (8|M8) r[a0.0,32]<1>:f r11.0<8;8,1>:f",
    ),
    "8.2 (a)": (
        "add (16|M0) r[a0.0]<1>:f r[a0.2]<8;8,1>:f r[a0.4]<8;8,1>:f",
        "add (8|M0) r[a0.0]<1>:f r[a0.2]<8;8,1>:f r[a0.4]<8;8,1>:f",
        "add (8|M8) r[a0.0,32]<1>:f r[a0.2,32]<8;8,1>:f r[a0.4,32]<8;8,1>:f",
    ),
    "8.2 (b)": (
        "add (16|M0) r[a0.0]<1>:ud r[a0.2]<4;8,1>:w r10.0<8;8,1>:ud",
        "add (8|M0) r[a0.0]<1>:ud r[a0.2]<4;8,1>:w r10.0<8;8,1>:ud",
        "add (8|M8) r[a0.0,32]<1>:ud r[a0.2,8]<4;8,1>:w r11.0<8;8,1>:ud",
    ),
    "8.2 (c)": (
        "add (16|M0) r[a0.0]<1>:f r[a0.2]<8;8,1>:f r[a0.4]<0;1,0>:f",
        "add (8|M0) r[a0.0]<1>:f r[a0.2]<8;8,1>:f r[a0.4]<0;1,0>:f",
        "add (8|M8) r[a0.0,32]<1>:f r[a0.2,32]<8;8,1>:f r[a0.4]<0;1,0>:f",
    ),
    "8.4 (a)": (
        "add (16|M0) r[a0.8]<1>:d r[a0.0]<4,1>:ud r16.0<8;8,1>:ud",
        "add (8|M0) r[a0.8]<1>:d r[a0.0]<4,1>:ud r16.0<8;8,1>:ud",
        "add (8|M8) r[a0.8,32]<1>:d r[a0.2]<4,1>:ud r17.0<8;8,1>:ud",
    ),
    "8.4 (b)": (
        "add (16|M0) r10.0<2>:uw r[a0.0]<1,0>:uw r16.0<8;8,1>:uw",
        "add (8|M0) r10.0<2>:uw r[a0.0]<1,0>:uw r16.0<8;8,1>:uw",
        "add (8|M8) r11.0<2>:uw r[a0.8]<1,0>:uw r16.8<8;8,1>:uw",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("row", SPLITS)
def test_r8_an_instruction_of_two_registers_is_two_instructions(row: str, engine: str) -> None:
    places = [32 * r + 4 * k for k, r in enumerate((40, 44, 48, 52, 56, 60, 64, 68))]
    places += [32 * r for r in (72, 74, 76, 78, 80, 82, 84, 86)]
    if row.startswith("8.4 (a)"):
        places[:4] = [32 * r for r in (40, 44, 48, 52)]
    elif row.startswith("8"):
        places[:5:2] = [32 * r for r in (40, 48, 56)]
    load = "".join(f"(W) mov (1|M0) a0.{k}<1>:uw {place}:uw\n" for k, place in enumerate(places))
    whole, *halves = SPLITS[row]
    before = _noise(7)
    found = [_run(load + text, before, engine) for text in (whole, "\n".join(halves))]
    assert found[0] == found[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_r7_packed_halves_in_align16(engine: str) -> None:
    """The mixed cases (a) and (b): HF is packed, channel enables choose .xy of every four."""
    sources = "r1.0<2;1>.xxxx:f r2.0<2;1>:hf r3.0<1>.yyyy:hf"
    text = f"mad (8|M0) r10.0<1>.xy:hf {sources}\nmad (8|M0) r11.0<1>.xy:f {sources}"
    before = bytearray(4096)
    struct.pack_into("<8f", before, 32, *range(1, 9))
    struct.pack_into("<16e", before, 64, *range(10, 26))
    struct.pack_into("<16e", before, 96, *range(30, 46))
    after = _run(text, before, engine, 8)
    x, y, z = range(1, 9), range(10, 26), range(30, 46)
    exact = [x[k // 4 * 4] + y[k] * z[k // 4 * 4 + 1] for k in range(8)]
    want = [v if k % 4 < 2 else 0 for k, v in enumerate(exact)]
    assert _halves(after, 10, 8) == [float(np.float16(v)) for v in want]
    assert _floats(after, 11) == want


@pytest.mark.parametrize("engine", ENGINES)
def test_r7_3_replicated_in_align16(engine: str) -> None:
    text = "mad (8|M0) r20.0<1>:hf r3.0<0;0>:f r6.0<2;1>:hf r6.0<1>:hf"
    before = bytearray(4096)
    struct.pack_into("<f", before, 96, 5)
    struct.pack_into("<8e", before, 192, *range(8))
    after = _run(text, before, engine, 8)
    assert _halves(after, 20, 8) == [5.0 + k * k for k in range(8)]


# ---- nothing is forgotten

ROWS = (
    *(f"g{k}" for k in range(1, 7)),
    *(f"a{k}" for k in range(1, 19)),
    # E6 (several cycles) and E11 (accumulators) are no property of their own.
    *(f"e{k}" for k in range(1, 13) if k not in (6, 11)),
)
REGIONS = (
    *("1.1", "1.2", *(f"2.{k}" for k in range(1, 9)), "3.1", "3.2", "3.3", "4.1", "4.2", "5"),
    *("6.1.1", "6.1.2", "6.1.3", "6.2", "6.3", "6.4"),
    *(*(f"7.{k}" for k in range(1, 9)), "7.9a", "7.9b", "7.10"),
    *("8.2", "8.3", "8.4", "8.6", *(f"SR.{k}" for k in range(1, 6))),
)


def test_every_row_is_tested() -> None:
    """By an instruction that breaks it and its neighbour, or by a run that names it."""
    names = set()
    for path in HERE.glob("test_*.py"):
        for name in re.findall(r"def test_(\w+)", path.read_text()):
            names |= set(re.findall(r"(?:^|(?<=_))[gae]\d+(?=_)", name))
    rules = set(re.findall(r"^## (\S+)", (HERE / "rules.txt").read_text(), re.MULTILINE))
    assert not {row for row in ROWS if row not in names and row.upper() not in rules}
    assert not set(REGIONS) - rules
    # 8.1 is about meaning; no word can break 8.5, as a destination has only a horizontal stride.
    assert {"8.1", "8.2", "8.4"} <= {row.split()[0] for row in SPLITS}
