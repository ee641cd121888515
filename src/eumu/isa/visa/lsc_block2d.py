"""LSC block2d messages: rectangles of a matrix to registers and back.

What lies outside the matrix reads as zero and is not written.  The specification's listing forgets
the block's own row in its address and gives a store the wrong register pitch; here row y of a
block is row Y + y of the matrix, and a row takes its width rounded up to a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from eumu.errors import Unsupported
from eumu.ir import Space, Value
from eumu.isa.kinds import InstBuilder
from eumu.isa.kinds.control import ChoiceKind
from eumu.isa.kinds.lsc import Caching, CachingKind
from eumu.isa.kinds.lsc_block2d import (
    BlockDataKind,
    BlockRows,
    BlockShape,
    MatrixKind,
    MatrixValues,
)
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.lsc import NULL, untyped
from eumu.records import dataclass
from eumu.types import BOOL, UD, UQ, D, Q

LANES = 32

Sfid = Annotated[str, ChoiceKind("shared function", "ugm")]
LoadCaching = Annotated[Caching, CachingKind("load")]
StoreCaching = Annotated[Caching, CachingKind("store")]
Blocks = Annotated[BlockRows, BlockDataKind(4)]
Block = Annotated[BlockRows, BlockDataKind(1)]
Address = Annotated[MatrixValues, MatrixKind()]


@dataclass(frozen=True, slots=True)
class BlockPosition:
    """Column and row of an element in its block; padding goes on where the row ended."""

    x: int
    y: int
    padding: bool = False


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


def register_rows(shape: BlockShape) -> list[list[BlockPosition]]:
    """Which element of a block each register element holds, a row of registers at a time.

    With VNNI, the elements of a dword come from neighbouring rows (transposed: columns); rows that
    a block lacks to fill its last dwords are padding.
    """
    step = 32 // shape.bits if shape.vnni else 1
    across, down = (shape.height, shape.width) if shape.transposed else (shape.width, shape.height)
    rows: list[list[BlockPosition]] = []
    for first in range(0, down, step):
        row: list[BlockPosition] = []
        for a in range(_power_of_two(across)):
            for d in range(first, first + step):
                x, y = (d, a) if shape.transposed else (a, d)
                row.append(BlockPosition(x, y, padding=a >= across or d >= down))
        rows.append(row)
    return rows


def _pieces(
    rows: list[list[BlockPosition]], size: int
) -> Iterator[tuple[int, list[BlockPosition]]]:
    """Register rows in pieces of as many lanes as an instruction has, and their byte offsets."""
    offset = 0
    for row in rows:
        for first in range(0, len(row), LANES):
            piece = row[first : first + LANES]
            yield offset, piece
            offset += len(piece) * size


def _element_places(
    b: InstBuilder, matrix: MatrixValues, shape: BlockShape, block: int, row: list[BlockPosition]
) -> tuple[Value, Value]:
    """Address and mask of each element of a piece of a register row."""
    width, size = len(row), shape.type.size

    def wide(value: Value, step: int = 0) -> Value:
        extended = b.convert(b.convert(value, UD), Q)
        return b.splat(b.add(extended, b.const(Q, step)), width)

    def place(value: Value, steps: list[int]) -> Value:
        start = b.splat(b.convert(b.convert(value, D), Q), width)
        return b.add(start, b.const(Q, [step & UQ.maximum for step in steps], width))

    right, down = matrix.steps
    right += block * shape.width
    x = place(matrix.x, [right + p.x for p in row])
    y = place(matrix.y, [down + p.y for p in row])
    left = b.mul(x, b.const(Q, size, width))
    zero = b.const(Q, 0, width)
    inside = b.const(BOOL, [int(not p.padding) for p in row], width)
    for low, high in (
        (zero, left),
        (b.add(left, b.const(Q, size, width)), wide(matrix.width, 1)),
        (zero, y),
        (y, wide(matrix.height)),
    ):
        inside = b.and_(inside, b.cmp("le", low, high))
    base = b.splat(b.convert(matrix.base, UQ), width)
    distance = b.add(b.mul(y, wide(matrix.pitch, 1)), left)
    return b.add(base, b.convert(distance, UQ)), b.and_(inside, b.splat(b.mask, width))


def _one_lane(b: InstBuilder) -> None:
    if b.width != 1:
        raise Unsupported("a two-dimensional block of more than one lane")


def _payload_agrees(b: InstBuilder, matrix: MatrixValues, shape: BlockShape) -> None:
    """A payload has the block's shape, too: messages go by it, registers by the instruction."""
    if matrix.shape is None:
        return
    packed = shape.width - 1 | shape.height - 1 << 8 | shape.blocks - 1 << 16
    same = b.cmp("eq", matrix.shape, b.const(UD, packed))
    reason = f"the payload's last dword says another block than {shape}"
    b.require(b.or_(same, b.not_(b.mask)), reason)


# The object file takes the data apart.
_HEAD = (
    "sub exec pred sfid caching data.size data.order data.blocks data.width data.height data.vnni"
)


@untyped(
    "{pred}lsc_load_block2d.{sfid}{caching} {exec}  {data}  {matrix}",
    sub=0x03,
    limits=maps.SCALAR,
    layout=f"{_HEAD} data.register matrix {NULL}",
)
def lsc_load_block2d(
    b: InstBuilder, sfid: Sfid, caching: LoadCaching, data: Blocks, matrix: Address
) -> None:
    """Blocks side by side, each from a new register on: by rows, by columns (t.), or in dwords
    of neighbouring rows (.t); zero where the matrix ends and where rows are padded.
    """
    _one_lane(b)
    if data.rows.root is None:
        return
    shape, size = data.shape, data.shape.type.size
    _payload_agrees(b, matrix, shape)
    rows = register_rows(shape)
    used = size * sum(map(len, rows))
    block_bytes = b.registers(used)
    loaded: list[tuple[int, Value]] = []
    for block in range(shape.blocks):
        start = block * block_bytes
        for offset, places in _pieces(rows, size):
            address, mask = _element_places(b, matrix, shape, block, places)
            (value,) = b.load(Space.FLAT, address, mask, shape.type)
            loaded.append((start + offset, value))
        if used < block_bytes:
            rest = b.const(shape.type, 0, (block_bytes - used) // size)
            loaded.append((start + used, rest))
    for offset, value in loaded:
        b.row_write(data.rows, offset, value, b.splat(b.mask, value.width))


@untyped(
    "{pred}lsc_store_block2d.{sfid}{caching} {exec}  {matrix}  {data}",
    sub=0x07,
    limits=maps.SCALAR,
    layout=f"{_HEAD} {NULL} matrix data.register",
)
def lsc_store_block2d(
    b: InstBuilder, sfid: Sfid, caching: StoreCaching, matrix: Address, data: Block
) -> None:
    """Write one block, row after row; what lies outside the matrix is dropped."""
    _one_lane(b)
    shape = data.shape
    if shape.transposed or shape.vnni:
        raise Unsupported("a transposed or VNNI store of a block; the specification has loads only")
    _payload_agrees(b, matrix, shape)
    for offset, places in _pieces(register_rows(shape), shape.type.size):
        address, mask = _element_places(b, matrix, shape, 0, places)
        value = b.row_read(data.rows, offset, shape.type, len(places))
        b.store(Space.FLAT, address, mask, [value])
