"""Programs under Intel's own driver, a few starts of it; `suites.py --own` has more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from drm.programs import compiled, run
from eumu.drm.session import missing_packages

MISSING = [line for line in missing_packages() if "Level Zero alone" not in line]
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(MISSING)),
]

HERE = Path(__file__).parent
CASES = (
    "add",
    "profiling",
    "svm",
    "pointers",
    "local",
    "image",
    "volume",
    "threads",
    "many",
    "forks",
    "spills",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(HERE / "opencl.c", tmp_path_factory.mktemp("opencl"), "OpenCL")


def test_opencl(program: Path) -> None:
    done = run(program, *CASES, "prints")
    said = done.stdout.splitlines()
    assert "HD Graphics 530" in said[0] and done.returncode == 0, done.stdout + done.stderr
    assert [line for line in said if line.endswith(" ok")] == [
        f"{c} ok" for c in (*CASES, "prints")
    ]
    assert sorted(line for line in said if "item" in line) == [f"item {k} of 3" for k in range(3)]


def test_fewer_units(program: Path) -> None:
    """Some programs do work for each unit; groups and local memory stay what they are."""
    done = run(program, "add", "local", "threads", EUMU_COMPUTE_UNITS="8")
    assert done.stdout.count("ok") == 3, done.stdout + done.stderr
    if shutil.which("clinfo") is not None:
        lines = run("clinfo", EUMU_COMPUTE_UNITS="8").stdout.splitlines()
        words = [line.split() for line in lines if "Max compute units" in line]
        assert words == [["Max", "compute", "units", "8"]]


def test_a_work_item_that_works_for_long(program: Path) -> None:
    """Behind a driver, a thread may run 2^32 instructions."""
    done = run(program, "patient")
    assert "patient ok" in done.stdout, done.stdout + done.stderr


def test_a_limit_of_instructions(program: Path) -> None:
    done = run(program, "add", options=("--engine", "interp"), EUMU_FUEL="3")
    assert "more than fuel=3 instructions" in done.stderr and "add ok" not in done.stdout


def test_other_addresses(program: Path) -> None:
    """apl: what is not bound has 32-bit addresses there (docs/driver.md)."""
    done = run(program, "add", "pointers", "local", "image", options=("--device", "apl"))
    assert done.stdout.count("ok") == 4, done.stdout + done.stderr


def test_broadwell(program: Path) -> None:
    cases = "add", "svm", "pointers", "local", "image", "volume", "spills", "many", "prints"
    done = run(program, *cases, options=("--device", "bdw"))
    assert "HD Graphics 5500" in done.stdout.splitlines()[0]
    assert done.returncode == 0 and done.stdout.count(" ok") == 9, done.stdout + done.stderr


def test_broadwell_without_shared_local_memory_behind_it(program: Path) -> None:
    """The driver divides the cache anew, and clears shared local memory."""
    done = run(program, "local", "add", "local", "add", options=("--device", "bdw"))
    assert done.returncode == 0 and done.stdout.count(" ok") == 4, done.stdout + done.stderr


def test_the_interpreter(program: Path) -> None:
    done = run(program, "svm", "local", "image", options=("--engine", "interp"))
    assert done.stdout.count("ok") == 3, done.stdout + done.stderr


def test_a_fault_is_an_error_for_the_program_and_a_report_for_people(program: Path) -> None:
    done = run(program, "fault", BUILD_OPTIONS="-cl-std=CL2.0 -g")
    assert "in kernel far, group (0, 0, 0)" in done.stderr
    assert "at source.cl:6:" in done.stderr and "p[get_global_id(0) * step] = 1; }\n" in done.stderr
    assert "work item (1, 0, 0), local id (1, 0, 0), and 14 more" in done.stderr
    assert "fault ok" in done.stdout and done.returncode == 3, done.stdout + done.stderr
    assert "store of 4 bytes at 0x400000 is outside the 4096 bytes of surface 0" in done.stderr
    assert "eumu gpu --hardware-bounds" in done.stderr


def test_a_checked_run_finds_undefined_values_and_races(program: Path, tmp_path: Path) -> None:
    """Each place once, however often the kernel runs, also of a record; what is right has none.

    The compiler makes two stores of one, for the halves of 32 lanes.  A race has both lines, and
    work items as the program counts them, from its global offset on.
    """
    cases, page = ("local", "undefined", "racy"), tmp_path / "found.json"
    options = "--check=all", "--dump", str(tmp_path / "records"), "--findings", str(page)
    done = run(program, *cases, options=options, BUILD_OPTIONS="-cl-std=CL2.0 -g")
    assert done.stdout.count("ok") == 3 and done.returncode == 1, done.stdout + done.stderr
    text = done.stderr
    assert text.count("undefined stored data") == 2 and "eumu: 3 findings" in text, text
    assert text.count("source.cl:21:") == 3 and "source.cl:19:" in text
    assert "race: store and load of different work items" in text
    assert "part[l] = l; out[get_global_id(0)] = part[l ^ 1]; }\n" in text
    assert "note: work item (100, 0, 0), local id (0, 0, 0)\n" in text
    assert "(work item (101, 0, 0), local id (1, 0, 0), group (0, 0, 0), thread 0)" in text
    told = json.loads(page.read_text())
    assert (told["status"], told["device"], len(told["findings"])) == (1, "skl", 3)
    race = next(f for f in told["findings"] if f["code"] == "race")
    assert (race["file"], race["line"], race["kernel"]) == ("source.cl", 21, "racy")
    assert race["global_id"] == [100, 0, 0] and race["related"][0]["global_id"] == [101, 0, 0]
    (record,) = (tmp_path / "records").iterdir()
    words = [sys.executable, "-m", "eumu", "replay", str(record), "--check=undefined,races"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    own = [line for line in text.splitlines() if not line.startswith("eumu: ")]
    assert done.stderr.splitlines() == own and done.returncode == 1
    words, script = [*words[:-1], "--debug"], "break racy\nc\ndelete\nb 21\nc\np r1 uw\nc\n"
    done = subprocess.run(words, input=script, capture_output=True, text=True, timeout=300)
    assert "\nkernel racy, thread 0 (0 of group 0), lanes 0x" in done.stdout, done.stderr
    assert "  source.cl:21: __local int part[64];" in done.stdout
    assert "  0x0 0x1 0x2 0x3 0x4 0x5 0x6 0x7\n" in done.stdout
    assert " 0 of them not as in the record" in done.stdout and done.returncode == 1


@pytest.mark.parametrize(
    ("case", "report"),
    [
        ("past_svm", "0 bytes after the end of buffer object "),
        ("past_buffer", "is outside what is in memory of surface 0: 1001 of 1004 bytes"),
    ],
)
def test_checked_runs_know_the_sizes_that_were_asked_for(
    program: Path, case: str, report: str
) -> None:
    """The driver rounds buffers up to pages, and nothing happens there on hardware."""
    assert run(program, case).stdout.endswith(f"{case} 0\n{case} ok\n")
    done = run(program, case, options=("--check",))
    assert f"{case} -5\n" in done.stdout and done.returncode == 3, done.stdout + done.stderr
    assert report in done.stderr


def test_captures_of_the_driver_itself(program: Path, tmp_path: Path) -> None:
    """They are made without a GPU and without eumu; kernels have no names there."""
    keys = {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1"}
    keys |= {"ProductFamilyOverride": "skl", "OverrideGpuAddressSpace": "47"}
    subprocess.run(
        [program, "undefined", "racy"], cwd=tmp_path, env=os.environ | keys, timeout=300, check=True
    )
    (capture,) = tmp_path.glob("*.aub")
    words = [sys.executable, "-m", "eumu", "replay", str(capture), "--check=all"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert "3 commands that start threads" in done.stdout and done.returncode == 1, done.stderr
    assert done.stderr.count("undefined stored data") == 2
    assert "race:" not in done.stderr  # a thread's lanes may count on each other, for all we know
    words[-1] = "--debug"
    done = subprocess.run(words, input="s\nq\n", capture_output=True, text=True, timeout=300)
    assert "\n  +0x10 " in done.stdout and "left before the end" in done.stdout, done.stderr


def test_a_page_and_a_log_about_the_kernels(program: Path, tmp_path: Path) -> None:
    page, log = tmp_path / "r.html", tmp_path / "log"
    page.write_text("an old one")
    options = ("--report", str(page), "--log", str(log), "--dump", str(tmp_path / "records"))
    done = run(program, "pointers", "local", options=options)
    assert done.returncode == 0 and done.stdout.count(" ok") == 2, done.stdout + done.stderr
    text = page.read_text()
    for name in ("link", "sum_list", "reduce"):
        assert f"<td>{name}</td><td>1</td>" in text
        assert log.read_text().count(f"kernel {name}\n") == 1
    (record,) = (tmp_path / "records").iterdir()
    again = tmp_path / "again.html"
    words = ["-m", "eumu", "replay", str(record), "--report", str(again)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and ", 0 of them not as in the record" in done.stdout
    assert again.read_text() == text


def test_memory_that_is_freed_while_another_kernel_is_enqueued(program: Path) -> None:
    """The driver alone submits that kernel with an object which is gone, and its work is lost."""
    done = run(program, "frees")
    assert "frees ok" in done.stdout and not done.stderr, done.stdout + done.stderr


def test_clinfo(tmp_path: Path) -> None:
    if shutil.which("clinfo") is None:
        pytest.skip("clinfo is not installed (Debian: apt-get install clinfo)")
    done = run("clinfo", options=("--log", str(tmp_path / "log")))
    assert done.returncode == 0 and "Intel(R) HD Graphics 530" in done.stdout
    assert "OpenCL 3.0 NEO" in done.stdout
