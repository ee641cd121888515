"""Operands of the macros, which carry one of the accumulators acc2 to acc9 with each register."""

from __future__ import annotations

import re
from typing import Any, Final

from eumu.ir import Value
from eumu.isa.gen9 import bits
from eumu.isa.gen9.bits import DST, TERNARY, BitField, SourceBits, Undecodable
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.kinds.base import InstructionSite, NativeKind, code, need_type
from eumu.isa.gen9.kinds.destination import print_saturate
from eumu.isa.gen9.kinds.source import parse_modifier, print_modifier
from eumu.isa.gen9.kinds.ternary import encode_source_type, source_type
from eumu.isa.gen9.operands import MacroDestination, MacroSource
from eumu.isa.gen9.thread import NO_ACCUMULATOR
from eumu.isa.kinds.cursor import Cursor
from eumu.types import DF, Type

# The assembler's words, or the manual's: acc2 is mme0.
_REGISTER: Final = re.compile(r"r(\d+)\.(?:mme([0-7])|acc([2-9])|(nomme|noacc))")


def _accumulator(field: BitField, word: int) -> int:
    number = field.get(word)
    if number > NO_ACCUMULATOR:
        raise Undecodable(f"{field} has the reserved code {number}")
    return number


def _print(number: int, accumulator: int, type: Type) -> str:
    name = "nomme" if accumulator == NO_ACCUMULATOR else f"mme{accumulator}"
    return f"r{number}.{name}:{type}"


def _parse(cursor: Cursor, types: tuple[Type, ...]) -> tuple[int, int, Type]:
    match = cursor.need(_REGISTER, "a register such as r12.mme0 or r12.nomme")
    if int(match[1]) > 255:
        cursor.fail(f"register r{match[1]} does not fit 8 bits", start=match.start())
    accumulator = NO_ACCUMULATOR if match[4] else int(match[2] or int(match[3]) - 2)
    return int(match[1]), accumulator, need_type(cursor, types)


def _general(file: BitField, indirect: BitField, word: int) -> None:
    if file.get(word) != bits.GRF or indirect.get(word):
        raise Undecodable(f"{file}: a macro takes general registers only, directly")


class MacroDestinationKind(NativeKind):
    """`r12.mme1:df`."""

    def __init__(self, *, ternary: bool) -> None:
        self.ternary = ternary

    def decode(self, word: int, site: InstructionSite) -> MacroDestination:
        saturate = bool(bits.SATURATE.get(word))
        if self.ternary:
            type = code(bits.TERNARY_TYPES, bits.TERNARY_DST_TYPE, word)
            accumulator = _accumulator(bits.TERNARY_CHANNELS, word)
            number = bits.TERNARY_DST_NUMBER.get(word)
            return MacroDestination(number, accumulator, type, saturate)
        if not bits.ACCESS_MODE.get(word):
            raise Undecodable("a macro has access mode Align16")
        _general(DST.file, DST.indirect, word)
        type = code(bits.REGISTER_TYPES, DST.type, word)
        accumulator = _accumulator(DST.channels, word)
        return MacroDestination(DST.number.get(word), accumulator, type, saturate)

    def encode(self, operand: MacroDestination, site: InstructionSite) -> int:
        word = bits.SATURATE.put(operand.saturate)
        if self.ternary:
            word |= bits.TERNARY_DST_TYPE.put(bits.TERNARY_TYPES.index(operand.type))
            word |= bits.TERNARY_CHANNELS.put(operand.accumulator)
            return word | bits.TERNARY_DST_NUMBER.put(operand.number)
        word |= DST.file.put(bits.GRF) | DST.type.put(bits.REGISTER_TYPES.index(operand.type))
        return word | DST.channels.put(operand.accumulator) | DST.number.put(operand.number)

    def print(self, operand: MacroDestination) -> str:
        saturate = print_saturate(operand.saturate)
        return saturate + _print(operand.number, operand.accumulator, operand.type)

    def parse(self, cursor: Cursor, names: Any) -> MacroDestination:
        saturate = cursor.take("(sat)")
        types = bits.TERNARY_TYPES if self.ternary else bits.REGISTER_TYPES
        return MacroDestination(*_parse(cursor, types), saturate)


class MacroSourceKind(NativeKind):
    """`-r12.nomme:df`, a source of an instruction with one or two."""

    # The strides that the compiler writes; they have no meaning here.
    _strides: Final = {DF: 2}

    def __init__(self, field: SourceBits) -> None:
        self.field = field

    def decode(self, word: int, site: InstructionSite) -> MacroSource:
        field = self.field
        _general(field.file, field.indirect, word)
        return MacroSource(
            field.number.get(word),
            _accumulator(field.accumulator, word),
            code(bits.REGISTER_TYPES, field.type, word),
            bool(field.negate.get(word)),
            bool(field.absolute.get(word)),
        )

    def encode(self, operand: MacroSource, site: InstructionSite) -> int:
        field = self.field
        word = field.file.put(bits.GRF) | field.type.put(bits.REGISTER_TYPES.index(operand.type))
        word |= field.number.put(operand.number) | field.accumulator.put(operand.accumulator)
        word |= field.negate.put(operand.negate) | field.absolute.put(operand.absolute)
        return word | field.vstride.put(self._strides.get(operand.type, 3))

    def print(self, operand: MacroSource) -> str:
        modifier = print_modifier(operand.negate, operand.absolute)
        return modifier + _print(operand.number, operand.accumulator, operand.type)

    def parse(self, cursor: Cursor, names: Any) -> MacroSource:
        negate, absolute, _ = parse_modifier(cursor)
        return MacroSource(*_parse(cursor, bits.REGISTER_TYPES), negate, absolute)

    def bind(self, operand: MacroSource, builder: Gen9Builder) -> Value:
        return builder.read_macro(operand)


class TernaryMacroSourceKind(NativeKind):
    """`-r12.nomme:df`, a source of three."""

    def __init__(self, index: int) -> None:
        self.index, self.field = index, TERNARY[index]

    def decode(self, word: int, site: InstructionSite) -> MacroSource:
        field = self.field
        return MacroSource(
            field.number.get(word),
            _accumulator(field.accumulator, word),
            source_type(word, self.index),
            bool(field.negate.get(word)),
            bool(field.absolute.get(word)),
        )

    def encode(self, operand: MacroSource, site: InstructionSite) -> int:
        field = self.field
        word = field.number.put(operand.number) | field.accumulator.put(operand.accumulator)
        word |= field.negate.put(operand.negate) | field.absolute.put(operand.absolute)
        return word | encode_source_type(operand.type, self.index)

    def print(self, operand: MacroSource) -> str:
        modifier = print_modifier(operand.negate, operand.absolute)
        return modifier + _print(operand.number, operand.accumulator, operand.type)

    def parse(self, cursor: Cursor, names: Any) -> MacroSource:
        negate, absolute, _ = parse_modifier(cursor)
        return MacroSource(*_parse(cursor, bits.TERNARY_TYPES), negate, absolute)

    def bind(self, operand: MacroSource, builder: Gen9Builder) -> Value:
        return builder.read_macro(operand)
