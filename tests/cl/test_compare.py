"""`eumu compare -- COMMAND`: the first launch of a program after which drivers differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cl.programs import SOURCES, TIMEOUT_S
from drm.programs import compiled
from eumu.cl.captured import Side, first_difference, read
from eumu.errors import FormatError
from eumu.zebin import compilers

POCL = Path("/etc/OpenCL/vendors/pocl.icd")


def _compare(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eumu", "compare", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux")
@pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed")
@pytest.mark.skipif(not POCL.exists(), reason="PoCL is not installed")
def test_the_first_launch_that_differs_is_named(tmp_path: Path) -> None:
    """On `pvc` the virtual GPU cannot be one of the drivers; nobody is silent about that."""
    program = compiled(SOURCES / "cl" / "differs.c", tmp_path, "OpenCL")
    done = _compare("--device", "pvc", "--", program)
    assert done.returncode == 1, done.stderr
    said = done.stdout.splitlines()
    assert said[0].startswith("Intel's driver: not compared: ")
    assert said[1] == (
        "launch 2, kernel add, argument 0 (buffer #2, 64 bytes): 8 bytes differ between eumu's"
        " driver and PoCL"
    )
    assert said[2].startswith("  byte 0: 0x00000006 and 0x00000005 (")
    done = _compare("--device", "pvc", "--", program, "same")
    assert done.returncode == 0, done.stdout
    assert "PoCL left the same as eumu's driver in 2 launches" in done.stdout


def _side(path: Path, *rows: bytes) -> Side:
    path.write_bytes(b"".join(rows))
    return path.name, path, read(path)


def test_floats_that_lie_near_are_the_same_if_asked_for(tmp_path: Path) -> None:
    one, near = b"\x00\x00\x80\x3f" * 2, b"\x00\x00\x80\x3f\x01\x00\x80\x3f"
    left = _side(tmp_path / "left", b"L 1 1 2 1 1 k\nB 0 0 1 8 a 1\n", one)
    right = _side(tmp_path / "right", b"L 1 1 2 1 1 k\nB 0 0 1 8 b 1\n", near)
    found = first_difference(left, right)
    assert found is not None and "byte 4: 0x3f800000 and 0x3f800001 (1 and 1 as floats)" in found
    assert first_difference(left, right, rtol=1e-6) is None
    other = _side(tmp_path / "other", b"L 1 1 4 1 1 k\n")
    assert "goes another way" in str(first_difference(left, other))
    assert "1 launches, none has 0" in str(first_difference(left, ("none", Path(), [])))


def test_bytes_beyond_the_limit_of_a_file_are_not_older_ones(tmp_path: Path) -> None:
    """A record without bytes stands for the last ones with its sum, never for others."""
    launch = b"L 1 1 2 1 1 k\n"
    changed = (launch, b"B 0 0 1 4 a 1\n", b"aaaa", launch, b"B 0 0 1 4 b 0\n")
    first, second = (row.buffers[0] for row in _side(tmp_path / "changed", *changed)[2])
    assert first.place is not None and second.place is None
    kept = (launch, b"B 0 0 1 4 a 1\n", b"aaaa", launch, b"B 0 0 1 4 a 0\n")
    first, second = (row.buffers[0] for row in _side(tmp_path / "kept", *kept)[2])
    assert first.place == second.place is not None


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    for text in (b"X\n", b"\n", b"B 0 0 1 4 a 1\n", b"L 1\n", b"L 1 1 2 1 1 k\nB 0\n"):
        with pytest.raises(FormatError, match="no record of launches"):
            _side(tmp_path / "x", text)
