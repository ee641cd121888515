"""Operands of the LSC block2d instructions: a rectangle of a matrix in memory.

Source: vISA pages "LSC_UNTYPED" and "LSC_TYPED".  The shape reads blocks x width x height, as
Intel's front end has it; a comment in the documents swaps width and height.
"""

from __future__ import annotations

import re
from dataclasses import KW_ONLY
from typing import Any

from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder, Rows
from eumu.isa.kinds.bytes import EncodeError, Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import pack_raw, unpack_raw
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import expression, unary
from eumu.isa.kinds.lsc_encoding import BLOCK_BITS, FLAGS, ORDERS, choose
from eumu.isa.kinds.lsc_model import SCALAR, parse_model, print_model
from eumu.isa.kinds.operands import General, Immediate, Raw
from eumu.isa.kinds.raw import RawKind
from eumu.records import dataclass
from eumu.types import UB, UD, UQ, UW, Type

_SHAPE = re.compile(r":[du](8|16|32|64)\.(?:(\d+)x)?(\d+)x(\d+)(?:([nt])([nt])?)?(?!\w)")
_TYPES = {8: UB, 16: UW, 32: UD, 64: UQ}
MAX_ROW_BYTES = 64
MAX_PREFETCHED_BYTES = 256  # of a row that goes to no register
MAX_HEIGHT = 32


@dataclass(frozen=True, slots=True)
class BlockShape:
    """`d16.2x16x8nt`: two blocks, 16 elements wide and 8 rows high, not transposed, VNNI.

    `bits` is the size of an element.
    """

    bits: int
    blocks: int
    width: int
    height: int
    transposed: bool
    vnni: bool

    def __str__(self) -> str:
        blocks = f"{self.blocks}x" if self.blocks > 1 else ""
        order = f"{'nt'[self.transposed]}{'nt'[self.vnni]}"
        return f"d{self.bits}.{blocks}{self.width}x{self.height}{order}"

    @property
    def type(self) -> Type:
        return _TYPES[self.bits]


@dataclass(frozen=True, slots=True)
class BlockData:
    """A register and the shape of the blocks that it holds."""

    register: Raw
    shape: BlockShape


@dataclass(frozen=True, slots=True)
class BlockRows:
    """:class:`BlockData` as a body gets it."""

    rows: Rows
    shape: BlockShape


class BlockDataKind(Kind):
    """`V:d16.2x16x8nt`; one block and `nn` may be left out."""

    codes = ("size", "order", "blocks", "width", "height", "vnni", "register")
    _register = RawKind(bare=True)

    def __init__(self, max_blocks: int) -> None:
        self.counts = tuple(n for n in (1, 2, 4) if n <= max_blocks)
        most = self.counts[-1]
        self.manual = (
            f"registers, element and blocks: V:d16.{most}x16x8nn is {most} of 16 x 8 elements;"
            " tn: transposed, nt: VNNI"
        )
        self.example = f"{{name}}:d16.{most}x16x8nn"

    def parse(self, cursor: Cursor, names: Names) -> BlockData:
        register = self._register.parse(cursor, names)
        start = cursor.skip()
        match = cursor.need(_SHAPE, "the shape of a block, as in :d16.2x16x8nn")
        bits, blocks, width, height = (int(g or 1) for g in match.groups()[:4])
        if blocks not in self.counts:
            allowed = ", ".join(map(str, self.counts))
            cursor.fail(f"{blocks} blocks is not one of {allowed}", start=start)
        most = MAX_PREFETCHED_BYTES if register.variable is None else MAX_ROW_BYTES
        if not 1 <= width <= most * 8 // bits:
            cursor.fail(f"a row of a block has at most {most} bytes", start=start)
        if not 1 <= height <= MAX_HEIGHT:
            cursor.fail(f"a block has 1 to {MAX_HEIGHT} rows", start=start)
        shape = BlockShape(bits, blocks, width, height, match[5] == "t", match[6] == "t")
        return BlockData(register, shape)

    def print(self, operand: BlockData) -> str:
        return f"{self._register.print(operand.register)}:{operand.shape}"

    def pack_code(self, code: str, operand: BlockData, out: Packer) -> None:
        shape = operand.shape
        match code:
            case "size":
                out.code(BLOCK_BITS, shape.bits, "the size of an element")
            case "order":
                out.code(ORDERS, shape.transposed, "the order of the data")
            case "blocks":
                out.u8(shape.blocks)
            case "width":
                out.u16(shape.width)
            case "height":
                out.u16(shape.height)
            case "vnni":
                out.u8(shape.vnni)
            case _:
                pack_raw(operand.register, out)

    def unpack_code(self, code: str, source: Unpacker, parts: dict[str, Any]) -> Any:
        match code:
            case "size":
                return choose(source, BLOCK_BITS, "the size of an element")
            case "order":
                return choose(source, ORDERS, "the order of the data")
            case "blocks":
                return self.counts[source.one_of(self.counts, "the number of blocks")]
            case "width":
                most = MAX_PREFETCHED_BYTES * 8 // parts["size"]
                return _checked(source, most, "elements a row")
            case "height":
                return _checked(source, MAX_HEIGHT, "rows")
            case "vnni":
                return source.code(FLAGS, "VNNI")
        at, register = source.pos, unpack_raw(source)
        if register.variable is not None and parts["width"] * parts["size"] > MAX_ROW_BYTES * 8:
            source.fail(f"a row of a block has at most {MAX_ROW_BYTES} bytes", at)
        return register

    def join(self, parts: dict[str, Any]) -> BlockData:
        shape = BlockShape(
            *(parts[c] for c in ("size", "blocks", "width", "height", "order", "vnni"))
        )
        return BlockData(parts["register"], shape)

    def bind(self, operand: BlockData, builder: InstBuilder) -> BlockRows:
        return BlockRows(self._register.bind(operand.register, builder), operand.shape)


