"""Where a kernel ends in memory that had other code before."""

from __future__ import annotations

import pytest

from eumu import zebin
from eumu.native.extent import code_of, size_of
from eumu.native.words import Wrong, scan
from kernels.build import PROGRAMS

OTHER = bytes.fromhex("31000060070a0000")  # a send


def code_size(data: bytes) -> int:
    return size_of(code_of(data))


def codes(device: str) -> dict[str, bytes]:
    found = {}
    for program in PROGRAMS:
        if program.elf(device).exists():
            read = zebin.read(program.elf(device).read_bytes(), program.name)
            found |= {f"{program.name}.{k.name}": k.text[k.entry :] for k in read.kernels}
    return found


@pytest.mark.parametrize("device", ["skl", "apl"])
def test_other_code_behind_does_not_count(device: str) -> None:
    kernels = codes(device)
    other = kernels["saxpy.saxpy"]
    for name, code in kernels.items():
        size = code_size(code)
        ends = [i for i in scan(code[:size]) if not isinstance(i, Wrong)]
        assert 0 < size <= len(code) and ends[-1].offset + ends[-1].size == size, name
        assert code_size(code[:size] + other) == size, name
        # Behind it lies padding alone: no code that something leads to was left out.
        rest = {str(i.opcode) for i in scan(code[size:]) if not isinstance(i, Wrong)}
        assert rest <= {"illegal", "nop"}, name


def test_zeros_are_no_code() -> None:
    assert code_size(bytes(64)) == 0
