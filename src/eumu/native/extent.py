"""Where a kernel ends that nobody has given the size of: at a Kernel Start Pointer there is code,
and behind it whatever the heap had before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eumu.isa.gen9.operands import BranchTarget, Execution, InstructionOptions
from eumu.native.program import Instruction
from eumu.native.words import Wrong, scan
from eumu.platforms import Platform

_ILLEGAL: Final = "illegal"  # opcode 0, which zero bytes are


def code_of(data: bytes, platform: str | Platform = "bxt") -> tuple[Instruction, ...]:
    """The code that begins at byte 0, to the first end that nothing jumps over.

    An end is a send with end of thread, or a return or a jump back without a predicate; targets
    that instructions name are followed, so functions behind the kernel that it calls belong to it.
    Bytes that are no instruction end the code, too.
    """
    instructions: list[Instruction] = []
    furthest = 0
    for item in scan(data, platform):
        if isinstance(item, Wrong) or item.opcode.mnemonic == _ILLEGAL:
            break
        instructions.append(item)
        for operand in item.operands:
            if isinstance(operand, BranchTarget):
                furthest = max(furthest, operand.offset)
        if furthest < _end(item) and _ends(item):
            break
    return tuple(instructions)


def size_of(code: Sequence[Instruction]) -> int:
    """Bytes of code."""
    return _end(code[-1]) if code else 0


def _end(instruction: Instruction) -> int:
    return instruction.offset + instruction.size


def _ends(instruction: Instruction) -> bool:
    """Whether nothing goes from here to the next instruction."""
    operands = instruction.operands
    if any(isinstance(o, InstructionOptions) and o.eot for o in operands):
        return True
    if any(isinstance(o, Execution) and o.predicate is not None for o in operands):
        return False
    name = instruction.opcode.mnemonic
    return name == "ret" or (name == "jmpi" and any(isinstance(o, BranchTarget) for o in operands))
