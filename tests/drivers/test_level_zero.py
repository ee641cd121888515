"""A program for Level Zero under Intel's own driver, with a module that ocloc made before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from drm.programs import compiled, run
from eumu.drm.session import missing_packages

MISSING = [line for line in missing_packages() if "the OpenCL loader" not in line]
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(MISSING)),
]

HERE = Path(__file__).parent
MODULE = HERE.parent / "kernels" / "bin" / "skl" / "saxpy.bin"
CASES = ("launch", "long_list", "events", "indirect", "indirect_access", "copies", "threads")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(HERE / "level_zero.c", tmp_path_factory.mktemp("ze"), "ze_loader")


def test_level_zero(program: Path) -> None:
    done = run(program, MODULE, *CASES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [x for x in done.stdout.splitlines() if x.endswith(" ok")] == [f"{c} ok" for c in CASES]
    assert done.stderr == "" and "HD Graphics 530 [0x1912], 1150 MHz" in done.stdout


def test_a_fault_has_the_kernels_name_and_the_size_that_was_asked_for(program: Path) -> None:
    done = run(program, MODULE, "fault", options=("--check",))
    assert "result 0x70000001" in done.stdout and done.returncode == 3  # the device is lost
    assert "in kernel saxpy, group (16, 0, 0)" in done.stderr
    assert "4096 of 65536 bytes" in done.stderr
