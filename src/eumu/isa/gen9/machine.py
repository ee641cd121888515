"""The thread that native bodies are written against; its control flow.

Channels wait at the blocks that branches send them to; see :mod:`eumu.lower_native`.
"""

from __future__ import annotations

from eumu.errors import Unsupported
from eumu.ir import Region, Value
from eumu.isa.gen9.operands import (
    Source,
    Target,
)
from eumu.isa.gen9.results import Results
from eumu.isa.kinds import Place
from eumu.types import BOOL, UD


class Machine(Results):
    """A thread that branches."""

    def block_at(self, offset: int) -> int:
        """The block that begins at a byte offset."""
        raise NotImplementedError

    def loop_end(self, offset: int) -> int | None:
        """Where a `while` at an offset ends, None if none is there."""
        raise NotImplementedError

    def table_of_jumps(self) -> list[tuple[int, int]]:
        """The jumps right behind this instruction: their distance from its end, their target."""
        raise NotImplementedError

    def lanes(self) -> Value:
        """The channels that a branch moves: its predicate, or all."""
        return self.const(BOOL, 1, self.width) if self.flags_mask is None else self.flags_mask

    def go(self, moved: Value, target: Target) -> None:
        """Channels in `moved` go to a target, the others on."""
        place = self.block_at(target.offset)
        self.transfer("diverge", (moved,), place, offset=self.exec.offset)

    def fixed(self, target: Target | Source) -> Target:
        """A target that the instruction names."""
        if not isinstance(target, Target):
            raise Unsupported("a branch of channels to a distance in a register")
        return target

    def behind_loop(self, target: Target) -> Target:
        """Where `break` leads: the compiler names the `while`, which such channels have left."""
        end = self.loop_end(target.offset)
        return target if end is None else Target(end)

    def jump(self, target: Target | Source) -> None:
        """Every channel that is here goes to a target, if the predicate's first bit says so."""
        if isinstance(target, Target):
            place = self.block_at(target.offset)
            if self.flags_mask is None:
                self.terminate("jump", (), (place,))
            else:
                self.transfer("branch", (self.flags_mask,), place)
            return
        table = self.table_of_jumps()
        if self.flags_mask is not None or not table:
            raise Unsupported("a jump to a distance in a register, but into a table behind it")
        distance = self.convert(self.read_source(target), UD)
        row = self.const(UD, len(table))
        for k, (offset, _) in enumerate(table):
            here = self.cmp("eq", distance, self.const(UD, offset))
            row = self.select(here, self.const(UD, k), row)
        places = [self.block_at(offset) for _, offset in table]
        self.terminate("switch", (row,), (*places, places[-1]))

    def enter(self, link: Place, target: Target | Source) -> None:
        """Call: the return address and the mask of the callers go to `link`."""
        if not isinstance(target, Target):
            raise Unsupported("a call of an address in a register")
        callers = self.and_(self.channel_mask, self.lanes())
        words = (self.const(UD, self.next_offset), self.mask_bits(callers))
        if link.root is not None:
            pair = Region.packed(link.offset, 4)
            self.check_inside(link.root, pair.offsets(2), 4)
            self.write_root(link.root, pair, self.concat(words), self.const(BOOL, 1, 2))
        place = self.block_at(target.offset)
        self.transfer("call", (self.lanes(),), place, offset=self.exec.offset, saves=())

    def leave(self) -> None:
        """Return: channels wait behind their call until all are back."""
        self.transfer("ret", (self.lanes(),), offset=self.exec.offset)

    def end(self) -> None:
        """End of thread, with all its channels."""
        every = self.const(BOOL, 1, self.function.width)
        self.transfer("ret", (every,), offset=0)
