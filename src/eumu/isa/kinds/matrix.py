"""Operands of matrix instructions: precisions and shape, and the place of the left matrix.

Source: vISA page "DPAS".
"""

from __future__ import annotations

import re

from eumu.isa.kinds.builder import InstBuilder, Rows
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import pack_source, unpack_source
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import expression
from eumu.isa.kinds.operands import General
from eumu.isa.kinds.variables import Variable
from eumu.isa.kinds.vector import variable
from eumu.records import dataclass
from eumu.types import BF, HF, UB, B, F, Type


@dataclass(frozen=True, slots=True)
class Precision:
    """How an element of a matrix is stored: `bits` of it, read as `type` (integers: of its sign).

    `bf8` has 5 bits of exponent, `hf8` has 4, `e2m1` has 2 and one of mantissa; `tf32` is an `f` of
    which the upper 19 bits count.
    """

    name: str
    bits: int
    type: Type

    @property
    def is_float(self) -> bool:
        return self.type.is_float


# In the order of their codes, from 1 on.
PRECISIONS = (
    Precision("u1", 1, UB),
    Precision("s1", 1, B),
    Precision("u2", 2, UB),
    Precision("s2", 2, B),
    Precision("u4", 4, UB),
    Precision("s4", 4, B),
    Precision("u8", 8, UB),
    Precision("s8", 8, B),
    Precision("bf", 16, BF),
    Precision("hf", 16, HF),
    Precision("bf8", 8, HF),
    Precision("tf32", 32, F),
)
HF8 = Precision("hf8", 8, F)
# Of Xe3p: no page has it, Intel's front end tells its code and that a dword has eight products.
E2M1 = Precision("e2m1", 4, F)
_CODES = (None, *PRECISIONS, None, HF8, E2M1)
_BY_NAME = {p.name: p for p in _CODES if p is not None}
_DEPTHS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class MatrixShape:
    """`s8.u4.8.4`: precisions of B (src1) and A (src2), systolic depth, repeat count.

    The sum of each element has `depth` groups of `group` products.
    """

    b: Precision
    a: Precision
    depth: int
    repeats: int

    @property
    def mixes_octets(self) -> bool:
        """Whether one matrix is of bf8 and the other of hf8, which go together."""
        return {self.b.name, self.a.name} == {"bf8", "hf8"}

    @property
    def group(self) -> int:
        """Products that one dword of B takes part in at a time."""
        if self.b.is_float:
            return 32 // self.b.bits
        return 4 if 8 in (self.a.bits, self.b.bits) else 8


class MatrixShapeKind(Kind):
    """`hf.hf.8.8`, right after the mnemonic."""

    manual = "precisions of src1 and src2, depth (1, 2, 4, 8), repeat count (1 to 8)"
    example = "hf.hf.8.8"

    _pattern = re.compile(r"([A-Za-z]\w*)\.([A-Za-z]\w*)\.(\d+)\.(\d+)")

    def parse(self, cursor: Cursor, names: Names) -> MatrixShape:
        start = cursor.pos
        match = cursor.adjacent(self._pattern)
        if match is None:
            cursor.fail("expected precisions, depth and repeat count, as in hf.hf.8.8", start=start)
        b, a = (_BY_NAME.get(match[k].lower()) for k in (1, 2))
        if a is None or b is None:
            precisions = ", ".join(_BY_NAME)
            bad = (match[1] if b is None else match[2]).lower()
            cursor.fail(f"precision '{bad}' is not one of {precisions}", start=start)
        shape = MatrixShape(b, a, int(match[3]), int(match[4]))
        if shape.depth not in _DEPTHS or not 1 <= shape.repeats <= 8:
            cursor.fail(
                f"depth {shape.depth} and repeat count {shape.repeats};"
                " a depth is 1, 2, 4 or 8, a count 1 to 8",
                start=start,
            )
        return shape

    def print(self, operand: MatrixShape) -> str:
        return f"{operand.b.name}.{operand.a.name}.{operand.depth}.{operand.repeats}"

    def pack(self, operand: MatrixShape, out: Packer) -> None:
        out.code(_CODES, operand.b, "precision")
        out.code(_CODES, operand.a, "precision")
        out.u8(operand.depth)
        out.u8(operand.repeats)

    def unpack(self, source: Unpacker) -> MatrixShape:
        at = source.pos
        b, a = (source.code(_CODES, "a precision") for _ in range(2))
        depth, repeats = source.u8("a depth"), source.u8("a repeat count")
        if a is None or b is None or depth not in _DEPTHS or not 1 <= repeats <= 8:
            source.fail("precisions, depth or repeat count have no meaning", at)
        return MatrixShape(b, a, depth, repeats)


class MatrixPlaceKind(Kind):
    """`V(row,col)`: where matrix A begins; the body gets :class:`Rows`."""

    manual = "a general variable with row and column and no region: V(0,0)"
    example = "{name}(0,0)"

    def parse(self, cursor: Cursor, names: Names) -> General:
        place = variable(cursor, names, Variable, what="a matrix such as V32(0,0)")
        cursor.expect("(", "and row and column, as in V32(0,0)")
        start = cursor.skip()
        row = expression(cursor, names)
        cursor.expect(",", "between row and column")
        col = expression(cursor, names)
        if row < 0 or col < 0:
            cursor.fail(f"({row},{col}) is before the variable", start=start, code="region")
        cursor.expect(")")
        return General(place, row, col, 1, 1, 0)

    def print(self, operand: General) -> str:
        return f"{operand.variable.name}({operand.row},{operand.col})"

    def pack(self, operand: General, out: Packer) -> None:
        pack_source(operand, out)

    def unpack(self, source: Unpacker) -> General:
        at = source.pos
        place = unpack_source(source)
        if not isinstance(place, General) or place.modifier:
            source.fail("matrix A is not a variable", at)
        return place

    def bind(self, operand: General, builder: InstBuilder) -> Rows:
        root, base = builder.root(operand.variable)
        offset = base + operand.row * builder.grf + operand.col * operand.type.size
        return Rows(root, offset, operand.type)
