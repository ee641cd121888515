"""What a thread changes in memory while lanes of it may be waiting for others.

A loop whose state repeats waits, and state includes memory: without optimization loops count there,
and a lane may take numbers from a queue until it is empty.  Stores and atomic operations of such
loops are therefore observed, but only in a slice behind which the rest of the state was as before
it.  In front of the operation and behind it all its bytes are added up, each multiplied by a number
that its place gives.  The difference is what the operation has changed; the sum of a slice's
differences is 0 where memory is what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from eumu.exec.jit.analysis.flow import Flow
from eumu.exec.jit.codegen.access import CompiledAccess, access_of
from eumu.exec.jit.codegen.cold_calls import slow_call
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.codegen.memory import need_slow
from eumu.exec.jit.llvm.functions import RARELY, FunctionBuilder
from eumu.exec.jit.llvm.layout import LOCAL, VOID_BYTES
from eumu.exec.jit.llvm.vectors import Vector
from eumu.ir import Function, Space
from eumu.ir.operations.ends import Diverge
from eumu.ir.operations.memory import Access, Atomic, Store, StoreBlock

# The words at `WATCH`, a pointer: `OBSERVES` in a slice that is observed, the sum of its changes.
WATCH: Final = "%watch"
OBSERVES: Final = 1
NEVER: Final = (f"  {WATCH} = alloca [2 x i64]", f"  store i64 0, ptr {WATCH}")
_GOLDEN: Final = 0x9E3779B97F4A7C15
_SPACES: Final = (Space.FLAT, Space.SURFACE, *LOCAL)
# Words for an operation: the sign, the sum, how many places were added; then these.
_SIGN, _SUM, _COUNT, _PLACES = range(4)


def observed(function: Function, flow: Flow) -> frozenset[int]:
    """The blocks of loops that may wait for lanes of the thread that are elsewhere."""
    found: set[int] = set()
    waiting = flow.rotating | flow.stuck
    for i in flow.parked:
        end, elsewhere = function.blocks[i].end, flow.parked[i]
        if isinstance(end, Diverge):
            elsewhere |= set(end.targets)
        for header in waiting.intersection(flow.edges.get(i, ())):
            if header <= i and elsewhere - {header}:
                found.update(range(header, i + 1))
    return frozenset(found)


def deferred(k: KernelLowering, block: int) -> Mapping[int, Callable[[], None]]:
    """What emits the operations of a block that are observed, by their places."""
    if block not in k.observed:
        return {}
    ops = k.function.blocks[block].ops
    return {
        n: partial(_observe, k, op)
        for n, op in enumerate(ops)
        if isinstance(op, Access) and _may_change(op)
    }


def _may_change(op: Access) -> bool:
    if isinstance(op, Atomic):
        return op.operation != "load"
    if isinstance(op, Store):
        return op.space in _SPACES
    # The host may keep less of a surface for what is outside it than a block has.
    return isinstance(op, StoreBlock) and op.space in _SPACES and op.size <= VOID_BYTES


def _observe(k: KernelLowering, op: Access) -> None:
    access = access_of(k, op, store=True)
    body = _add_up(op.size)
    function = need_slow(k, access, f"observe.{op.size}", body)
    e, width = k.e, access.address.width
    data = k.scratchpad("observed", f"[{_PLACES + width} x i64]")
    watches = e.op(f"icmp eq i64 {e.op(f'load i64, ptr {WATCH}')}, {OBSERVES}")
    for sign in (-1, 1):
        look, on = e.name("look"), e.name("on")
        e.do(f"br i1 {watches}, label %{look}, label %{on}{RARELY}")
        e.label(look)
        _look(k, access, function, data, sign)
        e.do(f"br label %{on}")
        e.label(on)
        if sign < 0:
            k.lower(op)


def _look(k: KernelLowering, access: CompiledAccess, function: str, data: str, sign: int) -> None:
    """Add what memory holds to the sum of changes, or take it away."""
    e = k.e

    def word(base: str, n: int) -> str:
        return e.op(f"getelementptr i64, ptr {base}, i64 {n}")

    for n, value in ((_SIGN, sign), (_SUM, 0), (_COUNT, 0)):
        e.do(f"store i64 {value}, ptr {word(data, n)}")
    slow_call(k, access, function, data, access.size)
    total = word(WATCH, 1)
    found, before = (e.op(f"load i64, ptr {place}") for place in (word(data, _SUM), total))
    e.do(f"store i64 {e.op(f'add i64 {before}, {found}')}, ptr {total}")


def _add_up(size: int) -> Callable[[FunctionBuilder, Vector, Vector, str], None]:
    """Each place once, however many lanes go there."""

    def lane_added_up(f: FunctionBuilder, lane: Vector, a: Vector, place: str) -> None:
        here = f.number(f.op(f"ptrtoint ptr {place} to i64"))
        count, again = f.word("%data", _COUNT), f.variable()
        again.set(0)
        with f.times(count.get()) as n:
            same = f.equal(f.word("%data", n + _PLACES).get(), here)
            again.set(again.get() | f.one_if(same))
        with f.when(f.equal(again.get(), 0)):
            f.word("%data", count.get() + _PLACES).set(here)
            count.add(1)
            with f.times(size) as n:
                byte = f.op(f"load i8, ptr {f.elements(8, place, n)}, align 1")
                mixed = (here + n) * _GOLDEN
                weight = (mixed ^ mixed >> 32) * _GOLDEN | 1
                value = f.number(f.op(f"zext i8 {byte} to i64")) * weight
                f.word("%data", _SUM).add(value * f.word("%data", _SIGN).get())

    return lane_added_up
