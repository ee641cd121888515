"""Records of what programs submitted, and running them again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from drm.programs import HERE, TIMEOUT_S, compiled, run
from eumu.device.chip import HostClock
from eumu.drm.options import DrmOptions
from eumu.drm.protocol import Piece, Submission, Submitted
from eumu.drm.record import CHANGED, PAGE, RECORD, NotedClock, Recorder, changed_lines
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
    assert "the record ends within a step" in done.stdout
    assert "ends within" not in replay(record).stdout


FIRST: dict[str, object] = {
    **{"what": RECORD, "gpu": "skl", "engine": "interp", "check": False},
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
        [(FIRST | {"engine": "interpreter"}, b"")],
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


def recorder(directory: Path, lost: list[str]) -> tuple[Recorder, Submission]:
    """A recorder of program 1, and a submission with one page of ones."""
    fd = os.memfd_create("memory")
    os.ftruncate(fd, 4 * PAGE)
    os.pwrite(fd, b"\1" * PAGE, PAGE)
    made = Submitted(1, 1 << 40, PAGE, (Piece(PAGE, PAGE),))
    clock = NotedClock(HostClock(12_000_000))
    options = DrmOptions(engine="interp")
    return Recorder(str(directory), 1, options, fd, clock, lost.append), Submission(
        1, 1, 1 << 40, (made,)
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device /dev/full")
def test_a_full_disk_ends_a_record_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "1.eumu").symlink_to("/dev/full")
    lost: list[str] = []
    made, submission = recorder(tmp_path, lost)
    assert lost == [f"the record {tmp_path / '1.eumu'} is not whole: No space left on device"]
    made.reset(1)
    assert not made.begin("submit", submission)
    made.threads_ran(submission)
    made.end(submission, "fine")
    made.close()
    assert len(lost) == 1


def test_a_record_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    lost: list[str] = []
    recorder(tmp_path / "gone", lost)
    assert len(lost) == 1 and "No such file or directory" in lost[0]


def test_a_write_that_takes_a_part_is_gone_on_with(tmp_path: Path) -> None:
    """As at the end of a disk, or of a quota that somebody makes larger."""
    made, submission = recorder(tmp_path, [])
    whole = made._file
    assert whole is not None

    class Slow:
        def write(self, data: memoryview) -> int:
            return whole.write(data[:7])

        def close(self) -> None:
            whole.close()

    made._file = Slow()
    assert made.begin("submit", submission)
    made.end(submission, "fine")
    made.close()
    assert [e.get("entry") for e, _ in entries(tmp_path / "1.eumu")] == [
        *(None, "pages", "step", "changed")
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device /dev/full")
def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    """The program has its results, and the status says that the log is lost."""
    node = compiled(HERE / "node.c", tmp_path)
    done = run(node, "grown", options=("--log", "/dev/full"))
    assert done.returncode == 1 and "grown ok" in done.stdout, done.stderr
    assert done.stderr.count("--log /dev/full: No space left on device") == 1, done.stderr
