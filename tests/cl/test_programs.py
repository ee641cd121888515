"""Programs in C on eumu's OpenCL driver."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cl.programs import SOURCES, TIMEOUT_S, engines, environment, run
from drm.programs import compiled
from eumu.zebin import compilers

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed"),
]
HERE = Path(__file__).parent
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
    """The kernel's name, its line, the instruction, the buffer by the order of its making."""
    done = run(program, "fault", "add", EUMU_DEVICE="pvc")
    assert "fault ok" in done.stdout and "add ok" in done.stdout, done.stdout + done.stderr
    assert "in kernel far" in done.stderr
    assert re.search(r"  at program.cl:\d+.*\n.*kernel void far\(.*\n +\^", done.stderr)
    assert "argument 0 'p' is buffer #1 (4096 bytes at 0x" in done.stderr


def test_a_checked_run_finds_uses_of_undefined_values(program: Path) -> None:
    done = run(program, "add", "local", "undefined", EUMU_CHECK="on")
    assert done.stdout.count("ok") == 3 and done.returncode == 0, done.stdout + done.stderr
    assert "undefined stored data" in done.stderr and "half_written" in done.stderr


def test_a_work_item_that_works_for_long(program: Path) -> None:
    """Behind a driver, a thread may run 2^32 instructions."""
    done = run(program, "patient")
    assert "patient ok" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("device", ["skl", "dg2", "pvc"])
def test_bounds_of_hardware(program: Path, device: str) -> None:
    """Local memory of 1 KiB, buffers of whole pages."""
    strict = run(program, "beyond", EUMU_DEVICE=device)
    assert "beyond ok" not in strict.stdout and "eumu: fault" in strict.stderr
    done = run(program, "beyond", EUMU_DEVICE=device, EUMU_HARDWARE_BOUNDS="on")
    assert "beyond ok" in done.stdout and not done.stderr, done.stdout + done.stderr


def test_a_limit_of_instructions(program: Path) -> None:
    done = run(program, "add", EUMU_FUEL="3", EUMU_ENGINE="interp")
    assert done.returncode == 1 and "more than fuel=3 instructions" in done.stderr, done.stdout


def test_an_unknown_device_is_no_device(program: Path) -> None:
    done = run(program, "add", EUMU_DEVICE="vga")
    assert done.returncode == 1 and "vga" in done.stderr and "no OpenCL device" in done.stderr


INTERFACE = (
    *("out_of_order", "failed_wait", "callbacks", "destructors", "maps", "parts", "rectangles"),
    *(
        "usm",
        "compiled",
        "variables",
        "binaries",
        "mistakes",
        "offsets",
        "smaller_groups",
        "threads",
        "forks",
    ),
    *("collectives", "suggested", "released_at_exit"),
)


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(HERE / "interface.c", tmp_path_factory.mktemp("interface"), "OpenCL")


@pytest.mark.parametrize("device", ["pvc", "skl"])
def test_the_interface(interface: Path, device: str) -> None:
    cases = (*INTERFACE, "images_in_buffers") if device == "skl" else INTERFACE
    done = run(interface, *cases, EUMU_DEVICE=device)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"{case} ok" for case in cases]


@pytest.fixture
def spinning(interface: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A program whose kernel runs for minutes, and its engine process."""
    mark = f"EUMU_TEST_MARK={tmp_path}"
    program = subprocess.Popen(
        [interface, "spins"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(EUMU_TEST_MARK=str(tmp_path)),
    )
    assert program.stdout is not None and program.stdout.readline() == "spins\n"
    (engine,) = engines(mark)
    yield program, engine
    program.kill()
    program.communicate()


def test_an_engine_process_that_dies_is_an_error_for_the_program(
    spinning: tuple[subprocess.Popen[str], int],
) -> None:
    program, engine = spinning
    os.kill(engine, signal.SIGKILL)
    out, err = program.communicate(timeout=TIMEOUT_S)
    assert program.returncode == 0 and out == "spins ok\n", out + err
    assert "the engine process has ended" in err


def test_a_program_that_dies_takes_its_engine_process_along(
    spinning: tuple[subprocess.Popen[str], int],
) -> None:
    program, engine = spinning
    program.kill()
    end = time.monotonic() + 60
    while Path(f"/proc/{engine}").exists():
        assert time.monotonic() < end, "the engine process stays"
        time.sleep(0.05)


def _eumu(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eumu", "run", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)


def test_eumu_run_starts_programs(program: Path) -> None:
    """Statuses: the program's, 3 after a fault, 1 after findings; other drivers are not seen."""
    done = _eumu("--device", "skl", "--", "sh", "-c", f"{program} add; {program} local; exit 7")
    assert done.returncode == 7 and done.stdout.count("Skylake (skl)") == 2, done.stderr
    assert "add ok" in done.stdout and "local ok" in done.stdout
    done = _eumu("--", program, "fault", "add")
    assert done.returncode == 3 and "add ok" in done.stdout
    assert "eumu: 1 fault on the OpenCL device" in done.stderr
    done = _eumu("--check", "--", program, "undefined")
    assert done.returncode == 1 and "eumu: 1 finding" in done.stderr
    done = _eumu("--", "no-such-command-anywhere")
    assert done.returncode != 0 and "no-such-command-anywhere" in done.stderr


def test_clinfo() -> None:
    if shutil.which("clinfo") is None:
        pytest.skip("clinfo is not installed (Debian: apt-get install clinfo)")
    done = run("clinfo", EUMU_DEVICE="skl", EUMU_COMPUTE_UNITS="7")
    assert re.search(r"Max compute units +7$", done.stdout, re.MULTILINE)
    words = ("env", "EUMU_COMPUTE_UNITS=5", sys.executable, "-m", "eumu", "run", "--", "clinfo")
    told = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert re.search(r"Max compute units +5$", told.stdout, re.MULTILINE)
    assert done.returncode == 0 and "Intel(R) Skylake (skl), emulated by eumu" in done.stdout
    assert "OpenCL 3.0 eumu" in done.stdout and "Image support" in done.stdout
    assert "ERROR" not in done.stdout + done.stderr and "-30" not in done.stderr
