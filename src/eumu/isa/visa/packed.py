"""Integer instructions with more than one result, or that work inside an element.

`madw` and `add3.o` write a second destination; `dp4a`, `sad2`, `sad2add` work on packed bytes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from eumu.ir import Value
from eumu.isa.kinds import Dst, InstBuilder, NeighbourSrc, Src, WritePlace
from eumu.isa.kinds.control import PredicateKind
from eumu.isa.kinds.operands import Predicate
from eumu.isa.limits import SIZES, FrontEnd, Limits, before, since, sizes
from eumu.isa.mathlib.integers import pair_differences
from eumu.isa.spec import Fidelity
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import BOOL, UB, UQ, B, D, Q, Type

NO_SAD = FrontEnd(platforms=before("tgllp"))


differences = partial(opcode, types=maps.SAD2, platforms=maps.LEGACY_FLOAT, front_end=NO_SAD)


class OverflowKind(PredicateKind):
    """The predicate that `add3.o` writes; it stands where other instructions have a guard."""

    manual = "nothing, or where the sum did not fit: (P1)"
    example = "(P1) "
    optional = False

    def bind(self, operand: Predicate | None, builder: InstBuilder) -> Any:
        if operand is None:
            return None
        root, _ = builder.root(operand.variable)
        return WritePlace(BOOL, root, builder.exec.offset, 0)


Overflow = Annotated[WritePlace | None, OverflowKind()]


@opcode(
    0x91,
    "{pred}madw {exec} {dst} {src0} {src1} {src2}",
    types=maps.HIGH,
    page="MADW",
    limits=Limits(sizes=maps.MADW_SIZES),
    front_end=FrontEnd(sizes=sizes(*SIZES), emitted=frozenset({16})),
)
def madw(b: InstBuilder, dst: Dst, src0: Src, src1: Src, src2: Src) -> None:
    """src0[i]*src1[i] + src2[i] in 64 bits: low dwords at dst, high ones a row of registers on."""
    wide = Q if any(v.type.is_signed for v in (src0, src1, src2)) else UQ
    x, y, z = (b.convert(v, wide) for v in (src0, src1, src2))
    total = b.add(b.mul(x, y), z)
    high = b.shr(total, b.const(wide, 32, total.width))
    above = replace(dst, offset=dst.offset + b.registers(4 * b.width))
    b.put(dst, b.convert(total, dst.type), b.mask)
    b.put(above, b.convert(high, dst.type), b.mask)


@opcode(
    0x92,
    "{overflow}add3.o {exec} {dst} {src0} {src1} {src2}",
    types=maps.WORDS,
    page="ADD3O",
    platforms=maps.XEHP,
    front_end=maps.ON_ALL,
    fidelity=Fidelity("approximate", "overflow is taken as: the exact sum does not fit dst's type"),
)
def add3_o(b: InstBuilder, overflow: Overflow, dst: Dst, src0: Src, src1: Src, src2: Src) -> None:
    """dst[i] = src0[i] + src1[i] + src2[i]; the predicate is set where the sum did not fit."""
    x, y, z = (b.convert(v, Q) for v in (src0, src1, src2))
    total = b.add(b.add(x, y), z)
    b.write(dst, total)
    if overflow is not None:
        fitted = b.convert(b.convert(total, dst.type), Q)
        b.write(overflow, b.cmp("ne", fitted, total))


def bytes_of(b: InstBuilder, x: Value, type: Type) -> tuple[Value, ...]:
    """The four bytes of each dword lane, lowest first, sign- or zero-extended to d."""
    lanes = b.convert(b.bitcast(x, type), D)
    return tuple(b.shuffle(lanes, range(k, 4 * x.width, 4)) for k in range(4))


@opcode(
    0x82,
    "{pred}dp4a{dst.sat} {exec} {dst} {src0} {src1} {src2}",
    types=maps.DWORDS,
    page="DP4A",
    platforms=since("tgllp"),
    limits=Limits(modifiers="none"),
    front_end=maps.ARITHMETIC_MODIFIER,
)
def dp4a(b: InstBuilder, dst: Dst, src0: Src, src1: Src, src2: Src) -> None:
    """dst[i] = src0[i] + sum of the four byte products; each source's bytes have its own sign."""
    left, right = (bytes_of(b, v, B if v.type.is_signed else UB) for v in (src1, src2))
    products = [b.mul(x, y) for x, y in zip(left, right, strict=True)]
    dot = b.add(b.add(products[0], products[1]), b.add(products[2], products[3]))
    if dst.saturate:
        b.write(dst, b.add(b.convert(src0, Q), b.convert(dot, Q)))
        return
    b.write(dst, b.add(b.convert(src0, D), dot))


def _even_lanes(b: InstBuilder) -> Value:
    """The instruction's mask, odd lanes off: their results are undefined."""
    even = b.const(BOOL, [1 - k % 2 for k in range(b.width)], b.width)
    return b.and_(b.mask, even)


@differences(0x16, "{pred}sad2{dst.sat} {exec} {dst} {src0} {src1}", page="SAD2")
def sad2(b: InstBuilder, dst: Dst, src0: NeighbourSrc, src1: NeighbourSrc) -> None:
    """dst[i] = |src0[i]-src1[i]| + |src0[i+1]-src1[i+1]| in even lanes; odd lanes stay."""
    b.write(dst, pair_differences(b, src0, src1), _even_lanes(b))


@differences(0x6A, "{pred}sad2add{dst.sat} {exec} {dst} {src0} {src1} {src2}", page="SAD2ADD")
def sad2add(b: InstBuilder, dst: Dst, src0: NeighbourSrc, src1: NeighbourSrc, src2: Src) -> None:
    """dst[i] = sad2 of src0, src1, plus src2[i], in even lanes; odd lanes stay."""
    total = b.add(pair_differences(b, src0, src1), b.convert(src2, D))
    b.write(dst, total, _even_lanes(b))
