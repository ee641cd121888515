"""Programs by the newest compiler that are kept, so that they run where it cannot be had."""

from __future__ import annotations

import pytest

import eumu
from kernels import keep_newest, newest, references
from kernels.case import Case

ENGINES = ("interp", "jit")
# The first case of each kernel.
FIRST = {c.program: c for c in reversed(references.CASES) if c.program in keep_newest.PROGRAMS}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("device", keep_newest.DEVICES)
@pytest.mark.parametrize("case", FIRST.values(), ids=lambda case: case.id)
def test_kept_program(case: Case, device: str, engine: str) -> None:
    program = eumu.load(keep_newest.path(case.program, device))
    assert program.platform is not None and program.platform.name == device
    assert not newest.launch(program[case.kernel], case, device, engine, newest=True)


def test_what_changed_is_said() -> None:
    kept = keep_newest.path("saxpy", "bmg").read_bytes()
    other = keep_newest.path("reduce", "bmg").read_bytes()
    assert keep_newest.change(kept, kept) == "unchanged"
    assert keep_newest.change(b"", kept) == "new"
    assert keep_newest.change(kept, other) == "changed in its vISA"
    assert keep_newest.change(kept, kept + b"\0") == "changed, but not in its vISA"
