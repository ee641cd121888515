"""Modifiers of sources: `(-)`, `(abs)`, `(-abs)`, `(~)`."""

from __future__ import annotations

from eumu.ir import Value
from eumu.isa.kinds.builder import InstBuilder
from eumu.isa.kinds.operands import General, Indirect
from eumu.types import UD, D, Q


def modified(
    builder: InstBuilder, value: Value, operand: General | Indirect, *, wide: bool = False
) -> Value:
    """Source modifiers; short integers are widened first, as the hardware does.

    So are negated unsigned dwords that are `wide`.
    """
    if not operand.modifier:
        return value
    if wide and "-" in operand.modifier and value.type is UD:
        value = builder.convert(value, Q)
    if value.type.is_int and value.type.size < 4:
        value = builder.convert(value, D)
    if operand.modifier == "~":
        return builder.not_(value)
    if "abs" in operand.modifier:
        value = builder.abs(value) if value.type.is_float or value.type.is_signed else value
    return builder.neg(value) if "-" in operand.modifier else value
