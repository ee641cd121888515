"""Captures of the driver's own: packets, page tables, contexts and rings, made here by hand."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from drm.programs import TIMEOUT_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="i915 is a driver of Linux")

SKL, PAGE, VALID = 12, 4096, 1
BATCH, DATA = 0x5000_0000_0000, 0x5000_0020_0000  # GPU addresses
CONTEXT, RING = 0x6000, 0x2000  # addresses of the global table
END = 0x0500_0000
TOP = 0x2000_0000  # the first of the page tables


def packet(which: int, body: bytes) -> bytes:
    return struct.pack("<I", 7 << 29 | 0x2E << 23 | which << 16 | len(body) // 4) + body


def version(device: int = SKL) -> bytes:
    return packet(0x0E, struct.pack("<5I", 0, 0x10040000 | device << 8, 0, 0, 0))


def write(space: int, address: int, data: bytes) -> bytes:
    return packet(6, struct.pack("<QII", address, space << 28, len(data)) + data)


def entry(space: int, address: int, value: int) -> bytes:
    return write(space, address, struct.pack("<Q", value | VALID))


def page_at(address: int, place: int) -> bytes:
    """Entries of four tables for one page."""
    top, second, third, last = TOP, 0x3000_0000, 0x3000_1000, 0x3000_2000
    last += (address >> 21 & 7) << 12  # a table for each 2 MiB
    tables = (
        (10, top, 39, second),
        (8, second, 30, third),
        (9, third, 21, last),
        (6, last, 12, place),
    )
    return b"".join(
        entry(space, table + 8 * (address >> shift & 511), value)
        for space, table, shift, value in tables
    )


def register(number: int, value: int) -> bytes:
    return packet(3, struct.pack("<5I", number, 2 << 16, 0xFFFFFFFF, 0, value))


def store(value: int, at: int = DATA) -> list[int]:
    """MI_STORE_DATA_IMM."""
    return [0x1000_0002, at & 0xFFFF_FFFF, at >> 32, value]


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def setup() -> bytes:
    """A context with its ring, and pages for a batch and for data."""
    image = [0] * 1024
    image[9], image[11], image[0x33] = RING, 0x3001, TOP
    pages = page_at(BATCH, 0x10000) + page_at(DATA, 0x20000) + page_at(DATA + PAGE, 0x11000)
    pages += b"".join(
        entry(4, (at + PAGE * k) // PAGE * 8, place + PAGE * k)
        for at, place in ((CONTEXT, 0x30000), (RING, 0x40000))
        for k in range(4)
    )
    return pages + write(2, 0x31000, words(*image))


def submit(tail: int, ring: bytes, batch: bytes, port: int = 0x2230) -> bytes:
    """A batch in memory, the ring up to its tail, and the writes that submit it."""
    memory = write(2, 0x10000, batch) + write(2, 0x40000 + tail - len(ring), ring)
    memory += write(2, 0x31000 + 4 * 7, words(tail))
    return memory + b"".join(register(port, value) for value in (0, 0, 0, CONTEXT | VALID))


def start(address: int = BATCH) -> bytes:
    """MI_BATCH_BUFFER_START."""
    return words(0x1880_0101, address & 0xFFFF_FFFF, address >> 32, 0)


TWICE = (
    version()
    + setup()
    + submit(16, start(), words(*store(7), END, 0))
    + submit(32, start(), words(*store(8, DATA + PAGE), *store(9), END, 0))
)


def replay(data: bytes, path: Path) -> subprocess.CompletedProcess[str]:
    path.write_bytes(data)
    command = [sys.executable, "-m", "eumu", "replay", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)


def test_batches_run_on_the_memory_of_the_file(tmp_path: Path) -> None:
    done = replay(TWICE, tmp_path / "twice.aub")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "2 batches, 0 commands that start threads, 3 cache lines changed;"
    )


def test_a_fault_is_told_and_its_context_runs_no_more(tmp_path: Path) -> None:
    data = version() + setup() + submit(16, start(), words(*store(7, DATA + (1 << 30)), END, 0))
    done = replay(data + submit(32, start(), words(*store(8), END, 0)), tmp_path / "fault.aub")
    assert done.returncode == 3 and done.stdout.startswith("1 batches")
    assert "MI_STORE_DATA_IMM writes 4 bytes at 0x500040200000: in no buffer" in done.stderr


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "this is no record"),
        (version()[:12], "this is no capture"),
        (words(7 << 29 | 1 << 23 | 5 << 16), "captures of the format before memory traces"),
        (version(11), "a capture of device 11; those of skl (12)"),
        (version() + words(0x1234_0000), "no packet of a capture"),
        (version() + packet(0x33, b""), "packet 0x33 of a capture"),
        (version() + packet(6, b"1234"), "packet 0x6 is too short"),
        (version() + packet(6, struct.pack("<QII", 0, 2 << 28, 64)), "a write of 64 bytes at 0x0"),
        (version() + write(2, 1 << 40, bytes(4)), "a write of 4 bytes at 0x10000000000"),
        (version() + write(1, 0, bytes(4)), "memory of address space 1"),
        (version() + write(6, 4, bytes(8)), "8 bytes of page tables at 0x4"),
        (version() + submit(16, start(), b"", 0x22230), "submissions to the copy engine"),
        (version() + submit(16, start(), b""), "no page is at 0x7000 of the global table"),
        (version() + setup() + submit(16, words(*store(1)), b""), "MI_STORE_DATA_IMM in a ring"),
        (version() + setup() + submit(0x8000, start(), b""), "a ring of 16384 bytes"),
        (
            version() + setup() + write(10, TOP, bytes(PAGE)) + submit(16, start(), b""),
            "page tables show nothing",
        ),
        (
            version() + setup() + page_at(0x8000_0000_0000, 0x9000) + submit(16, start(), b""),
            "OverrideGpuAddressSpace=47",
        ),
    ],
)
def test_other_files_are_refused_by_name(data: bytes, why: str, tmp_path: Path) -> None:
    from eumu.drm.replay import replay as here
    from eumu.errors import EumuError

    path = tmp_path / "other.aub"
    path.write_bytes(data)
    with pytest.raises(EumuError) as caught:
        here(path, None, check="")
    assert why in str(caught.value)


def test_tables_that_lead_to_themselves_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eumu.drm import aub
    from eumu.drm.replay import replay as here
    from eumu.errors import FormatError

    monkeypatch.setattr(aub, "_MOST_TABLES", 50)
    loop = write(10, TOP, struct.pack("<512Q", *[TOP | VALID] * 512))
    path = tmp_path / "loop.aub"
    path.write_bytes(version() + setup() + loop + submit(16, start(), b""))
    with pytest.raises(FormatError, match="more than 50 page tables"):
        here(path, None, check="")


def test_pages_that_tables_show_often_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tables show pages without end, none of which follows the one before it in memory."""
    from eumu.drm import aub
    from eumu.drm.replay import replay as here
    from eumu.errors import Unsupported

    monkeypatch.setattr(aub, "_MOST_PIECES", 100)
    pages = [0x10000 + 2 * PAGE * (k % 2) | VALID for k in range(512)]
    many = write(6, 0x3000_3000, struct.pack("<512Q", *pages))  # the table of DATA
    path = tmp_path / "many.aub"
    path.write_bytes(version() + setup() + many + submit(16, start(), b""))
    with pytest.raises(Unsupported, match="more than 100 pieces"):
        here(path, None, check="")


def test_a_page_that_is_shown_twice_changes_once(tmp_path: Path) -> None:
    again = page_at(DATA + 3 * PAGE, 0x20000)
    batch = words(*store(7), *store(8, DATA + 3 * PAGE + 64), END, 0)
    done = replay(version() + setup() + again + submit(16, start(), batch), tmp_path / "again.aub")
    assert done.returncode == 0 and ", 2 cache lines changed;" in done.stdout, done.stderr


def test_memory_below_the_arena_is_refused(tmp_path: Path) -> None:
    """A context that begins later shows the first pages: no engine counts from there."""
    low = b"".join(
        entry(space, table, value)
        for space, table, value in (
            *((10, TOP, 0x3100_0000), (8, 0x3100_0000, 0x3100_1000)),
            *((9, 0x3100_1000, 0x3100_2000), (6, 0x3100_2010, 0x50000)),
        )
    )
    data = TWICE + low + submit(48, start(), words(*store(7, 2 * PAGE), END, 0))
    done = replay(data, tmp_path / "low.aub")
    assert done.returncode == 1 and "at 0x2000) lies outside" in done.stderr, done.stderr
