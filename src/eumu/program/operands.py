"""Operands that an instruction would leave out or take for something else.

The verifier knows every rule; these break the ones after which nothing runs as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from eumu.isa.kinds.operands import General, Immediate, Indirect, PredicateOperand, Raw
from eumu.isa.kinds.raw import AtomicOperation
from eumu.isa.kinds.sampler import TexelOffsetsKind
from eumu.isa.kinds.vector import SourceKind
from eumu.isa.limits import MODIFIERS, SOURCE
from eumu.isa.spec import Opcode
from eumu.isa.visa.unused import unused_sources
from eumu.program.module import Inst
from eumu.types import UD, UQ

_OFFSET_BITS: Final = 12


@cache
def _sources(opcode: Opcode) -> tuple[tuple[int, str], ...]:
    return tuple((f.index, f.name) for f in opcode.fields if isinstance(f.kind, SourceKind))


@cache
def _offsets(opcode: Opcode) -> tuple[int, ...]:
    return tuple(f.index for f in opcode.fields if isinstance(f.kind, TexelOffsetsKind))


def meaningless(inst: Inst) -> Iterator[tuple[str, str]]:
    """The verifier's code of the rule, and what is wrong in words."""
    opcode = inst.opcode
    emitted = opcode.front_end.emitted_modifiers
    legal = MODIFIERS[opcode.limits.modifiers] + MODIFIERS[emitted]
    for index, name in _sources(opcode):
        operand = inst.operands[index]
        written = getattr(operand, "modifier", "")
        if written and written not in legal:
            yield "modifier", f"modifier ({written}) of {name}; {opcode} has none such"
        takes = opcode.limits.operands.get(name, SOURCE)
        if isinstance(operand, PredicateOperand) and "p" not in takes:
            yield "operand-class", f"{name} is a predicate; {opcode} takes none"
    sets = opcode.limits.operands.get("dst") == "p"
    if sets and not isinstance(inst.operand("dst"), PredicateOperand):
        yield "operand-class", f"dst of {opcode} must be a predicate"
    for index in _offsets(opcode):
        operand = inst.operands[index]
        if isinstance(operand, Immediate) and operand.bits >> _OFFSET_BITS:
            yield "texel-offset", f"offsets is {operand.bits:#x}; bits above 11 must be 0"
    yield from _atomic(inst)
    if opcode.page == "FADDR":
        dst = inst.operand("dst")
        if isinstance(dst, General | Indirect) and dst.type not in (UD, UQ):
            yield "function-address", f"dst is :{dst.type}; :uq or :ud is allowed"


def _atomic(inst: Inst) -> Iterator[tuple[str, str]]:
    """Sources of an atomic operation that has fewer."""
    operation = inst.operand("operation")
    named = operation.name if isinstance(operation, AtomicOperation) else ""
    for name in unused_sources(inst.opcode, named):
        raw = inst.operand(name)
        if isinstance(raw, Raw) and raw.variable is not None:
            of = named or inst.opcode.mnemonic.removeprefix("lsc_atomic_")
            yield "atomic-source", f"{name} of '{of}' must be %null"
