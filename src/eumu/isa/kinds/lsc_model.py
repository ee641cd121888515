"""Where the addresses of LSC messages begin: the model, and the surface it names.

Source: vISA page "LSC_UNTYPED"; the index is what Intel's front end has since version 4.2, and adds
before the message where that has no place for it.
"""

from __future__ import annotations

import re

from eumu.addresses import SURFACE_STATE_BYTES
from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder
from eumu.isa.kinds.bytes import Packer, Unpacker
from eumu.isa.kinds.cursor import Cursor
from eumu.isa.kinds.encoding import pack_source
from eumu.isa.kinds.kind import Kind, Names
from eumu.isa.kinds.literals import expression, integer_literal
from eumu.isa.kinds.lsc_encoding import INDEXED, INDICES, unpack_scalar
from eumu.isa.kinds.operands import General, Immediate
from eumu.isa.kinds.variables import Variable
from eumu.isa.kinds.vector import SourceKind, variable
from eumu.types import UD, UQ

_MODEL = re.compile(r"(flat|bti|ss|bss|arg|surf)\b(?=\s*[\[(])")
_CONSTANT = re.compile(r"(?=[-~!(\d]|%sizeof\b)")


class ScalarKind(Kind):
    """`V`, `V(0,1)`, `V.1` or a constant: a scalar without region and type."""

    _source = SourceKind(scalar=True)

    def parse(self, cursor: Cursor, names: Names) -> General | Immediate:
        if cursor.match(_CONSTANT):
            return Immediate(expression(cursor, names) & 0xFFFFFFFF, UD)
        declared = variable(cursor, names, Variable, what="a variable or a number")
        row = col = 0
        if cursor.take("("):
            row = expression(cursor, names)
            cursor.expect(",", "between row and column")
            col = expression(cursor, names)
            cursor.expect(")")
        elif cursor.take("."):
            col = integer_literal(cursor)
        return General(declared, row, col, 0, 1, 0)

    def print(self, operand: General | Immediate) -> str:
        if isinstance(operand, Immediate):
            return hex(operand.bits)
        place = f"({operand.row},{operand.col})" if operand.row or operand.col else ""
        return operand.variable.name + place

    def pack(self, operand: General | Immediate, out: Packer) -> None:
        pack_source(operand, out)

    def unpack(self, source: Unpacker) -> General | Immediate:
        return unpack_scalar(source)

    def bind(self, operand: General | Immediate, builder: InstBuilder) -> Value:
        return self._source.bind(operand, builder)


SCALAR = ScalarKind()


def model_surface(b: InstBuilder, model: str, surface: General | Immediate, index: int) -> Value:
    """What models other than flat name, as ud: a number of the binding table, or a state's offset.

    An index counts surface states behind that.
    """
    value = b.convert(SCALAR.bind(surface, b), UQ if model == "surf" else UD)
    if index:
        value = b.add(value, b.const(value.type, index * SURFACE_STATE_BYTES))
    return b.convert(value, UD, saturate=True)


def parse_model(cursor: Cursor, names: Names) -> tuple[str, General | Immediate | None, int]:
    """`flat`, `arg`, `bti(0x4)`, `ss(V)`, `bss(V(0,1),0x2)`, `flat(V)`, `surf(V)`; else flat."""
    match = cursor.match(_MODEL)
    model = match.group(1) if match else "flat"
    if model == "arg" or (model == "flat" and not cursor.ahead("(")):
        return model, None, 0
    cursor.expect("(", f"and the surface of {model}")
    surface = SCALAR.parse(cursor, names)
    index = _index(cursor, names, model)
    cursor.expect(")")
    return model, surface, index


def _index(cursor: Cursor, names: Names, model: str) -> int:
    """How many surface states behind the surface the one that is meant lies."""
    start = cursor.skip()
    if not cursor.take(","):
        return 0
    if model not in INDEXED:
        cursor.fail(
            f"an index beside {model}, which names no place of a surface state", start=start
        )
    index = expression(cursor, names)
    if index not in INDICES:
        cursor.fail(f"the index of a surface state is 0 to {INDICES[-1]:#x}", start=start)
    return index


def print_model(model: str, surface: General | Immediate | None, index: int = 0) -> str:
    if surface is None:
        return model
    return f"{model}({SCALAR.print(surface)}{f',{index:#x}' if index else ''})"
