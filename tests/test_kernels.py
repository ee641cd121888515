"""Kernels from the real compiler, run by every engine for every device, against NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from kernels.build import DEVICES, PROGRAMS
from kernels.case import Buffer, Case, Local, Value
from kernels.references import CASES

ENGINES = ("interp", "jit")
# One case for each feature, for the fast loop.
FAST = {
    *("saxpy", "saxpy-part-of-a-thread", "sgemm", "reduce-small-groups", "mandelbrot"),
    *("atomics", "switch_case-switch_lanes", "call_noinline", "struct_argument", "print_values"),
    *("private_array", "constant_table", "vector_arguments", "local_pointers", "work_items"),
    *("arithmetic_int-integer_arithmetic", "arithmetic_float-float_arithmetic"),
}


def _parameters() -> list[Any]:
    """Every case on every device that the compiler has a binary for, with every engine."""
    programs = {program.name: program for program in PROGRAMS}
    return [
        pytest.param(
            *(case, device, engine),
            id=f"{case.id}-{device}-{engine}",
            marks=() if case.id in FAST else pytest.mark.slow,
        )
        for case in CASES
        for device in DEVICES
        if device not in programs[case.program].cannot
        for engine in ENGINES
    ]


@cache
def _load(program: str, device: str) -> Any:
    elf = next(p for p in PROGRAMS if p.name == program).elf(device)
    return eumu.load(elf)


def _argument(device: Any, argument: Buffer | Local | Value) -> Any:
    match argument:
        case Buffer(array):
            return device.array(np.ascontiguousarray(array))
        case Local(size_bytes):
            return eumu.Local(size_bytes)
        case Value(value):
            return value


@pytest.mark.parametrize(("case", "device", "engine"), _parameters())
def test_kernel(case: Case, device: str, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    setup = case.make(case)
    dev = eumu.Device(device, engine=engine)
    args = [_argument(dev, a) for a in setup.args]
    kernel = _load(case.program, device)[case.kernel]
    report = kernel.launch(dev, global_size=case.global_size, local_size=case.local_size, args=args)
    for output in setup.outputs:
        wrong = output.as_compiled().mismatch(args[output.argument].numpy())
        assert not wrong, wrong
    assert (report.engine, report.groups) == (engine, case.groups)
    assert report.instructions > 0
    assert sorted(report.printf.splitlines()) == sorted(setup.prints)
    assert capsys.readouterr().out == report.printf
