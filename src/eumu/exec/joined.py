"""Where the address of an access is made whose own line the compiler does not say.

A compiler joins accesses of several lines into one, such as those of two branches, and gives it
line 0.  The lines that make its address lead to it all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from eumu.ir import Function, Op, Value
from eumu.ir.operations.memory import Access
from eumu.ir.operations.state import ExecMask, OnRegion, Read, Write

_MOST: Final = 20_000  # operations that are looked at


def instructions(function: Function, inst: int) -> tuple[int, ...]:
    """The instructions, in order, that have a line and last wrote what an access's address is
    made of; none if the access has a line itself, or the program has no lines.
    """
    if _has_line(function, inst) or not any(function.origins):
        return ()
    search = _Search(function)
    for block in function.blocks:
        for op in block.ops:
            if op.inst == inst and isinstance(op, Access):
                search.behind(op.args[:1])
    search.run()
    return tuple(sorted(search.found))


def _has_line(function: Function, inst: int) -> bool:
    return 0 <= inst < len(function.origins) and function.origins[inst] is not None


class _Search:
    """The writes that reach registers that are read, back along all ways to them."""

    def __init__(self, function: Function) -> None:
        self.found: set[int] = set()
        self._function = function
        self._made: dict[int, tuple[int, int, Op]] = {}
        self._before: list[list[int]] = [[] for _ in function.blocks]
        self._pending: list[tuple[int, int, str, frozenset[int]]] = []
        self._seen: set[tuple[int, int, str, frozenset[int]]] = set()
        for number, block in enumerate(function.blocks):
            for place, op in enumerate(block.ops):
                self._made |= {value.id: (number, place, op) for value in op.results}
            for target in block.end.targets if block.end else ():
                self._before[target].append(number)

    def behind(self, values: Iterable[Value]) -> None:
        """Look for what values are made of, as far as the instructions there have no line."""
        pending = list(values)
        while pending:
            block, place, op = self._made.get(pending.pop().id, (0, 0, None))
            if op is None or (op.results and op.results[0].is_mask):
                continue
            if _has_line(self._function, op.inst):
                self.found.add(op.inst)
            elif isinstance(op, Read):
                self._look(block, place, op.root.name, _bytes(op))
            elif not isinstance(op, Access):  # memory has no writer that is known
                pending += op.args

    def run(self) -> None:
        looked = 0
        while self._pending and looked < _MOST:
            block, place, root, need = self._pending.pop()
            looked += place + 1
            left = self._within(block, place, root, need)
            for earlier in self._before[block] if left else ():
                self._look(earlier, len(self._function.blocks[earlier].ops), root, left)

    def _look(self, block: int, place: int, root: str, need: frozenset[int]) -> None:
        step = block, place, root, need
        if step not in self._seen:
            self._seen.add(step)
            self._pending.append(step)

    def _within(self, block: int, place: int, root: str, need: frozenset[int]) -> frozenset[int]:
        """Take the writes of a block before a place; returns the bytes that none surely wrote."""
        for op in reversed(self._function.blocks[block].ops[:place]):
            if not isinstance(op, Write) or op.root.name != root or need.isdisjoint(_bytes(op)):
                continue
            if _has_line(self._function, op.inst):
                self.found.add(op.inst)
            else:
                self.behind(op.args[:1])
            if self._in_all_lanes(op.args[1]):
                need -= _bytes(op)
        return need

    def _in_all_lanes(self, mask: Value) -> bool:
        """Whether every lane that comes by is one of a mask."""
        made = self._made.get(mask.id)
        return made is not None and (isinstance(made[2], ExecMask) or made[2].name == "const")


def _bytes(op: OnRegion) -> frozenset[int]:
    size = op.value.type.size
    return frozenset(start + k for start in op.offsets for k in range(size))
