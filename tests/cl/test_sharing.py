"""Memory that a program and the device share, without copies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cl.programs import SOURCES, run
from drm.programs import compiled
from eumu.zebin import compilers

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed"),
]
CASES = (
    *(
        "pages",
        "odd_places",
        "one_page",
        "other_memory",
        "forks",
        "released",
        "unmapped",
        "threads",
    ),
    *("svm", "usm"),
)


def test_memory_is_one_memory(tmp_path: Path) -> None:
    program = compiled(SOURCES / "cl" / "sharing.c", tmp_path, "OpenCL")
    done = run(program, *CASES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"{case} ok" for case in CASES]
