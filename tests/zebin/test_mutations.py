"""Damaged files of every kind: the reader answers or raises an error of eumu's, and soon."""

from __future__ import annotations

import random
import struct
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eumu import zebin
from eumu.errors import EumuError, Unsupported
from eumu.zebin import RelocationType, ze_info
from limits import within

DATA = Path(__file__).with_name("data")
FILES = {n: (DATA / n).read_bytes() for n in ("zeros.pvc.bin", "add32.skl.bin", "symbols.pvc.bin")}
NASTY = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, (1 << 63) - 1)
LONGEST = 2.0  # seconds of the processor for one file, a hundred times what a good one takes


def attempt(data: bytes) -> bool:
    """True if the bytes could be read."""
    with within(LONGEST):
        try:
            program = zebin.read(data, "k.bin")
        except EumuError:
            return False
        for section in program.data:
            known = all(r.type is not RelocationType.UNKNOWN for r in section.relocations)
            with nullcontext() if known else pytest.raises(Unsupported, match="relocation type"):
                section.relocated(lambda symbol: symbol.value)
        return True


def interesting(data: bytes) -> list[range]:
    """Where structure lies: the header, the section headers, everything but code and vISA text."""
    wide = data[4] == 2
    table = struct.unpack_from("<Q" if wide else "<I", data, 40 if wide else 32)[0]
    count = struct.unpack_from("<H", data, 60 if wide else 48)[0]
    step = 64 if wide else 40
    found = [range(64), range(table, len(data))]
    for i in range(count):
        row = struct.unpack_from("<IIQQQQ" if wide else "<IIIIII", data, table + i * step)
        if row[1] not in (0, 1, 8, 0xFF000013, 0xFF000014):
            found.append(range(row[4], row[4] + row[5]))
    return [r for r in found if len(r)]


def mutate(data: bytes, places: list[range], chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        at = chance.choice(chance.choice(places))
        way = chance.randrange(4)
        if way == 0:
            out[at] = chance.randrange(256)
        elif way == 1:
            width = chance.choice((1, 2, 4, 8))
            value = chance.choice(NASTY) & (1 << 8 * width) - 1
            out[at : at + width] = value.to_bytes(width, "little")
        elif way == 2:
            out[at] ^= 1 << chance.randrange(8)
        else:
            other = chance.choice(chance.choice(places))
            out[at : at + 8] = data[other : other + 8]
    return bytes(out[: len(data)])


@pytest.mark.parametrize(("file", "count"), [("zeros.pvc.bin", 1500), ("add32.skl.bin", 1000),
                                             ("symbols.pvc.bin", 200)])  # fmt: skip
def test_changed_bytes(file: str, count: int) -> None:
    data, chance = FILES[file], random.Random(file)
    places = interesting(data)
    good = sum(attempt(mutate(data, places, chance)) for _ in range(count))
    assert 0 < good < count, "mutations that all pass, or all fail, test nothing"


@pytest.mark.parametrize("file", FILES)
def test_cut_off_files(file: str) -> None:
    data = FILES[file]
    assert attempt(data)
    step = len(data) // 150
    for end in (*range(0, 80), *range(80, len(data), step), len(data) - 1):
        assert not attempt(data[:end])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=300))
def test_any_bytes_after_a_good_header(tail: bytes) -> None:
    attempt(tail)
    attempt(FILES["zeros.pvc.bin"][:64] + tail)


WORDS = [*"-:[]{}?&*!|>'\"%@`,#\n\t ", "\n  - ", ": ", "kernels", "name", "simd_size", "-1", "~"]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from(WORDS)), min_size=1, max_size=4))
def test_changed_yaml(edits: list[tuple[int, str]]) -> None:
    text = (DATA / "arguments.skl.ze_info").read_text()[:2600]
    for place, word in edits:
        at = place % len(text)
        text = text[:at] + word + text[at + len(word) :]
    try:
        ze_info.parse(text, "k")
    except EumuError as error:
        assert str(error).startswith("k: ")
