"""Names of kernels from what a program has built: both formats, code that the driver patched."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from eumu.drm.programs import Programs, kernels_of
from eumu.drm.protocol import Built
from eumu.errors import Place

BINARIES = Path(__file__).parent.parent / "kernels" / "bin" / "skl"


def first_ids(*places: int) -> bytes:
    """Items of a patch list: where in the constants the first global ids go, x first."""
    return b"".join(
        struct.pack("<11I", 17, 44, 16, 0, place, 4, 4 * axis, 0, 0, 0, 0)
        for axis, place in enumerate(places)
    )


def patch_tokens(*kernels: tuple[str, bytes], patches: bytes = bytes(12)) -> bytes:
    """A device binary as the driver's compiler has it, each heap with padding behind the code."""
    data = struct.pack("<4s6I", b"CTNI", 1081, 12, 8, len(kernels), 6, 4) + bytes(4)
    for name, code in kernels:
        text = name.encode() + bytes(4 - len(name) % 4)
        heap = code + bytes(64)
        sizes = len(text), len(patches), len(heap), 0, 32, 16, len(code)
        data += struct.pack("<IQ7I", 0, 0, *sizes) + text + heap + bytes(32 + 16) + patches
    return data


def packed(section: str, data: bytes) -> bytes:
    """An ELF file of 64 bits with one section."""
    names = b"\0" + section.encode() + b"\0.shstrtab\0"
    at = 64 + 3 * 64
    header = struct.pack(
        "<4s5B7xHHIQQQIHHHHHH",
        *(b"\x7fELF", 2, 1, 1, 0, 0, 0xFF04, 0, 1, 0, 0, 64, 0, 64, 0, 0, 64, 3, 2),
    )
    rows = bytes(64)
    rows += struct.pack("<IIQQQQIIQQ", 1, 0xFF000005, 0, 0, at, len(data), 0, 0, 8, 0)
    rows += struct.pack(
        *("<IIQQQQIIQQ", 2 + len(section), 3, 0, 0, at + len(data), len(names), 0, 0, 1, 0)
    )
    return header + rows + data + names


SECTION = "Intel(R) OpenCL Device Binary"
CODES = {name: random.Random(name).randbytes(320) for name in ("first", "second", "third one")}
FILE = packed(SECTION, patch_tokens(*CODES.items()))


def name(programs: Programs, code: bytes) -> str | None:
    known = programs.known(code)
    return None if known is None else known.name


def test_names() -> None:
    assert {k.name: k.code for k in kernels_of(Built(b"", FILE))} == CODES
    programs = Programs()
    assert name(programs, CODES["first"]) is None
    programs.add(Built(b"", FILE))
    for title, code in CODES.items():
        assert name(programs, code) == title
    patched = bytearray(CODES["second"])
    patched[16:32] = bytes(16)  # an address that the driver has put there
    assert name(programs, bytes(patched)) == "second"
    assert name(programs, random.Random(1).randbytes(320)) is None


def test_kernels_that_are_equal() -> None:
    programs = Programs()
    programs.add(Built(b"", packed(SECTION, patch_tokens(("a", b"x" * 64), ("b", b"x" * 64)))))
    assert name(programs, b"x" * 64) == "a or b"


def test_the_other_format() -> None:
    data = (BINARIES / "saxpy.bin").read_bytes()
    (kernel,) = kernels_of(Built(b"", data))
    assert kernel.name == "saxpy" and kernel.line_of(0) is None  # it was built without -g
    programs = Programs()
    programs.add(Built(b"", data))
    assert name(programs, kernel.code) == "saxpy"


def test_where_the_first_global_ids_are() -> None:
    """A patch list says it; items of other kinds, and other parameters, stand between."""
    other = struct.pack("<2I", 22, 12) + bytes(4) + struct.pack("<11I", 17, 44, 1, *[0] * 8)
    patches = other + first_ids(24, 4, 0)
    (kernel,) = kernels_of(Built(b"", packed(SECTION, patch_tokens(("a", b"x"), patches=patches))))
    known = kernel.known
    assert known.offset_at == (24, 4, 0)
    assert known.global_offset(struct.pack("<7I", 3, 2, 9, 9, 9, 9, 1)) == (1, 2, 3)
    assert known.global_offset(bytes(24)) is None  # the constants end before
    (kernel,) = kernels_of(Built(b"", packed(SECTION, patch_tokens(("a", b"x"), patches=other))))
    assert kernel.known.global_offset(bytes(64)) is None


def test_lanes_are_work_items_where_no_barrier_of_a_sub_group_can_be() -> None:
    file = packed(SECTION, patch_tokens(("a", b"x")))
    sources = (b"", b"kernel void a() {}", b"kernel void a() { sub_group_barrier(1); }")
    together = [k.known.lockstep for text in sources for k in kernels_of(Built(text, file))]
    assert together == [True, False, True]


def test_lines_of_the_source_are_shown_as_the_program_gave_them() -> None:
    """The driver calls the source by a number in the folder of the compiler."""
    (kernel,) = kernels_of(Built(b"one\ntwo", packed(SECTION, patch_tokens(("a", b"x")))))
    call = Place("/somewhere/1", 1)
    kernel.lines = lambda: [(8, 16, Place("/somewhere/1", 2, 3, "f", (call,)))]
    assert kernel.line_of(7) is None and kernel.line_of(16) is None
    found = kernel.line_of(8)
    assert found is not None and (str(found), found.text) == ("source.cl:2:3", "two")
    assert [str(place) for place in found.inlined] == ["source.cl:1"]


def test_lines_of_files_that_are_there_are_shown(tmp_path: Path) -> None:
    """A header, or what the SPIR-V of a module was made of."""
    file = tmp_path / "kernels.cl"
    file.write_text("one\ntwo\n")
    (kernel,) = kernels_of(Built(b"", packed(SECTION, patch_tokens(("a", b"x")))))
    places = [Place(str(file), 2, 3, "f"), Place(str(tmp_path / "gone.cl"), 2, 3, "f")]
    kernel.lines = lambda: [(8, 16, places[0]), (16, 24, places[1])]
    found, gone = kernel.line_of(8), kernel.line_of(16)
    assert found is not None and (str(found), found.text) == (f"{file}:2:3", "two")
    assert gone is not None and (str(gone), gone.text) == (f"{tmp_path}/gone.cl:2:3", "")


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_have_fewer_names(seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(FILE)
    for _ in range(rng.randrange(1, 30)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    known = kernels_of(Built(b"", bytes(data[: rng.randrange(len(data))])))
    assert sum(len(kernel.code) for kernel in known) <= len(FILE)
    programs = Programs()
    programs.add(Built(b"", bytes(data)))
    programs.known(CODES["first"])
