"""Jumps, calls and returns to addresses that registers hold.

Native code has no instruction that calls an address: the compiler puts the return address into a
register, subtracts the instruction pointer from the function's address, and jumps so far; the
function jumps back the same way.  On the machine, channels that wait elsewhere stay where they are
meanwhile.  Here a function is a frame, as it is in direct calls, because channels that wait in a
lower block would run first: a jump to where a function begins is a call, and one to where the call
of the innermost frame goes on is a return.  The thread keeps that place in a root of its own.

Code without functions may go to any of its instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from eumu.ir import Region, Root, RootKind, Value
from eumu.ir.operations.ends import Call, Diverge, Jump, Ret, Switch, Trap
from eumu.isa.gen9.operands import BranchTarget, Execution, NativeSource
from eumu.isa.gen9.results import Results
from eumu.types import BOOL, UD

_HALF: Final = 8  # bytes of the shortest instruction
# Blocks behind the one of a jump, see `Jumps.behind`.
_NOWHERE, _RETURN, _CALL = 0, 1, 2
PLACES: Final = 2  # behind a branch of channels, the places from here on


class Jumps(Results):
    """A thread that goes where registers say."""

    # Functions that have an address: its low 32 bits, and the byte of the code.
    functions: Sequence[tuple[int, int]] = ()
    # Whether registers say where to go, tables of jumps and branches of channels aside.
    goes_far = False

    def block_at(self, offset: int) -> int:
        """The block that begins at a byte offset."""
        raise NotImplementedError

    def places(self) -> Sequence[int]:
        """The byte offsets that this instruction may lead to, functions aside; ascending."""
        raise NotImplementedError

    def behind(self, number: int) -> int:
        """One of the blocks between this instruction's and the next one's.

        Channels that wait further down wait until those are done.
        """
        raise NotImplementedError

    def open_behind(self, label: str) -> None:
        """Go on in the next of these blocks."""
        raise NotImplementedError

    def annex(self, label: str, body: Callable[[], None]) -> int:
        """A block of this instruction behind all code; where a frame begins."""
        raise NotImplementedError

    def lanes(self) -> Value:
        """The channels that a branch moves: its predicate, or all."""
        return self.const(BOOL, 1, self.width) if self.flags_mask is None else self.flags_mask

    # ---- addresses

    def _word(self, source: NativeSource, element: int = 0) -> Value:
        """A dword of a source, one lane; execution size and predicate play no part."""
        operand = self.execution
        self.execute(Execution(element + 1, nomask=True))
        words = self.convert(self.read_source(source), UD)
        self.execute(operand)
        return self.slice(words, element, 1)

    def _address(self, source: NativeSource, base: int, element: int = 0) -> Value:
        """Where a distance from byte `base` on leads."""
        return self.add(self._word(source, element), self.const(UD, base))

    def _row(self, address: Value, places: Sequence[int]) -> tuple[Value, list[int | None]]:
        """The row of an address in a table of places, and the table; its last row is nowhere."""
        first = places[0] if places else 0
        count = (places[-1] - first) // _HALF + 1 if places else 0
        distance = self.sub(address, self.const(UD, first))
        aligned = self.cmp("eq", self.and_(distance, self.const(UD, 7)), self.const(UD, 0))
        row = self.shr(distance, self.const(UD, 3))
        inside = self.and_(aligned, self.cmp("lt", row, self.const(UD, count)))
        listed = set(places)
        table = [p if p in listed else None for p in range(first, first + _HALF * count, _HALF)]
        return self.select(inside, row, self.const(UD, count)), [*table, None]

    def _function(self, address: Value) -> Value:
        """The number of the function at an address; how many there are if none is."""
        row = self.const(UD, len(self.functions))
        for k, (places, _) in enumerate(self.functions):
            row = self.select(
                self.cmp("eq", address, self.const(UD, places)), self.const(UD, k), row
            )
        return row

    def _switch(
        self, row: Value, blocks: Sequence[int], choices: Sequence[tuple[Value, int]]
    ) -> None:
        """End the block: go to the last choice that holds, else to the block in that row."""
        row = self.add(row, self.const(UD, len(choices)))
        for k, (chosen, _) in enumerate(choices):
            row = self.select(chosen, self.const(UD, k), row)
        self.terminate(Switch((row,), (*(block for _, block in choices), *blocks)))

    def _open_nowhere(self, reason: str) -> None:
        self.open_behind("nowhere")
        self.terminate(Trap(reason=reason))

    # ---- frames

    @property
    def _return_address(self) -> Root:
        """Where the innermost call goes on, 0 outside of calls."""
        return self._root("return address", RootKind.ARF, 4)

    @property
    def _callee(self) -> Root:
        return self._root("callee", RootKind.ARF, 4)

    def _is_return(self, address: Value) -> Value:
        back = self.read(self._return_address, Region.scalar(0), UD, 1)
        inside = self.cmp("ne", back, self.const(UD, 0))
        return self.and_(inside, self.cmp("eq", address, back))

    def _enter(self, lanes: Value, offset: int, body: Callable[[], None]) -> None:
        """End the block: lanes go to a new frame, which begins with `body`."""

        def first() -> None:
            here = self.const(UD, self.next_offset)
            self.write_root(self._return_address, Region.scalar(0), here, self.const(BOOL, 1))
            body()

        saves = (self._return_address,)
        self.transfer(Call((lanes,), (self.annex("call", first),), offset=offset, saves=saves))

    def call_near(self, target: BranchTarget) -> None:
        """End the block: channels call a place that the instruction names."""
        place, offset = self.block_at(target.offset), self.exec.offset
        if not self.goes_far:
            self.transfer(Call((self.lanes(),), (place,), offset=offset))
            return
        self._enter(self.lanes(), offset, lambda: self.terminate(Jump((), (place,))))

    def note_callee(self, source: NativeSource, base: int) -> None:
        """Keep the address that lies so far from byte `base`, for `call_far`."""
        address = self._address(source, base)
        self.write_root(self._callee, Region.scalar(0), address, self.const(BOOL, 1))

    def call_far(self) -> None:
        """End the block: channels call what was noted."""

        def find() -> None:
            address = self.read(self._callee, Region.scalar(0), UD, 1)
            row, table = self._row(address, self.places())
            nowhere = self.annex("nowhere", self._trap)
            blocks = [nowhere if p is None else self.block_at(p) for p in table]
            wanted = self._function(address)
            choices = [
                (self.cmp("eq", wanted, self.const(UD, k)), self.block_at(entry))
                for k, (_, entry) in enumerate(self.functions)
            ]
            self._switch(row, blocks, choices)

        self._enter(self.lanes(), self.exec.offset, find)

    def _trap(self) -> None:
        self.terminate(Trap(reason="a call of where nothing begins"))

    # ---- jumps and branches

    def jump_far(self, source: NativeSource) -> None:
        """End the block: every channel goes so far, if the predicate's first bit says so."""
        address = self._address(source, self.next_offset)
        row, table = self._row(address, self.places())
        blocks = [self.behind(_NOWHERE) if p is None else self.block_at(p) for p in table]
        choices = []
        if self.goes_far:
            is_function = self.cmp(
                "lt", self._function(address), self.const(UD, len(self.functions))
            )
            choices = [(is_function, self.behind(_CALL))]
            choices.append((self._is_return(address), self.behind(_RETURN)))
        if self.flags_mask is not None:
            choices.append((self.not_(self.flags_mask), self.next_block()))
        self._switch(row, blocks, choices)
        self._open_nowhere("a jump to where nothing begins")
        if self.goes_far:
            self.open_behind("return")
            self.transfer(Ret((self._every(),), offset=0))
            self.open_behind("call")
            self._enter(self._every(), 0, lambda: self._find_function(source))

    def _find_function(self, source: NativeSource) -> None:
        wanted = self._function(self._address(source, self.next_offset))
        entries = [self.block_at(entry) for _, entry in self.functions]
        nowhere = self.annex("nowhere", self._trap)
        self.terminate(Switch((wanted,), (*entries, nowhere)))

    def _every(self) -> Value:
        return self.const(BOOL, 1, self.function.width)

    def branch_far(self, source: NativeSource, element: int) -> None:
        """End the block: channels whose predicate holds go so far."""
        self._branch(self._address(source, self.offset, element), [])

    def return_far(self, source: NativeSource) -> None:
        """End the block: channels go back to the address in a register."""
        address = self._word(source)
        self._branch(address, [(self._is_return(address), self.behind(_RETURN))])

    def _branch(self, address: Value, choices: Sequence[tuple[Value, int]]) -> None:
        row, table = self._row(address, self.places())
        number = {place: k for k, place in enumerate(self.places(), PLACES)}
        blocks = [self.behind(_NOWHERE if p is None else number[p]) for p in table]
        self._switch(row, blocks, choices)
        self._open_nowhere("a branch to where nothing begins")
        self.open_behind("return")
        self.transfer(Ret((self.lanes(),), offset=self.exec.offset))
        for place in number:
            self.open_behind(f"to L{place}")
            self.transfer(
                Diverge((self.lanes(),), (self.block_at(place),), offset=self.exec.offset)
            )
