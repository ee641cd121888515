"""What engine processes keep for the command that started them comes back, and nothing else."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from eumu.cl.options import ClOptions, recorded
from eumu.errors import FormatError
from eumu.findings import ArrayPlace, Finding, Place, Severity, Source, Span

SPAN = Span(Source("k.cl", "x = y;"), 1, 1, 1, 2)
PLACE = Place("k.cl", 3, 4, "f", (Place("k.cl", 9),), "x = y;")
FOUND = [
    Finding("race", "both"),
    Finding("api", "clFinish fails", severity=Severity.NOTE, notes=("one", "two"), place=PLACE),
    Finding("out-of-bounds", "far", span=SPAN, global_id=(1, 2, 3), lanes=(4, 5)),
    Finding("race", "two", memory=ArrayPlace("a", 64, 4, 4), related=(Finding("race", "one"),)),
]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "records", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


def test_records_come_back(file: int) -> None:
    for finding in FOUND:
        ClOptions(records=file).record(finding)
    assert list(recorded(file)) == FOUND


def test_half_a_record_is_of_a_process_that_was_killed(file: int) -> None:
    ClOptions(records=file).record(FOUND[0])
    whole = os.fstat(file).st_size
    ClOptions(records=file).record(FOUND[1])
    for size in (whole + 3, whole + 8, whole + 20):
        os.ftruncate(file, size)
        assert list(recorded(file)) == FOUND[:1]


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return os.putenv, ("EUMU_EVIL", "1")


@pytest.mark.parametrize(
    "data",
    [pickle.dumps(Evil()), pickle.dumps(SPAN), pickle.dumps([FOUND[0]]), b"", b"\x80\x05rubbish"],
    ids=["call", "part", "list", "nothing", "rubbish"],
)
def test_other_bytes_make_nothing(file: int, data: bytes) -> None:
    os.write(file, len(data).to_bytes(8, "little") + data)
    with pytest.raises(FormatError, match="a record of findings"):
        list(recorded(file))


def test_a_size_beyond_the_file_takes_no_memory(file: int) -> None:
    os.write(file, (1 << 62).to_bytes(8, "little") + b"1234")
    assert list(recorded(file)) == []
