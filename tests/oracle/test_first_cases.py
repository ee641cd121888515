"""A few cases of each vector instruction by the oracle, on the interpreter: for `make check`."""

from __future__ import annotations

import pytest

from eumu.exec.interp import Interpreter
from eumu.isa.spec import Opcode
from oracle.pairwise import cases, lines
from oracle.test_pairwise import EVERY, check, run

FEW = 4


@pytest.mark.parametrize(("opcode", "device"), EVERY)
def test_first_cases(opcode: Opcode, device: str) -> None:
    numbered = list(enumerate(cases(opcode, device)[:FEW]))
    got = run(numbered, device, Interpreter())
    for number, case in numbered:
        line = list(lines(case, number))[-1]
        if wrong := check(case, number, got, device):
            words = "expected by tests/oracle/meanings.py"
            pytest.fail(f"{line}: {wrong} ({words})\n{case}", pytrace=False)
