"""Native code that loses what a spilled variable held in lanes that a message leaves out."""

from __future__ import annotations

from typing import Any, Final

from eumu.isa.gen9.operands import Register, TernaryDestination
from eumu.isa.messages.descriptor import Message, describe
from eumu.native import Program
from eumu.native.program import Instruction

_STORE: Final = "scratch block write"
_LOAD: Final = "scratch block read"


def loses_lanes(program: Program) -> bool:
    """Whether a message that writes only lanes that are on gets its result into registers that are
    then stored in scratch space whole, and were not loaded from there before.

    The code is read from its start to its end.
    """
    loaded: set[int] = set()
    partial: set[int] = set()
    for instruction in program.instructions:
        message = _message(instruction)
        if message is None:
            written = _registers(instruction, "dst", 2)  # one or two; none of both counts then
            partial.difference_update(written)
            loaded.difference_update(written)
            continue
        taken = _registers(instruction, "dst", message.get("response length"))
        if not _is_whole(instruction):
            partial.update(set(taken) - loaded)
            continue
        if message.name == _STORE and not partial.isdisjoint(_sent(instruction, message)):
            return True
        partial.difference_update(taken)
        (loaded.update if message.name == _LOAD else loaded.difference_update)(taken)
    return False


def _is_whole(instruction: Instruction) -> bool:
    """Whether it does all lanes, whichever are on."""
    execution: Any = instruction.operand("exec")
    return bool(execution.nomask and execution.predicate is None)


def _message(instruction: Instruction) -> Message | None:
    """What it asks for; None for what is no message, and for one that a register describes."""
    ex_desc, desc = instruction.operand("ex_desc"), instruction.operand("desc")
    if not isinstance(ex_desc, int) or not isinstance(desc, int):
        return None
    return describe(ex_desc, desc)


def _sent(instruction: Instruction, message: Message) -> list[int]:
    """The registers of both stretches."""
    return [
        *_registers(instruction, "src0", message.get("message length")),
        *_registers(instruction, "src1", message.get("extended message length")),
    ]


def _registers(instruction: Instruction, name: str, count: int | None) -> range:
    """So many general registers from the operand's first one on; none for other operands."""
    operand = instruction.operand(name)
    if isinstance(operand, TernaryDestination):
        return range(operand.number, operand.number + (count or 0))
    place = getattr(operand, "place", None)
    if not isinstance(place, Register) or place.is_arf:
        return range(0)
    return range(place.number, place.number + (count or 0))
