"""Which elements of stored data are padding, as of vectors of three elements and of structures.

Compilers store a vector of three elements as one of four, whose last one nothing has put anything
into, and copy structures with loads of several elements that are stored one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from eumu.ir.function import Block, Function, Op, Value
from eumu.ir.operations.memory import Load, Store
from eumu.ir.operations.state import OnRegion, Read, RootAddress, Write, WriteIndirect
from eumu.records import dataclass

_EVERYWHERE: Final = -1  # all bytes
_REGISTERS: Final = "grf"  # of native code, which uses them for one thing after the other


class Filled:
    """The bytes of a function's roots that something may be put into, as bits.

    Moving what nothing was put into puts nothing there either.
    """

    def __init__(self, function: Function) -> None:
        self._bytes: dict[str, int] = {}
        for argument in function.inputs:
            self._add(argument.root.name, ((1 << argument.size) - 1) << argument.offset)
        moves: list[tuple[Write, Read]] = []
        for block in function.blocks:
            moves += self._block(block)
        while any([self._move(write, read) for write, read in moves]):
            pass

    def _block(self, block: Block) -> Iterator[tuple[Write, Read]]:
        """Note what the operations of a block put into roots, but for what they only move."""
        reads: dict[int, Read] = {}
        for op in block.ops:
            if isinstance(op, Read):
                reads[op.result.id] = op
            elif isinstance(op, Write) and op.args[0].id in reads and op.root.name != _REGISTERS:
                yield op, reads[op.args[0].id]
            elif isinstance(op, Write):
                self._add(op.root.name, _bytes_of(op))
            elif isinstance(op, RootAddress):
                self._add(op.root.name, _EVERYWHERE)

    def _move(self, write: Write, read: Read) -> bool:
        """Whether a move puts something where nothing was known to be put."""
        name = write.root.name
        before = self._bytes.get(name, 0)
        for to, lane in zip(write.offsets, self.empty(read), strict=True):
            if not lane:
                self._add(name, ((1 << write.value.type.size) - 1) << to)
        return self._bytes.get(name, 0) != before

    def _add(self, name: str, bits: int) -> None:
        self._bytes[name] = self._bytes.get(name, 0) | bits

    def empty(self, read: Read) -> list[bool]:
        """Of each lane that is read, whether nothing is put there."""
        element = (1 << read.value.type.size) - 1
        name = read.root.name
        filled = _EVERYWHERE if name.startswith("%") else self._bytes.get(name, 0)
        return [not filled >> offset & element for offset in read.offsets]


class Empty:
    """The lanes of a block's values that are empty, by the numbers of the values.

    Nothing in the function is put there, or what was moved there last was empty.  Of native code's
    registers that is not known: all their lanes may be.
    """

    def __init__(self, filled: Filled) -> None:
        self.lanes: dict[int, tuple[bool, ...]] = {}
        self._filled = filled
        self._emptied: dict[str, int] = {}  # bytes of roots

    def follow(self, op: Op) -> None:
        """Go on behind an operation."""
        if isinstance(op, Read):
            lanes = self._of(op)
            if any(lanes):
                self.lanes[op.result.id] = lanes
        elif isinstance(op, Write) and op.root.name != _REGISTERS:
            self._write(op)

    def _of(self, read: Read) -> tuple[bool, ...]:
        if read.root.name == _REGISTERS:
            return (True,) * read.value.width
        element, emptied = (1 << read.value.type.size) - 1, self._emptied.get(read.root.name, 0)
        known = zip(self._filled.empty(read), read.offsets, strict=True)
        return tuple(is_empty or not ~emptied >> offset & element for is_empty, offset in known)

    def _write(self, op: Write) -> None:
        bits = self._emptied.get(op.root.name, 0) & ~_bytes_of(op)
        moved = self.lanes.get(op.args[0].id, (False,) * op.value.width)
        element = (1 << op.value.type.size) - 1
        for offset, is_empty in zip(op.offsets, moved, strict=True):
            bits |= element << offset if is_empty else 0
        self._emptied[op.root.name] = bits


def fourths(empty: tuple[bool, ...]) -> list[bool]:
    """The lanes that are the fourth elements of vectors of three, by the empty ones.

    >>> fourths((False, False, False, True, False, True, False, True))
    [False, False, False, True, False, False, False, False]
    """
    found = [False] * len(empty)
    for size in (1, 2):  # lanes of an element
        for start in range(0, len(empty), 4 * size):
            last = start + 3 * size
            if not any(empty[start:last]) and all(empty[last : last + size]):
                found[last : last + size] = [True] * len(empty[last : last + size])
    return found


@dataclass(slots=True)
class _Loaded:
    """What a load brought: the bytes of a root where it lies, and those of them that are stored."""

    values: tuple[Value, ...]
    there: int = 0
    stored: int = 0
    data: tuple[int, ...] = ()  # values that are stored


def copied(block: Block) -> dict[int, tuple[Value, ...]]:
    """By the number of a stored value, what was loaded together with it.

    That is of loads of several elements all of which are stored as they were loaded.
    """
    loads: list[_Loaded] = []
    values: dict[int, _Loaded] = {}
    roots: dict[str, _Loaded] = {}  # that have what was loaded, nothing else
    reads: dict[int, tuple[_Loaded, int]] = {}
    for op in block.ops:
        if isinstance(op, Load) and op.count > 1:
            loads.append(_Loaded(op.results))
            values |= dict.fromkeys((value.id for value in op.results), loads[-1])
        elif isinstance(op, Write):
            _put(op, values.get(op.args[0].id), roots)
        elif isinstance(op, WriteIndirect):
            roots.clear()
        elif isinstance(op, Read) and op.root.name in roots:
            reads[op.result.id] = roots[op.root.name], _bytes_of(op)
        elif isinstance(op, Store):
            _store(op.data, reads)
    whole = [loaded for loaded in loads if loaded.there and not loaded.there & ~loaded.stored]
    return {number: loaded.values for loaded in whole for number in loaded.data}


def _put(op: Write, loaded: _Loaded | None, roots: dict[str, _Loaded]) -> None:
    name = op.root.name
    if loaded is None:
        roots.pop(name, None)
        return
    if roots.get(name) is not loaded:
        roots[name], loaded.there = loaded, 0
    loaded.there |= _bytes_of(op)


def _store(data: Iterable[Value], reads: dict[int, tuple[_Loaded, int]]) -> None:
    for value in data:
        if value.id in reads:
            loaded, bits = reads[value.id]
            loaded.stored |= bits
            loaded.data = *loaded.data, value.id


def _bytes_of(op: OnRegion) -> int:
    element = (1 << op.value.type.size) - 1
    bits = 0
    for offset in op.offsets:
        bits |= element << offset
    return bits
