"""Pages without access lie around device memory, local memory and scratch space."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from eumu.exec.guarded import guarded, local

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pages without access there")

ENDS = """
import ctypes, sys
from eumu.device import Memory
from eumu.exec.guarded import local
kind, place = sys.argv[1], int(sys.argv[2])
array = Memory(1 << 20).arena if kind == "arena" else local(4096 + 64)
place += array.ctypes.data + (len(array) if sys.argv[3] == "end" else 0)
ctypes.c_uint8.from_address(place).value = 1
print("written")
"""


def reached(kind: str, place: int, where: str) -> bool:
    """Whether a byte can be written, in a process of its own."""
    command = [sys.executable, "-c", ENDS, kind, str(place), where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout == "written\n"


@pytest.mark.parametrize("kind", ["arena", "local"])
def test_what_runs_out_of_memory_ends_the_process(kind: str) -> None:
    assert reached(kind, 0, "begin")
    assert reached(kind, -1, "end")
    assert not reached(kind, 0, "end")
    assert not reached(kind, 60_000, "end")
    assert not reached(kind, -8192, "begin")


@pytest.mark.parametrize("size", [1, 63, 64, 4096, 5000, 1 << 20])
def test_local_memory_is_zero_and_lines_up(size: int) -> None:
    found = local(size)
    assert len(found) == size
    assert found.ctypes.data % 64 == 0
    assert not found.any()
    found[:] = 1


def test_memory_lives_as_long_as_its_array() -> None:
    _, array = guarded(1 << 16)
    array[:] = np.arange(1 << 16, dtype=np.uint32).view(np.uint8)[: 1 << 16]
    assert array[4] == 1
