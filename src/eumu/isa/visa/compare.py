"""Comparison, selection, predicates from values."""

from __future__ import annotations

from eumu.isa.kinds import Cond, Dst, InstBuilder, RelOp, WideSrc
from eumu.isa.limits import Limits
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import BOOL, integer


@opcode(
    0x2C,
    "cmp.{rel} {exec} {dst} {src0} {src1}",
    types=maps.COMPARE,
    page="CMP",
    limits=Limits(operands={"dst": "grp"}),
)
def cmp(b: InstBuilder, rel: RelOp, dst: Dst, src0: WideSrc, src1: WideSrc) -> None:
    """dst[i] = src0[i] rel src1[i]: a predicate bit, or all ones / zero; NaN is only `ne`."""
    result = b.relation(rel, src0, src1)
    if dst.type is BOOL:
        b.write(dst, result)
        return
    bits = integer(dst.type.bits, signed=False)
    ones = b.select(result, b.const(bits, -1, b.width), b.const(bits, 0, b.width))
    b.put(dst, b.bitcast(ones, dst.type), b.mask)


@opcode(0x2A, "{cond}sel{dst.sat} {exec} {dst} {src0} {src1}", types=maps.SELECT, page="SEL")
def sel(b: InstBuilder, cond: Cond, dst: Dst, src0: WideSrc, src1: WideSrc) -> None:
    """dst[i] = cond[i] ? src0[i] : src1[i]; the predicate chooses, it does not mask the write."""
    x, y = b.alternatives(dst, src0, src1)
    b.write(dst, x if cond is None else b.select(cond, x, y))
