"""Two-dimensional blocks against NumPy's slices, transposes and reshapes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu import binary, text
from eumu.errors import BuildError, Fault, Unsupported
from eumu.platforms import platform
from isa.memory.machine import BASE, Bytes, Thread, noise

pytestmark = pytest.mark.usefixtures("engine")

WIDTH, HEIGHT, PITCH = 120, 50, 128  # bytes, rows, bytes
MATRIX = noise(1, PITCH * HEIGHT)
START = 0x40
MEMORY: Bytes = np.concatenate([noise(2, START), MATRIX, noise(3, 0x100)])
BEFORE = noise(4, 4096)


def power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


def padded(a: NDArray[np.generic], rows: int, columns: int) -> NDArray[np.generic]:
    return np.pad(a, ((0, rows - a.shape[0]), (0, columns - a.shape[1])))


def tile(bits: int, x: int, y: int, width: int, height: int) -> NDArray[np.generic]:
    """The elements of a rectangle, zero outside the matrix."""
    elements = MATRIX.view(f"<u{bits // 8}").reshape(HEIGHT, -1)[:, : WIDTH * 8 // bits]
    margin = 256
    around = np.pad(elements, margin)
    return around[margin + y : margin + y + height, margin + x : margin + x + width]


def in_registers(block: NDArray[np.generic], transposed: bool, vnni: bool, grf: int) -> Bytes:
    """The bytes of one block."""
    size = block.dtype.itemsize
    rows = block.T if transposed else block
    columns = power_of_two(rows.shape[1])
    if vnni:
        step = 4 // size
        rows = padded(rows, -(-rows.shape[0] // step) * step, columns)
        rows = rows.reshape(-1, step, columns).transpose(0, 2, 1)
    else:
        rows = padded(rows, rows.shape[0], columns)
    raw = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
    return np.pad(raw, (0, -raw.size % grf))


def thread(device: str, x: int, y: int) -> Thread:
    scalars = np.array([WIDTH - 1, HEIGHT - 1, PITCH - 1, x, y], "<i4").view(np.uint8)
    registers = {
        "B:uq": np.array([0, BASE + START], "<u8").view(np.uint8),
        "S:d": scalars,
        "D": BEFORE,
    }
    return Thread(device, MEMORY, registers, lanes=32)


ADDRESS = "flat[B(0,1), S, S(0,1), S(0,2), S(0,3), S(0,4)]"

# bits, blocks, width, height
SHAPES = [
    (8, 1, 64, 32),
    (8, 2, 16, 5),
    (8, 4, 13, 3),
    (8, 1, 1, 1),
    (16, 1, 32, 9),
    (16, 2, 16, 8),
    (16, 4, 8, 7),
    (16, 1, 5, 32),
    (32, 1, 16, 8),
    (32, 2, 8, 8),
    (32, 1, 3, 5),
    (64, 1, 8, 4),
    (64, 2, 4, 8),
]
CORNERS = [(0, 0), (7, 11), (-3, -2), (11, 41), (100, 3), (2, 60)]


CASES = [
    (device, *SHAPES[k], order, CORNERS[(k + j) % len(CORNERS)])
    for device in ("dg2", "pvc")
    for k in range(0, len(SHAPES), 4 if device == "dg2" else 1)
    for j, order in enumerate(("nn", "nt", "tn", "tt"))
    if SHAPES[k][0] < 64 or order[1] == "n"  # a dword holds no two 64-bit elements
]


@pytest.mark.parametrize(("device", "bits", "blocks", "width", "height", "order", "corner"), CASES)
def test_load(
    device: str,
    bits: int,
    blocks: int,
    width: int,
    height: int,
    order: str,
    corner: tuple[int, int],
    engine: str,
) -> None:
    if engine == "jit" and blocks * width * height > 200:
        pytest.skip("a large block compiles for seconds, and its code is that of a small one")
    transposed, vnni = (c == "t" for c in order)
    grf, (x, y) = platform(device).grf_bytes, corner
    shape = f"d{bits}.{blocks}x{width}x{height}{order}"
    memory, after = thread(device, x, y).run(f"lsc_load_block2d.ugm (M1_NM, 1) D:{shape} {ADDRESS}")
    parts = [
        in_registers(tile(bits, x + k * width, y, width, height), transposed, vnni, grf)
        for k in range(blocks)
    ]
    wanted = np.concatenate(parts)
    assert np.array_equal(after["D"][: wanted.size], wanted)
    assert np.array_equal(after["D"][wanted.size :], BEFORE[wanted.size :])
    assert np.array_equal(memory, MEMORY)


@pytest.mark.parametrize(
    ("shape", "corner"), [(SHAPES[k], CORNERS[k % 6]) for k in range(len(SHAPES))]
)
def test_store(shape: tuple[int, int, int, int], corner: tuple[int, int]) -> None:
    bits, _, width, height = shape
    size, (x, y) = bits // 8, corner
    memory, _ = thread("pvc", x, y).run(
        f"lsc_store_block2d.ugm (M1_NM, 1) {ADDRESS} D.64:d{bits}.{width}x{height}"
    )
    data = BEFORE[64:].view(f"<u{size}")
    wanted = MEMORY.copy()
    matrix = wanted[START : START + MATRIX.size].view(f"<u{size}").reshape(HEIGHT, -1)
    for row in range(height):
        for column in range(width):
            if 0 <= x + column < WIDTH // size and 0 <= y + row < HEIGHT:
                matrix[y + row, x + column] = data[row * power_of_two(width) + column]
    assert np.array_equal(memory, wanted)


STEPS = [(0, 0), (5, -3), (-2048, 0), (2047, 2047), (-1, 6)]


def payload(x: int, y: int, width: int, height: int, blocks: int) -> Bytes:
    """A matrix and a block of it as one register has them."""
    base = np.array([BASE + START], "<u8").view("<u4")
    shape = width - 1 | height - 1 << 8 | blocks - 1 << 16
    rest = np.array([WIDTH - 1, HEIGHT - 1, PITCH - 1, x, y, shape], "<i4").view("<u4")
    return np.concatenate([base, rest]).view(np.uint8)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("form", ["operands", "payload"])
def test_steps_are_added_to_the_corner(form: str, steps: tuple[int, int]) -> None:
    """Those of a payload and those of operands, as elements and rows."""
    x, y = 3, 7
    t = thread("pvc", x, y)
    t.registers["P"] = payload(x, y, 8, 4, 2)
    t.registers["Q"] = payload(x, y, 8, 4, 1)
    right, down = (f"{step:+d}" if step else "" for step in steps)
    operands = f"flat[B(0,1), S, S(0,1), S(0,2), S(0,3){right}, S(0,4){down}]"
    first, second = (f"flat[{p} + ({steps[0]},{steps[1]})]" for p in "PQ")
    if form == "operands":
        first = second = operands
    memory, after = t.run(
        f"lsc_load_block2d.ugm (M1_NM, 1) D:d16.2x8x4nn {first}",
        f"lsc_store_block2d.ugm (M1_NM, 1) {second} D:d16.8x4nn",
    )
    left, top = x + steps[0], y + steps[1]
    inside = abs(left) < 256 and abs(top) < 256  # what `tile` can look at
    blocks = [
        tile(16, left + k, top, 8, 4) if inside else np.zeros((4, 8), np.uint16) for k in (0, 8)
    ]
    wanted = np.concatenate([in_registers(b, False, False, 64) for b in blocks])
    assert np.array_equal(after["D"][: wanted.size], wanted)
    assert np.array_equal(memory, MEMORY)


def test_a_payload_of_another_shape_is_refused() -> None:
    t = thread("pvc", 0, 0)
    t.registers["P"] = payload(0, 0, 8, 8, 2)
    with pytest.raises(Fault, match=r"says another block than d32.8x8nn"):
        t.run("lsc_load_block2d.ugm (M1_NM, 1) D:d32.8x8nn flat[P + (0,0)]")


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("flat[D+(1,2*-3)]", "flat[D + (1,-6)]"),
        ("flat[B, 1, 1, 1, S+0x10, S-2]", "flat[B, 0x1, 0x1, 0x1, S+16, S-2]"),
    ],
)
def test_steps_have_no_place_in_object_files(address: str, printed: str) -> None:
    source = HEAD + f"    lsc_load_block2d.ugm (M1, 1) D:d8.8x2nn {address}\n    ret (M1, 1)\n"
    module = text.parse(source, "k", 64)
    assert f"  {printed}\n" in text.print_module(module)
    again = text.parse(text.print_module(module), "k", 64)
    assert text.print_module(again) == text.print_module(module)
    with pytest.raises(BuildError, match="no place in object files"):
        binary.write(module, 64)


HEAD = """.version 4.2
.kernel "k"
.decl B v_type=G type=uq num_elts=1 align=qword
.decl S v_type=G type=d num_elts=1 align=dword
.decl D v_type=G type=ud num_elts=16 align=GRF
.kernel_attr SimdSize=16
"""


def test_the_lane_may_be_off() -> None:
    t = thread("pvc", 0, 0)
    t.predicate = 0xFFFF_FFFE
    memory, after = t.run(
        f"(P1) lsc_load_block2d.ugm (M1, 1) D:d32.8x8nn {ADDRESS}",
        f"(P1) lsc_store_block2d.ugm (M1, 1) {ADDRESS} D:d32.8x8nn",
    )
    assert np.array_equal(after["D"], BEFORE)
    assert np.array_equal(memory, MEMORY)


def test_a_prefetch_of_long_rows() -> None:
    line = "lsc_load_block2d.ugm.ca.ca (M1_NM, 1) {}:d32.64x8nn " + ADDRESS
    memory, _ = thread("pvc", 0, 0).run(line.format("%null"))
    assert np.array_equal(memory, MEMORY)
    with pytest.raises(BuildError, match="at most 256 bytes"):
        thread("pvc", 0, 0).run(line.format("%null").replace("64x8", "65x8"))
    with pytest.raises(BuildError, match="at most 64 bytes"):
        thread("pvc", 0, 0).run(line.format("D"))


def test_a_prefetch_touches_nothing() -> None:
    memory, _ = thread("pvc", 0, 0).run(
        f"lsc_load_block2d.ugm.ca.ca (M1_NM, 1) %null:d32.8x8nn {ADDRESS}"
    )
    assert np.array_equal(memory, MEMORY)


REFUSED = {
    "lsc_load_block2d.ugm (M1, 8) D:d32.8x8nn {}": (Unsupported, "more than one lane"),
    "lsc_store_block2d.ugm (M1, 1) {} D:d32.8x8tn": (Unsupported, "transposed or VNNI store"),
    "lsc_load_block2d.ugm (M1, 1) D:d32.3x8x8nn {}": (BuildError, "3 blocks is not one of 1, 2, 4"),
    "lsc_store_block2d.ugm (M1, 1) {} D:d32.2x8x8nn": (BuildError, "2 blocks is not one of 1"),
    "lsc_load_block2d.ugm (M1, 1) D:d16.33x8nn {}": (BuildError, "at most 64 bytes"),
    "lsc_load_block2d.ugm (M1, 1) D:d16.8x33nn {}": (BuildError, "1 to 32 rows"),
    "lsc_load_block2d.slm (M1, 1) D:d16.8x8nn {}": (BuildError, "shared function 'slm'"),
    "lsc_load_block2d.ugm (M1, 1) D:d16.8x8nn flat[B, S]": (BuildError, "before the height"),
    "lsc_load_block2d.ugm (M1, 1) D:d16.8x8nn flat[D + (2048,0)]": (BuildError, "-2048 to 2047"),
    "lsc_load_block2d.ugm (M1, 1) D:d16.8x8nn flat[D + (0)]": (BuildError, "between the steps"),
    "lsc_load_block2d.ugm (M1, 1) D:d16.8x8nn flat[B, 1, 1, 1, S, S-2049]": (
        *(BuildError, "-2048 to 2047"),
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    error, words = REFUSED[text]
    with pytest.raises(error, match=words):
        thread("pvc", 0, 0).run(text.format(ADDRESS))
