"""Rules on the LSC messages that move rectangles of a matrix or an image.

Source: vISA pages "LSC_UNTYPED", "LSC_TYPED".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eumu.isa.kinds.lsc_block2d import (
    MAX_PREFETCHED_BYTES,
    MAX_ROW_BYTES,
    BlockData,
    BlockDataKind,
    TypedBlockDataKind,
)
from eumu.isa.limits import By
from eumu.isa.spec import Field
from eumu.verify.lsc import PAGE, access
from eumu.verify.rules import Finding, On, listed, rule
from eumu.verify.subject import Use

# Bits of an element -> how many blocks a load brings.
_BLOCKS: Final = {8: (1, 2, 4), 16: (1, 2, 4), 32: (1, 2), 64: (1,)}


@rule(
    "block2d-count",
    "A message moves a limited number of registers; transposed blocks come one at a time.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(BlockDataKind,),
)
def block2d_count(use: Use, field: Field, operand: BlockData) -> Iterator[Finding]:
    shape = operand.shape
    allowed = (1,) if shape.transposed and not shape.vnni else _BLOCKS[shape.bits]
    if shape.blocks not in allowed:
        yield Finding(
            f"{shape.blocks} blocks of {shape}; {listed(allowed)} are allowed", field.name
        )


@rule(
    "block2d-geometry",
    "A row has at most 64 bytes (256 for a prefetch), a block at most 32 rows; a transposed block"
    " exchanges rows and columns.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(BlockDataKind,),
)
def block2d_geometry(use: Use, field: Field, operand: BlockData) -> Iterator[Finding]:
    shape = operand.shape
    columns, rows = shape.width, shape.height
    if shape.transposed:
        columns, rows = rows, columns
    most = MAX_ROW_BYTES if operand.register.variable is not None else MAX_PREFETCHED_BYTES
    if columns * shape.bits > most * 8:
        yield Finding(
            f"{columns * shape.bits // 8} bytes a row; up to {most} are allowed", field.name
        )
    if rows > 32:
        yield Finding(f"{rows} rows; up to 32 are allowed", field.name)


@rule(
    "block2d-store",
    "A store writes registers as they are.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(BlockDataKind,),
)
def block2d_store(use: Use, field: Field, operand: BlockData) -> Iterator[Finding]:
    if access(use.opcode) == "store" and operand.shape.vnni:
        yield Finding("a store has no VNNI order", field.name)


@rule(
    "block2d-order",
    "VNNI puts short elements into dwords; a store has no transposition.",
    on=On.OPERAND,
    page=PAGE,
    by=By.DOCUMENTS,
    kinds=(BlockDataKind,),
)
def block2d_order(use: Use, field: Field, operand: BlockData) -> Iterator[Finding]:
    shape = operand.shape
    if shape.vnni and shape.bits > 16:
        yield Finding(f"VNNI order of d{shape.bits}; it is for d8 and d16", field.name)
    if access(use.opcode) == "store" and shape.transposed:
        yield Finding("a store is not transposed", field.name)


@rule(
    "block2d-no-data",
    "There is nothing to store.",
    on=On.OPERAND,
    page=PAGE,
    kinds=(BlockDataKind,),
)
def block2d_no_data(use: Use, field: Field, operand: BlockData) -> Iterator[Finding]:
    if access(use.opcode) == "store" and operand.register.variable is None:
        yield Finding(f"{use.opcode} needs data, not %null", field.name)


@rule(
    "block2d-typed",
    "Intel's front end does not read blocks of images.",
    on=On.OPERAND,
    page="LSC_TYPED",
    by=By.FRONT_END,
    kinds=(TypedBlockDataKind,),
)
def block2d_typed(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    yield Finding("blocks of images are in the documents only", field.name)
