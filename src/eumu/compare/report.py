"""A difference in words."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.compare.search import Difference, Divergence, Ending, Printed, Trace
from eumu.compare.sides import Side


def describe(found: Difference) -> str:
    """What differs and, of memory, who stored it and what the two threads ran around it."""
    match found:
        case Divergence():
            return "\n".join(_divergence(found))
        case Ending():
            return "\n".join(_ending(found))
        case Printed():
            return "\n".join(_printed(found))


def _divergence(found: Divergence) -> Iterator[str]:
    left, right = found.sides
    more = f" ({found.count} elements differ)" if found.count > 1 else ""
    yield (
        f"{found.array}[{found.index}] differs{more}:"
        f" {found.left} in {left.label}, {found.right} in {right.label}"
    )
    if any(found.traces):  # stores to images are not traced
        yield from _trace(left, found.traces[0])
        yield from _trace(right, found.traces[1])


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


def _ending(found: Ending) -> Iterator[str]:
    bad = 0 if found.faults[0] is not None else 1
    yield f"{found.sides[bad].label} faults, {found.sides[1 - bad].label} does not:"
    yield from (f"  {line}" for line in str(found.faults[bad]).splitlines())


def _printed(found: Printed) -> Iterator[str]:
    yield "what is printed differs:"
    for side, lines in zip(found.sides, found.lines, strict=True):
        yield from (f"  only {side.label}: {line}" for line in lines[:4])
        if len(lines) > 4:
            yield f"  and {len(lines) - 4} more lines"
