"""Private arrays of unoptimised code lie in a buffer, which nothing has written either."""

from __future__ import annotations

import numpy as np
import pytest

import eumu
from eumu.errors import Finding

SOURCE = """
kernel void filled(global int *out, int n) {
    int own[8];
    for (int i = 0; i < n; i++)
        own[i] = i;
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += own[i];
    out[get_global_id(0)] = sum;
}
"""
THE_SUM = 8  # line


def found(device: str, engine: str, filled: int, check: str) -> tuple[Finding, ...]:
    program = eumu.build(SOURCE, device=device, options="-cl-opt-disable")
    board = eumu.Device(device, engine=engine, check=check)
    out = board.array(np.zeros(32, np.int32))
    program["filled"].launch(board, (32,), args=[out, 8])
    return program["filled"].launch(board, (32,), args=[out, filled]).findings


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_an_element_that_nothing_wrote(device: str, engine: str, ocloc: str) -> None:
    """Not even for the launch before, whose memory may be the same."""
    finding, *others = found(device, engine, 7, "uninitialized")
    assert finding.code == "uninitialized" and not others
    assert finding.place is not None and finding.place.line == THE_SUM
    assert finding.memory is not None and "private memory" in finding.memory.array


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("device", ["skl", "pvc"])
def test_all_written(device: str, engine: str, ocloc: str) -> None:
    assert not found(device, engine, 8, "all" if engine == "interp" else "uninitialized")
