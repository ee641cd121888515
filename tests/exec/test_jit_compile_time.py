"""Programs that LLVM once never ended on: each compiles in a process of its own, within a time."""

from __future__ import annotations

import pytest

from eumu.exec.jit.emit import Emitter
from eumu.exec.jit.target import compile_object, host
from random_kernels import isolated

LIMIT = 60.0  # seconds; they take less than one


def _repeated_bytes(mask: tuple[int, ...]) -> str:
    """Arithmetic on 64 bytes, before and after some of them are moved."""
    e = Emitter(fenced_bytes=host().target.fenced_bytes)
    source = e.op("load <64 x i8>, ptr %p, align 1")
    before = e.op(f"add <64 x i8> {source}, splat (i8 3)")
    moved = e.shuffle(before, "i8", 64, mask)
    after = e.op(f"xor <64 x i8> {moved}, splat (i8 -1)")
    e.do(f"store <64 x i8> {after}, ptr %p, align 1")
    e.do("ret void")
    lines = (*e.declarations.values(), "define void @run(ptr %p) #0 {", *e.lines, "}\n")
    return "\n".join(lines)


def _compile(text: str) -> str:
    return "" if compile_object(text, host()) else "no code"


@pytest.mark.parametrize(("stride", "width"), [(0, 2), (1, 2), (1, 4), (2, 4), (2, 8), (4, 8)])
@pytest.mark.parametrize("unit", [1, 8])
def test_repeated_bytes(stride: int, width: int, unit: int) -> None:
    """Elements of `unit` bytes in the order of the region <stride;width,0>, and in groups."""
    for first in (0, 16):
        groups = range(64 // unit)
        starts = [first + k // width * stride * unit for k in groups]
        repeats = tuple(s + n for s in starts for n in range(unit))
        if max(repeats) < 64:
            assert not isolated.call(_compile, _repeated_bytes(repeats), LIMIT)
