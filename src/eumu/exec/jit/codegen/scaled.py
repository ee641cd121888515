"""Scaled rows: some turns of what a loop makes of its elements at once, see `analysis.scaled`."""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.analysis.scaled import Scaled
from eumu.exec.jit.codegen import registers as regs
from eumu.exec.jit.codegen.elementwise import emitter_of
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.emit import Emitter
from eumu.ir import Op
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.state import Read
from eumu.records import dataclass
from eumu.types import F

TURNS: Final = 16  # at once: a power of two; so many elements are a vector
_MASK: Final = f"i{TURNS}"
_VECTOR: Final = f"<{TURNS} x float>"
_MASKED: Final = f"llvm.masked.load.v{TURNS}f32.p0"


@dataclass(frozen=True, slots=True)
class Row:
    """Numbers of the next turns in memory; `head` is where the element of the first turn lies."""

    scaled: Scaled
    head: str
    pad: str


def row(k: KernelLowering, scaled: Scaled, head: str) -> Row:
    """A row, of which there is nothing yet."""
    return Row(scaled, head, k.e.alloca(f"{_VECTOR}, align 64", None))


def fill(k: KernelLowering, row: Row, turn: str, last: str) -> None:
    """Make the numbers of turns from one on, of those up to the last of which all is known."""
    e = k.e
    way = e.op(f"mul i64 {turn}, {F.size}")
    place = e.op(f"getelementptr i8, ptr %flat, i64 {e.op(f'add i64 {row.head}, {way}')}")
    more = e.intrinsic("umin", "i64", e.op(f"sub i64 {last}, {turn}"), str(TURNS - 1))
    off = e.op(f"trunc i64 {e.op(f'sub i64 {TURNS - 1}, {more}')} to {_MASK}")
    lanes = e.bitcast(e.op(f"lshr {_MASK} -1, {off}"), _MASK, f"<{TURNS} x i1>")
    e.declarations[_MASKED] = f"declare {_VECTOR} @{_MASKED}(ptr, <{TURNS} x i1>, {_VECTOR})"
    operands = f"ptr align 1 {place}, <{TURNS} x i1> {lanes}, {_VECTOR} zeroinitializer"
    elements, made = e.op(f"call {_VECTOR} @{_MASKED}({operands})"), list[str]()
    for step in row.scaled.steps:
        arguments = [
            elements if a is None else made[a] if isinstance(a, int) else _same(k, a)
            for a in step.arguments
        ]
        made.append(emitter_of(step.op)(e, step.op, TURNS, *arguments))
    e.do(f"store {_VECTOR} {made[-1]}, ptr {row.pad}, align 64")


def _same(k: KernelLowering, op: Op) -> str:
    """What stays the same, for all turns."""
    if isinstance(op, Read):
        number = regs.load(k.e, k.registers, op.root, op.region, op.result.type, 1)
        return k.e.splat(number, "float", TURNS)
    assert isinstance(op, Const)
    return k.e.bitcast(f"splat (i32 {op.lanes[0]})", f"<{TURNS} x i32>", _VECTOR)


def number(e: Emitter, row: Row, turn: str) -> str:
    """The number of a turn."""
    here = e.op(f"and i64 {turn}, {TURNS - 1}")
    return e.op(f"load float, ptr {e.op(f'getelementptr float, ptr {row.pad}, i64 {here}')}")
