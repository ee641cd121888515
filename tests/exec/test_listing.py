"""Listings show what a kernel becomes, under the lines of its source."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import eumu
from eumu.exec.forms import FORMS

pytestmark = pytest.mark.skipif(
    shutil.which("ocloc") is None, reason="ocloc is not installed (apt install intel-opencl-icd)"
)

_SOURCE = """kernel void blend(global const float *x, global float *y, int n) {
    int i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += sqrt(x[i + k]);
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] = sum;
}
"""
# What a line becomes, in each form; `_` is an address, name or number of something.
_EXPECTED = {
    "ir": {5: r"= sqrt %", 7: r"^ *store %", 6: r"barrier "},
    "llvm": {5: r"@llvm\.sqrt\.v\d+f32", 7: r"^  store <\d+ x (float|i32)>.*, ptr"},
    "asm": {5: r"^ +\S*sqrt\S* ", 7: r"^ +\S*mov\S* +%.*\(%|^ +st\S* "},  # x86; ARM
}


def _by_line(text: str) -> dict[int, list[str]]:
    """The lines below each line of the source."""
    found: dict[int, list[str]] = {}
    here = 0
    for line in text.splitlines():
        if head := re.match(r"\s*[;#] \S*\.cl:(\d+): (.*)", line):
            here = int(head[1])
            assert head[2] == _SOURCE.splitlines()[here - 1].strip()
        found.setdefault(here, []).append(line)
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["skl", "pvc"])
def test_lines_stand_above_what_they_become(name: str, form: str) -> None:
    device = eumu.Device(name, engine="interp")
    kernel = eumu.build(_SOURCE, device)["blend"]
    x, y = device.array(np.ones(80, np.float32)), device.array(np.full(64, 7, np.float32))
    text = kernel.listing(device, form, 64, 32, [x, y, 3])
    lines = _by_line(text)
    for line, pattern in _EXPECTED[form].items():
        assert any(re.search(pattern, found) for found in lines[line]), (line, lines[line])
    assert (y.numpy() == 7).all()  # nothing ran


def test_a_listing_changes_nothing() -> None:
    """Debug information is for the listing alone: the code of a launch is made without."""
    device = eumu.Device("skl", engine="jit")
    kernel = eumu.build(_SOURCE, device)["blend"]
    x, y = device.array(np.full(80, 4, np.float32)), device.array(np.zeros(64, np.float32))
    args = [x, y, 3]
    kernel.listing(device, "asm", 64, 32, args)
    kernel.launch(device, 64, 32, args)
    assert (y.numpy() == 6).all()
    assert kernel.listing(device, "llvm", 64, 32, args) == kernel.listing(
        device, "llvm", 64, 32, args
    )


def test_other_forms_are_refused() -> None:
    device = eumu.Device("skl")
    kernel = eumu.build(_SOURCE, device)["blend"]
    with pytest.raises(eumu.LaunchError, match="'c'; there are ir, llvm, asm"):
        kernel.listing(device, "c", 64, 32, [None, None, 0])


def test_the_command_shows_and_does_not_run() -> None:
    words = ["run", "examples/out_of_bounds.cl", "--kernel", "write_past_end", "--device", "skl"]
    args = ["--arg", "out=zeros:int32:1", "--arg", "n=1"]  # a fault if it ran
    words += ["--global", "64", "--dump", "asm"]
    done = subprocess.run(
        [sys.executable, "-m", "eumu", *words, *args], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "# examples/out_of_bounds.cl:4: out[i == 5 ? n : i] = i;" in done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_the_command_needs_no_sizes_and_no_arguments(form: str) -> None:
    words = ["run", "--engine", "jit", "--dump", form, "examples/saxpy.bin"]
    done = subprocess.run(
        [sys.executable, "-m", "eumu", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    some = [*words, "--global", "1024", "--arg", "a=2"]
    again = subprocess.run(
        [sys.executable, "-m", "eumu", *some], capture_output=True, text=True, check=False
    )
    assert again.stdout == done.stdout  # 1024 work items run in groups of 256


def test_the_command_needs_sizes_to_run() -> None:
    words = ["run", "examples/saxpy.bin", "--arg", "a=2"]
    done = subprocess.run(
        [sys.executable, "-m", "eumu", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--global X[,Y,Z] is needed" in done.stderr
