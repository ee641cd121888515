"""An instruction as rules see it: operands with their bytes, types of the execution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from eumu.isa.gen9.operands import (
    Constant,
    Destination,
    Execution,
    InstructionOptions,
    MacroDestination,
    MacroSource,
    NativeSource,
    Pointer,
    Register,
    TernaryDestination,
    TernarySource,
)
from eumu.isa.gen9.registers import ACCUMULATOR_NUMBER, GRF_BYTES, NULL
from eumu.isa.gen9.traits import Trait, has_trait
from eumu.native.program import Instruction
from eumu.platforms import Platform
from eumu.records import dataclass
from eumu.types import DF, HF, UB, UV, VF, B, D, F, Kind, Q, Type, V, W

_ACCUMULATOR_KIND = ACCUMULATOR_NUMBER >> 4
_SPECIAL = 2  # acc2 to acc9


@dataclass(frozen=True, slots=True)
class View:
    """A source or destination.

    Strides and width count elements; `vstride` is None where rows have addresses of their own, and
    a destination is one row.  `byte` is that of the subregister (0 for a pointer), `offset` that of
    a pointer's constant.
    """

    name: str
    type: Type
    vstride: int | None
    width: int
    hstride: int
    register: Register | None = None
    pointer: Pointer | None = None
    negate: bool = False
    absolute: bool = False
    swizzle: int | None = None
    constant: Constant | None = None

    @property
    def is_arf(self) -> bool:
        return self.register is not None and self.register.is_arf

    @property
    def is_null(self) -> bool:
        return self.register is not None and self.is_arf and self.register.number == NULL.number

    @property
    def accumulator(self) -> int | None:
        """The number of the accumulator, None if it is none."""
        if self.register is None or not self.is_arf:
            return None
        number = self.register.number
        return number & 15 if number >> 4 == _ACCUMULATOR_KIND else None

    @property
    def is_integral(self) -> bool:
        """Whole numbers, those of a packed immediate among them."""
        return self.type.is_int or self.type in (V, UV)

    @property
    def byte(self) -> int:
        return 0 if self.register is None else self.register.byte

    @property
    def is_scalar(self) -> bool:
        """One element for all channels, or an immediate."""
        return self.constant is not None or (self.vstride == 0 and self.hstride == 0)

    @property
    def stride_bytes(self) -> int:
        """Bytes from one element to the next in a row, or from row to row."""
        return (self.hstride or self.vstride or 0) * self.type.size

    def offsets(self, channels: int) -> list[int]:
        """Bytes of each channel's element behind the start of the first register."""
        size, row = self.type.size, self.vstride or 0
        return [
            self.byte + (k // self.width * row + k % self.width * self.hstride) * size
            for k in range(channels)
        ]

    def last_byte(self, channels: int) -> int:
        return max(self.offsets(channels)) + self.type.size - 1

    def registers(self, channels: int) -> int:
        """How many registers a direct operand spans."""
        return self.last_byte(channels) // GRF_BYTES + 1


@dataclass(frozen=True, slots=True)
class Held:
    """What an accumulator holds: the type it was written in, whether it was added to."""

    type: Type
    sum: bool


@dataclass(frozen=True)
class Subject:
    """An instruction with one to three sources; messages and branches have no views.

    `held` is what earlier instructions are known to have left in acc0 and acc1.
    """

    instruction: Instruction
    platform: Platform
    observed: bool
    held: Mapping[int, Held] = field(default_factory=dict)

    @cached_property
    def exec(self) -> Execution | None:
        executions = [o for o in self.instruction.operands if isinstance(o, Execution)]
        return executions[0] if executions else None

    @property
    def size(self) -> int:
        return self.exec.size if self.exec else 1

    @cached_property
    def options(self) -> InstructionOptions:
        options = [o for o in self.instruction.operands if isinstance(o, InstructionOptions)]
        return options[0] if options else InstructionOptions()

    def has(self, trait: Trait) -> bool:
        return has_trait(self.instruction.opcode, trait)

    @cached_property
    def is_ternary(self) -> bool:
        return isinstance(self.instruction.operand("dst"), TernaryDestination)

    @cached_property
    def is_macro(self) -> bool:
        return isinstance(self.instruction.operand("dst"), MacroDestination)

    @cached_property
    def is_align16(self) -> bool:
        return self.is_ternary or self.is_macro or self.options.align16

    @cached_property
    def is_computing(self) -> bool:
        """Neither a message nor a branch nor a macro."""
        return self.dst is not None and not self.instruction.opcode.flow

    @cached_property
    def saturate(self) -> bool:
        return bool(getattr(self.instruction.operand("dst"), "saturate", False))

    @cached_property
    def dst(self) -> View | None:
        operand = self.instruction.operand("dst")
        if isinstance(operand, Destination):
            return _view("dst", operand.place, operand.type, None, 32, operand.hstride)
        if isinstance(operand, TernaryDestination):
            place = Register(False, operand.number, operand.byte)
            return View("dst", operand.type, None, 32, 1, place)
        return None

    @cached_property
    def sources(self) -> tuple[View, ...]:
        return tuple(self._sources())

    def _sources(self) -> Iterator[View]:
        for named, operand in zip(
            self.instruction.opcode.fields, self.instruction.operands, strict=True
        ):
            if isinstance(operand, Constant):
                yield View(named.name, operand.type, 0, 1, 0, constant=operand)
            elif isinstance(operand, NativeSource):
                yield _source(named.name, operand)
            elif isinstance(operand, TernarySource):
                place = Register(False, operand.number, operand.byte)
                row = (0, 1, 0) if operand.replicate else (4, 4, 1)
                signs = (operand.negate, operand.absolute)
                yield View(*(named.name, operand.type, *row, place, None, *signs), operand.swizzle)

    @cached_property
    def registers_of_sources(self) -> tuple[View, ...]:
        """The sources that are no immediates."""
        return tuple(s for s in self.sources if s.constant is None)

    @cached_property
    def macro_sources(self) -> tuple[MacroSource, ...]:
        return tuple(o for o in self.instruction.operands if isinstance(o, MacroSource))

    # ---- types of the execution

    @cached_property
    def exec_type(self) -> Type:
        """The type that channels compute in."""
        types = [execution_type(s.type) for s in self.sources]
        dst = self.dst
        if any(t.is_float for t in types):
            floats = {t for t in types if t.is_float}
            if floats == {HF} and dst is not None and (dst.type is F or len(types) == 1):
                return execution_type(dst.type)
            return next(t for t in (DF, F, HF) if t in floats)
        return max(types, key=lambda t: t.size, default=W)

    @cached_property
    def is_mixed_float(self) -> bool:
        """F and HF both occur."""
        if self.dst is None:
            return False
        return {F, HF} <= {self.dst.type, *(s.type for s in self.sources)}

    @cached_property
    def is_raw_move(self) -> bool:
        """Bits are copied: one type (signs aside), no modifier, no saturation."""
        if not self.has(Trait.COPIES) or self.dst is None or self.saturate:
            return False
        source, dst = self.sources[0], self.dst
        if source.negate or source.absolute or source.type.kind is Kind.PACKED:
            return False
        same = source.type.is_int and dst.type.is_int and source.type.size == dst.type.size
        return same or source.type is dst.type

    @cached_property
    def is_dword_product(self) -> bool:
        """Two integer dwords are multiplied."""
        factors = self.sources[-2:] if self.has(Trait.MULTIPLIES) else ()
        return len(factors) == 2 and all(s.type.is_int and s.type.size == 4 for s in factors)

    @cached_property
    def has_qwords(self) -> bool:
        """An operand has elements of 64 bits."""
        views = [*self.sources, *([self.dst] if self.dst else [])]
        return any(v.type.size == 8 for v in views)

    @cached_property
    def is_wide(self) -> bool:
        """64 bits take part: what the rules of group 6 are about."""
        if self.dst is None:
            return False
        types = (self.dst.type, self.exec_type, *(s.type for s in self.sources))
        return any(t.size == 8 for t in types) or self.is_dword_product

    @cached_property
    def reads_accumulator(self) -> bool:
        """Explicitly or without naming it."""
        named = any(s.accumulator is not None for s in self.sources)
        return named or self.has(Trait.READS_ACCUMULATOR)

    @property
    def special_accumulators(self) -> list[View]:
        """Operands among acc2 to acc9."""
        views = [*self.sources, *([self.dst] if self.dst else [])]
        return [v for v in views if (v.accumulator or 0) >= _SPECIAL]


def execution_type(type: Type) -> Type:
    """What elements of a type are computed in, alone."""
    if type is VF:
        return F
    if type.is_float:
        return type
    if type in (UB, B, V, UV) or type.size == 2:
        return W
    return Q if type.size == 8 else D


def _view(
    name: str,
    place: Register | Pointer,
    type: Type,
    vstride: int | None,
    width: int,
    hstride: int,
) -> View:
    if isinstance(place, Pointer):
        return View(name, type, vstride, width, hstride, pointer=place)
    return View(name, type, vstride, width, hstride, place)


def _source(name: str, operand: NativeSource) -> View:
    region, place = operand.region, operand.place
    row = (region.vstride, region.width, region.hstride)
    if operand.swizzle is not None:  # Align16: rows of four
        row = (region.vstride, 4, 1)
    register = None if isinstance(place, Pointer) else place
    pointer = place if isinstance(place, Pointer) else None
    return View(
        *(name, operand.type, *row, register, pointer),
        operand.negate,
        operand.absolute,
        operand.swizzle,
    )
