"""Records of what programs submitted, and running them again."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from drm.programs import HERE, TIMEOUT_S, compiled, run
from eumu.drm.record import CHANGED, PAGE, changed_lines
from eumu.drm.replay import replay as run_here
from eumu.errors import FormatError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="i915 is a driver of Linux")

Entries = list[tuple[dict[str, object], bytes]]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a program that copies and stores, on two contexts, one of which hangs."""
    place = tmp_path_factory.mktemp("record")
    done = run(compiled(HERE / "node.c", place), "hangs", options=("--dump", str(place / "made")))
    assert done.returncode == 3 and "hangs ok" in done.stdout, done.stdout + done.stderr
    (path,) = (place / "made").iterdir()
    return path


def replay(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "eumu", "replay", *options, str(path)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def entries(path: Path) -> Entries:
    found: Entries = []
    with path.open("rb") as file:
        while line := file.readline():
            entry = json.loads(line)
            found.append((entry, file.read(entry["size"])))
    return found


def write(path: Path, found: Entries) -> Path:
    lines = (json.dumps(e | {"size": len(d)}).encode() + b"\n" + d for e, d in found)
    path.write_bytes(b"".join(lines))
    return path


def test_memory_becomes_what_it_was(record: Path) -> None:
    done = replay(record)
    assert done.returncode == 3 and "MI_STORE_DATA_IMM writes 4 bytes" in done.stderr
    assert " 0 of them not as in the record" in done.stdout, done.stdout
    assert " 0 cache lines" not in done.stdout


def test_the_debugger_and_a_page_are_one_at_a_time(record: Path) -> None:
    done = replay(record, "--debug", "--report", "page.html")
    assert done.returncode == 2 and "one at a time" in done.stderr


def test_a_difference_is_told(record: Path, tmp_path: Path) -> None:
    found = [(e, d) for e, d in entries(record) if e.get("outcome") != "fault"]
    place = next(k for k, (e, d) in enumerate(found) if e.get("entry") == "changed" and len(d) > 8)
    data = bytearray(zlib.decompress(found[place][1]))
    data[CHANGED.size - 1] ^= 1
    found[place] = found[place][0], zlib.compress(bytes(data))
    done = replay(write(tmp_path / "changed", found))
    address = CHANGED.unpack_from(data)[0]
    assert f"the line at {address:#x} differs" in done.stdout, done.stdout + done.stderr


def test_what_is_cut_off_is_left_out(record: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    path.write_bytes(record.read_bytes()[:-10])
    done = replay(path)
    assert "not as in the record" in done.stdout and done.returncode in (0, 3), done.stderr


FIRST: dict[str, object] = {
    **{"what": "eumu-gpu-record-1", "gpu": "skl", "engine": "interp", "check": False},
    "strict_bounds": True,
}
STEP: dict[str, object] = {
    **{"entry": "step", "step": "submit", "context": 1, "batch": 4096},
    "objects": [[1, 1 << 40, 4096, 0]],
}
END: dict[str, object] = {"entry": "changed", "outcome": "fine", "clock": []}


@pytest.mark.parametrize(
    "found",
    [
        [],
        [({}, b"")],
        [({"what": "eumu-gpu-record-1"}, b"")],
        [(FIRST, b""), ({}, b"")],
        [(FIRST, b""), (END, b"")],
        [(FIRST, b""), ({"entry": "pages", "addresses": 3}, b"")],
        [(FIRST, b""), ({"entry": "pages", "addresses": [[0, 1]]}, zlib.compress(bytes(4096)))],
        [(FIRST, b""), ({"entry": "pages", "addresses": [[1 << 47, 1]]}, zlib.compress(b""))],
        [(FIRST, b""), (STEP, b""), (END, b"x")],
        [(FIRST, b""), (STEP | {"objects": [[1, 5, 4096, 0]]}, b""), (END, zlib.compress(b""))],
        [(FIRST, b""), (STEP | {"batch": "x"}, b""), (END, zlib.compress(b""))],
        [(FIRST, b""), (STEP | {"step": 7}, b""), (END, zlib.compress(b""))],
    ],
)
def test_other_files(found: Entries, tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        run_here(write(tmp_path / "other", found), None, check="")


def test_no_record_at_all(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(b"no record\n")
    done = replay(path)
    assert done.returncode == 1 and "this is no record" in done.stderr


def test_lines_that_changed() -> None:
    page = bytearray(PAGE)
    page[70] = 1
    assert list(changed_lines({}, {8192: bytes(page)})) == [(8256, bytes(page[64:128]))]
    assert list(changed_lines({8192: bytes(page)}, {})) == [(8256, bytes(64))]
