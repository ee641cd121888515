"""Programs in C on eumu's OpenCL driver."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from cl.programs import SOURCES, run
from drm.programs import compiled
from eumu.zebin import ocloc

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(ocloc.find() is None, reason="ocloc is not installed"),
]
CASES = ("add", "profiling", "svm", "pointers", "local", "threads", "many")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES / "drivers" / "opencl.c", tmp_path_factory.mktemp("opencl"), "OpenCL")


@pytest.mark.parametrize(
    ("device", "cases"), [("pvc", CASES), ("skl", (*CASES, "image")), ("dg2", (*CASES, "image"))]
)
def test_cases(program: Path, device: str, cases: tuple[str, ...]) -> None:
    done = run(program, *cases, "prints", EUMU_DEVICE=device)
    said = done.stdout.splitlines()
    assert f"({device})" in said[0] and done.returncode == 0, done.stdout + done.stderr
    assert [line for line in said if line.endswith(" ok")] == [
        f"{c} ok" for c in (*cases, "prints")
    ]
    assert sorted(line for line in said if "item" in line) == [f"item {k} of 3" for k in range(3)]


def test_the_interpreter(program: Path) -> None:
    done = run(program, "svm", "local", EUMU_ENGINE="interp")
    assert done.stdout.count("ok") == 2, done.stdout + done.stderr


def test_a_fault_is_an_error_for_the_program_and_a_report_for_people(program: Path) -> None:
    """The kernel's name, the instruction, the buffer by the order of its making and its size."""
    done = run(program, "fault", "add", EUMU_DEVICE="pvc")
    assert "fault ok" in done.stdout and "add ok" in done.stdout, done.stdout + done.stderr
    assert "in kernel far" in done.stderr
    assert "argument 0 'p' is buffer #1 (4096 bytes at 0x" in done.stderr


def test_a_checked_run_finds_uses_of_undefined_values(program: Path) -> None:
    done = run(program, "add", "local", "undefined", EUMU_CHECK="on")
    assert done.stdout.count("ok") == 3 and done.returncode == 0, done.stdout + done.stderr
    assert "undefined stored data" in done.stderr and "half_written" in done.stderr


def test_an_unknown_device_is_no_device(program: Path) -> None:
    done = run(program, "add", EUMU_DEVICE="vga")
    assert done.returncode == 1 and "vga" in done.stderr and "no OpenCL device" in done.stderr


def test_clinfo() -> None:
    if shutil.which("clinfo") is None:
        pytest.skip("clinfo is not installed (Debian: apt-get install clinfo)")
    done = run("clinfo", EUMU_DEVICE="skl")
    assert done.returncode == 0 and "eumu Skylake (skl)" in done.stdout
    assert "OpenCL 3.0 eumu" in done.stdout and "Image support" in done.stdout
    assert "ERROR" not in done.stdout + done.stderr and "-30" not in done.stderr
