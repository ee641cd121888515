"""The code of a tight loop: what it pays for obeying fuel, Ctrl-C and other workers' faults."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

import eumu
from eumu.exec.jit.host import compiler, target

LOOP = """.version 3.6
.kernel "k"
.decl S v_type=G type=ud num_elts=1 align=dword
.decl N v_type=G type=ud num_elts=1 align=dword
.decl TIMES v_type=G type=ud num_elts=1 align=dword
.decl OUT v_type=G type=ud num_elts=4 align=GRF
.decl P1 v_type=P num_elts=1
.decl T6 v_type=T num_elts=1
.input T6 offset=32 size=4
.input TIMES offset=36 size=4
.kernel_attr Target="cm"
mov (M1, 1) S(0,0)<1> 0x0:ud
mov (M1, 1) N(0,0)<1> 0x0:ud
again:
mul (M1, 1) S(0,0)<1> S(0,0)<0;1,0> 0x5:ud
add (M1, 1) S(0,0)<1> S(0,0)<0;1,0> N(0,0)<0;1,0>
add (M1, 1) N(0,0)<1> N(0,0)<0;1,0> 0x1:ud
cmp.lt (M1, 1) P1 N(0,0)<0;1,0> TIMES(0,0)<0;1,0>
(P1) jmp (M1, 1) again
mov (M1, 1) OUT(0,0)<1> S(0,0)<0;1,0>
mov (M1, 1) N(0,0)<1> 0x0:ud
oword_st (1) T6 N(0,0)<0;1,0> OUT.0
ret (M1, 1)
"""


def test_a_tight_loop_pays_one_decrement_and_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    make = compiler.compile_text

    def compile_text(text: str, processor: target.Processor) -> bytes:
        if re.search(r"^define .* @thread\(", text, re.M):  # the kernel's own, not what many have
            texts.append(text)
        return make(text, processor)

    monkeypatch.setenv("EUMU_CACHE", "off")
    monkeypatch.setattr(compiler, "compile_text", compile_text)
    device = eumu.Device("skl", engine="jit")
    out = device.array(4, np.uint32)
    eumu.load(LOOP.encode(), device="skl")["k"].launch(device, 1, args=[out, 40_000])  # > a slice
    expected = 0
    for n in range(40_000):
        expected = (5 * expected + n) % (1 << 32)
    assert out.numpy()[0] == expected

    processor = target.Processor("x86_64-unknown-linux-gnu", "x86-64", "")
    body = loop(target.assembly(texts[-1], processor))
    tests = [a for a, b in pairwise(body) if re.match(r"j(ns|s)\b", b)]
    assert len(tests) == 1 and re.match(r"(add|sub)q\s+\$-?5, %r", tests[0]), body
    assert sum(line.startswith("j") for line in body) == 2, body
    assert len(body) <= 9 and not any("rsp" in line or "rbp)" in line for line in body), body


def loop(assembly: str) -> list[str]:
    """The instructions of the loop that multiplies by 5 in one instruction."""
    lines = [line.strip() for line in assembly.splitlines()]
    labels = {line[:-1]: n for n, line in enumerate(lines) if line.endswith(":")}
    found = []
    for n, line in enumerate(lines):
        jump = re.match(r"j\w+\s+(\.L\w+)$", line)
        if jump and labels[jump[1]] < n:
            inside = lines[labels[jump[1]] : n + 1]
            if any(re.match(r"leal\s+\(%(\w+),%\1,4\)", x) for x in inside):
                found.append([x for x in inside if not x.endswith(":") and not x.startswith(".")])
    return min(found, key=len)
