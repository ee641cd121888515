"""Addition, multiplication and their kin on every element type.

Integers are computed in the widest type among the operands, at least 32 bits, and wrap; with
`.sat` the exact result is clamped.  Floats are computed in the widest float type and rounded once,
as %cr0 says; `bf` is computed in `f`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from eumu.ir import Value
from eumu.isa.kinds import Dst, InstBuilder, Src, WideSrc, WritePlace
from eumu.isa.kinds.builder import is_apart
from eumu.isa.kinds.operands import Immediate
from eumu.isa.kinds.vector import SourceKind
from eumu.isa.limits import FrontEnd
from eumu.isa.mathlib.bounds import fidelity
from eumu.isa.mathlib.integers import average, clamped_sum, one_where, saturating
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.records import dataclass
from eumu.types import UD, UQ, Q, Type, integer

Binary = Callable[[Value, Value], Value]


carrying = partial(opcode, types=maps.CARRY, limits=maps.PLAIN, front_end=maps.ARITHMETIC_MODIFIER)
product = partial(opcode, limits=maps.ONLY_FLOAT, front_end=maps.SATURATES)
extremum = partial(
    opcode, 0x45, types=maps.MINMAX, page="MIN_MAX", layout="exec sub dst src0 src1 -pred"
)


def _narrow(b: InstBuilder, dst: WritePlace, *sources: Value) -> tuple[Value, ...]:
    """Sources in a type whose wrap-around is that of the destination.

    A saturating result needs 64 bits to be exact; so does a destination wider than the sources.
    """
    values = b.promote(*sources, to=dst.type)
    if values[0].type.is_int and values[0].type.size < 8 and (dst.saturate or dst.type.size == 8):
        wide = Q if any(v.type.is_signed for v in sources) else UQ
        return tuple(b.convert(v, wide) for v in sources)
    return values


@opcode(0x01, "{pred}add{dst.sat} {exec} {dst} {src0} {src1}", types=maps.ADD, page="ADD")
def add(b: InstBuilder, dst: Dst, src0: WideSrc, src1: WideSrc) -> None:
    """dst[i] = src0[i] + src1[i]; integers wrap unless `.sat`."""
    if dst.saturate and is_apart(src0, src1):
        b.write(dst, clamped_sum(b, dst.type, src0, src1))
        return
    x, y = _narrow(b, dst, src0, src1)
    total = b.add(x, y)
    if dst.saturate and x.type.is_int and max(src0.type.size, src1.type.size) == 8:
        total = saturating(b, x, y, total)
    b.write(dst, total)


@product(0x10, "{pred}mul{dst.sat} {exec} {dst} {src0} {src1}", types=maps.MUL, page="MUL")
def mul(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] * src1[i]; integers keep the low half unless `.sat`."""
    x, y = _narrow(b, dst, src0, src1)
    b.write(dst, b.mul(x, y))


@product(0x0C, "{pred}mad{dst.sat} {exec} {dst} {src0} {src1} {src2}", types=maps.MAD, page="MAD")
def mad(b: InstBuilder, dst: Dst, src0: Src, src1: Src, src2: Src) -> None:
    """dst[i] = src0[i] * src1[i] + src2[i]; floats are rounded once."""
    x, y, z = _narrow(b, dst, src0, src1, src2)
    b.write(dst, b.fma(x, y, z) if x.type.is_float else b.add(b.mul(x, y), z))


@opcode(
    0x84,
    "{pred}add3{dst.sat} {exec} {dst} {src0} {src1} {src2}",
    types=maps.WORDS,
    page="ADD3",
    platforms=maps.XEHP,
    front_end=maps.ON_ALL,
)
def add3(b: InstBuilder, dst: Dst, src0: Src, src1: Src, src2: Src) -> None:
    """dst[i] = src0[i] + src1[i] + src2[i]."""
    x, y, z = _narrow(b, dst, src0, src1, src2)
    b.write(dst, b.add(b.add(x, y), z))


