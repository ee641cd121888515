"""How faults speak of threads and places, the same from both engines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from eumu import addresses
from eumu.errors import ranges
from eumu.exec.host import Host
from eumu.exec.state import instruction_span, instruction_text
from eumu.ir import Function

_LOOPS: Final = (
    "the last backward branch is shown; a loop may never end, or the limit is too small"
    " (fuel= of the launch, --fuel, or EUMU_FUEL)"
)
_TOGETHER: Final = "lanes of a thread that wait for each other wait for ever, as on hardware"
UNBOUND: Final = "to which no surface is bound"


def loops(function: Function) -> list[str]:
    """The notes to a thread that ran for too long."""
    return [_LOOPS, *([_TOGETHER] if function.together else [])]


def threads(numbers: Iterable[int]) -> str:
    """`thread 3`, `threads 0-2, 5`"""
    listed = [int(n) for n in numbers]
    return f"thread{'s' * (len(listed) != 1)} {ranges(listed)}"


def waiting(numbers: Iterable[int]) -> str:
    """`thread 3 waits`, `threads 0-2, 5 wait`"""
    listed = [int(n) for n in numbers]
    return f"{threads(listed)} wait{'s' * (len(listed) == 1)}"


def place(function: Function, inst: int) -> str:
    """An instruction: where it stands and how it reads."""
    span, text = instruction_span(function, inst), instruction_text(function, inst)
    return f"{span}: {text}" if span else text


def first_instruction(function: Function, block: int) -> int:
    """The first instruction of a block."""
    body = function.blocks[block]
    insts = [op.inst for op in body.ops if op.inst >= 0]
    return insts[0] if insts or body.end is None else body.end.inst


def block_place(function: Function, block: int) -> str:
    """A block: its label and its first instruction."""
    label = function.blocks[block].label
    return f"{label} ({place(function, first_instruction(function, block))})"


def no_register(address: int) -> str:
    """Why a register-indirect write is a fault."""
    place = f"register-indirect access at {address:#x}"
    return f"{place} is outside every variable whose address is taken"


def unbound(index: int, surfaces: Iterable[int], host: Host) -> list[str]:
    """Notes to a surface index to which nothing is bound.

    Intel's compiler has options with which its code and its metadata do not say the same of a
    buffer: so it is said what is bound, and whether a handle is the lower half of an address.
    """
    if index < addresses.SURFACE_STATE_BASE:
        bound = sorted(n for n in surfaces if n < addresses.SURFACE_STATE_BASE)
        said = f"are {ranges(bound)}" if bound else "are none"
        return [f"the indices that the program's metadata declare, and that are bound, {said}"]
    address = host.base >> 32 << 32 | index - addresses.SURFACE_STATE_BASE & 0xFFFF_FFFF
    starts, ends = host.extents()
    if not np.any((starts <= np.uint64(address)) & (np.uint64(address) < ends)):
        return []
    return [
        f"this handle is the lower half of {address:#x}, {host.describe(address)}:"
        " the code takes a handle where the program's metadata declare an address"
    ]
