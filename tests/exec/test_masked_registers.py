"""A register in memory that few known lanes are written to keeps all others.

LLVM made a store of 64 bits of the one lane of 32 bits that a constant mask had, where the value
was cut off from a longer one, and overwrote the next lane: in code that is quickly made.
"""

from __future__ import annotations

import pytest

from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import host
from eumu.fuzz import witness
from eumu.fuzz.finalized import Bundle, complete, outcome
from eumu.fuzz.statements import Node, Section
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse

SEED = 5171  # its P1 has one lane of the eight from lane 16 on


@pytest.mark.parametrize("first", ["M1", "M3", "M5", "M7"])
@pytest.mark.parametrize("operation", ["not", "mov"])
@pytest.mark.parametrize("source", ["Q0(2,0)<1;4,0>", "Q0(2,0)<1;1,0>", "Q0(0,0)<1;2,0>"])
def test_lanes_that_a_predicate_leaves_out_stay(
    operation: str, first: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EUMU_CACHE", "off")
    line = f"(P1) {operation} ({first}, 8) UD0(0,0)<1> {source}"
    made = complete(Bundle("skl", 32, 5136, (Section(SEED, (Node("x", (line,)),)),)))
    (kernel,) = parse(made.harness.text, "text").kernels
    function = lower(kernel, platform("skl"), [])
    want = outcome(made, function, witness.engines()["interp"])
    for processor in (host().hasty(), host()):
        got = outcome(made, function, Jit(workers=1, processor=processor))
        assert not witness.differences(made.types, want, got), processor
