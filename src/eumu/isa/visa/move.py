"""Moves: between elements, from predicates, between state variables and addresses."""

from __future__ import annotations

from typing import Annotated, Any

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds import Dst, InstBuilder, Src
from eumu.isa.kinds.operands import General, Immediate, PredicateOperand
from eumu.isa.kinds.vector import SourceKind
from eumu.isa.limits import FrontEnd, Limits
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import UD


class MoveSourceKind(SourceKind):
    """A source of `mov`: a predicate variable is its bits as a ud, lane 0 lowest."""

    def bind(self, operand: Any, builder: InstBuilder) -> Value:
        if not isinstance(operand, PredicateOperand):
            return super().bind(operand, builder)
        root, _ = builder.root(operand.variable)
        bits = builder.mask_bits(builder.read_flag(root, 0, root.size))
        return builder.splat(bits, builder.width)


class BitSourceKind(SourceKind):
    """The source of `setp`: bit i of a scalar, or the lowest bit of element i, as a mask."""

    manual = "bit i of one element, or the lowest bit of each element"

    def bind(self, operand: Any, builder: InstBuilder) -> Value:
        value = super().bind(operand, builder)
        scalar = isinstance(operand, Immediate) or (
            isinstance(operand, General) and operand.vstride == 0 and operand.width == 1
        )
        if scalar:
            return builder.bits_mask(builder.convert(builder.slice(value, 0, 1), UD), value.width)
        one = builder.const(value.type, 1, value.width)
        return builder.cmp("eq", builder.and_(value, one), one)


MoveSrc = Annotated[Value, MoveSourceKind(wide=True)]
BitSrc = Annotated[Value, BitSourceKind()]
AddressSrc = Annotated[Value, SourceKind(address=True)]


@opcode(
    0x29,
    "{pred}mov{dst.sat} {exec} {dst} {src0}",
    types=maps.MOVE,
    page="MOV",
    limits=Limits(operands={"src0": "grip"}),
    front_end=FrontEnd(operands={"dst": "gra", "src0": "gripa&"}, emitted_operands={"dst": "a"}),
)
def mov(b: InstBuilder, dst: Dst, src0: MoveSrc) -> None:
    """dst[i] = src0[i], converted; a predicate source gives its bits, lane 0 lowest."""
    if src0.type is dst.type and not dst.saturate:
        b.put(dst, src0, b.mask)
    else:
        b.write(dst, src0)


@opcode(
    0x2B,
    "setp {exec} {dst} {src0}",
    types=maps.SET_PREDICATE,
    page="SETP",
    limits=Limits(operands={"dst": "p"}),
)
def setp(b: InstBuilder, dst: Dst, src0: BitSrc) -> None:
    """dst[i] = bit i of a scalar source, or the lowest bit of src0[i]."""
    b.write(dst, src0)


@opcode(
    0x2D,
    "movs {exec} {dst} {src0}",
    types=maps.STATE,
    page="MOVS",
    limits=Limits(modifiers="none", operands={"dst": "gs", "src0": "gris"}),
)
def movs(b: InstBuilder, dst: Dst, src0: Src) -> None:
    """dst[i] = src0[i], surface or sampler indices, between state variables and dwords."""
    b.put(dst, b.fit(src0, dst.type, saturate=False), b.channel_mask)


@opcode(
    0x28,
    "addr_add {exec} {dst} {src0} {src1}",
    types=maps.ADDRESS,
    page="ADDR_ADD",
    limits=Limits(operands={"dst": "a", "src0": "a&"}),
    front_end=FrontEnd(operands={"dst": "a", "src0": "ag&"}),
)
def addr_add(b: InstBuilder, dst: Dst, src0: AddressSrc, src1: Src) -> None:
    """dst[i] = src0[i] + src1[i] bytes; the first source is an address or `&variable`."""
    if src0.type.is_float:
        raise Unsupported(f"an address in a register of :{src0.type}")
    b.put(dst, b.add(b.convert(src0, UD), b.convert(src1, UD)), b.mask)
