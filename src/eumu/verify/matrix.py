"""Rules on matrix products: precisions, sums, depth, and the place of the left matrix.

Source: vISA pages "DPAS", "DPASW".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eumu.isa.kinds.matrix import MatrixPlaceKind, MatrixShape, MatrixShapeKind, Precision
from eumu.isa.kinds.operands import General, Raw
from eumu.isa.limits import By, since
from eumu.isa.spec import Field, Opcode
from eumu.types import BF, HF, TYPES, UD, D, F, Type
from eumu.verify.operands import type_rows
from eumu.verify.rules import Finding, On, listed, rule
from eumu.verify.subject import Use

_REGISTERS: Final = ("dst", "src0", "src1", "src2")
# The type of the sums by precision of the factors; integers where it is not listed.
_SUMS: Final[dict[str, tuple[Type, ...]]] = {
    "bf": (F, BF),
    "hf": (F, HF),
    "tf32": (F,),
    "bf8": (F,),
    "hf8": (F,),
    "e2m1": (F, BF),
}
_FLOATS_OF_8_BITS: Final = ("bf8", "hf8")
_LATER: Final = {
    **dict.fromkeys(("tf32", *_FLOATS_OF_8_BITS), ("pvc", since("pvc"))),
    "e2m1": ("nvlp", since("nvlp")),
}
# Where those of 8 bits are summed in bf, too: the compiler's libraries for Xe3p have such products.
_ALSO_BF: Final = since("nvlp")


def is_matrix(opcode: Opcode) -> bool:
    """Whether an instruction multiplies matrices."""
    return any(isinstance(f.kind, MatrixShapeKind) for f in opcode.fields)


def _type(operand: Raw | General) -> Type | None:
    return operand.variable.type if operand.variable is not None else None


@rule(
    "matrix-types",
    "The systolic array takes factors as dwords and sums in these types.",
    on=On.INSTRUCTION,
    applies=is_matrix,
)
def matrix_types(use: Use) -> Iterator[Finding]:
    here = use.subject.platform.name
    rows = type_rows(use.opcode, here, parity=use.subject.parity)
    for name in _REGISTERS:
        actual = _type(use.operand(name))
        allowed = frozenset().union(*(r.allowed(name, is_dst=name == "dst") for r in rows))
        if rows and actual is not None and actual not in allowed:
            legal = listed(f":{t}" for t in TYPES.values() if t in allowed)
            yield Finding(f"{name} is :{actual}; {use.opcode} takes {legal} on {here}", name)


@rule(
    "matrix-precision",
    "The systolic array has no multiplier for this pair of precisions.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=is_matrix,
)
def matrix_precision(use: Use) -> Iterator[Finding]:
    shape: MatrixShape = use.operand("shape")
    wrong = [p.name for p in (shape.b, shape.a) if p.bits == 1]
    if wrong:
        yield Finding(f"precision {wrong[0]}; integers of 2, 4 and 8 bits are allowed", "shape")
    elif not _go_together(shape.b, shape.a):
        yield Finding(
            f"precisions {shape.b.name} and {shape.a.name}; two integers, or two floats of one"
            " kind, are allowed",
            "shape",
        )


def _go_together(b: Precision, a: Precision) -> bool:
    if not b.is_float and not a.is_float:
        return not (b.name in _SUMS or a.name in _SUMS)
    return b == a or {b.name, a.name} <= set(_FLOATS_OF_8_BITS)


@rule(
    "matrix-platform",
    "The systolic array of the device has no multiplier for these numbers.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=is_matrix,
)
def matrix_platform(use: Use) -> Iterator[Finding]:
    shape: MatrixShape = use.operand("shape")
    here = use.subject.platform.name
    first, only = _LATER.get(shape.b.name, ("", None))
    if only is not None and here not in only:
        name = f"{use.opcode} with {shape.b.name}"
        yield Finding(f"{name} is not there on {here}; it came with {first}", "shape")


@rule(
    "matrix-sum",
    "Products of integers are summed as integers, products of floats as floats.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=is_matrix,
)
def matrix_sum(use: Use) -> Iterator[Finding]:
    shape: MatrixShape = use.operand("shape")
    allowed = _SUMS.get(shape.b.name, (UD, D))
    if shape.b.name in _FLOATS_OF_8_BITS and use.subject.platform.name in _ALSO_BF:
        allowed = (F, BF)
    for name in ("dst", "src0"):
        actual = _type(use.operand(name))
        if actual is not None and actual not in allowed:
            legal = listed(f":{t}" for t in allowed)
            yield Finding(f"{name} is :{actual}; sums of {shape.b.name} products are {legal}", name)


@rule(
    "matrix-depth",
    "The systolic array has eight stages, which every operand passes.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=is_matrix,
)
def matrix_depth(use: Use) -> Iterator[Finding]:
    shape: MatrixShape = use.operand("shape")
    if shape.depth != 8:
        yield Finding(f"systolic depth {shape.depth}; it is 8 on {use.subject.platform}", "shape")


@rule(
    "matrix-operand",
    "Only the initial sums may be left out.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=is_matrix,
)
def matrix_operand(use: Use) -> Iterator[Finding]:
    for name in ("dst", "src1"):
        if use.operand(name).variable is None:
            yield Finding(f"{name} is %null; src0 alone may be", name)


@rule(
    "matrix-alignment",
    "The rows of the left matrix are fetched in aligned pieces.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(MatrixPlaceKind,),
)
def matrix_alignment(use: Use, field: Field, operand: Any) -> Iterator[Finding]:
    shape: MatrixShape = use.operand("shape")
    needed = shape.depth * shape.group * shape.a.bits // 8
    if needed not in (4, 8, 16, 32):  # a precision that no document describes
        return
    offset = operand.variable.origin()[1]
    offset += operand.row * use.subject.grf + operand.col * operand.type.size
    if offset % needed:
        yield Finding(
            f"the matrix begins at byte {offset}; a multiple of {needed} is needed", field.name
        )


@rule(
    "front-end-precision",
    "Intel's front end accepts these precisions only by number.",
    on=On.INSTRUCTION,
    by=By.FRONT_END,
    applies=is_matrix,
)
def front_end_precision(use: Use) -> Iterator[Finding]:
    shape: MatrixShape = use.operand("shape")
    for precision in (shape.b, shape.a):
        if precision.name in _FLOATS_OF_8_BITS:
            yield Finding(f"precision {precision.name} is not read", "shape")
