"""What may be read before it is written: one walk for all who ask that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush


def live_in(
    blocks: Iterable[int], after: Callable[[int], Iterable[int]], before: Callable[[int, int], int]
) -> dict[int, int]:
    """What is live at the start of each block, a bit for each thing.

    `after` are the blocks behind one; `before` says what is live at a block's start if that is live
    at its end.  A block is looked at again only if what is live behind it has grown.
    """
    live = dict.fromkeys(blocks, 0)
    behind = live.copy()
    sources: dict[int, list[int]] = {}
    for block in live:
        for target in after(block):
            sources.setdefault(target, []).append(block)
    work = [-block for block in live]
    heapify(work)
    waiting = set(live)
    while work:
        block = -heappop(work)  # the last in program order: what it leads to has mostly been there
        waiting.discard(block)
        live[block] = now = before(block, behind[block])
        for source in sources.get(block, ()):
            grown = behind[source] | now
            if grown != behind[source]:
                behind[source] = grown
                if source not in waiting:
                    waiting.add(source)
                    heappush(work, -source)
    return live
