"""Random kernels through Intel's finalizer, on both engines: 528 here, any number by `run.py`."""

from __future__ import annotations

from collections import Counter

import pytest

from eumu.fuzz.finalized import FAMILY, program, smaller
from eumu.fuzz.unsuited import STATEMENTS, unsuited
from eumu.fuzz.verdicts import SAME, verdicts

PARTS, KERNELS = 11, FAMILY
REFUSED = 0.35  # of the kernels, at most
UNSUPPORTED = 0.07


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_native_code_does_what_the_text_says(part: int, genx_ir: str) -> None:
    seeds = range(part * KERNELS, (part + 1) * KERNELS)
    found = dict(verdicts(seeds))
    wrong = {seed: why for seed, why in found.items() if why.startswith("differs")}
    assert not wrong, "\n".join(f"{seed}: {why}" for seed, why in wrong.items())
    kinds = Counter(why.partition(":")[0] for why in found.values())
    unsupported = kinds.pop("unsupported", 0)
    same = kinds.pop(SAME, 0)
    assert unsupported <= UNSUPPORTED * KERNELS, found
    assert kinds.total() <= REFUSED * KERNELS, found
    assert same + unsupported + kinds.total() == KERNELS


def test_statements_are_left_out() -> None:
    """Each by its own words, and nothing of them in what is made."""
    assert unsuited(
        "(P1) sad2add.sat (M1, 8) W0(0,0)<1> B0(0,0)<1;1,0> B1(0,0)<1;1,0> W1(0,0)<1;1,0>"
    )
    assert unsuited("(!P2.any) bfi (M1, 8) UD0(0,0)<1> 0x1:ud 0x2:ud 0x3:ud 0x4:ud")
    # Seed 925: the words of the vector get a sign, and so do the quadwords beside them.
    sums = "(!P2.all) add{} (M1, 8) D0(0,0)<1> 0x9aa685e9:uv 0xfffffffffffffffe:{}"
    assert unsuited(sums.format(".sat", "uq"))
    assert not unsuited(sums.format("", "uq")) and not unsuited(sums.format(".sat", "q"))
    assert not unsuited("bfi (M1, 8) UD0(0,0)<1> 0x1:ud 0x2:ud 0x3:ud 0x4:ud")
    assert not unsuited("dword_atomic.add (M1, 8) T6 OFF.0 D0.0 %null.0 %null.0")
    assert len(set(STATEMENTS)) == len(STATEMENTS)
    for seed in range(6):
        lines = program(seed).bundle.text().splitlines()
        assert not [x for x in lines if unsuited(x.strip())]


def test_a_kernel_becomes_smaller() -> None:
    made = program(1)
    first = next(smaller(made))
    assert len(first.harness.text) < len(made.harness.text)
