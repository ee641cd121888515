"""With a check: kernels that read buffers made with CL_MEM_WRITE_ONLY.

Such a read is a fault of the engines.  A program that goes on everywhere else goes on here, too:
the mistake is told, memory is as it was, and the kernel runs again as if it might read the buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from eumu.cl.memory import SharedMemory, is_buffer
from eumu.device.allocator import Allocation
from eumu.errors import Fault, Finding
from eumu.runtime import Array

T = TypeVar("T")
_CODE: Final = "write-only"


def run(
    launch: Callable[[], T],
    memory: SharedMemory,
    arguments: Sequence[object],
    tell: Callable[[Finding], None],
) -> T:
    """What a launch gives; each of its buffers that it must not read and reads is told once."""
    while memory.restricted:
        saved = [(a, _bytes(memory, a).copy()) for a in _within_reach(memory, arguments)]
        try:
            return launch()
        except Fault as error:
            place = error.finding.memory
            read = next((a for a, _ in saved if place and a.name == place.array), None)
            if error.code != _CODE or read is None:
                raise
            for allocation, content in saved:
                _bytes(memory, allocation)[:] = content
            memory.allow(read)
            tell(_told(error.finding, read))
    return launch()


def _told(finding: Finding, read: Allocation) -> Finding:
    buffer = f"{read.name} ({read.size} bytes)"
    reason = f"kernel {finding.kernel} reads {buffer}, which was made with CL_MEM_WRITE_ONLY"
    return replace(finding, reason=reason)


def _within_reach(memory: SharedMemory, arguments: Sequence[object]) -> Iterator[Allocation]:
    """What a kernel may write: its buffers, and all that is reached by pointers in memory."""
    given = {v.address for v in arguments if isinstance(v, Array)}
    for allocation in memory.live:
        if not is_buffer(allocation) or any(allocation.start <= a < allocation.end for a in given):
            yield allocation


def _bytes(memory: SharedMemory, allocation: Allocation) -> NDArray[np.uint8]:
    first = allocation.start - memory.base
    return memory.arena[first : first + allocation.size]
