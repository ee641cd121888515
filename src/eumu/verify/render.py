"""Rules on messages to render targets: types of what is written, the number of the target.

Source: vISA page "RT_WRITE".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.isa.kinds.operands import Immediate
from eumu.isa.kinds.render import RenderData, RenderDataKind, registers_of, scalars_of
from eumu.isa.limits import By
from eumu.isa.spec import Field
from eumu.types import HF, UB, UW, F, Type
from eumu.verify.rules import Finding, On, listed, rule
from eumu.verify.subject import Use

COLOURS: Final = (F, HF)
TYPES: Final[dict[str, tuple[Type, ...]]] = {"omask": (UW,), "depth": (F,), "stencil": (UB,)}


@rule(
    "render-type",
    "The message defines what its registers hold; all colours have one type.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(RenderDataKind,),
)
def render_type(use: Use, field: Field, operand: RenderData) -> Iterator[Finding]:
    first: Type | None = None
    for name, raw in zip(registers_of(operand.options), operand.registers, strict=True):
        if raw.variable is None:
            continue
        type, allowed = raw.variable.type, TYPES.get(name, COLOURS)
        if type not in allowed:
            legal = listed(f":{t}" for t in allowed)
            yield Finding(f"{name} is :{type}; {use.opcode} takes {legal}", field.name)
        elif name not in TYPES:
            first = first or type
            if type is not first:
                yield Finding(f"{name} is :{type}, the first colour :{first}", field.name)


@rule(
    "render-target",
    "There are eight render targets.",
    on=On.OPERAND,
    by=By.DOCUMENTS,
    kinds=(RenderDataKind,),
)
def render_target(use: Use, field: Field, operand: RenderData) -> Iterator[Finding]:
    for name, scalar in zip(scalars_of(operand.options), operand.scalars, strict=True):
        if name == "target" and isinstance(scalar, Immediate) and scalar.bits > 7:
            yield Finding(f"render target {scalar.bits}; 0 to 7 is allowed", field.name)
