"""All pairwise cases of each vector instruction of skl through Intel's finalizer, on both engines.

By themselves, with what each shows: ``python tests/finalizer/run.py --pairwise``; as vISA they are
in `tests/oracle`.
"""

from __future__ import annotations

import pytest

from eumu.fuzz.verdicts import SAME
from finalizer.explained import PAIRWISE_REFUSED
from finalizer.pairwise import OPCODES, every_case, verdicts
from finalizer.witness import engines


@pytest.mark.slow
@pytest.mark.parametrize("opcode", OPCODES)
def test_native_code_does_what_the_text_says(opcode: str, genx_ir: str) -> None:
    numbered = every_case(opcode)
    says = dict(verdicts(numbered, list(engines().values())))
    wrong = {number: words for number, words in says.items() if words.startswith("differs")}
    assert not wrong
    if opcode not in PAIRWISE_REFUSED:
        refused = {n: w for n, w in says.items() if w != SAME and not w.startswith("explained")}
        assert not refused
    assert len(says) == len(numbered)
