"""RT_WRITE, RT_READ and URB_WRITE against a picture and rows of bytes, on both engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eumu.addresses import URB_SURFACE
from eumu.errors import Fault, Unsupported
from eumu.exec.grid import BufferSurface
from eumu.messages import TypedRead, TypedWrite
from isa.memory.machine import BASE, Thread, noise

Bytes = NDArray[np.uint8]
ROWS = 0x1000  # bytes of the URB
ENGINES = pytest.mark.usefixtures("engine")
BLOCKS = ((4, 2), (6, 2), (10, 4), (0, 6))  # places of four blocks of pixels


@dataclass
class Picture:
    """A surface of four floats a texel that answers typed messages; rows are y."""

    texels: NDArray[np.float32]
    surface: int = 3

    def __call__(
        self, record: Any, threads: Any, mask: NDArray[np.bool_], data: Sequence[NDArray[Any]]
    ) -> list[NDArray[Any]]:
        surface, x, y, *colours = data
        assert surface.shape == (1, 1) and surface[0, 0] == self.surface
        assert record.channels == (0, 1, 2, 3) and record.coordinates == ("u", "v")
        lanes = np.nonzero(mask[0])[0]
        if isinstance(record, TypedRead):
            found = np.zeros((4, mask.shape[1]), np.float32)
            found[:, lanes] = self.texels[y[0, lanes], x[0, lanes]].T
            return [row.view(np.uint32)[None, :] for row in found]
        assert isinstance(record, TypedWrite)
        for lane in lanes:
            bits = np.array([c[0, lane] for c in colours], np.uint32)
            self.texels[y[0, lane], x[0, lane]] = bits.view(np.float32)
        return []


def picture() -> Picture:
    return Picture(np.zeros((8, 16, 4), np.float32))


def header(blocks: Sequence[tuple[int, int]] = BLOCKS, on: int = 0xFFFF) -> Bytes:
    """The second register of a header: the places of blocks, and which pixels there are."""
    words = np.zeros(8, np.uint32)
    words[2 : 2 + len(blocks)] = [x | y << 16 for x, y in blocks]
    words[7] = on
    return words.view(np.uint8)


def pixels(lanes: int) -> list[tuple[int, int]]:
    """(x, y) of each lane."""
    found = []
    for x, y in BLOCKS[: lanes // 4]:
        found += [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)]
    return found


def colours(seed: int, dtype: Any = np.float32, lanes: int = 16) -> list[NDArray[Any]]:
    random = np.random.default_rng(seed)
    return [random.standard_normal(lanes).astype(dtype) for _ in range(4)]


def registers(found: Sequence[NDArray[Any]], type: str) -> dict[str, Bytes]:
    return {f"{n}:{type}": c.view(np.uint8) for n, c in zip("RGBK", found, strict=True)}


def write(
    target: Picture, more: dict[str, Bytes], *lines: str, lanes: int = 32, predicate: int = -1
) -> None:
    thread = Thread(
        "skl",
        np.zeros(64, np.uint8),
        {"HEADER": header(), **more},
        lanes=lanes,
        predicate=predicate & 0xFFFF_FFFF,
        answer=target,
    )
    thread.run("movs (M1_NM, 1) T6(0) 0x3:ud", *lines)


@ENGINES
@pytest.mark.parametrize("size", [8, 16])
def test_a_lane_writes_its_pixel(size: int) -> None:
    target, data = picture(), colours(1)
    line = f"rt_write_3d (M1, {size}) T6 HEADER.0 R.0 G.0 B.0 K.0"
    write(target, registers(data, "f"), line)
    expected = picture().texels
    for lane, (x, y) in enumerate(pixels(size)):
        expected[y, x] = [c[lane] for c in data]
    assert np.array_equal(target.texels, expected)


@ENGINES
def test_lanes_from_eight_on_have_the_last_blocks() -> None:
    target, data = picture(), colours(2)
    write(target, registers(data, "f"), "rt_write_3d (M3, 8) T6 HEADER.0 R.0 G.0 B.0 K.0")
    expected = picture().texels
    for lane, (x, y) in enumerate(pixels(16)[8:]):
        expected[y, x] = [c[lane] for c in data]
    assert np.array_equal(target.texels, expected)


@ENGINES
@pytest.mark.parametrize(("line", "first"), [("(M1, 16)", 0), ("(M3, 8)", 8)])
def test_the_header_says_which_pixels_there_are(line: str, first: int) -> None:
    """A predicate takes the place of those bits, as Intel's finalizer does."""
    on, predicate = 0b1010_0101_1100_0011, 0b0110_1110_0101_1010
    for predicated in (False, True):
        target, data = picture(), colours(2)
        more = {"HEADER": header(on=on), **registers(data, "f")}
        shown = f"{'(P1) ' * predicated}rt_write_3d {line} T6 HEADER.0 R.0 G.0 B.0 K.0"
        write(target, more, shown, predicate=predicate)
        written = [bool(target.texels[y, x].any()) for x, y in pixels(16)[first:]]
        wanted = predicate if predicated else on
        assert written == [bool(wanted >> lane & 1) for lane in range(first, 16)]


@ENGINES
def test_halves_are_converted_and_missing_colours_are_zero() -> None:
    target, data = picture(), colours(3, np.float16)
    write(target, registers(data, "hf"), "rt_write_3d (M1, 8) T6 HEADER.0 R.0 %null.0 B.0 %null.0")
    for lane, (x, y) in enumerate(pixels(8)):
        assert list(target.texels[y, x]) == [data[0][lane], 0, data[2][lane], 0]


