"""Where variables lie in the register space: apart, however many there are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import eumu
from eumu.ir import RootKind

_TEXT = """.version 4.1
.kernel "k"
{declarations}.decl A0 v_type=A num_elts=1
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl A v_type=G type=uq num_elts=16 align=GRF
.input OUT offset=64 size=8
.kernel_attr SimdSize=16
.kernel_attr PerThreadInputSize=0
    mov (M1, 16) W0(0,0)<1> 0x1:ud
    mov (M1, 16) W1(0,0)<1> 0x2:ud
    addr_add (M1_NM, 1) A0(0)<1> &W1[0] 0x4:uw
    mov (M1, 16) W2(0,0)<1> r[A0(0),{offset}]<0;1,0>:ud
    mov (M1, 16) A(0,0)<1> OUT(0,0)<0;1,0>
    lsc_store.ugm (M1, 16)  flat[A]:a64  W2:d32
    ret (M1, 1)
"""


def _program(variables: int, offset: int = 0) -> eumu.Program:
    line = ".decl W{} v_type=G type=ud num_elts=16 align=GRF\n"
    declarations = "".join(line.format(k) for k in range(variables))
    return eumu.load(_TEXT.format(declarations=declarations, offset=offset).encode(), device="pvc")


@pytest.mark.parametrize(
    ("variables", "gap"), [(3, 0x1_0000), (16_000, 0x1_0000), (16_400, 0x4000), (70_000, 0x1000)]
)
def test_as_far_apart_as_there_is_space(variables: int, gap: int) -> None:
    device = eumu.Device("pvc")
    function = _program(variables)["k"].function(device.platform)
    roots = [r for r in function.roots.values() if r.kind is RootKind.GRF]
    for low, high in pairwise(sorted(roots, key=lambda root: root.address)):
        assert high.address - (low.address + low.size) >= gap
        assert high.address + high.size < 1 << 31  # behind that are their shadows


@pytest.mark.parametrize("engine", ["interp", "jit"])
@pytest.mark.parametrize("check", [False, "undefined"])
def test_addresses_among_many(engine: str, check: str | bool) -> None:
    """Compilers give a kernel of a hundred thousand instructions as many variables."""
    device = eumu.Device("pvc", engine=engine, check=check)
    out = device.array(16, np.uint32)
    report = _program(70_000)["k"].launch(device, 16, 16, [out])
    assert out.numpy()[0] == 2 and not report.findings
    report = _program(70_000, offset=64)["k"].launch(device, 16, 16, [out])  # behind W1
    assert bool(report.findings) == bool(check)
