"""The fast engine computes what the interpreter computes, bit for bit, on random programs."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eumu.errors import Fault
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import Processor, host
from exec.jit_programs import Memory, Program

SETTINGS = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        yield


def check(seed: int, *, branches: bool, tail: bool, processor: Processor | None = None) -> None:
    """Run the program of a seed on both engines and compare memory, counts and faults."""
    grid = Program(Random(seed), branches=branches).grid(tail=tail)
    results = []
    for engine in (Interpreter(), Jit(workers=1, processor=processor)):
        memory = Memory(seed)
        try:
            outcome: object = engine.run(grid, memory)
        except Fault as fault:
            outcome = str(fault)
        results.append((outcome, memory.arena))
    (expected, want), (found, got) = results
    assert found == expected
    if not isinstance(expected, str):
        wrong = (want != got).nonzero()[0]
        assert len(wrong) == 0, f"bytes {wrong[:8]} differ"


@given(st.integers(0, 1 << 30))
@SETTINGS
def test_straight_line(seed: int) -> None:
    check(seed, branches=False, tail=False)


@given(st.integers(0, 1 << 30))
@SETTINGS
def test_part_of_a_thread(seed: int) -> None:
    check(seed, branches=True, tail=True)


@given(st.integers(0, 1 << 30))
@SETTINGS
def test_branches(seed: int) -> None:
    check(seed, branches=True, tail=False)


@pytest.mark.skipif("x86_64" not in host().triple, reason="restricts the features of an x86 host")
@pytest.mark.slow
@pytest.mark.parametrize("cpu", ["x86-64", "haswell"])
def test_smaller_processors(cpu: str) -> None:
    """Code for SSE2 and for AVX2 computes the same (and runs on any newer processor)."""
    if cpu == "haswell" and not host().has("avx2"):
        pytest.skip("this host has no AVX2")
    features = "+avx2,+avx,+f16c,+fma" if cpu == "haswell" else ""
    processor = Processor(host().triple, cpu, features)
    for seed in range(1000, 1006):
        check(seed, branches=seed % 2 == 0, tail=False, processor=processor)
