"""A difference in words."""

from __future__ import annotations

from collections.abc import Iterator

from eumu.compare.search import Difference, Divergence, Ending, Printed, Trace
from eumu.compare.sides import Side


def describe(difference: Difference) -> str:
    """What differs and, of memory, who stored it and what the two threads ran around it."""
    match difference:
        case Divergence():
            return "\n".join(_divergence(difference))
        case Ending():
            return "\n".join(_ending(difference))
        case Printed():
            return "\n".join(_printed(difference))


def _divergence(divergence: Divergence) -> Iterator[str]:
    left, right = divergence.sides
    more = f" ({divergence.count} elements differ)" if divergence.count > 1 else ""
    yield (
        f"{divergence.array}[{divergence.index}] differs{more}:"
        f" {divergence.left} in {left.label}, {divergence.right} in {right.label}"
    )
    if any(divergence.traces):  # stores to images are not traced
        yield from _trace(left, divergence.traces[0])
        yield from _trace(right, divergence.traces[1])


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


def _ending(ending: Ending) -> Iterator[str]:
    bad = 0 if ending.faults[0] is not None else 1
    yield f"{ending.sides[bad].label} faults, {ending.sides[1 - bad].label} does not:"
    yield from (f"  {line}" for line in str(ending.faults[bad]).splitlines())


def _printed(printed: Printed) -> Iterator[str]:
    yield "what is printed differs:"
    for side, lines in zip(printed.sides, printed.lines, strict=True):
        yield from (f"  only {side.label}: {line}" for line in lines[:4])
        if len(lines) > 4:
            yield f"  and {len(lines) - 4} more lines"
