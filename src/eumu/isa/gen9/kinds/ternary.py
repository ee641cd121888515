"""Operands of instructions with three sources."""

from __future__ import annotations

import re
from typing import Any, Final

from eumu.ir import Value
from eumu.isa.gen9 import bits
from eumu.isa.gen9.bits import TERNARY, Unencodable
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.kinds.base import InstructionSite, NativeKind, code, need_type
from eumu.isa.gen9.kinds.control import scalar_channels
from eumu.isa.gen9.kinds.destination import (
    channel_names,
    parse_channels,
    print_saturate,
    subregister,
)
from eumu.isa.gen9.kinds.source import (
    parse_modifier,
    parse_swizzle,
    print_modifier,
    print_swizzle,
)
from eumu.isa.gen9.operands import Register, TernaryDestination, TernarySource
from eumu.isa.gen9.registers import parse_register
from eumu.isa.kinds import WritePlace
from eumu.isa.kinds.cursor import Cursor
from eumu.types import DF, HF, F, Type

_STRAIGHT: Final = 0b11_10_01_00
_ALL: Final = 0b1111
_DF_ELEMENTS: Final = (0b01_00_01_00, 0b11_10_11_10)  # .xyxy, .zwzw


def source_type(word: int, index: int) -> Type:
    """The type of a source; HF may be said of src1 and src2 each."""
    type = code(bits.TERNARY_TYPES, bits.TERNARY_SOURCE_TYPE, word)
    half = TERNARY[index].half
    if half is None or type not in (F, HF):
        return type
    return HF if half.get(word) else F


def encode_source_type(type: Type, index: int) -> int:
    """The bits of a source's type; those that all sources share go with src0."""
    half = TERNARY[index].half
    if half is None:
        return bits.TERNARY_SOURCE_TYPE.put(bits.TERNARY_TYPES.index(type))
    return half.put(type is HF)


def general(cursor: Cursor) -> tuple[Register, int]:
    """A general register; no other file can stand here."""
    start = cursor.skip()
    register, element = parse_register(cursor)
    if register.is_arf:
        cursor.fail("an instruction with three sources has general registers only", start=start)
    return register, element


