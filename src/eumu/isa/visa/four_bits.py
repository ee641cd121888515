"""Elements of four bits: numbers made small and packed, and looked up in a table.

`e2m1` has a sign, two bits of exponent (bias 1) and one of mantissa, and neither infinity nor NaN;
`int4` is -8 to 7.  Source: the intrinsics of Intel's compiler that become these instructions
(packing, order of the indices) and the Open Compute Project's microscaling formats (values).
"""

from __future__ import annotations

from typing import Annotated, Final

from eumu.errors import Unsupported
from eumu.ir import Rounding, Value
from eumu.isa.kinds import InstBuilder, Rows, Src
from eumu.isa.kinds.control import ChoiceKind
from eumu.isa.kinds.raw import RawKind
from eumu.isa.limits import Limits, fields, since, sizes
from eumu.isa.spec import Fidelity
from eumu.isa.visa.registry import opcode
from eumu.types import BF, HF, UB, UD, UW, D, F, Type

RNE = Rounding.RNE
XE3P = since("nvlp")
Raw = Annotated[Rows, RawKind()]
Conversion = Annotated[
    str,
    ChoiceKind("conversion", "bftoe2m1", "bftoint4", "hftoe2m1", "hftoint4", numbers=(1, 2, 4, 5)),
]
Packing = Annotated[str, ChoiceKind("packing", "mode0", "mode1", "mode2", "mode3")]
Nearness = Annotated[str, ChoiceKind("rounding", "srnd", "rne", usual="rne")]
# Where a magnitude gets its next code, and whether a tie already does (its code is even).
_STEPS: Final = (
    *((0.25, False), (0.75, True), (1.25, False), (1.75, True)),
    *((2.5, False), (3.5, True), (5.0, False)),
)
LIMITED = Fidelity(
    "approximate",
    "no public page says what becomes of NaN (here 0) and of numbers out of range (here the"
    " greatest of their sign)",
)
SAME_PARTS = Fidelity(
    "approximate",
    "part k of a result is taken from part k of the table's element; compilers' tables have the"
    " same number in all parts",
)


@opcode(
    0x9A,
    "{pred}dnscl.{conversion}.{packing}.{rounding} {exec} {dst} {src0} {src1} {src2}",
    types=fields(dst=(UD,), src0=(UD,), src1=(UD,), src2=(UD,)),
    page="",
    platforms=XE3P,
    fidelity=LIMITED,
)
def dnscl(
    b: InstBuilder,
    conversion: Conversion,
    packing: Packing,
    rounding: Nearness,
    dst: Raw,
    src0: Raw,
    src1: Raw,
    src2: Raw,
) -> None:
    """dst[i] = the two bf or hf of src0[i] and of src1[i] as four e2m1 or int4, in bytes 0 and 2
    (mode0, mode1) or 1 and 3; a byte holds both of one source (even modes) or one of each."""
    if rounding == "srnd":
        raise Unsupported("dnscl with srnd: no public page says where the random bits are added")
    source: Type = BF if conversion.startswith("bf") else HF
    small = _e2m1 if conversion.endswith("e2m1") else _int4
    low0, high0, low1, high1 = (
        small(b, part) for rows in (src0, src1) for part in _halves(b, rows, source)
    )
    pairs = ((low0, low1), (high0, high1)) if packing in ("mode1", "mode3") else (
        (low0, high0), (low1, high1)
    )  # fmt: skip
    shift = 8 if packing in ("mode2", "mode3") else 0
    result = b.const(UD, 0, b.width)
    for k, (first, second) in enumerate(pairs):
        for place, nibble in ((0, first), (4, second)):
            count = b.const(UD, shift + 16 * k + place, b.width)
            result = b.or_(result, b.shl(nibble, count))
    b.row_write(dst, 0, result, b.mask)


def _halves(b: InstBuilder, rows: Rows, type: Type) -> tuple[Value, Value]:
    """The lower and the upper number of each dword, as f."""
    return (
        b.convert(b.row_read(rows, 0, type, b.width, stride=4), F),
        b.convert(b.row_read(rows, 2, type, b.width, stride=4), F),
    )


def _e2m1(b: InstBuilder, x: Value) -> Value:
    """The nearest of 0, 0.5, 1, 1.5, 2, 3, 4 and 6 of x's sign, as a code of four bits."""
    size = b.abs(x)
    one, zero = b.const(UD, 1, b.width), b.const(UD, 0, b.width)
    code = zero
    for step, tie in _STEPS:
        passed = b.cmp("ge" if tie else "gt", size, b.const(F, step, b.width))
        code = b.add(code, b.select(passed, one, zero), RNE)
    sign = b.shr(b.bitcast(x, UD), b.const(UD, 31, b.width))
    return b.or_(code, b.shl(sign, b.const(UD, 3, b.width)))


def _int4(b: InstBuilder, x: Value) -> Value:
    """The nearest of -8 to 7, in two's complement."""
    number = b.cmp("eq", x, x)
    near = b.min(b.max(b.round(x, RNE), b.const(F, -8.0, b.width)), b.const(F, 7.0, b.width))
    near = b.select(number, near, b.const(F, 0.0, b.width))
    return b.and_(b.bitcast(b.convert(near, D), UD), b.const(UD, 15, b.width))


@opcode(
    0x95,
    "{pred}shfl_idx4 {exec} {dst} {src0} {src1}",
    types=fields(dst=(UD,), src0=(UD,), src1=(UB, UW)),
    page="",
    platforms=XE3P,
    limits=Limits(modifiers="none", sizes=sizes(16, 32), operands={"src0": "g", "src1": "g"}),
    fidelity=SAME_PARTS,
)
def shfl_idx4(b: InstBuilder, dst: Raw, src0: Src, src1: Src) -> None:
    """dst[i] = parts of src0, a table of 16: its two halves by the two nibbles of a ub src1[i],
    its four bytes by the four nibbles of a uw, the lowest first."""
    if b.width < 16:
        raise Unsupported(f"shfl_idx4 of {b.width} lanes; a table has 16")
    parts = {UB: 2, UW: 4}.get(src1.type)
    if parts is None:
        raise Unsupported(f"shfl_idx4 by indices of type {src1.type}")
    indices, bits = b.convert(src1, UD), 32 // parts
    result = b.const(UD, 0, b.width)
    for k in range(parts):
        values = _looked_up(b, src0, b.shr(indices, b.const(UD, 4 * k, b.width)))
        mask = b.const(UD, ((1 << bits) - 1) << bits * k, b.width)
        result = b.or_(result, b.and_(values, mask))
    b.row_write(dst, 0, result, b.mask)


def _looked_up(b: InstBuilder, table: Value, index: Value) -> Value:
    """The table's element in each lane, by the index's low four bits."""
    values = [b.shuffle(table, [k] * b.width) for k in range(16)]
    for bit in range(4):
        one = b.const(UD, 1 << bit, b.width)
        odd = b.cmp("ne", b.and_(index, one), b.const(UD, 0, b.width))
        values = [
            b.select(odd, high, low) for low, high in zip(values[::2], values[1::2], strict=True)
        ]
    return values[0]
