"""The part of the compiler that makes a difference is found by switching parts off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

import eumu
from compare.test_blame import LAUNCH, TEXT, edited, side
from eumu.compare.switches import SWITCHES, switched_off
from eumu.platforms import platform
from eumu.zebin import compilers, ocloc

SOURCE = "__kernel void k(__global ulong *o, uint x) { o[0] = ~(ulong)x; }"
COPIES = ("IGC_VISAOptions", "-nocopyprop")


def test_the_switch_without_which_it_is_right() -> None:
    wrong, _ = edited("shift")
    good = side("a", TEXT)

    def again(switches: Mapping[str, str]) -> eumu.Program:
        (one,) = switches.items()
        return good.program if one == COPIES else side("b", wrong).program

    bad = replace(side("b", wrong), again=again)
    assert list(switched_off(good, bad, LAUNCH)) == [COPIES]
    assert list(switched_off(bad, good, LAUNCH)) == [COPIES]  # the first one may be the wrong one
    assert list(switched_off(good, side("b", wrong), LAUNCH)) == []  # of no source


def test_no_switch_is_named_twice() -> None:
    assert COPIES in SWITCHES and len(set(SWITCHES)) == len(SWITCHES)


@pytest.mark.skipif(not compilers.installed(), reason="ocloc is not installed")
def test_the_compiler_reads_them() -> None:
    """Without propagation the move that widens stays in front of the `not`."""

    def code(**switches: str) -> bytes:
        made = ocloc.compile(SOURCE, platform("skl"), switches=switches)
        (kernel,) = eumu.load(made.elf).elf.kernels  # type: ignore[union-attr]
        return kernel.text

    usual = code()
    assert code() == usual
    assert code(IGC_VISAOptions="-nocopyprop") != usual
    assert code(IGC_NoSwitchOfThisName="1") == usual
