"""Destinations of instructions with one or two sources."""

from __future__ import annotations

import re
from typing import Any, Final

from eumu.isa.gen9 import bits
from eumu.isa.gen9.bits import DST, Undecodable, Unencodable
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.kinds.base import InstructionSite, NativeKind, code, need_type, parse_type
from eumu.isa.gen9.operands import Destination, Pointer, Register
from eumu.isa.gen9.registers import check_register, parse_register, print_register
from eumu.isa.kinds import WritePlace
from eumu.isa.kinds.cursor import Cursor
from eumu.types import D, Type

_POINTER: Final = re.compile(r"r\[\s*a0\.(\d+)\s*(?:,\s*(-?\d+)\s*)?\]")
_STRIDE: Final = re.compile(r"<(\d+)>")
_CHANNELS: Final = re.compile(r"\.([xyzw]{1,4}|none)(?![\w.])")


def print_pointer(pointer: Pointer) -> str:
    """`r[a0.3,64]`."""
    return f"r[a0.{pointer.element}{f',{pointer.offset}' if pointer.offset else ''}]"


def parse_pointer(cursor: Cursor) -> Pointer | None:
    """`r[a0.3,64]`, if it comes next."""
    match = cursor.match(_POINTER)
    return match and Pointer(int(match[1]), int(match[2] or 0))


def subregister(cursor: Cursor, place: Register, element: int, type: Type, start: int) -> Register:
    """The register with its subregister in bytes."""
    byte = element * type.size
    if byte >= 32:
        cursor.fail(f"subregister {element} of :{type} lies behind the register", start=start)
    return Register(place.is_arf, place.number, byte)


def channel_names(channels: int) -> str:
    """`.xw` for 0b1001."""
    return "." + ("".join(c for k, c in enumerate("xyzw") if channels >> k & 1) or "none")


def parse_channels(cursor: Cursor) -> int | None:
    """`.xw`, if it comes right here."""
    match = cursor.adjacent(_CHANNELS)
    return None if match is None else sum(1 << k for k, c in enumerate("xyzw") if c in match[1])


def print_saturate(saturate: bool) -> str:
    return "(sat)" if saturate else ""


class DestinationKind(NativeKind):
    """`(sat)r12.0<1>:d`, `r[a0.0,32]<1>:f`; in Align16 mode channels follow, `r1.0<1>.xy:f`."""

    def __init__(self, *, saturates: bool = True) -> None:
        self.saturates = saturates

    def decode(self, word: int, site: InstructionSite) -> Destination:
        type = code(bits.REGISTER_TYPES, DST.type, word)
        aligned16 = bool(bits.ACCESS_MODE.get(word))
        hstride = bits.HSTRIDES[DST.hstride.get(word)]
        channels = DST.channels.get(word) if aligned16 else None
        place = self._place(word, aligned16)
        return Destination(place, hstride, type, self._saturate(word), channels)

    def _saturate(self, word: int) -> bool:
        return self.saturates and bool(bits.SATURATE.get(word))

    def _place(self, word: int, aligned16: bool) -> Register | Pointer:
        file = DST.file.get(word)
        if DST.indirect.get(word):
            if file != bits.GRF:
                raise Undecodable(f"an indirect destination has {DST.file} {file}")
            offset = DST.offset16.get(word) * 16 if aligned16 else DST.offset.get(word)
            return Pointer(DST.element.get(word), offset)
        if file > bits.GRF:
            raise Undecodable(f"{DST.file} has the reserved code {file}")
        byte = DST.half.get(word) * 16 if aligned16 else DST.byte.get(word)
        return check_register(Register(file == bits.ARF, DST.number.get(word), byte), "dst")

    def encode(self, operand: Destination, site: InstructionSite) -> int:
        word = DST.type.put(bits.REGISTER_TYPES.index(operand.type))
        word |= DST.hstride.put(bits.HSTRIDES.index(operand.hstride))
        word |= bits.SATURATE.put(operand.saturate)
        aligned16 = operand.channels is not None
        if operand.channels is not None:
            word |= DST.channels.put(operand.channels)
        place = operand.place
        if isinstance(place, Pointer):
            word |= DST.file.put(bits.GRF) | DST.indirect.put(1) | DST.element.put(place.element)
            return word | (
                DST.offset16.put(sixteenths(place.offset))
                if aligned16
                else DST.offset.put(place.offset)
            )
        word |= DST.file.put(bits.ARF if place.is_arf else bits.GRF) | DST.number.put(place.number)
        return word | (DST.half.put(place.byte >> 4) if aligned16 else DST.byte.put(place.byte))

    def print(self, operand: Destination) -> str:
        place = operand.place
        name = (
            print_pointer(place)
            if isinstance(place, Pointer)
            else print_register(place, operand.type)
        )
        channels = "" if operand.channels is None else channel_names(operand.channels)
        return (
            f"{print_saturate(operand.saturate)}{name}<{operand.hstride}>{channels}:{operand.type}"
        )

    def parse(self, cursor: Cursor, names: Any) -> Destination:
        saturate = self.saturates and cursor.take("(sat)")
        start = cursor.skip()
        place: Register | Pointer | None = parse_pointer(cursor)
        element = 0
        if place is None:
            place, element = parse_register(cursor)
        stride = cursor.adjacent(_STRIDE)
        hstride = int(stride[1]) if stride else 1
        if hstride not in bits.HSTRIDES:
            cursor.fail(f"horizontal stride {hstride} is not one of 0, 1, 2, 4", start=start)
        channels = parse_channels(cursor)
        type = need_type(cursor, bits.REGISTER_TYPES)
        if isinstance(place, Register):
            place = subregister(cursor, place, element, type, start)
        return Destination(place, hstride, type, saturate, channels)

    def bind(self, operand: Destination, builder: Gen9Builder) -> WritePlace:
        return builder.destination(operand)


class LinkKind(DestinationKind):
    """Where a call puts the return address: `r5.4`, whose type is :d unless it is written."""

    def print(self, operand: Destination) -> str:
        stride = f"<{operand.hstride}>" if operand.hstride != 1 else ""
        type = f":{operand.type}" if operand.type is not D else ""
        place = operand.place
        if isinstance(place, Pointer):
            return print_pointer(place) + stride + type
        return print_register(place, operand.type) + stride + type

    def parse(self, cursor: Cursor, names: Any) -> Destination:
        start = cursor.skip()
        place: Register | Pointer | None = parse_pointer(cursor)
        element = 0
        if place is None:
            place, element = parse_register(cursor)
        stride = cursor.adjacent(_STRIDE)
        hstride = int(stride[1]) if stride else 1
        if hstride not in bits.HSTRIDES:
            cursor.fail(f"horizontal stride {hstride} is not one of 0, 1, 2, 4", start=start)
        type = parse_type(cursor, bits.REGISTER_TYPES) or D
        if isinstance(place, Register):
            place = subregister(cursor, place, element, type, start)
        return Destination(place, hstride, type)

    def bind(self, operand: Destination, builder: Gen9Builder) -> WritePlace:
        return builder.link(operand)


def sixteenths(offset: int) -> int:
    """An address offset in units of 16 bytes."""
    if offset % 16:
        raise Unencodable(f"address offset {offset} is not a multiple of 16 in Align16 mode")
    return offset // 16
