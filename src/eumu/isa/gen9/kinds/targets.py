"""Targets of branches."""

from __future__ import annotations

from typing import Any, Literal

from eumu.isa.gen9 import bits
from eumu.isa.gen9.bits import BitField, SourceBits
from eumu.isa.gen9.kinds.base import InstructionSite, NativeKind
from eumu.isa.gen9.kinds.source import ImplicitSourceKind, SourceKind
from eumu.isa.gen9.operands import BranchTarget, Constant, NativeSource, Region, Register
from eumu.isa.kinds.cursor import Cursor
from eumu.types import D

Base = Literal["this", "next", "start"]


class TargetKind(NativeKind):
    """`L320`: a distance in bytes from this instruction, the next one, or the start of the code.

    `fixed` are the operands that the text does not show.
    """

    def __init__(self, field: BitField, *, base: Base = "this", fixed: int = 0) -> None:
        self.field, self.base, self.fixed = field, base, fixed

    def _origin(self, site: InstructionSite) -> int:
        return {"this": site.offset, "next": site.next, "start": 0}[self.base]

    def decode(self, word: int, site: InstructionSite) -> BranchTarget:
        return BranchTarget(self._origin(site) + self.field.get(word))

    def encode(self, operand: BranchTarget, site: InstructionSite) -> int:
        return self.fixed | self.field.put(operand.offset - self._origin(site))

    def print(self, operand: BranchTarget) -> str:
        return f"L{operand.offset}"

    def parse(self, cursor: Cursor, names: Any) -> BranchTarget:
        return BranchTarget(names.target(cursor))


class TargetOrSourceKind(NativeKind):
    """`L320`, or a register that holds the distance (`r5.4`)."""

    def __init__(
        self,
        field: SourceBits,
        region: Region,
        *,
        base: Base = "this",
        fixed: int = 0,
        jump: int = 0,
    ) -> None:
        """`jump` are the bits that say that the distance is an immediate."""
        self.field, self.fixed = field, fixed
        self.target = TargetKind(bits.JIP, base=base, fixed=fixed | jump)
        self.source = ImplicitSourceKind(field, region, D)

    def decode(self, word: int, site: InstructionSite) -> BranchTarget | NativeSource:
        if self.field.file.get(word) == bits.IMMEDIATE:
            return self.target.decode(word, site)
        return self.source.decode(word, site)

    def encode(self, operand: BranchTarget | NativeSource, site: InstructionSite) -> int:
        if isinstance(operand, BranchTarget):
            return self.target.encode(operand, site)
        return self.fixed | self.source.encode(operand, site)

    def print(self, operand: BranchTarget | NativeSource) -> str:
        if isinstance(operand, BranchTarget):
            return self.target.print(operand)
        return self.source.print(operand)

    def parse(self, cursor: Cursor, names: Any) -> BranchTarget | NativeSource:
        if cursor.ahead("L") or cursor.ahead("_"):
            return self.target.parse(cursor, names)
        return self.source.parse(cursor, names)


class SecondTargetKind(NativeKind):
    """The UIP of an instruction that has none where its first operand is a register."""

    def decode(self, word: int, site: InstructionSite) -> BranchTarget | None:
        if bits.SRC0.file.get(word) != bits.IMMEDIATE:
            return None
        return BranchTarget(site.offset + bits.UIP.get(word))

    def encode(self, operand: BranchTarget | None, site: InstructionSite) -> int:
        return 0 if operand is None else bits.UIP.put(operand.offset - site.offset)

    def print(self, operand: BranchTarget | None) -> str:
        return "" if operand is None else f"L{operand.offset}"

    def parse(self, cursor: Cursor, names: Any) -> BranchTarget | None:
        return (
            BranchTarget(names.target(cursor))
            if isinstance(names.known["jip"], BranchTarget)
            else None
        )


class NotificationKind(SourceKind):
    """`n0.1<0;1,0>:ud`: read, and written by the same instruction; the body gets the operand."""

    def __init__(self) -> None:
        super().__init__(bits.SRC0, last=True, only=True, modifiers=False)

    def encode(self, operand: NativeSource | Constant, site: InstructionSite) -> int:
        word = super().encode(operand, site)
        if isinstance(operand, NativeSource) and isinstance(operand.place, Register):
            place = operand.place
            word |= bits.DST.file.put(bits.ARF if place.is_arf else bits.GRF)
            word |= bits.DST.number.put(place.number) | bits.DST.byte.put(place.byte)
            word |= bits.DST.type.put(bits.REGISTER_TYPES.index(operand.type))
            word |= bits.DST.hstride.put(1)
        return word

    def bind(self, operand: Any, builder: Any) -> Any:
        return operand
