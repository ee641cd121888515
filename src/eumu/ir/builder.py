"""Builds IR: one method per operation, types and widths checked at once."""

from __future__ import annotations

from dataclasses import replace

from eumu.errors import InternalError
from eumu.ir.function import Terminator
from eumu.ir.operations.arithmetic import Arithmetic
from eumu.ir.operations.lanes import LaneEmitter
from eumu.ir.operations.memory import MemoryEmitter
from eumu.ir.operations.messages import MessageEmitter
from eumu.ir.operations.state import StateEmitter


class Builder(LaneEmitter, Arithmetic, StateEmitter, MemoryEmitter, MessageEmitter):
    """Operations and terminators of a function; `block` is where they go."""

    def terminate(self, end: Terminator) -> None:
        """End the current block; the terminator is the instruction's."""
        if self.block is None or self.block.end is not None:
            raise InternalError(f"IR terminator {end.name} cannot end this block")
        self.block.end = replace(end, inst=self.inst)
