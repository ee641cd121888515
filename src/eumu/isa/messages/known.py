"""What the code of a block says of a dword before it runs: constants, and what is added to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from eumu.ir import Op, Root, Value
from eumu.ir.operations.arithmetic import Convert
from eumu.ir.operations.lanes import Bitcast, Const, Shuffle
from eumu.ir.operations.row import Table
from eumu.ir.operations.state import Read, Write
from eumu.isa.kinds import InstBuilder, Rows
from eumu.records import dataclass
from eumu.types import UD

_STEPS: Final = 64  # operations that are followed
_DWORD: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Bits:
    """A number of which the bits in `known` are certain.

    `value` has those, and elsewhere what they would be if everything that is not known were 0.
    """

    known: int
    value: int

    def covers(self, mask: int) -> bool:
        """Whether all bits of a mask are known."""
        return mask & ~self.known == 0


_NOTHING: Final = Bits(0, 0)


def known_bits(b: InstBuilder, value: Value | int) -> Bits:
    """What is known of the first lane of an integer that this block has computed."""
    if isinstance(value, int):
        return Bits(_DWORD, value)
    return _Block(b).of(value, 0)


def known_dword(b: InstBuilder, rows: Rows, offset: int) -> Bits:
    """What is known of a dword of registers, from what this block has written there."""
    block = _Block(b)
    if rows.root is None:
        return _NOTHING
    return block.written(rows.root, rows.offset + offset, 4, len(block.ops))


class _Block:
    """The operations of the block that is being built."""

    def __init__(self, b: InstBuilder) -> None:
        self.ops = b.block.ops if b.block is not None else []
        self.steps = 0

    def place(self, value: Value) -> int | None:
        """Where a value is made; most are asked for soon after that."""
        places = range(len(self.ops) - 1, -1, -1)
        return next((k for k in places if value in self.ops[k].results), None)

    def of(self, value: Value, lane: int) -> Bits:
        """What is known of a lane of a value."""
        place = self.place(value)
        self.steps += 1
        if place is None or self.steps > _STEPS or not value.type.is_int:
            return _NOTHING
        op, mask = self.ops[place], (1 << value.type.bits) - 1
        if isinstance(op, Read):
            bits = self.written(op.root, op.offsets[lane], op.result.type.size, place)
        elif op.name in _MOVES:
            bits = _MOVES[op.name](self, op, lane)
        elif op.name in _RULES:
            bits = _RULES[op.name](*(self.of(x, lane) for x in op.args))
        else:
            return _NOTHING
        return Bits(bits.known & mask, bits.value & mask)

    def written(self, root: Root, byte: int, size: int, place: int) -> Bits:
        """What the last write before a place has put there, if it certainly wrote all of it."""
        for write in reversed(self.ops[:place]):
            if write.name == "write_indirect":
                return _NOTHING
            if not isinstance(write, Write) or write.root is not root:
                continue
            (value, mask), offsets = write.args, write.offsets
            if any(o < byte + size and byte < o + value.type.size for o in offsets):
                if value.type.size != size or byte not in offsets or not self._is_full(mask):
                    return _NOTHING
                return self.of(value, offsets.index(byte))
        return _NOTHING

    def _is_full(self, mask: Value) -> bool:
        place = self.place(mask)
        op = None if place is None else self.ops[place]
        return isinstance(op, Const) and all(op.lanes)


# ---- operations that move bits


_MOVES: Final[Table[_Block, [int], Bits]] = Table()


@_MOVES.on(Const)
def _const(block: _Block, op: Const, lane: int) -> Bits:
    return Bits(-1, op.lanes[lane % len(op.lanes)])


@_MOVES.on(Convert)
def _convert(block: _Block, op: Convert, lane: int) -> Bits:
    (x,) = op.args
    source, bits = block.of(x, lane), x.type.bits
    if op.saturate or not x.type.is_int:
        return _NOTHING
    above = -1 << bits
    if not x.type.is_signed:
        return Bits(source.known | above, source.value)
    sign = 1 << bits - 1
    certain = source.known | above if source.known & sign else source.known
    return Bits(certain, source.value | above if source.value & sign else source.value)


@_MOVES.on(Bitcast)
def _bitcast(block: _Block, op: Op, lane: int) -> Bits:
    (x,) = op.args
    return block.of(x, lane) if x.width == op.result.width else _NOTHING


@_MOVES.on(Op, "splat")
def _splat(block: _Block, op: Op, lane: int) -> Bits:
    return block.of(op.args[0], 0)


@_MOVES.on(Shuffle)
def _shuffle(block: _Block, op: Shuffle, lane: int) -> Bits:
    return block.of(op.args[0], op.lanes[lane])


@_MOVES.on(Op, "shl", "shr")
def _shift(block: _Block, op: Op, lane: int) -> Bits:
    x, count = (block.of(arg, lane) for arg in op.args)
    if not count.covers(_DWORD) or op.result.type is not UD:
        return _NOTHING
    by = count.value & 31
    if op.name == "shl":
        return Bits(x.known << by | (1 << by) - 1, x.value << by)
    return Bits(x.known >> by | _DWORD & ~(_DWORD >> by), x.value >> by)


# ---- operations that compute


def _and(x: Bits, y: Bits) -> Bits:
    zero = x.known & ~x.value | y.known & ~y.value
    return Bits(x.known & y.known | zero, x.value & y.value)


def _or(x: Bits, y: Bits) -> Bits:
    return Bits(x.known & y.known | x.known & x.value | y.known & y.value, x.value | y.value)


def _xor(x: Bits, y: Bits) -> Bits:
    return Bits(x.known & y.known, x.value ^ y.value)


def _add(x: Bits, y: Bits) -> Bits:
    """A bit is known where both summands and the carry into it are."""
    least = (x.value & x.known) + (y.value & y.known)
    most = (x.value | ~x.known) % (1 << 64) + (y.value | ~y.known) % (1 << 64)
    # A carry into a bit is the same for the least and the most that the summands can be.
    low = least ^ x.value & x.known ^ y.value & y.known
    high = most ^ (x.value | ~x.known) ^ (y.value | ~y.known)
    return Bits(x.known & y.known & ~(low ^ high), x.value + y.value)


_RULES: Final[dict[str, Callable[..., Bits]]] = {
    "and": _and,
    "or": _or,
    "xor": _xor,
    "not": lambda x: Bits(x.known, ~x.value),
    "add": _add,
}
