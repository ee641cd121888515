"""Rules on execution sizes, mask controls, predicates and platforms.

Source: vISA pages "Execution model" and "Predication", "Instructions per platform", and those of
the instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eumu.isa.kinds.control import ExecKind, PredicateKind
from eumu.isa.kinds.operands import General, Immediate, Predicate, PredicateOperand
from eumu.isa.kinds.vector import DestinationKind, SourceKind
from eumu.isa.limits import EVERY_PLATFORM, By
from eumu.isa.spec import Field, Opcode
from eumu.platforms import PLATFORMS
from eumu.program.predicates import bits_of, shortage
from eumu.verify.rules import Finding, On, listed, rule
from eumu.verify.subject import Use

MODEL: Final = "3 Execution model"


def ordered(names: frozenset[str]) -> str:
    return listed(name for name in PLATFORMS if name in names)


@rule(
    "platform",
    "The hardware of this platform does not have the instruction.",
    on=On.INSTRUCTION,
    once=True,
)
def platform(use: Use) -> Iterator[str]:
    allowed = use.opcode.platforms
    if use.subject.parity and use.opcode.front_end.platforms is not None:
        allowed = use.opcode.front_end.platforms
    here = use.subject.platform.name
    if allowed is not None and here not in allowed and allowed != EVERY_PLATFORM:
        yield f"{use.opcode} is not there on {here}; it is on {ordered(allowed)}"


def _has_exec(opcode: Opcode) -> bool:
    return any(isinstance(f.kind, ExecKind) for f in opcode.fields)


@rule(
    "exec-size",
    "The message or the pipe that runs the instruction has a fixed number of lanes.",
    on=On.INSTRUCTION,
    once=True,
    applies=_has_exec,
)
def exec_size(use: Use) -> Iterator[str]:
    limits, own = use.opcode.limits.sizes, use.opcode.front_end.sizes
    if use.subject.parity and own is not None:
        limits = own
    here = use.subject.platform.name
    allowed = limits.get(here, limits[""])
    if use.exec is not None and use.size not in allowed | _emitted(use):
        yield f"execution size {use.size}; {use.opcode} takes {listed(sorted(allowed))} on {here}"


def _emitted(use: Use) -> frozenset[int]:
    return frozenset() if use.subject.parity else use.opcode.front_end.emitted


@rule(
    "exec-size-emitted",
    "The documents give the instruction fewer lanes on this platform.",
    on=On.INSTRUCTION,
    once=True,
    by=By.DOCUMENTS,
    applies=lambda opcode: bool(opcode.front_end.emitted),
)
def exec_size_emitted(use: Use) -> Iterator[str]:
    limits, here = use.opcode.limits.sizes, use.subject.platform.name
    allowed = limits.get(here, limits[""])
    if use.size not in allowed and use.size in use.opcode.front_end.emitted:
        yield f"execution size {use.size}; {use.opcode} takes {listed(sorted(allowed))} on {here}"


@rule(
    "mask-alignment",
    "The lanes of an instruction are a group of its own size.",
    on=On.INSTRUCTION,
    once=True,
    page=MODEL,
    by=By.DOCUMENTS,
    applies=_has_exec,
)
def mask_alignment(use: Use) -> Iterator[str]:
    if use.exec is not None and use.exec.offset % use.exec.size:
        legal = listed(f"M{k // 4 + 1}" for k in range(0, 32, max(4, use.exec.size)))
        yield (
            f"M{use.exec.offset // 4 + 1} with execution size {use.exec.size}; the first lane must"
            f" be a multiple of the size: {legal}"
        )


@rule(
    "exec-simd",
    "Lanes beyond the kernel's SIMD size are never enabled.",
    on=On.INSTRUCTION,
    once=True,
    page=MODEL,
    by=By.DOCUMENTS,
    applies=_has_exec,
)
def exec_simd(use: Use) -> Iterator[str]:
    if use.exec is None or use.exec.nomask or use.exec.size == 1:
        return
    simd, end = use.subject.simd, use.exec.offset + use.exec.size
    if simd and end > simd:
        yield (
            f"lanes {use.exec.offset} to {end - 1} in a kernel of SimdSize={simd}, whose lanes are"
            f" 0 to {simd - 1}"
        )


@rule(
    "predicate-size",
    "The mask control says which bits of the predicate belong to the lanes; all must exist.",
    on=On.OPERAND,
    page="5 Operands",
    by=By.DOCUMENTS,
    kinds=(PredicateKind,),
    classes=(Predicate,),
)
def predicate_size(use: Use, field: Field, operand: Predicate | None) -> Iterator[Finding]:
    if operand is not None and operand.variable not in use.subject.unwritten:
        yield from _bits(use, field, operand.variable.name, operand.variable.count)


@rule(
    "predicate-size-emitted",
    "Nothing has written any bit of the predicate.",
    on=On.OPERAND,
    page="5 Operands",
    by=By.DOCUMENTS,
    kinds=(PredicateKind,),
    classes=(Predicate,),
)
def predicate_size_emitted(use: Use, field: Field, operand: Predicate | None) -> Iterator[Finding]:
    if operand is not None and operand.variable in use.subject.unwritten:
        yield from _bits(use, field, operand.variable.name, operand.variable.count)


@rule(
    "predicate-operand-size",
    "A predicate operand has a bit for every lane of the instruction.",
    on=On.OPERAND,
    page="5 Operands",
    by=By.DOCUMENTS,
    kinds=(SourceKind, DestinationKind),
    classes=(PredicateOperand,),
)
def predicate_operand_size(use: Use, field: Field, operand: object) -> Iterator[Finding]:
    if isinstance(operand, PredicateOperand) and not _is_whole(use):
        yield from _bits(use, field, operand.variable.name, operand.variable.count)


def _is_whole(use: Use) -> bool:
    """Whether a predicate is moved as a whole: its bits as a number."""
    return not isinstance(use.operand("dst"), PredicateOperand)


def _bits(use: Use, field: Field, name: str, count: int) -> Iterator[Finding]:
    if use.exec is None:
        return
    needed = bits_of(use.opcode, use.exec)
    if needed[-1] >= count:
        yield Finding(shortage(name, count, needed), field.name)


def _selects(opcode: Opcode) -> bool:
    return opcode.field("cond") is not None and not opcode.flow


@rule(
    "predicate-needed",
    "Without a predicate there is nothing to choose by.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=_selects,
)
def predicate_needed(use: Use) -> Iterator[str]:
    if use.operand("cond") is None:
        yield f"{use.opcode} needs a predicate, as in (P1) {use.opcode} …"


def _may_be_predicate(opcode: Opcode) -> bool:
    return "p" in opcode.limits.operands.get("dst", "")


@rule(
    "predicate-logic",
    "Operations on predicates work on whole flag registers.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=_may_be_predicate,
)
def predicate_logic(use: Use) -> Iterator[str]:
    if isinstance(use.operand("dst"), PredicateOperand) and use.operand("pred") is not None:
        yield f"{use.opcode} of predicates cannot itself be predicated"


def _has_predicate_source(opcode: Opcode) -> bool:
    return "p" in opcode.limits.operands.get("src0", "") and not _may_be_predicate(opcode)


@rule(
    "predicate-copy",
    "A predicate is copied as one number with a bit for each lane.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=_has_predicate_source,
)
def predicate_copy(use: Use) -> Iterator[str | Finding]:
    source, dst = use.operand("src0"), use.operand("dst")
    if not isinstance(source, PredicateOperand):
        return
    if use.size != 1:
        yield f"execution size {use.size}; a predicate is copied with execution size 1"
    if use.operand("pred") is not None:
        yield "a copy of a predicate cannot itself be predicated"
    if dst.saturate:
        yield "a copy of a predicate cannot saturate"
    bits = source.variable.count
    if isinstance(dst, General) and dst.type.is_int and dst.type.bits < bits:
        yield Finding(f":{dst.type} is too small for the {bits} bits of the predicate", "dst")


def _sets_predicate(opcode: Opcode) -> bool:
    return opcode.limits.operands.get("dst") == "p"


@rule(
    "setp-mask",
    "The bits of a scalar go to all lanes of a half, whatever the execution mask says.",
    on=On.INSTRUCTION,
    page="SETP",
    by=By.DOCUMENTS,
    applies=_sets_predicate,
)
def setp_mask(use: Use) -> Iterator[str]:
    source = use.operand("src0")
    scalar = isinstance(source, Immediate) or (
        isinstance(source, General) and source.vstride == 0 and source.hstride == 0
    )
    if not scalar or use.exec is None:
        return
    allowed = (0,) if use.size == 32 else (0, 16)
    if not use.exec.nomask or use.exec.offset not in allowed:
        legal = " or ".join(f"M{k // 4 + 1}_NM" for k in allowed)
        yield f"{use.opcode} of a scalar with execution size {use.size} takes {legal}"
