"""The pass itself: instrumented programs compute what they did."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eumu
from eumu.errors import Fault
from eumu.exec.grid import Grid
from eumu.exec.host import Engine
from eumu.exec.interp import Interpreter
from eumu.exec.jit import Jit
from eumu.ir.passes import find_undefined
from eumu.ir.verify import check
from exec.jit_programs import Memory, Program
from kernels import build

SETTINGS = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.fixture(scope="module", autouse=True)
def _no_disk_cache() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EUMU_CACHE", "off")
        yield


@given(st.integers(0, 1 << 30))
@SETTINGS
def test_random_programs(seed: int) -> None:
    grid = Program(Random(seed), branches=bool(seed & 1)).grid(tail=bool(seed & 2))
    function = find_undefined(grid.function)
    check(function, folded=True)
    checked = replace(grid, function=function)
    runs = [
        _outcome(Interpreter(), grid, seed),
        _outcome(Interpreter(), checked, seed),
        _outcome(Jit(workers=1), checked, seed),
    ]
    assert runs[0][0] == runs[1][0] == runs[2][0]
    assert runs[1][1] == runs[2][1]
    assert all((runs[0][2] == arena).all() for *_, arena in runs[1:])


def _outcome(engine: Engine, grid: Grid, seed: int) -> tuple[object, object, Any]:
    """What was counted or went wrong, the findings, and memory."""
    memory = Memory(seed)
    try:
        stats = engine.run(grid, memory)
    except Fault as fault:
        return str(fault), None, memory.arena
    return replace(stats, findings=()), stats.findings, memory.arena


@pytest.mark.parametrize("engine", ["interp", "jit"])
def test_a_fault_has_the_findings_until_then(engine: str) -> None:
    """The address of the load is register 0, which nothing wrote: page 0 is never mapped."""
    text = """.version 4.1
.kernel "lost"
.decl at v_type=G type=uq num_elts=8
.decl data v_type=G type=d num_elts=8
.kernel_attr SimdSize=8
    lsc_load.ugm (M1, 8) data:d32 flat[at]:a64
    ret (M1, 1)
"""
    device = eumu.Device("pvc", engine=engine, check=True)
    (kernel,) = eumu.load(text.encode(), device=device).kernels
    with pytest.raises(eumu.Fault) as caught:
        kernel.launch(device, 8, 8, [])
    (finding,) = caught.value.findings
    assert finding.reason.startswith("undefined address in lanes 0-7")


def test_only_checked_launches_pay() -> None:
    kernel = eumu.load(build.BIN / "pvc" / "saxpy.bin")["saxpy"]
    function = kernel.function(eumu.Device("pvc").platform)
    names = {op.name for block in function.blocks for op in block.ops}
    assert "report" not in names
