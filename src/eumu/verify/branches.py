"""Rules on labels, branches, calls and ends.

Source: vISA pages "Branch instructions", "JMP", "GOTO", "CALL", "RET", "SUBROUTINE", "FCALL".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from eumu.isa.kinds.control import LabelKind
from eumu.isa.kinds.operands import General, Indirect
from eumu.isa.limits import By
from eumu.isa.spec import Opcode
from eumu.program import Inst, LabelMark
from eumu.types import UD, UQ
from eumu.verify.rules import Finding, On, rule
from eumu.verify.subject import Subject, Use

PAGE: Final = "3 Execution model"

_CALL: Final = "CALL"
_RETURNS: Final = frozenset({"RET", "FRET"})
_CALLS: Final = frozenset({"CALL", "FCALL", "IFCALL", "FCCALL"})
# Registers of %arg and %retval.
MAX_ARGUMENTS: Final = 32
MAX_RESULTS: Final = 12


@cache
def label_index(opcode: Opcode) -> int | None:
    """Which operand names labels."""
    return next((f.index for f in opcode.fields if isinstance(f.kind, LabelKind)), None)


def targets(inst: Inst) -> tuple[str, ...]:
    """The labels that an instruction names."""
    index = label_index(inst.opcode)
    if index is None:
        return ()
    operand = inst.operands[index]
    return (operand,) if isinstance(operand, str) else tuple(operand)


def _branches(opcode: Opcode) -> bool:
    return label_index(opcode) is not None


@rule(
    "label-kind",
    "A subroutine is entered by a call and left by a return; blocks are jumped to.",
    on=On.INSTRUCTION,
    page=PAGE,
    applies=_branches,
)
def label_kind(use: Use) -> Iterator[str]:
    wanted = "subroutine" if use.opcode.page == _CALL else "block"
    for name in targets(use.inst):
        label = use.subject.labels.get(name)
        if label is not None and label[0].kind != wanted:
            if wanted == "subroutine":
                yield f"'{name}' is a label; {use.opcode} takes a subroutine (.function)"
            else:
                yield f"'{name}' is a subroutine; {use.opcode} takes a label"


@rule(
    "label-part",
    "The frame of a subroutine would never be left.",
    on=On.INSTRUCTION,
    page=PAGE,
    by=By.DOCUMENTS,
    applies=_branches,
)
def label_part(use: Use) -> Iterator[str]:
    if use.opcode.page == _CALL:
        return
    for name in targets(use.inst):
        label = use.subject.labels.get(name)
        if label is not None and label[0].kind == "block" and label[1] != use.part:
            yield f"label '{name}' is in another subroutine"


@rule(
    "scalar-mask",
    "A uniform branch must not depend on which lanes run.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=lambda opcode: opcode.page in _RETURNS | _CALLS,
)
def scalar_mask(use: Use) -> Iterator[str]:
    if use.exec is not None and use.size == 1 and not use.exec.nomask:
        yield f"{use.opcode} with execution size 1 takes NoMask, as in (M1_NM, 1)"


@rule(
    "end",
    "Control must not run into what is stored behind the program.",
    on=On.KERNEL,
    page=PAGE,
    by=By.DOCUMENTS,
)
def end(subject: Subject) -> Iterator[Finding]:
    last: Inst | None = None
    for item in (*subject.kernel.body, LabelMark("", "subroutine")):
        if isinstance(item, Inst):
            last = item if item.opcode.flow or not _is_hint(item.opcode) else last
        elif isinstance(item, LabelMark) and item.kind == "subroutine":
            if last is not None and not _ends(last):
                yield Finding("a subroutine ends with a return or a jump", span=last.span)
            last = None


def _is_hint(opcode: Opcode) -> bool:
    return opcode.page in ("LIFETIME", "LOC", "FILE")


def _ends(inst: Inst) -> bool:
    """Whether control never goes on after it."""
    if inst.opcode.page in _RETURNS:
        return inst.operand("cond") is None
    leaves = inst.opcode.page in ("JMP", "GOTO", "SWITCHJMP") or "_eot" in inst.opcode.mnemonic
    return leaves and inst.operand("cond") is None


@rule(
    "call-registers",
    "%arg has 32 registers, %retval 12.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=lambda opcode: bool(opcode.field("arguments") and opcode.field("results")),
)
def call_registers(use: Use) -> Iterator[Finding]:
    for name, limit in (("arguments", MAX_ARGUMENTS), ("results", MAX_RESULTS)):
        count = use.operand(name)
        if count > limit:
            yield Finding(f"{count} registers of {name}; up to {limit} are allowed", name)


@rule(
    "function-address",
    "The address of a function has 64 bits; code often leaves out the upper half.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=lambda opcode: opcode.page in ("FADDR", "IFCALL"),
)
def function_address(use: Use) -> Iterator[Finding]:
    name = "dst" if use.opcode.page == "FADDR" else "address"
    operand = use.operand(name)
    if isinstance(operand, General | Indirect) and operand.type not in (UD, UQ):
        yield Finding(f"{name} is :{operand.type}; :uq or :ud is allowed", name)


@rule(
    "function-end",
    "fret restores the caller's stack pointers, ret does not.",
    on=On.INSTRUCTION,
    by=By.DOCUMENTS,
    applies=lambda opcode: opcode.page == "FRET",
)
def function_end(use: Use) -> Iterator[str]:
    if not use.subject.kernel.is_function:
        yield f"{use.opcode} in a kernel; it returns from a .global_function"
