"""Stores that pass by the caches, into large arrays that the kernel does not read.

A cache reads a line from memory before the line is written, and keeps it while what was of use to
the kernel goes.  Whole lines can be written past it.  That pays where an array is a large part of
the cache; small ones are soon read again, and of what was read before the line is there anyway.
"""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.codegen.kernel import KernelLowering
from eumu.exec.jit.llvm.layout import LINE, SiteWord
from eumu.ir import Function, Op
from eumu.ir.operations.memory import Fence

FENCE: Final = "fence seq_cst"  # what was stored so is there for others after it
# Such stores may be seen after later ones, which other threads must not notice.
_ORDERED: Final = frozenset({"atomic", "fence", "follow", "send", "message"})


def may_stream(function: Function) -> bool:
    """Whether the order in which others see a function's stores does not matter before its end."""
    ops = [op for block in function.blocks for op in block.ops]
    return not any(op.name in _ORDERED and not _is_local(op) for op in ops)


def _is_local(op: Op) -> bool:
    """Whether an operation orders what the threads of a group do, whom one processor runs."""
    return isinstance(op, Fence) and op.scope == "local"


def store(k: KernelLowering, site: int, place: str, vector: str, data: str) -> None:
    """Store lines: past the caches if the site's array is such, and the place a line's."""
    e = k.e
    address = e.op(f"ptrtoint ptr {place} to i64")
    word = e.op(f"getelementptr i64, ptr {k.site_pointer(site)}, i64 {int(SiteWord.CACHED)}")
    kept = e.op(f"and i64 {address}, {e.op(f'load i64, ptr {word}')}")
    passes = e.op(f"icmp eq i64 {kept}, 0")
    past, usual, on = e.name("past"), e.name("usual"), e.name("on")
    e.do(f"br i1 {passes}, label %{past}, label %{usual}")
    e.label(past)
    e.do(f"store {vector} {data}, ptr {place}, align {LINE}, !nontemporal !2")
    e.do(f"br label %{on}")
    e.label(usual)
    e.do(f"store {vector} {data}, ptr {place}, align 1")
    e.do(f"br label %{on}")
    e.label(on)
