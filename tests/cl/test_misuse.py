"""What `eumu run --check` says of a program's calls, and in which formats."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import eumu.cl
from cl.programs import SOURCES, TIMEOUT_S, run
from drm.programs import compiled
from eumu.zebin import compilers

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the driver is one for Linux"),
    pytest.mark.skipif(compilers.find() is None, reason="ocloc is not installed"),
]
SHIM = Path(eumu.cl.__file__).parent / "shim"
SAID = """\
clEnqueueNDRangeKernel fails with CL_INVALID_KERNEL_ARGS (-52): argument 0 'p' of kernel add has not been set
clSetKernelArg fails with CL_INVALID_ARG_SIZE (-51): argument 1 'n' of kernel add is int of 4 bytes; the size given is 8
clSetKernelArg fails with CL_INVALID_ARG_INDEX (-49): kernel add has 2 arguments, counted from 0; 2 is none
clEnqueueNDRangeKernel fails with CL_INVALID_WORK_GROUP_SIZE (-54): 64 work items in dimension 0 are no multiple of 17, and add was not built with -cl-std=CL2.0 or newer
clEnqueueReadBuffer fails with CL_INVALID_VALUE (-30): 100 bytes from byte 200 on of buffer #1 (256 bytes)
kernel add writes bytes 0 to 255 of buffer #1 (256 bytes) while the program has them mapped for reading
kernel add is given bytes 64 to 127 of buffer #1 (256 bytes) while the program has them mapped for writing
a command writes bytes 64 to 127 of buffer #1 (256 bytes) while the program has them mapped for writing
clSetKernelArg fails with CL_INVALID_MEM_OBJECT (-38): buffer #4 (64 bytes) has been released before
clEnqueueReadBuffer fails with CL_INVALID_MEM_OBJECT (-38): buffer #4 (64 bytes) has been released before
clReleaseMemObject fails with CL_INVALID_MEM_OBJECT (-38): buffer #4 (64 bytes) has been released before
clReleaseKernel fails with CL_INVALID_KERNEL (-48): command queue #1 is not of this kind
clEnqueueNDRangeKernel fails with CL_INVALID_KERNEL_ARGS (-52): argument 0 'p' of kernel add is buffer #6 (256 bytes), which has been released before the launch
clEnqueueSVMMemFill fails with CL_INVALID_VALUE (-30): 64 bytes at ADDRESS: byte 0 of SVM allocation #2 (64 bytes at ADDRESS), which has been freed
clEnqueueReadBuffer fails with CL_INVALID_VALUE (-30): 129 bytes at ADDRESS: byte 0 of buffer #2 (128 bytes at ADDRESS)
clReleaseKernel fails with CL_INVALID_KERNEL (-48): kernel #1 has been released before
"""  # noqa: E501
LEFT = {"context #1", "command queue #1", "buffer #2 (128 bytes)", "SVM allocation #1 (100 bytes)"}


def _eumu(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eumu", "run", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.fixture(scope="module")
def misuse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES / "cl" / "misuse.c", tmp_path_factory.mktemp("misuse"), "OpenCL")


def test_mistakes_in_calls_are_told(misuse: Path, tmp_path: Path) -> None:
    """On standard error for people; in the file of a report for machines."""
    report = tmp_path / "found.json"
    done = _eumu("--check", "--report", report, "--", misuse)
    assert done.returncode == 1, done.stderr
    told = json.loads(report.read_text())
    found = told["findings"]
    errors = [f["message"] for f in found if f["severity"] == "error"]
    assert [re.sub(r"0x[0-9a-f]+", "ADDRESS", line) for line in errors] == SAID.splitlines()
    notes = [f["message"] for f in found if f["severity"] == "note"]
    ending = " has not been released when the program ends"
    assert {note.removesuffix(ending) for note in notes} == LEFT
    assert told["exit"] == 0 and told["device"] == "pvc"
    assert all(f"error: {line}\n" in done.stderr for line in errors)


def test_each_refusal_has_its_error_and_a_reason(tmp_path: Path) -> None:
    """The program looks at the errors itself; the checks are those that Oclgrind has."""
    program = compiled(SOURCES / "cl" / "refusals.c", tmp_path, "OpenCL")
    done = run(program, EUMU_DEVICE="pvc")
    assert done.returncode == 0 and not done.stdout, done.stdout
    report = tmp_path / "found.json"
    done = _eumu("--device", "skl", "--check", "--report", report, "--", program)
    assert done.returncode == 1 and not done.stdout, done.stdout
    said = [found["message"] for found in json.loads(report.read_text())["findings"]]
    calls = [line for line in said if " fails with " in line]
    assert len(calls) > 230
    assert [line for line in calls if not re.search(r"CL_\w+ \(-\d+\): \S", line)] == []
    others = [line for line in said if line not in calls]
    assert others == [
        "kernel add writes buffer #10 (256 bytes), which was made with CL_MEM_READ_ONLY",
        "kernel add reads buffer #11 (256 bytes), which was made with CL_MEM_WRITE_ONLY",
    ]
    (read,) = (f for f in json.loads(report.read_text())["findings"] if f["code"] == "write-only")
    assert read["line"] == 1 and read["kernel"] == "add", read


def test_without_check_nothing_is_said(misuse: Path) -> None:
    done = _eumu("--", misuse)
    assert done.returncode == 0 and not done.stderr


def test_formats_and_checks_of_programs(misuse: Path, tmp_path: Path) -> None:
    """Races have their line; the page is about all kernels; what is none of them is refused."""
    done = _eumu("--check=races", "--format", "github", "--", misuse, "race")
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"::error file=program.cl,line=5.*race: store and store", done.stdout)
    assert done.stdout.count("::error") == 1
    page = tmp_path / "page.html"
    done = _eumu("--device", "skl", "--report", page, "--", misuse, "race")
    assert done.returncode == 0 and "race" in page.read_text(), done.stderr
    assert _eumu("--report", "page.txt", "--", misuse).returncode == 2
    assert "no check 'speed'" in _eumu("--check=speed", "--", misuse).stderr


def test_every_entry_point_that_can_fail_is_watched() -> None:
    entries = re.findall(r"^(.*?)\b(cl\w+)\((.*)\);$", (SHIM / "entries.h").read_text(), re.M)
    rows = ((name, kind == "cl_int " or "cl_int *error" in given) for kind, name, given in entries)
    can_fail = {name for name, fails in rows if fails}
    watched = (SHIM / "checked.h").read_text()
    assert set(re.findall(r"^(?:STATUS\(|OBJECT\(.*?, )(cl\w+)", watched, re.M)) == can_fail
    assert len(can_fail) > 120
