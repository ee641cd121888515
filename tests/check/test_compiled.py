"""What Intel's compiler makes of sound kernels has no findings, and computes what it did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eumu
from kernels.build import DEVICES, PROGRAMS
from kernels.case import Buffer, Case, Local, Value
from kernels.references import CASES

ENGINES = ("interp", "jit")
FAST = {
    *("saxpy-part-of-a-thread", "reduce-small-groups", "atomics", "call_noinline"),
    "switch_case-switch_lanes",
}


def _parameters() -> list[Any]:
    programs = {program.name: program for program in PROGRAMS}
    return [
        pytest.param(
            *(case, programs[case.program].elf(device), device, engine),
            id=f"{case.id}-{device}-{engine}",
            marks=() if case.id in FAST and device != "apl" else pytest.mark.slow,
        )
        for case in CASES
        for device in DEVICES
        if device not in programs[case.program].cannot
        for engine in ENGINES
    ]


def _argument(device: Any, argument: Buffer | Local | Value) -> Any:
    match argument:
        case Buffer(array):
            return device.array(np.ascontiguousarray(array))
        case Local(size_bytes):
            return eumu.Local(size_bytes)
        case Value(value):
            return value


@pytest.mark.parametrize(("case", "elf", "device", "engine"), _parameters())
def test_nothing_is_found(case: Case, elf: Any, device: str, engine: str) -> None:
    setup = case.make(case)
    dev = eumu.Device(device, engine=engine, check=True, sink=lambda text: None)
    args = [_argument(dev, a) for a in setup.args]
    kernel = eumu.load(elf)[case.kernel]
    report = kernel.launch(dev, case.global_size, case.local_size, args)
    assert not report.findings, "\n".join(map(str, report.findings))
    for output in setup.outputs:
        wrong = output.as_compiled().mismatch(args[output.argument].numpy())
        assert not wrong, wrong
    assert report.engine == engine


def test_fast_cases_exist() -> None:
    assert {case.id for case in CASES} >= FAST
