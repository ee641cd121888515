"""The builder that native bodies are written against: a thread that branches.

Channels wait at the blocks that branches send them to; see :mod:`eumu.lower_native`.
"""

from __future__ import annotations

from eumu.ir import Value
from eumu.ir.operations.ends import Branch, Diverge, Jump, Ret
from eumu.isa.gen9.jumps import Jumps
from eumu.isa.gen9.operands import BranchTarget, NativeSource
from eumu.isa.kinds import WritePlace
from eumu.types import BOOL, UD


class Gen9Builder(Jumps):
    """A thread that branches."""

    def loop_end(self, offset: int) -> int | None:
        """Where a `while` at an offset ends, None if none is there."""
        raise NotImplementedError

    def go(self, moved: Value, target: BranchTarget) -> None:
        """Channels in `moved` go to a target, the others on."""
        place = self.block_at(target.offset)
        self.transfer(Diverge((moved,), (place,), offset=self.exec.offset))

    def branch(self, target: BranchTarget | NativeSource, element: int = 0) -> None:
        """Channels whose predicate holds go to a target, or as far as a dword of a source says."""
        if isinstance(target, BranchTarget):
            self.go(self.lanes(), target)
        else:
            self.branch_far(target, element)

    def behind_loop(self, target: BranchTarget) -> BranchTarget:
        """Where `break` leads: the compiler names the `while`, which such channels have left."""
        end = self.loop_end(target.offset)
        return target if end is None else BranchTarget(end)

    def jump(self, target: BranchTarget | NativeSource) -> None:
        """Every channel that is here goes to a target, if the predicate's first bit says so."""
        if not isinstance(target, BranchTarget):
            self.jump_far(target)
            return
        place = self.block_at(target.offset)
        if self.flags_mask is None:
            self.terminate(Jump((), (place,)))
        else:
            self.transfer(Branch((self.flags_mask,), (place,)))

    def enter(self, link: WritePlace, target: BranchTarget | NativeSource, base: int) -> None:
        """Call: the return address and the mask of the callers go to `link`.

        A distance in a register counts from byte `base`.
        """
        if not isinstance(target, BranchTarget):
            self.note_callee(target, base)
        callers = self.and_(self.channel_mask, self.lanes())
        words = (self.const(UD, self.next_offset), self.mask_bits(callers))
        self.put(link, self.concat(words), self.const(BOOL, 1, 2))
        if isinstance(target, BranchTarget):
            self.call_near(target)
        else:
            self.call_far()

    def leave(self, source: NativeSource) -> None:
        """Return: channels wait behind their call until all are back."""
        if self.goes_far:
            self.return_far(source)
        else:
            self.transfer(Ret((self.lanes(),), offset=self.exec.offset))

    def end(self) -> None:
        """End of thread, with all its channels."""
        every = self.const(BOOL, 1, self.function.width)
        self.transfer(Ret((every,), offset=0))
