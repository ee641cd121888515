"""Pairwise cases of each vector instruction of skl through Intel's finalizer, on both engines.

They are one part of fourteen; `EUMU_PAIRWISE_PART` (0 to 13) chooses another, so that fourteen runs
can have all.  All of them by ``python tests/finalizer/run.py --pairwise``, and as vISA in
`tests/oracle`.
"""

from __future__ import annotations

import os

import pytest

from eumu.fuzz.verdicts import SAME
from finalizer.explained import PAIRWISE_REFUSED
from finalizer.pairwise import OPCODES, every_case, verdicts
from finalizer.witness import engines

PARTS = 14
PART = int(os.environ.get("EUMU_PAIRWISE_PART", "0")) % PARTS


@pytest.mark.slow
@pytest.mark.parametrize("opcode", OPCODES)
def test_native_code_does_what_the_text_says(opcode: str, genx_ir: str) -> None:
    numbered = every_case(opcode)[PART::PARTS]
    found = dict(verdicts(numbered, list(engines().values())))
    wrong = {number: says for number, says in found.items() if says.startswith("differs")}
    assert not wrong, f"part {PART}: {wrong}"
    if opcode not in PAIRWISE_REFUSED:
        assert all(says == SAME or says.startswith("explained") for says in found.values()), found
    assert len(found) == len(numbered)


def test_parts_are_all_cases() -> None:
    """No part is empty, and each case is in one."""
    for opcode in ("add", "dp4"):
        every = every_case(opcode)
        parts = [every[k::PARTS] for k in range(PARTS)]
        assert all(parts) and sorted(k for part in parts for k, _ in part) == list(
            range(len(every))
        )
