"""Quickly made code of elements of vectors in memory: LLVM must not end the process over it."""

from __future__ import annotations

import subprocess
import sys

from eumu.exec.jit.llvm.loaded_elements import frozen, parts_frozen

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


# Two parts of what is loaded, next to each other and made longer, and a store to where they were.
_PARTS = """
from eumu.exec.jit.host.target import Effort, compile_object, host


def lanes(*ranges):
    return ", ".join(f"i32 {k}" for first, count in ranges for k in range(first, first + count))


def part(n, first, count):
    return (
        f"  %v{n} = load <64 x i8>, ptr %a, align 8\\n"
        f"  %p{n} = shufflevector <64 x i8> %v{n}, <64 x i8> poison,"
        f" <{count} x i32> <{lanes((first, count))}>\\n"
    )


text = "define void @f(ptr %a, ptr %b, ptr %c) #0 {\\n" + part(0, 32, 8)
text += "%z0 = zext <8 x i8> %p0 to <8 x i16>\\n" + part(1, 40, 8)
text += "%z1 = zext <8 x i8> %p1 to <8 x i16>\\n" + part(2, 32, 16)
any = ", ".join(16 * ["i32 poison"])
wide = f"{any}, {any}, {lanes((0, 16))}, {any}"
text += f"%w = shufflevector <16 x i8> %p2, <16 x i8> poison, <64 x i32> <{wide}>\\n"
text += "%x = shufflevector <64 x i8> zeroinitializer, <64 x i8> %w, <64 x i32> "
text += f"<{lanes((0, 32), (96, 16), (48, 16))}>\\nstore <64 x i8> %x, ptr %a, align 8\\n"
for n, place in enumerate("bc"):
    with_ = "zeroinitializer" if n == 0 else "%s1"
    text += f"%s{n} = sext <8 x i16> %z{n} to <8 x i64>\\n%u{n} = add <8 x i64> %s{n}, {with_}\\n"
    text += f"store <8 x i64> %u{n}, ptr %{place}, align 8\\n"
for effort in Effort:
    assert compile_object(text + "ret void\\n}\\n", host(), effort)
"""


def test_parts_of_a_vector_do_not_end_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PARTS], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_only_what_is_loaded_and_read_in_pieces_is_frozen() -> None:
    text = """\
  %t1 = load <4 x i32>, ptr %a1, align 8
  %t2 = add <4 x i32> %t1, %t1
  %t3 = extractelement <4 x i32> %t1, i64 0
  %t4 = extractelement <4 x i32> %t2, i64 0
  %t5 = load <4 x i32>, ptr %a2, align 8
  %t6 = load <8 x i8>, ptr %a3, align 8
  %t7 = shufflevector <8 x i8> %t6, <8 x i8> poison, <2 x i32> <i32 4, i32 5>
"""
    assert (
        frozen(text)
        == """\
  %t1.read = load <4 x i32>, ptr %a1, align 8
  %t1 = freeze <4 x i32> %t1.read
  %t2 = add <4 x i32> %t1, %t1
  %t3 = extractelement <4 x i32> %t1, i64 0
  %t4 = extractelement <4 x i32> %t2, i64 0
  %t5 = load <4 x i32>, ptr %a2, align 8
  %t6.read = load <8 x i8>, ptr %a3, align 8
  %t6 = freeze <8 x i8> %t6.read
  %t7 = shufflevector <8 x i8> %t6, <8 x i8> poison, <2 x i32> <i32 4, i32 5>
"""
    )


def test_with_optimization_only_wide_vectors_of_small_parts_are_frozen() -> None:
    def module(count: int, type: str, part: int, parts: int = 2) -> str:
        lanes = ", ".join(f"i32 {k}" for k in range(part))
        text = f"  %1 = load <{count} x {type}>, ptr %0, align 8, !alias.scope !3\n"
        return text + "".join(
            f"  %{n} = shufflevector <{count} x {type}> %1, <{count} x {type}> poison,"
            f" <{part} x i32> <{lanes}>\n"
            for n in range(2, 2 + parts)
        )

    for wide in (module(64, "i8", 8), module(16, "float", 2), module(32, "half", 4)):
        assert parts_frozen(wide).count("freeze") == 1
        load, rest = wide.split("\n", 1)
        kind = load.partition("load ")[2].partition(",")[0]
        frozen_load = f"{load.replace('%1 =', '%1.read =')}\n  %1 = freeze {kind} %1.read\n"
        assert parts_frozen(wide) == frozen_load + rest
    few = (module(32, "i8", 8), module(64, "i8", 32), module(64, "i8", 8, 1), module(64, "i1", 8))
    for text in few:
        assert parts_frozen(text) == text
