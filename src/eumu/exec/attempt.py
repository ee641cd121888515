"""Runs that may be thrown away: what a kernel has not done yet, nobody can see.

Many kernels compute first and store last.  The interpreter may begin such a kernel before anybody
knows how long it takes: until its groups first change something that others see, they can be
forgotten and run by another engine.  From there on they can not, so nothing may be left in them
that could take long: no loop.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.ir import Block, Function, Op
from eumu.ir.operations.ends import AnyCall, Ret
from eumu.ir.operations.lanes import Const
from eumu.ir.operations.memory import WRITTEN_SPACES, Access, Atomic, Fence, Follow, Load, LoadBlock
from eumu.ir.operations.messages import Report, Require
from eumu.ir.operations.row import OPERATIONS
from eumu.records import dataclass

_OWN: Final = frozenset((*WRITTEN_SPACES, *WRITTEN_SPACES.values()))  # they go with their group


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """What a run needs to know of its function that may be thrown away.

    The blocks in `visible` change what others see.  From the blocks that are set in `looping` a
    loop can be reached; none of them is visible.  After so many `seconds` of a processor the run is
    thrown away, if it still can be.
    """

    visible: frozenset[int]
    looping: NDArray[np.bool_]
    seconds: float

    def ends_soon(self, waiting: NDArray[np.int32]) -> bool:
        """Whether lanes that wait at these blocks, or at none, have no loop before them."""
        return not self.looping[waiting[waiting < len(self.looping)]].any()


def attempt(function: Function, seconds: float) -> Attempt | None:
    """How a run of a function can be thrown away, None if it can not.

    It can not if a loop follows what others see, or is part of it, or if it has findings, which
    are told of all groups.  Calls may lead anywhere.
    """
    if any(isinstance(block.end, AnyCall) for block in function.blocks):
        return None
    if any(isinstance(op, (Follow, Report)) for block in function.blocks for op in block.ops):
        return None
    looping = _looping(function)
    visible = frozenset(k for k, block in enumerate(function.blocks) if _is_visible(block))
    return None if any(looping[k] for k in visible) else Attempt(visible, looping, seconds)


def _is_visible(block: Block) -> bool:
    """Whether a block changes, or tells, more than its thread group knows."""
    return any(OPERATIONS[op.name].effect and not _is_hidden(op) for op in block.ops)


def _is_hidden(op: Op) -> bool:
    """Whether nobody outside of a group can see an operation, but for its fault."""
    if isinstance(op, (Load, LoadBlock, Fence, Require)):
        return True
    if isinstance(op, Atomic) and op.operation == "load":
        return True
    return isinstance(op, Access) and op.space in _OWN


def _looping(function: Function) -> NDArray[np.bool_]:
    """The blocks from which a loop can be reached: those that are left without all that end."""
    targets = [_targets(block, function.width) for block in function.blocks]
    sources: list[list[int]] = [[] for _ in targets]
    for k, ways in enumerate(targets):
        for target in ways:
            sources[target].append(k)
    looping = np.ones(len(targets), bool)
    ending = [k for k, ways in enumerate(targets) if not ways]
    while ending:
        end = ending.pop()
        looping[end] = False
        for k in sources[end]:
            targets[k].discard(end)
            if not targets[k]:
                ending.append(k)
    return looping


def _targets(block: Block, width: int) -> set[int]:
    """Where lanes go from a block; nowhere if all of them leave."""
    end = block.end
    if end is None:
        return set()
    if isinstance(end, Ret) and end.args[0].width == width:
        (mask,) = end.args
        made = (op for op in block.ops if isinstance(op, Const) and mask in op.results)
        if any(all(op.lanes) for op in made):
            return set()
    return set(end.targets)
