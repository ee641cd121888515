"""Operands whose types an instruction has no operation on.

The verifier knows every rule of types; this is what no meaning can be found for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from eumu.isa.kinds.operands import General, Immediate, Indirect
from eumu.isa.kinds.vector import DestinationKind, SourceKind
from eumu.isa.limits import By
from eumu.isa.spec import Opcode
from eumu.program.module import Inst
from eumu.types import BOOL, Kind, Type


@cache
def _allowed(opcode: Opcode) -> tuple[tuple[int, str, frozenset[Type]], ...]:
    """Index, name and types of each operand of elements, of all rows and platforms together.

    What Intel's front end reads against the documents has no meaning that anybody knows.
    """
    allowed = []
    for field in opcode.fields:
        if opcode.types and isinstance(field.kind, DestinationKind | SourceKind):
            is_dst = isinstance(field.kind, DestinationKind)
            documented = [row for row in opcode.types if row.by is not By.FRONT_END]
            rows = [row.allowed(field.name, is_dst=is_dst) for row in documented]
            if all(rows):  # a row without types leaves them open
                types = {t for row in rows for t in row if _is_number(t)}
                allowed.append((field.index, field.name, frozenset(types)))
    return tuple(allowed)


def _is_number(type: Type) -> bool:
    """A type of whole elements; packed immediates are converted wherever they stand."""
    return type is not BOOL and type.kind is not Kind.PACKED


def misfits(inst: Inst) -> Iterator[tuple[str, Type, frozenset[Type]]]:
    """Operands with integers where only floats go: name, type, what goes."""
    for index, name, allowed in _allowed(inst.opcode):
        operand = inst.operands[index]
        if not isinstance(operand, General | Immediate | Indirect) or not allowed:
            continue
        type = operand.type
        if _is_number(type) and not type.is_float and all(t.is_float for t in allowed):
            yield name, type, allowed


def unfit(inst: Inst) -> str | None:
    """The types of operands that fit no row of the type map, as text; None if they fit one.

    Rows that only Intel's front end has do not count; those of all platforms do.
    """
    actual = [
        (field.name, isinstance(field.kind, DestinationKind), operand.type)
        for field, operand in zip(inst.opcode.fields, inst.operands, strict=True)
        if isinstance(operand, General | Immediate | Indirect)
    ]
    for row in inst.opcode.types:
        if row.by is By.FRONT_END:
            continue
        allowed = [(type, row.allowed(name, is_dst=is_dst)) for name, is_dst, type in actual]
        if all(not types or type in types for type, types in allowed):
            return None
    return ", ".join(f"{name} :{type}" for name, _, type in actual)
