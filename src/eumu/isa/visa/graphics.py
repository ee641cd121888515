"""Legacy float instructions of shaders: interpolation, planes, dot products of four lanes."""

from __future__ import annotations

from typing import Annotated, Any

from eumu.ir import Region, Value
from eumu.isa.kinds import Dst, Exec, InstBuilder, NeighbourSrc, Pred, Src, WritePlace
from eumu.isa.kinds.modifiers import modified
from eumu.isa.kinds.operands import General
from eumu.isa.kinds.vector import SourceKind, read_general
from eumu.isa.spec import Fidelity
from eumu.isa.visa import typemaps as maps
from eumu.isa.visa.registry import opcode

FUSED = Fidelity("approximate", "the rounding of the intermediate results is not documented")


class QuadKind(SourceKind):
    """Four consecutive elements from the operand's origin; its region is ignored."""

    manual = "four elements from here on, whatever the region"

    def bind(self, operand: Any, builder: InstBuilder) -> Value:
        return _consecutive(self, operand, builder, 4)


class LineKind(QuadKind):
    """Four elements of the operand's region, as if it had four lanes."""

    manual = "four elements of its region"

    def bind(self, operand: Any, builder: InstBuilder) -> Value:
        if not isinstance(operand, General):
            return super().bind(operand, builder)
        return modified(builder, read_general(operand, builder, 4), operand)


class RegistersKind(SourceKind):
    """2 * exec_size elements from the origin: first all u, then all v, per eight lanes."""

    manual = "per eight lanes all u, then all v, from here on, whatever the region"

    def bind(self, operand: Any, builder: InstBuilder) -> Value:
        return _consecutive(self, operand, builder, 2 * builder.width)


def _consecutive(kind: SourceKind, operand: Any, builder: InstBuilder, count: int) -> Value:
    if not isinstance(operand, General):
        return builder.splat(builder.slice(SourceKind.bind(kind, operand, builder), 0, 1), count)
    root, base = builder.root(operand.variable)
    offset = base + operand.row * builder.grf + operand.col * operand.type.size
    values = builder.read(root, Region.packed(offset, operand.type.size), operand.type, count)
    return modified(builder, values, operand)


Quad = Annotated[Value, QuadKind()]
LineQuad = Annotated[Value, LineKind()]
Registers = Annotated[Value, RegistersKind()]


@opcode(
    0x0E, "{pred}lrp{dst.sat} {exec} {dst} {src0} {src1} {src2}", types=maps.SINGLE, page="LRP",
    fidelity=FUSED, platforms=maps.LEGACY_FLOAT, limits=maps.OWORDS, front_end=maps.ON_ALL,
)  # fmt: skip
def lrp(b: InstBuilder, dst: Dst, src0: Src, src1: Src, src2: Src) -> None:
    """dst[i] = src1[i] * src0[i] + src2[i] * (1 - src0[i])."""
    rest = b.fma(b.neg(src0), src2, src2)
    b.write(dst, b.fma(src1, src0, rest))


@opcode(
    0x6B, "{pred}plane{dst.sat} {exec} {dst} {src0} {src1}", types=maps.SINGLE, page="PLN",
    fidelity=FUSED, platforms=maps.LEGACY_FLOAT,
    limits=maps.PLANES, front_end=maps.OF_ANY_SIZE_ON_ALL,
)  # fmt: skip
def plane(b: InstBuilder, dst: Dst, src0: Quad, src1: Registers) -> None:
    """dst[i] = p*u[i] + q*v[i] + r with p, q, r = src0[0], src0[1], src0[3]; u, v by register."""
    p, q, r = (b.splat(b.slice(src0, k, 1), b.width) for k in (0, 1, 3))
    lanes = [16 * (k // 8) + k % 8 for k in range(b.width)]
    half = 8 if b.width >= 8 else b.width
    u = b.shuffle(src1, lanes)
    v = b.shuffle(src1, [k + half for k in lanes])
    b.write(dst, b.fma(p, u, b.fma(q, v, r)))


@opcode(
    0x0A, "{pred}line{dst.sat} {exec} {dst} {src0} {src1}", types=maps.LINE, page="LINE",
    fidelity=FUSED,
)  # fmt: skip
def line(b: InstBuilder, dst: Dst, src0: LineQuad, src1: Src) -> None:
    """dst[i] = p*src1[i] + q with p, q = src0[0], src0[3]."""
    p, q = (b.splat(b.slice(src0, k, 1), b.width) for k in (0, 3))
    b.write(dst, b.fma(p, src1, q))


def _dot(
    b: InstBuilder, dst: WritePlace, x: Value, y: Value, count: int, *, homogeneous: bool
) -> None:
    """Products of the first `count` lanes of each four, summed into all four."""
    quads = [4 * (k // 4) for k in range(b.width)]
    lanes = [[min(q + j, b.width - 1) for q in quads] for j in range(4)]
    total = b.shuffle(y, lanes[3]) if homogeneous else None
    for j in range(count):
        left, right = b.shuffle(x, lanes[j]), b.shuffle(y, lanes[j])
        total = b.mul(left, right) if total is None else b.fma(left, right, total)
    assert total is not None
    b.write(dst, total)


def _dot_product(number: int, name: str, count: int, doc: str, *, homogeneous: bool) -> None:
    def body(
        b: InstBuilder, exec: Exec, pred: Pred, dst: Dst, src0: NeighbourSrc, src1: NeighbourSrc
    ) -> None:
        _dot(b, dst, src0, src1, count, homogeneous=homogeneous)

    template = f"{{pred}}{name}{{dst.sat}} {{exec}} {{dst}} {{src0}} {{src1}}"
    opcode(number, template, types=maps.SINGLE, page=name.upper(), doc=doc, fidelity=FUSED)(body)


_dot_product(0x04, "dp2", 2, "Each four lanes get the product sum of their first two.",
             homogeneous=False)  # fmt: skip
_dot_product(0x05, "dp3", 3, "Each four lanes get the product sum of their first three.",
             homogeneous=False)  # fmt: skip
_dot_product(0x06, "dp4", 4, "Each four lanes get the product sum of all four.",
             homogeneous=False)  # fmt: skip
_dot_product(0x07, "dph", 3, "As dp3, plus the fourth lane of src1.",
             homogeneous=True)  # fmt: skip
