"""Bitwise logic, on elements or on predicates, and the shifts.

On predicates the enabled lanes' bits are combined and written, from the lane that the mask
control names on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from eumu.ir import Value
from eumu.isa.kinds import Dst, InstBuilder, Src, Table, WideSrc, WritePlace
from eumu.isa.kinds.vector import SourceKind
from eumu.isa.limits import EVERY_PLATFORM, FrontEnd
from eumu.isa.mathlib.integers import on_bits, saturating_shift
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import BOOL, integer

bitwise = partial(opcode, types=maps.LOGIC, limits=maps.BITWISE)
rotating = partial(
    opcode,
    types=maps.ROTATE,
    platforms=maps.ROTATES,
    limits=maps.PLAIN,
    front_end=FrontEnd(modifiers="any", emitted_modifiers="arithmetic"),
)


def _logic(b: InstBuilder, dst: WritePlace, apply: Callable[..., Value], *sources: Value) -> None:
    b.write(dst, apply(*sources) if dst.type is BOOL else on_bits(b, apply, dst.type, *sources))


@bitwise(0x20, "{pred}and{dst.sat} {exec} {dst} {src0} {src1}", page="AND")
def and_(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] & src1[i]."""
    _logic(b, dst, b.and_, src0, src1)


@bitwise(0x21, "{pred}or{dst.sat} {exec} {dst} {src0} {src1}", page="OR")
def or_(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] | src1[i]."""
    _logic(b, dst, b.or_, src0, src1)


@bitwise(0x22, "{pred}xor{dst.sat} {exec} {dst} {src0} {src1}", page="XOR")
def xor(b: InstBuilder, dst: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] ^ src1[i]."""
    _logic(b, dst, b.xor, src0, src1)


@bitwise(0x23, "{pred}not{dst.sat} {exec} {dst} {src0}", page="NOT")
def not_(b: InstBuilder, dst: Dst, src0: Src) -> None:
    """dst[i] = ~src0[i]."""
    _logic(b, dst, b.not_, src0)


@opcode(
    0x85,
    "{pred}bfn.{table}{dst.sat} {exec} {dst} {src0} {src1} {src2}",
    types=maps.FUNCTION,
    page="BFN",
    platforms=maps.XEHP,
    limits=maps.PLAIN,
    front_end=FrontEnd(EVERY_PLATFORM, modifiers="logic"),
)
def bfn(b: InstBuilder, dst: Dst, src0: Src, src1: Src, src2: Src, table: Table) -> None:
    """Each result bit is bit s0 + 2*s1 + 4*s2 of `table`, s0..s2 being the source bits."""
    common = b.integer_type(src0, src1, src2)
    x, y, z = (b.convert(v, common) for v in (src0, src1, src2))
    low = _two_input(b, table & 15, x, y)
    high = _two_input(b, table >> 4, x, y)
    b.write(dst, low if table & 15 == table >> 4 else b.xor(low, b.and_(z, b.xor(low, high))))


def _two_input(b: InstBuilder, table: int, x: Value, y: Value) -> Value:
    """The boolean function whose value for bits x, y is bit x + 2*y of `table`."""
    if table in (0, 15):
        return b.const(x.type, 0 if table == 0 else -1, x.width)
    if table > 7 and table not in (8, 10, 12, 14):
        return b.not_(_two_input(b, table ^ 15, x, y))
    return {
        1: lambda: b.not_(b.or_(x, y)),
        2: lambda: b.and_(x, b.not_(y)),
        3: lambda: b.not_(y),
        4: lambda: b.and_(b.not_(x), y),
        5: lambda: b.not_(x),
        6: lambda: b.xor(x, y),
        7: lambda: b.not_(b.and_(x, y)),
        8: lambda: b.and_(x, y),
        10: lambda: x,
        12: lambda: y,
        14: lambda: b.or_(x, y),
    }[table]()


def _shift(
    b: InstBuilder, dst: WritePlace, src0: Value, src1: Value, *, signed: bool | None
) -> tuple[Value, Value]:
    """The count is taken modulo 64 when source or destination has 64 bits, else modulo 32."""
    bits = 64 if 8 in (dst.type.size, src0.type.size) else 32
    sign = src0.type.is_signed if signed is None else signed
    if not sign and src0.type.is_signed:
        src0 = b.convert(src0, integer(src0.type.bits, signed=False))
    type = integer(bits, signed=sign)
    value, count = b.convert(src0, type), b.convert(src1, type)
    return value, count


@opcode(
    0x24, "{pred}shl{dst.sat} {exec} {dst} {src0} {src1}", types=maps.SHIFT, page="SHL",
    front_end=maps.ANY_MODIFIER,
)  # fmt: skip
def shl(b: InstBuilder, dst: Dst, src0: WideSrc, src1: Src) -> None:
    """dst[i] = src0[i] << src1[i], the count modulo 32 (64 for 64-bit elements)."""
    x, count = _shift(b, dst, src0, src1, signed=None)
    b.write(dst, saturating_shift(b, x, count) if dst.saturate else b.shl(x, count))


@opcode(
    0x25, "{pred}shr{dst.sat} {exec} {dst} {src0} {src1}", types=maps.SHIFT_UNSIGNED, page="SHR",
    front_end=maps.ANY_MODIFIER,
)  # fmt: skip
def shr(b: InstBuilder, dst: Dst, src0: WideSrc, src1: Src) -> None:
    """dst[i] = src0[i] >> src1[i], zeros shifted in; a signed source is read as unsigned."""
    b.write(dst, b.shr(*_shift(b, dst, src0, src1, signed=False)))


@opcode(
    0x26, "{pred}asr{dst.sat} {exec} {dst} {src0} {src1}", types=maps.SHIFT_SIGNED, page="ASR",
    limits=maps.UNSATURATED,
    front_end=FrontEnd(modifiers="any", saturation="yes", emits_saturation=True),
)  # fmt: skip
def asr(b: InstBuilder, dst: Dst, src0: WideSrc, src1: Src) -> None:
    """dst[i] = src0[i] >> src1[i], the sign shifted in; zeros if src0 has none, as in shr."""
    b.write(dst, b.shr(*_shift(b, dst, src0, src1, signed=None)))


class RotatedKind(SourceKind):
    """What is rotated: it has as many bits as its type, also with a modifier."""

    def bind(self, operand: Any, builder: InstBuilder) -> Any:
        value = super().bind(operand, builder)
        return builder.convert(value, operand.type) if getattr(operand, "modifier", "") else value


Rotated = Annotated[Value, RotatedKind()]


def _rotate(b: InstBuilder, dst: WritePlace, src0: Value, src1: Value, *, right: bool) -> None:
    type = integer(src0.type.bits, signed=False)
    x, count = b.convert(src0, type), b.convert(src1, type)
    b.write(dst, b.rotl(x, b.neg(count) if right else count))


@rotating(0x80, "{pred}rol{dst.sat} {exec} {dst} {src0} {src1}", page="ROL")
def rol(b: InstBuilder, dst: Dst, src0: Rotated, src1: Src) -> None:
    """dst[i] = src0[i] rotated left by src1[i] modulo the bits of src0."""
    _rotate(b, dst, src0, src1, right=False)


@rotating(0x81, "{pred}ror{dst.sat} {exec} {dst} {src0} {src1}", page="ROR")
def ror(b: InstBuilder, dst: Dst, src0: Rotated, src1: Src) -> None:
    """dst[i] = src0[i] rotated right by src1[i] modulo the bits of src0."""
    _rotate(b, dst, src0, src1, right=True)
