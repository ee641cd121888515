"""Loops that carry many values: LLVM's value numbering would end the process over them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import eumu

COUNT = 120


def rotation(count: int) -> str:
    """A loop that moves `count` values one place on; the last one gets a new value."""
    names = [f"V{100 + k}" for k in range(count + 1)]
    moves = [f"mov (M1, 1) {a}(0,0)<1> {b}(0,0)<0;1,0>" for a, b in pairwise(names)]
    return "\n".join(
        [
            '.version 3.6\n.kernel "rotation"',
            *(f".decl {n} v_type=G type=ud num_elts=1 align=dword" for n in (*names, "N", "TIMES")),
            ".decl OUT v_type=G type=ud num_elts=4 align=GRF",
            ".decl P1 v_type=P num_elts=1\n.decl T6 v_type=T num_elts=1",
            ".input T6 offset=32 size=4\n.input TIMES offset=36 size=4",
            '.kernel_attr Target="cm"',
            *(f"mov (M1, 1) {n}(0,0)<1> 0x0:ud" for n in (*names, "N")),
            "again:",
            *moves,
            "add (M1, 1) N(0,0)<1> N(0,0)<0;1,0> 0x1:ud",
            f"mul (M1, 1) {names[-1]}(0,0)<1> N(0,0)<0;1,0> N(0,0)<0;1,0>",
            "cmp.lt (M1, 1) P1 N(0,0)<0;1,0> TIMES(0,0)<0;1,0>",
            "(P1) jmp (M1, 1) again",
            f"mov (M1, 1) OUT(0,0)<1> {names[0]}(0,0)<0;1,0>",
            f"mov (M1, 1) OUT(0,1)<1> {names[1]}(0,0)<0;1,0>",
            f"mov (M1, 1) OUT(0,2)<1> {names[-1]}(0,0)<0;1,0>",
            "mov (M1, 1) OUT(0,3)<1> N(0,0)<0;1,0>",
            "mov (M1, 1) N(0,0)<1> 0x0:ud",
            "oword_st (1) T6 N(0,0)<0;1,0> OUT.0",
            "ret (M1, 1)\n",
        ]
    )


@pytest.mark.parametrize(("engine", "times"), [("interp", 6), ("jit", COUNT + 5)])
def test_a_loop_that_carries_many_values(engine: str, times: int) -> None:
    dev = eumu.Device("skl", engine=engine)
    kernel = eumu.load(rotation(COUNT).encode(), device="skl")["rotation"]
    out = dev.array(4, np.uint32)
    report = kernel.launch(dev, 1, args=[out, times])
    assert report.engine == engine
    first, second = (max(0, times - COUNT + k) ** 2 for k in (0, 1))
    assert out.numpy().tolist() == [first, second, times**2, times]
