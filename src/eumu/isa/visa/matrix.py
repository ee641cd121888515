"""Matrix products: D = C + A * B on rows of registers.

A row of D and C is one element per lane; src1 (B) has a column in each lane, of which every dword
holds as many elements as fit; src2 (A) has its rows one after the other, all bits used.
"""

from __future__ import annotations

from typing import Annotated

from eumu.errors import Unsupported
from eumu.ir import Region, Rounding, Value
from eumu.isa.kinds import InstBuilder, RawDst, RawSrc, Rows
from eumu.isa.kinds.matrix import (
    E2M1,
    HF8,
    MatrixPlaceKind,
    MatrixShape,
    MatrixShapeKind,
    Precision,
)
from eumu.isa.limits import Limits, row, since, sizes
from eumu.isa.spec import Fidelity
from eumu.isa.visa.registry import opcode
from eumu.platforms import PLATFORMS
from eumu.types import BF, BOOL, HF, UB, UD, UW, B, D, F, Type

Shape = Annotated[MatrixShape, MatrixShapeKind()]
Place = Annotated[Rows, MatrixPlaceKind()]

RNE = Rounding.RNE
SYSTOLIC = frozenset(p.name for p in PLATFORMS.values() if p.has_systolic)
FUSED = ("xehp", "dg2", "arl")  # two threads run there as one
_MOST = 8  # registers of src2
MATRIX_LIMITS = Limits(saturation="no", sizes=sizes(8, wide=(16,)))
MATRIX_TYPES = row((D, UD, F), src0=(D, UD, F), src1=(D, UD), src2=(D, UD)) + row(
    (HF, BF), src0=(HF, BF, F), src1=(D, UD), src2=(D, UD), only=since("pvc")
)
FIDELITY = Fidelity(
    "approximate",
    "the documents do not say in which order and with which rounding sums are made: here fused, in"
    " ascending order, to nearest even",
    frozenset({HF, BF, F}),
)


@opcode(
    0x83,
    "dpas.{shape} {exec} {dst} {src0} {src1} {src2}",
    types=MATRIX_TYPES,
    page="DPAS",
    platforms=SYSTOLIC,
    limits=MATRIX_LIMITS,
    fidelity=FIDELITY,
)
def dpas(
    b: InstBuilder, dst: RawDst, src0: RawSrc, src1: RawSrc, src2: Place, shape: Shape
) -> None:
    """dst = src0 + src2 * src1: `repeats` rows, a column per lane, depth*group products a sum.

    Without src0 the sums begin at 0.  Disabled lanes keep their column of dst.
    """
    count = shape.repeats * shape.depth * shape.group
    multiply(b, shape, dst, src0, src1, elements(b, src2, count, shape.a))


