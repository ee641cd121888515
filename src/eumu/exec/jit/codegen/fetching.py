"""Fetching: what a loop will load some turns later is asked for where processors do not foresee it.

They follow what moves on by less than a page.  A walk down a column of a large matrix waits for
memory in each turn.  How far it moves on is known when it has loaded twice; what lies eight times
as far ahead is prefetched, which neither faults nor changes anything.
"""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.analysis.walks import is_quiet
from eumu.exec.jit.codegen.access import CompiledAccess
from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.layout import LINE, SiteWord
from eumu.ir import Space
from eumu.ir.operations.ends import Barrier

_FAR: Final = 1024  # bytes from turn to turn; what is nearer processors foresee
_LEAST_BYTES: Final = LINE // 2  # of an access: a byte for each of 32 lanes
_MOST_BYTES: Final = 4 * LINE
_AHEAD: Final = 3  # a power of two: how many turns
_PREFETCH: Final = "llvm.prefetch.p0"


def is_worth_it(k: KernelLowering, access: CompiledAccess, total: int) -> bool:
    """Whether a load of so many bytes may be one that waits for memory in each turn of a loop."""
    fits = _LEAST_BYTES <= total <= _MOST_BYTES
    return fits and access.space is Space.FLAT and k.block in _loops(k)


def _loops(k: KernelLowering) -> frozenset[int]:
    """The blocks of loops that only load: others wait for their stores, or for other threads."""
    if k.loading is None:
        found: set[int] = set()
        for low, high in k.flow.backward():
            blocks = [k.function.blocks[i] for i in range(low, high + 1)]
            waits = any(isinstance(block.end, Barrier) for block in blocks)
            if not waits and all(is_quiet(op) for block in blocks for op in block.ops):
                found.update(range(low, high + 1))
        k.loading = frozenset(found)
    return k.loading


def fetch(k: KernelLowering, access: CompiledAccess, origin: str, total: int) -> None:
    """Prefetch what an access of `total` bytes from `origin` on wants some turns later."""
    e = k.e
    e.declarations[_PREFETCH] = f"declare void @{_PREFETCH}(ptr nocapture readonly, i32, i32, i32)"
    site = k.site_pointer(access.site)
    last = e.op(f"getelementptr i64, ptr {site}, i64 {int(SiteWord.LAST)}")
    far, on = e.name("far"), e.name("on")
    here = e.op(f"ptrtoint ptr {origin} to i64")
    step = e.op(f"sub i64 {here}, {e.op(f'load i64, ptr {last}')}")
    e.do(f"store i64 {here}, ptr {last}")
    is_near = e.op(f"icmp ult i64 {e.op(f'add i64 {step}, {_FAR}')}, {2 * _FAR}")
    e.do(f"br i1 {is_near}, label %{on}, label %{far}")
    e.label(far)
    way = e.op(f"shl i64 {step}, {_AHEAD}")
    for byte in sorted({*range(0, total, LINE), total - 1}):
        line = e.op(f"getelementptr i8, ptr {origin}, i64 {e.op(f'add i64 {way}, {byte}')}")
        e.do(f"call void @{_PREFETCH}(ptr {line}, i32 0, i32 3, i32 1)")
    e.do(f"br label %{on}")
    e.label(on)


def fetch_for_stores(
    k: KernelLowering,
    access: CompiledAccess,
    base: str,
    addresses: list[str],
    offsets: tuple[int, ...],
) -> None:
    """Prefetch the lines that the next thread will store to, each lane to another one.

    Such stores wait for their lines one behind the other.  They are those of this thread as far on
    as these are from those of the thread before.  The first such stores of a block do it for all.
    """
    lines = sorted({offset // LINE * LINE for offset in offsets})
    if access.space is not Space.FLAT or 2 * len(lines) < len(offsets) or len(addresses) > 1:
        return
    if k.block in k.fetched:
        return
    k.fetched.add(k.block)
    e = k.e
    e.declarations[_PREFETCH] = f"declare void @{_PREFETCH}(ptr nocapture readonly, i32, i32, i32)"
    site = k.site_pointer(access.site)
    last, small = (
        e.op(f"getelementptr i64, ptr {site}, i64 {int(word)}")
        for word in (SiteWord.LAST, SiteWord.SMALL_SPAN)
    )
    large, on = e.name("large"), e.name("on")
    is_large = e.op(f"icmp eq i64 {e.op(f'load i64, ptr {small}')}, 0")
    e.do(f"br i1 {is_large}, label %{large}, label %{on}")
    e.label(large)
    origin = e.op(f"getelementptr i8, ptr {base}, i64 {addresses[0]}")
    here = e.op(f"ptrtoint ptr {origin} to i64")
    step = e.op(f"sub i64 {here}, {e.op(f'load i64, ptr {last}')}")
    e.do(f"store i64 {here}, ptr {last}")
    following = e.op(f"getelementptr i8, ptr {origin}, i64 {step}")
    for line in lines:
        place = e.op(f"getelementptr i8, ptr {following}, i64 {line}")
        e.do(f"call void @{_PREFETCH}(ptr {place}, i32 1, i32 3, i32 1)")
    e.do(f"br label %{on}")
    e.label(on)
