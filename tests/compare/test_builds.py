"""Every kernel of `kernels/`, in every build that the compiler makes of it for Apollo Lake."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import eumu
from eumu.compare import Launch, Side, compare, describe, sides
from kernels.build import PROGRAMS
from kernels.case import Buffer, Case, Local, Value
from kernels.references import CASES

_PROGRAMS = {program.name: program for program in PROGRAMS}
# The first case of each kernel; a run is on the interpreter, so one has to do.
FIRST = {(case.program, case.kernel): case for case in reversed(CASES)}


@cache
def _sides(program: str) -> list[Side]:
    source = _PROGRAMS[program]
    return list(sides(source.path, "apl", source.options))


def _value(device: eumu.Device, argument: Buffer | Local | Value) -> Any:
    match argument:
        case Buffer(array):
            return device.array(np.ascontiguousarray(array))
        case Local(size_bytes):
            return eumu.Local(size_bytes)
        case Value(value):
            return value


@pytest.mark.weekly
@pytest.mark.parametrize(
    "case",
    [c for c in FIRST.values() if "apl" not in _PROGRAMS[c.program].cannot],
    ids=lambda case: case.id,
)
def test_native_is_visa_in_every_build(case: Case, ocloc: str) -> None:
    """Each build's native code against its own vISA, bit for bit."""
    setup = case.make(case)

    def values(device: eumu.Device, kernel: eumu.Kernel) -> dict[str, Any]:
        pairs = zip(kernel.args, setup.args, strict=True)
        return {parameter.name: _value(device, given) for parameter, given in pairs}

    launch = Launch(case.kernel, case.global_size, case.local_size, values)
    forms = _sides(case.program)
    for visa, code in zip(forms[::2], forms[1::2], strict=True):
        assert (visa.level, code.level) == ("visa", "native")
        found = compare(visa, code, launch)
        assert found is None, describe(found)
