"""Files that are cut, bent or foreign: a FormatError that says where, and nothing else."""

from __future__ import annotations

import random
import re
import struct
import tracemalloc
from contextlib import suppress
from dataclasses import replace

import pytest

from binary.generate import ENCODED, Generator
from eumu import binary, text, verify
from eumu.errors import BuildError, FormatError
from eumu.platforms import platform
from eumu.program import GenBinary
from limits import within

# Too long for every run; `pytest -m weekly` runs them.
WEEKLY = (pytest.mark.slow, pytest.mark.weekly)

SMALL = """.version 4.1
.kernel "k"
.decl X v_type=G type=d num_elts=8 align=GRF attrs={Output}
.decl Y v_type=G type=d num_elts=8 align=GRF alias=<X, 0>
.decl A0 v_type=A num_elts=1
.decl P1 v_type=P num_elts=8
.decl S0 v_type=S num_elts=1
.decl T6 v_type=T num_elts=1
.input X offset=32 size=32
.kernel_attr SimdSize=8
.function "m"
m:
    FILE "a"
    LOC 1
    add (M1, 8) X(0,0)<1> Y(0,0)<1;1,0> 0x1:d
L:
    (P1) goto (M1, 8) L
    ret (M1, 1)
.global_function "f"
    fret (M1, 1)
"""


def small(version: tuple[int, int] = (4, 1)) -> bytes:
    module = replace(text.parse(SMALL), version=version)
    first, second = module.kernels
    native = replace(first, gen_binaries=(GenBinary(5, b"native"),))
    return binary.write(replace(module, kernels=(native, second)))


def refused(data: bytes) -> str:
    """The message about a file that cannot be read."""
    with pytest.raises(FormatError) as caught:
        binary.read(data, "x.isa")
    message = str(caught.value)
    assert re.match(r"x\.isa: offset 0x[0-9a-f]+: ", message), message
    return message


@pytest.mark.parametrize("version", [(3, 4), (3, 6), (4, 1)])
def test_every_cut_is_noticed(version: tuple[int, int]) -> None:
    data = small(version)
    binary.read(data)
    for length in range(len(data)):
        refused(data[:length])


def test_every_byte_can_be_anything() -> None:
    data = small()
    for at in range(len(data)):
        for value in (0xFF, data[at] ^ 1):
            _survives(data[:at] + bytes([value]) + data[at + 1 :])


def _survives(data: bytes) -> bool:
    """Whether the file can be read.

    What was read can be printed and checked, and written or refused.
    """
    try:
        module = binary.read(data, "x.isa")
    except FormatError:
        return False
    text.print_module(module)
    for device in DEVICES:
        verify.check(module, device)
    try:
        again = binary.write(module)
    except BuildError:
        return True
    assert text.print_module(binary.read(again)) == text.print_module(module)
    return True


DEVICES = platform("skl"), platform("pvc")
SEEDS = [
    small(),
    small((3, 5)),
    *(binary.write(Generator(seed).module(6, ENCODED)) for seed in range(6)),
]


@pytest.mark.parametrize(
    "count",
    [pytest.param(10_000, id="quick"), pytest.param(1_000_000, id="full", marks=WEEKLY)],
)
def test_mutations(count: int) -> None:
    """Bytes changed, cut out, put in and doubled at random."""
    chance = random.Random(5)
    read = sum(_survives(_mutated(chance, chance.choice(SEEDS))) for _ in range(count))
    assert 0 < read < count  # some files stay readable, most do not


def _mutated(chance: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(out))
        match chance.randrange(5):
            case 0:
                out[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            case 1:
                out[at] ^= 1 << chance.randrange(8)
            case 2:
                out[at : at + 4] = struct.pack("<I", chance.choice((0, 1, 0xFFFF, 0xFFFFFFFF)))
            case 3:
                del out[at : at + chance.randint(1, 8)]
            case _:
                out[at:at] = out[at : at + chance.randint(1, 8)]
    return bytes(out)


def test_counts_are_checked_before_anything_is_made() -> None:
    data = small()
    tracemalloc.start()
    with within(60):
        for at in range(len(data) - 4):
            with suppress(FormatError):
                binary.read(data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20


def test_objects_that_lie_over_one_another_are_refused() -> None:
    """Else a small file could be read many times over."""
    data = small()
    offset, size, inputs = struct.unpack_from("<III", data, 11)
    many = 2000
    added = 20 * (many - 1)
    entry = b"\1\0k" + struct.pack("<IIIIB", offset + added, size, inputs + added, 0, 0)
    body = data[:6] + struct.pack("<H", many) + entry * many + data[28 + 9 :]
    assert "objects of" in refused(body)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: b"", "no object file begins with nothing; 'CISA' does"),
        (lambda d: b"\x7fELF" + d[4:], "no object file begins with 7f454c46"),
        (lambda d: d[:4] + b"\3\2" + d[6:], "version 3.2; 3.4 to 4.x can be read"),
        (lambda d: d[:4] + b"\5\0" + d[6:], "version 5.0; 3.4 to 4.x can be read"),
        (lambda d: d[:6] + b"\xff\xff" + d[8:], "65535 kernels in"),
        (lambda d: d.replace(b"\1\0k", b"\1\0\0", 1), "a name with a NUL"),
        (lambda d: _in_code(d, b"\x68\x00", b"\xee\x00"), "opcode 0xee is not known"),
        (lambda d: _in_code(d, b"\x01\x03", b"\x01\x17"), "execution size"),
        (lambda d: _in_code(d, b"\x6c\x03\x01\x00", b"\x6c\x03\x02\x00"), "variable of number 2"),
        (lambda d: _in_code(d, b"\x6c\x03\x01\x00\x01\x00", b"\x6c\x03\x01\x00\x09\x00"),
         "label 9 is not one of 2"),
        (lambda d: _in_code(d, b"\x31\x01\x00", b"\x30\x01\x00"), "is a block, which opcode 0x30"),
        (lambda d: _in_code(d, b"\x31\x01\x00", b"\x31\x00\x00"), "stands twice"),
    ],
)  # fmt: skip
def test_messages(change: object, message: str) -> None:
    data = change(small())  # type: ignore[operator]
    assert message in refused(data)


def _in_code(data: bytes, old: bytes, new: bytes) -> bytes:
    at = data.rindex(old)
    return data[:at] + new + data[at + len(old) :]


def test_a_label_must_stand_somewhere() -> None:
    data = _in_code(small(), b"\x31\x01\x00", b"\x5f\x5f\x5f")
    assert "label 1 ('L') stands nowhere" in refused(data)


def test_the_writers_that_lose_operands_are_named() -> None:
    """Between September 2022 and September 2023 Intel's writers left out the last operands."""
    data = small()
    start = data.rindex(b"\x01\x03\x00\x00")
    end = data.index(b"native")
    lost = data[:start] + b"\x01\x03\x00\x00" + bytes(end - start - 4) + data[end:]
    assert "Intel's writers from September 2022 to September 2023" in refused(lost)
