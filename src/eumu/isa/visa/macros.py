"""Steps of division and of the inverse square root, which a library refines itself.

The hardware gives a first approximation and says where it is final; here it is the rounded result.
"""

from __future__ import annotations

from eumu.ir import Value
from eumu.isa.kinds import Dst, InstBuilder, Src, WritePlace
from eumu.isa.limits import Limits, row
from eumu.isa.spec import Fidelity
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode
from eumu.types import BOOL, DF, F

ROUNDED = Fidelity(
    "approximate", "how near the hardware's first approximation is, no page says; here it is exact"
)
TYPES = row((F,), (F,), early=(BOOL,)) + row((DF,), (DF,), only=maps.DOUBLE, early=(BOOL,))
LIMITS = Limits(saturation="no", operands={"early": "p"})


@opcode(
    0x9B,
    "{pred}invm {exec} {dst} {early} {src0} {src1}",
    types=TYPES,
    page="INVM",
    limits=LIMITS,
    fidelity=ROUNDED,
)
def invm(b: InstBuilder, dst: Dst, early: Dst, src0: Src, src1: Src) -> None:
    """dst[i] = src0[i] / src1[i]; early[i] is set if it is NaN, infinite or zero."""
    _finish(b, dst, early, b.div(src0, src1))


@opcode(
    0x9C,
    "{pred}rsqtm {exec} {dst} {early} {src0}",
    types=TYPES,
    page="RSQTM",
    limits=LIMITS,
    fidelity=ROUNDED,
)
def rsqtm(b: InstBuilder, dst: Dst, early: Dst, src0: Src) -> None:
    """dst[i] = 1 / square root of src0[i]; early[i] is set if it is NaN, infinite or zero."""
    one = b.const(src0.type, 1.0, b.width)
    _finish(b, dst, early, b.div(one, b.sqrt(src0)))


def _finish(b: InstBuilder, dst: WritePlace, early: WritePlace, result: Value) -> None:
    size = b.abs(result)
    some = b.cmp("gt", size, b.const(size.type, 0.0, b.width))
    few = b.cmp("lt", size, b.const(size.type, float("inf"), b.width))
    b.write(dst, result)
    b.write(early, b.not_(b.and_(some, few)))
