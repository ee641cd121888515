"""The binaries that are checked in belong to the sources beside them."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from kernels import build
from kernels.case import Output
from kernels.references import CASES

LAUNCHED_ELSEWHERE = {
    *("out_of_bounds", "endless", "divergent_barrier", "asm_simd16_in_simd32", "wavefront"),
}


def test_every_program_is_built_for_every_device_that_can() -> None:
    expected = {
        program.elf(device)
        for program in build.PROGRAMS
        for device in build.DEVICES
        if device not in program.cannot
    }
    assert set(build.BIN.glob("*/*.bin")) == expected


def test_manifest_names_the_sources_as_they_are() -> None:
    lines = (build.BIN / "MANIFEST.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert {row[0] for row in rows} == {
        str(file.relative_to(build.BIN)) for file in build.BIN.glob("*/*.bin")
    }
    root = build.HERE.parents[1]
    stale = [
        file
        for file, source, digest, _ in rows
        if hashlib.sha256((root / source).read_bytes()).hexdigest()[:16] != digest
    ]
    assert not stale, "run tests/kernels/build.py"


@pytest.mark.parametrize("program", build.EXAMPLE_PROGRAMS, ids=lambda program: program.name)
def test_examples_are_the_tested_binaries(program: build.Program) -> None:
    example = build.EXAMPLES / f"{program.name}.bin"
    assert example.read_bytes() == program.elf(build.EXAMPLE_DEVICE).read_bytes()


def test_every_program_is_launched() -> None:
    launched = {case.program for case in CASES} | LAUNCHED_ELSEWHERE
    assert launched == {program.name for program in build.PROGRAMS}
    assert len({case.id for case in CASES}) == len(CASES)


def test_output_tells_wrong_results() -> None:
    want = np.array([[1.0, 2.0], [0.0, np.nan]], np.float32)
    output = Output(3, want, rtol=0.1, rows=("add", "min"))
    assert not output.mismatch(want * np.float32(1.05))
    assert "add, element 1" in output.mismatch(np.array([1, 2.5, 0, np.nan], np.float32))
    assert "min, element 1" in output.mismatch(np.array([1, 2, 0, 1], np.float32))
    assert "min, element 0" in output.mismatch(np.array([1, 2, np.nan, np.nan], np.float32))
    signed = Output(0, np.array([0.0], np.float32), bits=True)
    assert signed.mismatch(np.array([-0.0], np.float32))
    unordered = Output(0, np.array([1, 2, 3]), unordered=True)
    assert not unordered.mismatch(np.array([3, 1, 2]))
    assert unordered.mismatch(np.array([3, 3, 2]))