@opcode(
    0x1C,
    "dpasw.{shape} {exec} {dst} {src0} {src1} {src2}",
    types=MATRIX_TYPES,
    page="DPASW",
    platforms=FUSED,
    limits=MATRIX_LIMITS,
    fidelity=FIDELITY,
)
def dpasw(
    b: InstBuilder, dst: RawDst, src0: RawSrc, src1: RawSrc, src2: Place, shape: Shape
) -> None:
    """As dpas, with the first half of src2's registers from the even thread of a pair, the other
    from the odd one; threads 2k and 2k+1 of a group are a pair.
    """
    count = shape.repeats * shape.depth * shape.group
    registers = -(-count * shape.a.bits // (8 * b.grf))
    whole = _shared(b, src2, registers, -(-registers // 2))
    multiply(b, shape, dst, src0, src1, elements(b, whole, count, shape.a))


def _shared(b: InstBuilder, src2: Rows, registers: int, half: int) -> Rows:
    """The registers of both threads: `half` of the even one, then the rest."""
    dwords = b.grf // 4
    mine = b.wide_root("%mine", _MOST * b.grf)
    wide = b.wide_root("%wide", _MOST * b.grf)
    every = b.const(BOOL, 1, half * dwords)
    region = Region.packed(0, 4)
    b.write_root(mine, region, b.row_read(src2, 0, UD, half * dwords), every)
    b.meet_partner()
    own, other = (read(mine, region, UD, half * dwords) for read in (b.read, b.partner))
    is_odd = b.cmp("ne", b.and_(b.special("thread_id", UD), b.const(UD, 1)), b.const(UD, 0))
    odd = b.splat(is_odd, half * dwords)
    first, second = b.select(odd, other, own), b.select(odd, own, other)
    rest = (registers - half) * dwords
    both = b.concat([first, b.slice(second, 0, rest)]) if rest else first
    b.write_root(wide, region, both, b.const(BOOL, 1, registers * dwords))
    b.meet_partner()  # only then may either change what it shares
    return Rows(wide, 0, UD)


def multiply(
    b: InstBuilder, shape: MatrixShape, dst: Rows, src0: Rows, src1: Rows, a: Value
) -> None:
    """The product with the elements of A, row after row."""
    columns, total = b.width, b.width * shape.repeats
    sums = _check(b, shape, dst.type, src0)
    start = b.fit(b.row_read(src0, 0, _stored(src0, dst), total), sums, saturate=False)
    columns_of_b = _columns(b, src1, shape)
    if shape.mixes_octets:
        columns_of_b, a = (_as_f(b, x) for x in (columns_of_b, a))
    result = b.dot(start, columns_of_b, a, rows=shape.repeats, group=shape.group)
    mask = b.shuffle(b.channel_mask, [k % columns for k in range(total)])
    b.row_write(dst, 0, b.fit(result, dst.type, saturate=False), mask)


def _as_f(b: InstBuilder, x: Value) -> Value:
    """Elements of hf8, which are f, or of bf8, which are hf, as f; denormals stay."""
    if x.type is F:
        return x
    count = x.width
    bits = b.convert(b.bitcast(x, UW), UD)
    size = b.and_(bits, b.const(UD, 0x7FFF, count))
    top = b.cmp("ge", size, b.const(UD, 0x7C00, count))  # infinity, NaN
    bias = b.select(top, b.const(UD, 2 * 112 << 23, count), b.const(UD, 112 << 23, count))
    normal = b.add(b.shl(size, b.const(UD, 13, count)), bias, RNE)
    tiny = b.mul(b.convert(size, F, rounding=RNE), b.const(F, 2.0**-24, count), RNE)
    denormal = b.cmp("lt", size, b.const(UD, 1 << 10, count))
    value = b.select(denormal, b.bitcast(tiny, UD), normal)
    sign = b.shl(b.and_(bits, b.const(UD, 0x8000, count)), b.const(UD, 16, count))
    return b.bitcast(b.or_(value, sign), F)


def _stored(src0: Rows, dst: Rows) -> Type:
    """What src0 holds; integers are taken as dst is, whatever their sign."""
    return src0.type if src0.root is not None and src0.type.is_float else dst.type


def _check(b: InstBuilder, shape: MatrixShape, type: Type, src0: Rows) -> Type:
    """The type of the sums; raises for what no document describes."""
    if not b.platform.has_systolic:
        raise Unsupported(f"matrix instructions on {b.platform}, which has no systolic array")
    if 4 * b.width != b.grf:
        raise Unsupported(f"{b.width} lanes; a row has {b.grf // 4} on {b.platform}")
    names = f"{shape.b.name} and {shape.a.name}"
    if 1 in (shape.a.bits, shape.b.bits):
        raise Unsupported(f"precisions {names}: elements of one bit are in the grammar only")
    same = shape.a == shape.b or shape.mixes_octets or not shape.b.is_float
    if shape.b.is_float != shape.a.is_float or not same:
        raise Unsupported(f"precisions {names} do not go together")
    allowed = (F, HF, BF) if shape.b.is_float else (D, UD)
    types = [type] if src0.root is None else [type, src0.type]
    if any(t not in allowed for t in types):
        raise Unsupported(f"sums of type {' and '.join(map(str, types))} of precisions {names}")
    return F if shape.b.is_float else type


def _columns(b: InstBuilder, src1: Rows, shape: MatrixShape) -> Value:
    """B as `dot` takes it: for each depth the groups of all columns."""
    per_dword = 32 // shape.b.bits
    share = per_dword // shape.group  # depths that one register serves
    registers = -(-shape.depth // share)
    flat = elements(b, src1, registers * b.width * per_dword, shape.b)
    if share == 1:
        return flat
    return b.shuffle(
        flat,
        [
            (d // share * b.width + i) * per_dword + d % share * shape.group + j
            for d in range(shape.depth)
            for i in range(b.width)
            for j in range(shape.group)
        ],
    )


def elements(b: InstBuilder, rows: Rows, count: int, precision: Precision) -> Value:
    """`count` elements that lie bit by bit behind each other, as `dot` takes them."""
    if precision == E2M1:
        return _from_e2m1(b, _pieces(b, rows, count, precision))
    if precision.bits < 8:
        return _pieces(b, rows, count, precision)
    if precision == HF8:
        return from_hf8(b, b.row_read(rows, 0, UB, count))
    if precision.name == "bf8":  # the upper half of an hf
        octets = b.convert(b.row_read(rows, 0, UB, count), UW)
        return b.bitcast(b.shl(octets, b.const(UW, 8, count)), HF)
    if precision.name == "tf32":
        bits = b.row_read(rows, 0, UD, count)
        return b.bitcast(b.and_(bits, b.const(UD, 0xFFFF_E000, count)), F)
    return b.row_read(rows, 0, precision.type, count)


def _pieces(b: InstBuilder, rows: Rows, count: int, precision: Precision) -> Value:
    """Integers of 2 or 4 bits, the lowest first in each byte."""
    bits = precision.bits
    per_byte, octets = 8 // bits, count * bits // 8
    raw = b.row_read(rows, 0, UB, octets)
    parts = [b.shr(raw, b.const(UB, k * bits, octets)) for k in range(per_byte)]
    order = [k % per_byte * octets + k // per_byte for k in range(count)]
    low = b.and_(b.shuffle(b.concat(parts), order), b.const(UB, (1 << bits) - 1, count))
    if precision.is_float or not precision.type.is_signed:
        return low
    sign = b.const(B, 1 << (bits - 1), count)
    return b.sub(b.xor(b.bitcast(low, B), sign), sign, RNE)


def _from_e2m1(b: InstBuilder, nibbles: Value) -> Value:
    """1 bit of sign, 2 of exponent (bias 1), 1 of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6."""
    count = nibbles.width
    bits = b.convert(nibbles, UD)
    size = b.and_(bits, b.const(UD, 7, count))
    # The bias is 127 instead of 1; of the two without an exponent, 1 is 0.5.
    rebiased = b.add(b.shl(size, b.const(UD, 22, count)), b.const(UD, 126 << 23, count), RNE)
    zero, half = (b.cmp("eq", size, b.const(UD, n, count)) for n in (0, 1))
    value = b.select(half, b.const(UD, 126 << 23, count), rebiased)
    value = b.select(zero, b.const(UD, 0, count), value)
    sign = b.shl(b.and_(bits, b.const(UD, 8, count)), b.const(UD, 28, count))
    return b.bitcast(b.or_(value, sign), F)


def from_hf8(b: InstBuilder, octets: Value) -> Value:
    """1 bit of sign, 4 of exponent (bias 7), 3 of mantissa; no infinity, 0x7f is NaN."""
    count = octets.width
    bits = b.convert(octets, UD)
    size = b.and_(bits, b.const(UD, 0x7F, count))
    # A normal number: the bias is 127 instead of 7.
    rebiased = b.add(b.shl(size, b.const(UD, 20, count)), b.const(UD, 120 << 23, count), RNE)
    tiny = b.mul(b.convert(size, F, rounding=RNE), b.const(F, 2.0**-9, count), RNE)
    denormal = b.cmp("lt", size, b.const(UD, 8, count))
    value = b.select(denormal, b.bitcast(tiny, UD), rebiased)
    nan = b.cmp("eq", size, b.const(UD, 0x7F, count))
    value = b.select(nan, b.const(UD, 0x7FC0_0000, count), value)
    sign = b.shl(b.and_(bits, b.const(UD, 0x80, count)), b.const(UD, 24, count))
    return b.bitcast(b.or_(value, sign), F)