@opcode(0x0D, "{pred}mulh {exec} {dst} {src0} {src1}", types=maps.HIGH, page="MULH")
def mulh(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = high 32 bits of src0[i] * src1[i]; each source is extended by its own sign."""
    wide = Q if src0.type.is_signed or src1.type.is_signed else UQ
    product = b.mul(b.convert(src0, wide), b.convert(src1, wide))
    b.write(dst, b.shr(product, b.const(wide, 32, product.width)))


@opcode(0x02, "{pred}avg{dst.sat} {exec} {dst} {src0} {src1}", types=maps.AVG, page="AVG")
def avg(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = (src0[i] + src1[i] + 1) >> 1 without intermediate overflow."""
    b.write(dst, average(b, src0, src1))


@carrying(0x49, "{pred}addc {exec} {dst} {carry} {src0} {src1}", page="ADDC")
def addc(b: InstBuilder, dst: Dst, carry: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] + src1[i]; carry[i] = 1 where the sum needs a 33rd bit, else 0."""
    x, y = (b.convert(v, UD) for v in (src0, src1))
    total = b.add(x, y)
    out = b.cmp("lt", total, x)
    b.write(dst, total)
    b.write(carry, one_where(b, out))


@carrying(0x4A, "{pred}subb {exec} {dst} {borrow} {src0} {src1}", page="SUBB")
def subb(b: InstBuilder, dst: Dst, borrow: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] - src1[i]; borrow[i] = 1 where src0[i] < src1[i], else 0."""
    x, y = (b.convert(v, UD) for v in (src0, src1))
    out = b.cmp("lt", x, y)
    b.write(dst, b.sub(x, y))
    b.write(borrow, one_where(b, out))


@dataclass(frozen=True, slots=True)
class _Divided:
    """A source of a division: its lanes, its type before modifiers, and whether it has a minus."""

    value: Value
    type: Type
    minus: bool


class DividedKind(SourceKind):
    """A source of a division, which depends on what is written."""

    def bind(self, operand: Any, builder: InstBuilder) -> Any:
        value, modifier = super().bind(operand, builder), getattr(operand, "modifier", "")
        type = operand.type if modifier else value.type
        if isinstance(operand, Immediate) and type.size == 1:  # no word has an immediate byte
            type = integer(16, signed=type.is_signed)
        return _Divided(value, type, "-" in modifier)


DividedSrc = Annotated[_Divided, DividedKind()]


def _divided(b: InstBuilder, x: _Divided, y: _Divided) -> tuple[Value, ...]:
    """Both sources in the type of their division.

    Integers are divided with signs if one has a minus; else as the wider type says, and with signs
    if both of one size have some.
    """
    if x.value.type.is_float or y.value.type.is_float:
        return b.promote(x.value, y.value)
    wider = max(x.type, y.type, key=lambda t: t.size)
    alike = x.type.size == y.type.size
    signs = x.type.is_signed and y.type.is_signed if alike else wider.is_signed
    type = integer(max(32, wider.bits), signed=signs or x.minus or y.minus)
    return b.convert(x.value, type), b.convert(y.value, type)


@opcode(
    0x03,
    "{pred}div{dst.sat} {exec} {dst} {src0} {src1}",
    types=maps.DIV,
    page="DIV",
    limits=maps.ONLY_FLOAT,
    fidelity=fidelity("divide"),
)
def div(b: InstBuilder, dst: Dst, src0: DividedSrc, src1: DividedSrc) -> None:
    """dst[i] = src0[i] / src1[i]; integers truncate, x / 0 is all ones; floats round correctly."""
    x, y = _divided(b, src0, src1)
    b.write(dst, b.div(x, y))


@opcode(
    0x0F,
    "{pred}mod{dst.sat} {exec} {dst} {src0} {src1}",
    types=maps.MOD,
    page="MOD",
    front_end=FrontEnd(saturation="no"),
)
def mod(b: InstBuilder, dst: Dst, src0: DividedSrc, src1: DividedSrc) -> None:
    """dst[i] = src0[i] % src1[i] with the sign of src0[i]; x % 0 is x."""
    x, y = _divided(b, src0, src1)
    b.write(dst, b.rem(x, y))


@opcode(0x7F, "{pred}divm{dst.sat} {exec} {dst} {src0} {src1}", types=maps.IEEE_FLOAT, page="DIVM")
def divm(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] / src1[i], correctly rounded."""
    x, y = b.promote(src0, src1)
    b.write(dst, b.div(x, y))


@extremum("{pred}min{dst.sat} {exec} {dst} {src0} {src1}", sub=0)
def minimum(b: InstBuilder, dst: Dst, src0: WideSrc, src1: WideSrc) -> None:
    """dst[i] = the lesser source; where one is NaN, the other."""
    b.write(dst, b.extreme(dst, src0, src1, least=True))


@extremum("{pred}max{dst.sat} {exec} {dst} {src0} {src1}", sub=1)
def maximum(b: InstBuilder, dst: Dst, src0: WideSrc, src1: WideSrc) -> None:
    """dst[i] = the greater source; where one is NaN, the other."""
    b.write(dst, b.extreme(dst, src0, src1, least=False))
