"""Names of kernels from what a program has built: both formats, code that the driver patched."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from eumu.drm.programs import Programs, kernels_of
from eumu.drm.protocol import Built

BINARIES = Path(__file__).parent.parent / "kernels" / "bin" / "skl"


def patch_tokens(*kernels: tuple[str, bytes]) -> bytes:
    """A device binary as the driver's compiler has it, each heap with padding behind the code."""
    data = struct.pack("<4s6I", b"CTNI", 1081, 12, 8, len(kernels), 6, 4) + bytes(4)
    for name, code in kernels:
        text = name.encode() + bytes(4 - len(name) % 4)
        heap = code + bytes(64)
        sizes = len(text), 12, len(heap), 0, 32, 16, len(code)
        data += struct.pack("<IQ7I", 0, 0, *sizes) + text + heap + bytes(32 + 16 + 12)
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


def test_names() -> None:
    assert {k.name: k.code for k in kernels_of(Built(b"", FILE))} == CODES
    programs = Programs()
    assert programs.title(CODES["first"]) is None
    programs.add(Built(b"", FILE))
    for name, code in CODES.items():
        assert programs.title(code) == name
    patched = bytearray(CODES["second"])
    patched[16:32] = bytes(16)  # an address that the driver has put there
    assert programs.title(bytes(patched)) == "second"
    assert programs.title(random.Random(1).randbytes(320)) is None


def test_kernels_that_are_equal() -> None:
    programs = Programs()
    programs.add(Built(b"", packed(SECTION, patch_tokens(("a", b"x" * 64), ("b", b"x" * 64)))))
    assert programs.title(b"x" * 64) == "a or b"


def test_the_other_format() -> None:
    data = (BINARIES / "saxpy.bin").read_bytes()
    (kernel,) = kernels_of(Built(b"", data))
    assert kernel.name == "saxpy" and kernel.place(0) is None  # it was built without -g
    programs = Programs()
    programs.add(Built(b"", data))
    assert programs.title(kernel.code) == "saxpy"


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
    programs.title(CODES["first"])
