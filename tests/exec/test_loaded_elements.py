"""Quickly made code of elements of vectors in memory: LLVM must not end the process over it."""

from __future__ import annotations

import subprocess
import sys

from eumu.exec.jit.llvm.loaded_elements import frozen

_KERNEL = """
from eumu.exec.jit import Jit
from eumu.exec.jit.host.target import host
from eumu.fuzz import witness
from eumu.fuzz.finalized import Bundle, complete, outcome
from eumu.fuzz.statements import Node, Section
from eumu.lower import lower
from eumu.platforms import platform
from eumu.text import parse

places = (
    "mov (M1_NM, 8) OFF(0,0)<1> 0x76543210:uv",
    "shl (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> 0x2:ud",
    "add (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> SLMB(0,0)<0;1,0>",
)
lines = (
    *(*places, "scatter_scaled.4 (M1_NM, 8) %slm 0x0:ud OFF.0 UD1.0", "barrier"),
    "div (M5_NM, 16) UW1(0,0)<1> D1(0,0)<0;1,0> UD0(0,6)<0;2,1>",
    *(*places, "xor (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> 0x200:ud"),
    *("gather_scaled.4 (M1_NM, 8) %slm 0x0:ud OFF.0 UD1.0", "barrier"),
)
made = complete(Bundle("skl", 32, 6960, (Section(6965, (Node("barrier", lines),)),)))
(kernel,) = parse(made.harness.text, "text").kernels
function = lower(kernel, platform("skl"), [])
want = outcome(made, function, witness.engines()["interp"])
got = outcome(made, function, Jit(workers=1, processor=host().hasty()))
assert not witness.differences(made.types, want, got)
"""


def test_a_quotient_of_an_element_does_not_end_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KERNEL], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_only_elements_of_what_is_loaded_are_frozen() -> None:
    text = """\
  %t1 = load <4 x i32>, ptr %a1, align 8
  %t2 = add <4 x i32> %t1, %t1
  %t3 = extractelement <4 x i32> %t1, i64 0
  %t4 = extractelement <4 x i32> %t2, i64 0
"""
    assert (
        frozen(text)
        == """\
  %t1 = load <4 x i32>, ptr %a1, align 8
  %t2 = add <4 x i32> %t1, %t1
  %t3.read = extractelement <4 x i32> %t1, i64 0
  %t3 = freeze i32 %t3.read
  %t4 = extractelement <4 x i32> %t2, i64 0
"""
    )