def _checked(source: Unpacker, most: int, what: str) -> int:
    at, number = source.pos, source.u16("the shape of a block")
    if not 1 <= number <= most:
        source.fail(f"a block has 1 to {most} {what}, not {number}", at)
    return number


@dataclass(frozen=True, slots=True)
class Matrix:
    """`flat[base, width-1, height-1, pitch-1, x+2, y-1]`.

    Width and pitch count bytes, height rows; x counts elements, y rows.  `steps` are what is added
    to x and y, numbers of the instruction.
    """

    base: General | Immediate
    width: General | Immediate
    height: General | Immediate
    pitch: General | Immediate
    x: General | Immediate
    y: General | Immediate
    _: KW_ONLY
    steps: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class MatrixPayload:
    """`flat[V + (2,-1)]`: the same in a register, as a quadword and five dwords.

    Another dword has the block's width, height and number less 1, in a byte each.
    """

    register: Raw
    steps: tuple[int, int]


@dataclass(frozen=True, slots=True)
class MatrixValues:
    """:class:`Matrix` as a body gets it, one lane each.  `shape` is that of a payload."""

    base: Value
    width: Value
    height: Value
    pitch: Value
    x: Value
    y: Value
    _: KW_ONLY
    steps: tuple[int, int] = (0, 0)
    shape: Value | None = None


_PAYLOAD = re.compile(r"[\w%$@?.]+\s*\+\s*\(")
_SIGN = re.compile(r"[+-]")
STEP = range(-(1 << 11), 1 << 11)
_PARTS = ("base", "width", "height", "pitch", "x", "y")


class MatrixKind(Kind):
    """`flat[V32, 0x3f, V33(0,1), 0x7f, V34+2, V35]`, or `flat[V36 + (2,0)]`, a payload."""

    manual = (
        "the matrix and where the block begins: flat[base, width, height, pitch, x, y], "
        "sizes less 1; or a register with all that and steps: flat[V + (x,y)]"
    )
    example = "flat[base, 0x3f, 0xf, 0x3f, x, y]"
    _register = RawKind(bare=True)

    def parse(self, cursor: Cursor, names: Names) -> Matrix | MatrixPayload:
        cursor.expect("flat", "and the matrix, as in flat[base, width, height, pitch, x, y]")
        cursor.expect("[")
        if _PAYLOAD.match(cursor.text, cursor.skip()):
            return self._parse_payload(cursor, names)
        parts: list[General | Immediate] = []
        steps = {"x": 0, "y": 0}
        for name in _PARTS:
            if parts:
                cursor.expect(",", f"before the {name} of the block")
            parts.append(SCALAR.parse(cursor, names))
            if name in steps and isinstance(parts[-1], General):
                steps[name] = _step(cursor, names)
        cursor.expect("]")
        return Matrix(*parts, steps=(steps["x"], steps["y"]))

    def _parse_payload(self, cursor: Cursor, names: Names) -> MatrixPayload:
        register = self._register.parse(cursor, names)
        cursor.expect("+")
        cursor.expect("(")
        x = _in_range(cursor, names, negative=False)
        cursor.expect(",", "between the steps in x and y")
        y = _in_range(cursor, names, negative=False)
        cursor.expect(")")
        cursor.expect("]")
        return MatrixPayload(register, (x, y))

    def print(self, operand: Matrix | MatrixPayload) -> str:
        x, y = operand.steps
        if isinstance(operand, MatrixPayload):
            return f"flat[{self._register.print(operand.register)} + ({x},{y})]"
        steps = {"x": x, "y": y}
        parts = [SCALAR.print(getattr(operand, p)) + _printed(steps.get(p, 0)) for p in _PARTS]
        return f"flat[{', '.join(parts)}]"

    def pack(self, operand: Matrix | MatrixPayload, out: Packer) -> None:
        if isinstance(operand, MatrixPayload):
            raise EncodeError("the address of a block in one register has no place in object files")
        if operand.steps != (0, 0):
            raise EncodeError("steps of a block's corner have no place in object files")
        for part in _PARTS:
            SCALAR.pack(getattr(operand, part), out)

    def unpack(self, source: Unpacker) -> Matrix:
        return Matrix(*(SCALAR.unpack(source) for _ in _PARTS))

    def bind(self, operand: Matrix | MatrixPayload, builder: InstBuilder) -> MatrixValues:
        if isinstance(operand, MatrixPayload):
            rows = self._register.bind(operand.register, builder)
            base = builder.row_read(rows, 0, UQ, 1)
            dwords = [builder.row_read(rows, at, UD, 1) for at in range(8, 32, 4)]
            return MatrixValues(base, *dwords[:5], steps=operand.steps, shape=dwords[5])
        values = (SCALAR.bind(getattr(operand, p), builder) for p in _PARTS)
        return MatrixValues(*values, steps=operand.steps)


