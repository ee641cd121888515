"""Native code as records: instructions with their places."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from eumu.errors import Span
from eumu.isa.gen9.kinds import InstructionSite
from eumu.isa.spec import Opcode
from eumu.platforms import Platform
from eumu.records import dataclass

FULL, HALF = 16, 8  # bytes of an instruction and of a compacted one


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `operands` in the order of the opcode's fields, `offset` in bytes.

    `residue` are bits of the word that no operand accounts for, as a difference from what encoding
    the operands gives; the hardware ignores them, and keeping them lets a word survive.  A
    compacted word may differ in `half_residue` from what compacting gives.
    """

    opcode: Opcode
    operands: tuple[Any, ...]
    offset: int = 0
    compacted: bool = False
    residue: int = 0
    half_residue: int = 0
    span: Span | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """Bytes in the code."""
        return HALF if self.compacted else FULL

    @property
    def site(self) -> InstructionSite:
        return InstructionSite(self.offset, self.offset + self.size)

    def operand(self, name: str) -> Any:
        """The operand of the field called `name`, None if the opcode has none."""
        field = self.opcode.field(name)
        return None if field is None else self.operands[field.index]


@dataclass(frozen=True, slots=True)
class Program:
    """Code of one kernel.

    `padding` are zero bytes behind the last instruction that are too few to be one.
    """

    instructions: tuple[Instruction, ...]
    platform: Platform
    name: str = ""
    padding: bytes = b""

    def at(self, offset: int) -> Instruction | None:
        """The instruction at a byte offset, None if none begins there."""
        return next((i for i in self.instructions if i.offset == offset), None)
