"""Quickly made code of clamped numbers: LLVM must not end the process over it."""

from __future__ import annotations

import subprocess
import sys

from eumu.exec.jit.llvm.clamped_numbers import frozen

_TEXT = """\
declare <2 x i32> @llvm.smin.v2i32(<2 x i32>, <2 x i32>)
declare <2 x i32> @llvm.smax.v2i32(<2 x i32>, <2 x i32>)
define void @run(ptr %p) #0 {
  %bytes = load <2 x i8>, ptr %p, align 1
  %wide = zext <2 x i8> %bytes to <2 x i32>
  %minus = sub <2 x i32> zeroinitializer, %wide
  %low = call <2 x i32> @llvm.smin.v2i32(<2 x i32> %minus, <2 x i32> splat (i32 32767))
  %both = call <2 x i32> @llvm.smax.v2i32(<2 x i32> %low, <2 x i32> splat (i32 -32768))
  %short = trunc <2 x i32> %both to <2 x i16>
  %quads = load <2 x i64>, ptr %p, align 1
  %others = trunc <2 x i64> %quads to <2 x i16>
  %below = icmp slt <2 x i64> %quads, splat (i64 0)
  %chosen = select <2 x i1> %below, <2 x i16> %short, <2 x i16> %others
  store <2 x i16> %chosen, ptr %p
  ret void
}
"""
_COMPILE = """
import sys
from eumu.exec.jit.host.target import compile_object, host
assert compile_object(sys.stdin.read(), host().hasty())
"""


def test_one_of_two_shortened_numbers_does_not_end_the_process() -> None:
    command = [sys.executable, "-c", _COMPILE]
    done = subprocess.run(command, input=_TEXT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_only_what_is_made_shorter_is_frozen() -> None:
    lines = frozen(_TEXT).splitlines()
    assert "  %both = freeze <2 x i32> %both.own" in lines
    assert [line.split(" = ")[0] for line in lines if "freeze" in line] == ["  %both"]