def _printed(step: int) -> str:
    return f"{step:+d}" if step else ""


def _step(cursor: Cursor, names: Names) -> int:
    """What a sign adds to a coordinate; 0 without one."""
    sign = cursor.match(_SIGN)
    return 0 if sign is None else _in_range(cursor, names, negative=sign.group() == "-")


def _in_range(cursor: Cursor, names: Names, *, negative: bool) -> int:
    start = cursor.skip()
    step = -unary(cursor, names) if negative else expression(cursor, names)
    if step not in STEP:
        cursor.fail(f"a step of {step}; -2048 to 2047 are allowed", start=start)
    return step


# ---- typed blocks: in the documents only, Intel's front end does not read them

# Width of a typed block in bytes -> most rows; the width 64 is legal and missing from the table.
_TYPED_ROWS = ((4, 64), (8, 32), (16, 16), (32, 8), (64, 4))
_TYPED_SHAPE = re.compile(r":(\d+)x(\d+)(?!\w)")


@dataclass(frozen=True, slots=True)
class TypedBlockData:
    """`V:64x2`: a register and the block's width in bytes and height in rows."""

    register: Raw
    width: int
    height: int


class TypedBlockDataKind(Kind):
    """`V:64x2`."""

    manual = "registers, width of the block in bytes, rows: V:64x2"
    example = "{name}:64x2"
    _register = RawKind(bare=True)

    def parse(self, cursor: Cursor, names: Names) -> TypedBlockData:
        register = self._register.parse(cursor, names)
        start = cursor.skip()
        match = cursor.need(_TYPED_SHAPE, "the width and height of a block, as in :64x2")
        width, height = int(match[1]), int(match[2])
        rows = next((rows for limit, rows in _TYPED_ROWS if 1 <= width <= limit), 0)
        if not 1 <= height <= rows:
            cursor.fail(f"a typed block of {width} bytes x {height} rows is too large", start=start)
        return TypedBlockData(register, width, height)

    def print(self, operand: TypedBlockData) -> str:
        return f"{self._register.print(operand.register)}:{operand.width}x{operand.height}"


@dataclass(frozen=True, slots=True)
class TypedCorner:
    """`bti(0x0)[X+4, Y]`: where a typed block begins; `steps` are added to x and y."""

    model: str
    surface: General | Immediate | None
    x: General | Immediate
    y: General | Immediate
    _: KW_ONLY
    index: int = 0
    steps: tuple[int, int] = (0, 0)


class TypedCornerKind(Kind):
    """`bti(0x0)[V32, V33]`."""

    manual = "the surface and where the block begins: bti(0x0)[x, y]"
    example = "bti(0x0)[x, y]"

    def parse(self, cursor: Cursor, names: Names) -> TypedCorner:
        model, surface, index = parse_model(cursor, names)
        cursor.expect("[", "and the corner of the block, as in bti(0x0)[X, Y]")
        x, right = self._coordinate(cursor, names)
        cursor.expect(",", "between x and y")
        y, down = self._coordinate(cursor, names)
        cursor.expect("]")
        return TypedCorner(model, surface, x, y, index=index, steps=(right, down))

    def _coordinate(self, cursor: Cursor, names: Names) -> tuple[General | Immediate, int]:
        place = SCALAR.parse(cursor, names)
        return place, _step(cursor, names) if isinstance(place, General) else 0

    def print(self, operand: TypedCorner) -> str:
        model = print_model(operand.model, operand.surface, operand.index)
        x, y = map(SCALAR.print, (operand.x, operand.y))
        right, down = map(_printed, operand.steps)
        return f"{model}[{x}{right}, {y}{down}]"
