"""A divergence in words."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.compare.search import Divergence, Trace
from eumu.compare.sides import Side


def describe(found: Divergence) -> str:
    """What differs, who stored it, and what the two threads ran around it."""
    left, right = found.sides
    more = f" ({found.count} elements differ)" if found.count > 1 else ""
    lines = [
        f"{found.array}[{found.index}] differs{more}:"
        f" {found.left} in {left.label}, {found.right} in {right.label}",
        *_trace(left, found.traces[0]),
        *_trace(right, found.traces[1]),
    ]
    return "\n".join(lines)


def _trace(side: Side, trace: Trace | None) -> Iterator[str]:
    if trace is None:
        yield f"  {side.label}: stores nothing there"
        return
    where = f", {trace.place}" if trace.place else ""
    data = int.from_bytes(trace.store.data, "little")
    yield (
        f"  {side.label}: thread {trace.store.thread} stores {data:#x}"
        f" at {trace.store.address:#x}{where}"
    )
    for text, is_store in trace.lines:
        yield f"    {'>' if is_store else ' '} {text}"
