"""What the compiler emits is read, printed, read again as the same program, and taken by Intel."""

from __future__ import annotations

import pytest

from eumu import text
from eumu.platforms import platform
from eumu.program import difference
from text.corpus import compiled, programs
from text.oracle import reading

# A few for every run; all of them in the full one.
QUICK = ("saxpy", "sgemm", "atomics", "switch_case", "call_noinline")
PROGRAMS = [
    pytest.param(device, name, marks=[] if name in QUICK else [pytest.mark.slow])
    for device, name in programs()
]


@pytest.mark.parametrize(("device", "name"), PROGRAMS)
def test_round_trip(device: str, name: str) -> None:
    for kernel in compiled(device, name):
        module, found = text.parse_with_diagnostics(kernel.text, kernel.kernel)
        assert not found
        printed = text.print_module(module)
        again = text.parse(printed)
        assert difference(module, again) == ""
        assert text.print_module(again) == printed
        for first, second in zip(module.kernels, again.kernels, strict=True):
            assert [d.name for d in first.declarations] == [d.name for d in second.declarations]


@pytest.mark.parametrize(("device", "name"), PROGRAMS)
def test_intel_reads_the_same_program(device: str, name: str, genx_ir: str) -> None:
    target = platform(device).visa
    for kernel in compiled(device, name):
        original = reading(genx_ir, kernel.text, target)
        assert original, "Intel's front end refuses the compiler's own text"
        assert reading(genx_ir, text.print_module(text.parse(kernel.text)), target) == original


def test_every_compiled_program_has_text() -> None:
    assert len(programs()) > 100
    for device, name in programs():
        assert compiled(device, name), (device, name)
