"""Pairwise cases of each vector instruction of skl through Intel's finalizer, on both engines.

The first cases of each; all of them by ``python tests/finalizer/run.py --pairwise``, and as vISA on
both engines in `tests/oracle`.
"""

from __future__ import annotations

import pytest

from eumu.compare.differential import Pair, pairs
from eumu.compare.finalizer import Refusal
from finalizer.cases import Batch, batch
from finalizer.explained import PAIRWISE, PAIRWISE_REFUSED, made_wrong
from finalizer.pairwise import OPCODES, levels_differ
from finalizer.witness import engines
from oracle.pairwise import cases

COUNT = 14


def finalized(opcode: str) -> tuple[Batch, Pair]:
    """Alone, so that each worker of a parallel run makes only what it compares."""
    numbered = enumerate(cases(OPCODES[opcode], "skl")[:COUNT])
    made = batch([(k, c) for k, c in numbered if not made_wrong(c)])
    (pair,) = pairs([made.harness])
    return made, pair


@pytest.mark.slow
@pytest.mark.parametrize("opcode", OPCODES)
def test_native_code_does_what_the_text_says(opcode: str, genx_ir: str) -> None:
    made, pair = finalized(opcode)
    if isinstance(pair.native, Refusal):
        assert opcode in PAIRWISE_REFUSED, pair.native
        return
    assert opcode not in PAIRWISE_REFUSED
    interpreter, fast = engines().values()
    found = levels_differ(made, pair, interpreter)
    assert levels_differ(made, pair, fast) == found, "the engines differ"
    if opcode in PAIRWISE:
        assert found, "it does not differ any more"
    else:
        assert not found, "\n".join(found[:4])
