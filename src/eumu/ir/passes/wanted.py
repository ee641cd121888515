"""How many elements of a block that is loaded from a surface the program wants.

The compiler joins loads of neighbouring elements to one block, whose size is one that messages
have: 17 elements are loaded as 32.  Nothing reads the others, and the surface may end before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TypeGuard

from eumu.ir.function import Function, Op, Terminator, Value
from eumu.ir.operations.ends import AnyCall
from eumu.ir.operations.memory import LEAST_ROUNDED, LoadBlock, Space
from eumu.ir.operations.state import OnRegion, OnRoot, Read, Write

_EVERYWHERE = -1  # all bytes of a root


def mark_wanted(function: Function) -> Function:
    """A copy of `function` whose blocks say how many of their elements anything reads."""
    if not any(_is_block(op) for op in _operations(function)):
        return function
    wanted = _wanted(function)

    def marked(op: Op) -> Op:
        return replace(op, wanted=wanted[op.result.id]) if _is_block(op) else op

    blocks = [replace(b, ops=[marked(op) for op in b.ops]) for b in function.blocks]
    return replace(function, blocks=blocks)


def _operations(function: Function) -> Iterator[Op]:
    return (op for block in function.blocks for op in block.ops)


def _is_block(op: Op) -> TypeGuard[LoadBlock]:
    is_surface = isinstance(op, LoadBlock) and op.space is Space.SURFACE
    return is_surface and op.result.width >= LEAST_ROUNDED


def _wanted(function: Function) -> dict[int, int]:
    """By the number of a block's value, how many elements from the first on are used.

    An element that only goes to bytes of a root that nothing in the function uses is not.
    """
    wanted = {op.result.id: 0 for op in _operations(function) if _is_block(op)}
    used, moves = _Used(function), list[tuple[Read, Write]]()
    reads = {op.result.id: op for op in _operations(function) if isinstance(op, Read)}

    def use(value: Value) -> None:
        if value.id in reads:
            used.add(reads[value.id].root.name, _bytes_of(reads[value.id]))
        elif value.id in wanted:
            wanted[value.id] = value.width

    for op in _operations(function):
        if isinstance(op, Write) and op.args[0].id in reads:
            moves.append((reads[op.args[0].id], op))
        for value in op.args[isinstance(op, Write) :]:
            use(value)
    for block in function.blocks:
        if block.end is not None:
            used.by_end(block.end)
            for value in block.end.args:
                use(value)
    while any([used.by_move(read, write) for read, write in moves]):
        pass
    for op in _operations(function):
        if isinstance(op, Write) and (number := op.args[0].id) in wanted:
            wanted[number] = max(wanted[number], used.elements(op))
    return wanted


class _Used:
    """The bytes of roots that are used for anything but being moved to others, as bits by root."""

    def __init__(self, function: Function) -> None:
        self._bytes: dict[str, int] = {}
        for op in _operations(function):
            if isinstance(op, OnRoot) and not isinstance(op, Read | Write):
                self.add(op.root.name, _EVERYWHERE)

    def add(self, name: str, bits: int) -> bool:
        """Whether there is something new."""
        before = self._bytes.get(name, 0)
        self._bytes[name] = before | bits
        return before | bits != before

    def by_end(self, end: Terminator) -> None:
        """What a call puts aside is used."""
        for root in end.saves if isinstance(end, AnyCall) else ():
            self.add(root.name, _EVERYWHERE)

    def by_move(self, read: Read, write: Write) -> bool:
        """Use what a move brings to where it is used; whether there is something new."""
        bits, element = self._bytes.get(write.root.name, 0), _element(write)
        pairs = zip(read.offsets, write.offsets, strict=True)
        moved = (_element(read) << of for of, to in pairs if bits >> to & element)
        return self.add(read.root.name, reduce(or_, moved, 0))

    def elements(self, write: Write) -> int:
        """How many of the elements that are written, from the first on, are used."""
        bits, element = self._bytes.get(write.root.name, 0), _element(write)
        used = (n for n, offset in enumerate(write.offsets, 1) if bits >> offset & element)
        return max(used, default=0)


def _element(op: OnRegion) -> int:
    return (1 << op.value.type.size) - 1


def _bytes_of(op: OnRegion) -> int:
    return reduce(or_, (_element(op) << offset for offset in op.offsets))