@ENGINES
def test_the_mask_of_samples_the_predicate_and_the_lanes_decide() -> None:
    samples = np.array([1, 2, 3, 0, 1, 1, 1, 1], np.uint16)
    target, data = picture(), colours(4)
    more = {"SAMPLES:uw": samples.view(np.uint8), **registers(data, "f")}
    line = "(P1) rt_write_3d.<O><LRTW> (M1, 8) T6 HEADER.0 SAMPLES.0 R.0 G.0 B.0 K.0"
    write(target, more, line, lanes=7, predicate=0b1101_1111)
    written = [bool(target.texels[y, x].any()) for x, y in pixels(8)]
    assert written == [True, False, True, False, True, False, True, False]


@ENGINES
def test_no_target_takes_nothing() -> None:
    target = picture()
    line = "rt_write_3d.<LRTW><NULLRT> (M1, 16) T6 %null.0 %null.0 %null.0 %null.0 %null.0"
    write(target, {}, line)
    assert not target.texels.any()


@ENGINES
@pytest.mark.parametrize("type", ["f", "hf"])
def test_without_a_header_the_payload_has_the_places(type: str) -> None:
    dtype = {"f": np.float32, "hf": np.float16}[type]
    target = picture()
    target.texels[...] = noise(5, target.texels.size).reshape(target.texels.shape)
    # r1 is what lies behind r0 in the payload: the thread's first register, of the predicate.
    first = header()
    first[0] = 0xFF
    size = 16 * np.dtype(dtype).itemsize
    out = {f"OUT:{type}": np.zeros(4 * size, np.uint8)}
    thread = Thread("skl", np.zeros(64, np.uint8), {"PBITS": first, **out}, answer=target)
    line = "(P1) rt_read (M1, 16) T6 OUT.0"
    _, after = thread.run("movs (M1_NM, 1) T6(0) 0x3:ud", line)
    got = after["OUT"].view(dtype).reshape(4, 16)
    for lane, (x, y) in enumerate(pixels(16)):
        expected = target.texels[y, x].astype(dtype) if lane < 8 else np.zeros(4)
        assert np.array_equal(got[:, lane], expected)


@ENGINES
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("rt_write_3d.<Z> (M1, 8) T6 HEADER.0 R.0 G.0 B.0 K.0 R.0", "depth and stencil"),
        ("rt_write_3d.<A> (M1, 8) T6 HEADER.0 R.0 R.0 G.0 B.0 K.0", "alpha of target 0"),
        ("rt_write_3d.<PS> (M1, 8) T6 HEADER.0 R.0 G.0 B.0 K.0", "several samples"),
        ("rt_write_3d (M1, 32) T6 HEADER.0 R.0 G.0 B.0 K.0", "more than 16 pixels"),
        ("rt_write_3d (M1, 8) %slm HEADER.0 R.0 G.0 B.0 K.0", "%slm as a render target"),
    ],
)
def test_what_is_not_modelled_says_so(line: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        write(picture(), registers(colours(6), "f"), line)


# ---- the URB


def rows(*, lanes: int = 32, predicate: int = -1, mask: str = "", slots: bool = True) -> None:
    """urb_write_3d of three outputs, compared with what NumPy makes of it."""
    random = np.random.default_rng(7)
    handles = random.permutation(8).astype(np.uint32) * 4
    offsets = random.integers(0, 2, 8).astype(np.uint32)
    masks = random.integers(0, 8, 8).astype(np.uint32)
    data = random.integers(0, 1 << 32, (3, 8), np.uint32)
    memory = noise(8, ROWS)
    thread = Thread(
        "skl",
        memory,
        {
            "HANDLES": handles.view(np.uint8),
            "SLOTS": offsets.view(np.uint8),
            "MASKS": masks.view(np.uint8),
            "DATA": data.reshape(-1).view(np.uint8),
        },
        lanes=lanes,
        predicate=predicate & 0xFFFF_FFFF,
        surfaces={URB_SURFACE: BufferSurface(BASE, ROWS)},
    )
    slot = "SLOTS.0" if slots else "%null.0"
    line = f"(P1) urb_write_3d (M1, 8) 3 5 {mask or '%null.0'} HANDLES.0 {slot} DATA.0"
    after, _ = thread.run(line)
    expected = memory.copy().view(np.uint32)
    for lane in range(8):
        if lane >= lanes or not predicate >> lane & 1:
            continue
        row = handles[lane] + 5 + (offsets[lane] if slots else 0)
        for k in range(3):
            if not mask or masks[lane] >> k & 1:
                expected[4 * row + k] = data[k, lane]
    assert np.array_equal(after.view(np.uint32), expected)


@ENGINES
def test_rows_are_written() -> None:
    rows(slots=False)


@ENGINES
def test_each_lane_has_an_offset_and_a_mask_of_its_own() -> None:
    rows(mask="MASKS.0")


@ENGINES
def test_lanes_that_are_off_write_nothing() -> None:
    rows(lanes=6, predicate=0b10_1101)


@ENGINES
def test_a_row_beyond_the_urb_is_a_fault() -> None:
    handles = np.full(8, ROWS // 16, np.uint32).view(np.uint8)
    data = np.zeros(32, np.uint8)
    thread = Thread(
        "skl",
        np.zeros(ROWS, np.uint8),
        {"HANDLES": handles, "DATA": data},
        surfaces={URB_SURFACE: BufferSurface(BASE, ROWS)},
    )
    with pytest.raises(Fault):
        thread.run("urb_write_3d (M1, 8) 1 0 %null.0 HANDLES.0 %null.0 DATA.0")
