"""Negated unsigned dwords: Intel's finalizer reads one where the text negates 64 bits.

It removes the move that extends, so the native instruction has ``-r7:ud`` in place of ``-r9:q``.
What that does must be what the text says.
"""

from __future__ import annotations

import numpy as np
import pytest

from eumu.compare.differential import grid, pairs
from eumu.compare.finalizer import Program
from eumu.compare.harness import wrap
from eumu.native import print_program
from finalizer.witness import engines, put
from visa_thread import FlatHost

_TEXT = """.version 4.1
.kernel "k"
.decl A v_type=G type=ud num_elts=8 align=GRF
.decl R v_type=G type=q num_elts=8 align=GRF
.decl Q v_type=G type=q num_elts=8 align=GRF
.decl T v_type=G type=q num_elts=8 align=GRF
.decl TU v_type=G type=uq num_elts=8 align=GRF
.decl UD0 v_type=G type=ud num_elts=8 align=GRF alias=<Q,0>
.decl D v_type=G type=d num_elts=8 align=GRF alias=<Q,0>
.decl F v_type=G type=f num_elts=8 align=GRF alias=<Q,0>
.decl DF0 v_type=G type=df num_elts=8 align=GRF alias=<Q,0>
.decl P1 v_type=P num_elts=8
.kernel_attr SimdSize=8
mov (M1, 8) T(0,0)<1> A(0,0)<1;1,0>
{instruction}
ret (M1, 1)
"""
_SOURCE = "(-)T(0,0)<1;1,0>"
_SMALL = "cmp.lt (M1, 8) P1 R(0,0)<1;1,0>"
INSTRUCTIONS = {
    "mov": f"mov (M1, 8) Q(0,0)<1> {_SOURCE}",
    "mov to a float": f"mov (M1, 8) F(0,0)<1> {_SOURCE}",
    "mov to a double": f"mov (M1, 8) DF0(0,0)<1> {_SOURCE}",
    "mov, clamped": f"mov.sat (M1, 8) D(0,0)<1> {_SOURCE}",
    "add": f"add (M1, 8) Q(0,0)<1> R(0,0)<1;1,0> {_SOURCE}",
    "cmp": f"{_SMALL} {_SOURCE}\n(P1) mov (M1, 8) Q(0,0)<1> 0x1:q",
    "sel": f"{_SMALL} 0x5:q\n(P1) sel (M1, 8) Q(0,0)<1> R(0,0)<1;1,0> {_SOURCE}",
    "min": f"min (M1, 8) Q(0,0)<1> R(0,0)<1;1,0> {_SOURCE}",
    "max": f"max (M1, 8) Q(0,0)<1> R(0,0)<1;1,0> {_SOURCE}",
    "shl": f"shl (M1, 8) Q(0,0)<1> {_SOURCE} 0x3:uw",
    "asr": f"asr (M1, 8) Q(0,0)<1> {_SOURCE} 0x3:uw",
    "shr to a dword": "mov (M1, 8) TU(0,0)<1> A(0,0)<1;1,0>\n"
    "shr (M1, 8) UD0(0,0)<1> (-)TU(0,0)<1;1,0> 0x3:uw",
    "asr to a dword": f"asr (M1, 8) D(0,0)<1> {_SOURCE} 0x3:uw",
}
_NUMBERS = (0, 1, 2, 31, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
_OTHERS = (-1, -1, 4, -32, -0x80000000, -0x7FFFFFFF, 0, 1 << 40)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_of_32_bits_where_the_text_has_64(name: str, genx_ir: str) -> None:
    harness = wrap(_TEXT.format(instruction=INSTRUCTIONS[name]), ["A", "R", "Q"])
    (pair,) = pairs([harness], "skl")
    assert isinstance(pair.native, Program)
    assert any(" -r" in x and ":ud" in x for x in print_program(pair.native).splitlines())
    values = {"A": np.array(_NUMBERS, np.uint32), "R": np.array(_OTHERS, np.int64)}
    image = harness.image({n: v.tobytes() for n, v in values.items()})
    left = set()
    for level in ("visa", "native"):
        for engine in engines().values():
            host = FlatHost(harness.size, [])
            put(host, image)
            host.run(grid(pair.function(level), host.base), engine)
            left.add(harness.results(bytes(host.results[: harness.size]))["Q"])
    assert len(left) == 1, name
    assert left != {bytes(64)}