class TernaryDestinationKind(NativeKind):
    """`(sat)r12.0<1>:f`; `r12.0<1>.xy:f` where not all channels are enabled."""

    def __init__(self, *, saturates: bool = True) -> None:
        self.saturates = saturates

    def decode(self, word: int, site: InstructionSite) -> TernaryDestination:
        type = code(bits.TERNARY_TYPES, bits.TERNARY_DST_TYPE, word)
        byte = bits.TERNARY_DST_DWORD.get(word) * 4
        channels: int | None = bits.TERNARY_CHANNELS.get(word)
        scalar = scalar_channels(word)
        if scalar:
            byte += 4 * ((scalar & -scalar).bit_length() - 1)
        elif channels == _ALL and bits.EXEC_SIZE.get(word):
            channels = None
        number = bits.TERNARY_DST_NUMBER.get(word)
        saturate = self.saturates and bool(bits.SATURATE.get(word))
        return TernaryDestination(
            number, byte, type, saturate, None if scalar else channels, bool(scalar)
        )

    def encode(self, operand: TernaryDestination, site: InstructionSite) -> int:
        word = bits.TERNARY_DST_TYPE.put(bits.TERNARY_TYPES.index(operand.type))
        word |= bits.TERNARY_DST_NUMBER.put(operand.number) | bits.SATURATE.put(operand.saturate)
        byte = operand.byte
        if operand.scalar:
            wide = operand.type is DF
            word |= bits.EXEC_SIZE.put(1 if wide else 2)
            word |= bits.TERNARY_CHANNELS.put((3 if wide else 1) << byte % 16 // 4)
            byte -= byte % 16
        else:
            channels = _ALL if operand.channels is None else operand.channels
            word |= bits.TERNARY_CHANNELS.put(channels)
        if byte % 4:
            raise Unencodable(f"byte {byte} of a register is not at a dword")
        return word | bits.TERNARY_DST_DWORD.put(byte // 4)

    def print(self, operand: TernaryDestination) -> str:
        name = f"r{operand.number}.{operand.byte // operand.type.size}"
        channels = "" if operand.channels is None else channel_names(operand.channels)
        return f"{print_saturate(operand.saturate)}{name}<1>{channels}:{operand.type}"

    def parse(self, cursor: Cursor, names: Any) -> TernaryDestination:
        saturate = self.saturates and cursor.take("(sat)")
        start = cursor.skip()
        register, element = general(cursor)
        cursor.adjacent(re.compile(r"<1>"))
        channels = parse_channels(cursor)
        type = need_type(cursor, bits.TERNARY_TYPES)
        byte = subregister(cursor, register, element, type, start).byte
        scalar = channels is None and names.known["exec"].size == 1
        return TernaryDestination(register.number, byte, type, saturate, channels, scalar)

    def bind(self, operand: TernaryDestination, builder: Gen9Builder) -> WritePlace:
        return builder.ternary_destination(operand)


class TernarySourceKind(NativeKind):
    """`-r12.0<2;1>:f` (src2: `<1>`); replicated `r12.3<0;0>:f` (src2: `<0>`).

    A swizzle other than .xyzw follows the region.  An element of DF is spread by a swizzle of its
    two halves, not by the bit that spreads others.
    """

    _region: Final = re.compile(r"<(?:(2);1|(0);0|(1)|(0))>")

    def __init__(self, index: int, *, modifiers: bool = True) -> None:
        self.index, self.field, self.modifiers = index, TERNARY[index], modifiers

    def decode(self, word: int, site: InstructionSite) -> TernarySource:
        field = self.field
        type = source_type(word, self.index)
        byte, swizzle = field.word.get(word) * 2, field.swizzle.get(word)
        replicate = bool(field.replicate.get(word))
        if type is DF and swizzle in _DF_ELEMENTS and not replicate and byte % 16 == 0:
            byte += 8 * _DF_ELEMENTS.index(swizzle)
            replicate = True
        return TernarySource(
            field.number.get(word),
            byte,
            type,
            replicate,
            self.modifiers and bool(field.negate.get(word)),
            self.modifiers and bool(field.absolute.get(word)),
            _STRAIGHT if replicate else swizzle,
        )

    def encode(self, operand: TernarySource, site: InstructionSite) -> int:
        field = self.field
        if operand.byte % 2:
            raise Unencodable(f"byte {operand.byte} of a register is not at a word")
        byte, replicate, swizzle = operand.byte, operand.replicate, operand.swizzle
        if replicate and operand.type is DF:
            replicate, swizzle = False, _DF_ELEMENTS[byte // 8 % 2]
            byte -= byte % 16
        word = field.number.put(operand.number) | field.word.put(byte // 2)
        word |= field.replicate.put(replicate) | field.swizzle.put(swizzle)
        word |= field.negate.put(operand.negate) | field.absolute.put(operand.absolute)
        return word | encode_source_type(operand.type, self.index)

    def print(self, operand: TernarySource) -> str:
        modifier = print_modifier(operand.negate, operand.absolute)
        name = f"r{operand.number}.{operand.byte // operand.type.size}"
        if self.index == 2:
            region = "<0>" if operand.replicate else "<1>"
        else:
            region = "<0;0>" if operand.replicate else "<2;1>"
        swizzle = "" if operand.swizzle == _STRAIGHT else print_swizzle(operand.swizzle)
        return f"{modifier}{name}{region}{swizzle}:{operand.type}"

    def parse(self, cursor: Cursor, names: Any) -> TernarySource:
        start = cursor.skip()
        negate, absolute, _ = parse_modifier(cursor)
        if (negate or absolute) and not self.modifiers:
            cursor.fail("sources of this instruction have no modifiers", start=start)
        start = cursor.skip()
        register, element = general(cursor)
        region = cursor.need(self._region, "a region such as <2;1> or <0;0> (src2: <1> or <0>)")
        if (self.index == 2) != (region[3] is not None or region[4] is not None):
            cursor.fail(f"src{self.index} cannot have the region {region.group()}", start=start)
        swizzle = parse_swizzle(cursor)
        type = need_type(cursor, bits.TERNARY_TYPES)
        byte = subregister(cursor, register, element, type, start).byte
        replicate = region[2] is not None or region[4] is not None
        order = _STRAIGHT if swizzle is None else swizzle
        return TernarySource(register.number, byte, type, replicate, negate, absolute, order)

    def bind(self, operand: TernarySource, builder: Gen9Builder) -> Value:
        return builder.ternary_source(operand)
