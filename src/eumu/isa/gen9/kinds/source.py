"""Sources of instructions with one or two of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from eumu.ir import Value
from eumu.isa.gen9 import bits
from eumu.isa.gen9.bits import SourceBits, Undecodable
from eumu.isa.gen9.builder import Gen9Builder
from eumu.isa.gen9.kinds.base import InstructionSite, NativeKind, code, need_type, parse_type
from eumu.isa.gen9.kinds.destination import (
    parse_pointer,
    print_pointer,
    sixteenths,
    subregister,
)
from eumu.isa.gen9.kinds.immediates import match_number, parse_constant, print_constant
from eumu.isa.gen9.operands import Constant, NativeSource, Pointer, Region, Register
from eumu.isa.gen9.registers import check_register, parse_register, print_register
from eumu.isa.kinds.cursor import Cursor
from eumu.types import BOOL, UD, Q, Type

SCALAR: Final = Region(0, 1, 0)

_MODIFIER: Final = re.compile(r"(~|-)?(\(abs\))?")
_REGION: Final = re.compile(r"<(\d+);(\d+),(\d+)>|<(\d+),(\d+)>|<(\d+)>")
_SWIZZLE: Final = re.compile(r"\.([xyzw]{4})(?![\w.])")


def decode_place(field: SourceBits, word: int, *, aligned16: bool) -> Register | Pointer:
    """The register or pointer of a source."""
    file = field.file.get(word)
    if field.indirect.get(word):
        if file != bits.GRF:
            raise Undecodable(f"an indirect source has {field.file} {file}")
        offset = field.offset16.get(word) * 16 if aligned16 else field.offset.get(word)
        return Pointer(field.element.get(word), offset)
    if file > bits.GRF:
        raise Undecodable(f"{field.file} has the code {file}, which cannot stand here")
    byte = field.half.get(word) * 16 if aligned16 else field.byte.get(word)
    register = Register(file == bits.ARF, field.number.get(word), byte)
    return check_register(register, field.number.name.split()[0])


def encode_place(field: SourceBits, place: Register | Pointer, *, aligned16: bool) -> int:
    """The bits of a register or pointer."""
    if isinstance(place, Pointer):
        word = field.file.put(bits.GRF) | field.indirect.put(1) | field.element.put(place.element)
        if aligned16:
            return word | field.offset16.put(sixteenths(place.offset))
        return word | field.offset.put(place.offset)
    word = field.file.put(bits.ARF if place.is_arf else bits.GRF) | field.number.put(place.number)
    return word | (field.half.put(place.byte >> 4) if aligned16 else field.byte.put(place.byte))


def decode_region(field: SourceBits, word: int, *, aligned16: bool) -> Region:
    """The region; in Align16 mode its vertical stride."""
    number = field.vstride.get(word)
    if number != bits.PER_ROW and number >= len(bits.VSTRIDES):
        raise Undecodable(f"{field.vstride} has the reserved code {number}")
    vstride = None if number == bits.PER_ROW else bits.VSTRIDES[number]
    if aligned16:
        return Region(vstride, 1, 0)
    width = code(bits.WIDTHS, field.width, word)
    return Region(vstride, width, bits.HSTRIDES[field.hstride.get(word)])


def encode_region(field: SourceBits, region: Region, *, aligned16: bool) -> int:
    """The bits of a region."""
    vstride = bits.PER_ROW if region.vstride is None else bits.VSTRIDES.index(region.vstride)
    word = field.vstride.put(vstride)
    if aligned16:
        return word
    word |= field.width.put(bits.WIDTHS.index(region.width))
    return word | field.hstride.put(bits.HSTRIDES.index(region.hstride))


def print_modifier(negate: bool, absolute: bool, sign: str = "-") -> str:
    """`-(abs)`; `sign` is what negation alone is written as."""
    if absolute:
        return "-(abs)" if negate else "(abs)"
    return sign if negate else ""


def parse_modifier(cursor: Cursor) -> tuple[bool, bool, bool]:
    """Whether negated, absolute, and whether negation was written `~`."""
    match = cursor.match(_MODIFIER)
    assert match is not None
    return bool(match[1]), bool(match[2]), match[1] == "~"


class SourceKind(NativeKind):
    """`-(abs)r12.0<8;8,1>:f`, `r[a0.0,32]<1,0>:d`, an immediate if it is the `last` source.

    In Align16 mode `r1.0<4>.xyzw:f`.  In a `logic` instruction negation is `~`, all bits inverted.
    Channels use those of `neighbours` too, so that all are read, whatever the mask.  A `wide`
    negated unsigned dword has 33 bits (PRM volume 7, Accumulator Registers): Intel's finalizer
    takes it for the 64 bits that it was converted to.
    """

    def __init__(
        self,
        field: SourceBits,
        *,
        last: bool,
        only: bool = False,
        logic: bool = False,
        modifiers: bool = True,
        neighbours: bool = False,
        wide: bool = False,
    ) -> None:
        """The `only` source has room for an immediate of 64 bits."""
        self.field, self.last, self.only = field, last, only
        self.logic, self.modifiers, self.neighbours = logic, modifiers, neighbours
        self.wide = wide

    def decode(self, word: int, site: InstructionSite) -> NativeSource | Constant:
        field = self.field
        if self.last and field.file.get(word) == bits.IMMEDIATE:
            return self._constant(word)
        aligned16 = bool(bits.ACCESS_MODE.get(word))
        place = decode_place(field, word, aligned16=aligned16)
        type = code(bits.REGISTER_TYPES, field.type, word)
        region = decode_region(field, word, aligned16=aligned16)
        negate = self.modifiers and bool(field.negate.get(word))
        absolute = self.modifiers and bool(field.absolute.get(word))
        swizzle = field.swizzle.get(word) if aligned16 else None
        return NativeSource(place, region, type, negate, absolute, swizzle)

    def _constant(self, word: int) -> Constant:
        type = code(bits.IMMEDIATE_TYPES, self.field.type, word)
        if type in bits.SPLIT_TYPES:
            if not self.only:
                raise Undecodable(f"an immediate :{type} fits an instruction with one source only")
            return Constant(bits.IMMEDIATE_64.get(word), type)
        value = bits.IMMEDIATE_32.get(word)
        return Constant(value & 0xFFFF if type.size == 2 else value, type)

    def encode(self, operand: NativeSource | Constant, site: InstructionSite) -> int:
        field = self.field
        if isinstance(operand, Constant):
            word = field.file.put(bits.IMMEDIATE)
            word |= field.type.put(bits.IMMEDIATE_TYPES.index(operand.type))
            if operand.type in bits.SPLIT_TYPES:
                return word | bits.IMMEDIATE_64.put(operand.bits)
            # Both halves, as the compiler writes it.
            twice = 0x10001 if operand.type.size == 2 else 1
            return word | bits.IMMEDIATE_32.put(operand.bits * twice)
        aligned16 = operand.swizzle is not None
        word = field.type.put(bits.REGISTER_TYPES.index(operand.type))
        word |= encode_place(field, operand.place, aligned16=aligned16)
        word |= encode_region(field, operand.region, aligned16=aligned16)
        if operand.swizzle is not None:
            word |= field.swizzle.put(operand.swizzle)
        return word | field.negate.put(operand.negate) | field.absolute.put(operand.absolute)

    def print(self, operand: NativeSource | Constant) -> str:
        if isinstance(operand, Constant):
            return print_constant(operand)
        sign = "~" if self.logic else "-"
        modifier = print_modifier(operand.negate, operand.absolute, sign)
        return f"{modifier}{print_place(operand)}{_region(operand)}:{operand.type}"

    def parse(self, cursor: Cursor, names: Any) -> NativeSource | Constant:
        start = cursor.skip()
        number = match_number(cursor)
        if number is not None:
            return self._parse_constant(cursor, number)
        negate, absolute, inverted = parse_modifier(cursor)
        if inverted != (self.logic and negate and not absolute):
            cursor.fail(f"'{'~' if inverted else '-'}' cannot stand here", start=start)
        if (negate or absolute) and not self.modifiers:
            cursor.fail("sources of this instruction have no modifiers", start=start)
        start = cursor.skip()
        place: Register | Pointer | None = parse_pointer(cursor)
        element = 0
        if place is None:
            place, element = parse_register(cursor)
        region, swizzle = _parse_region(cursor)
        type = need_type(cursor, bits.REGISTER_TYPES)
        if isinstance(place, Register):
            place = subregister(cursor, place, element, type, start)
        return NativeSource(place, region, type, negate, absolute, swizzle)

    def _parse_constant(self, cursor: Cursor, number: re.Match[str]) -> Constant:
        if not self.last:
            cursor.fail("only the last source may be an immediate", start=number.start())
        type = need_type(cursor, bits.IMMEDIATE_TYPES)
        if type in bits.SPLIT_TYPES and not self.only:
            message = f"an immediate :{type} fits an instruction with one source only"
            cursor.fail(message, start=number.start())
        return parse_constant(cursor, number, type)

    def bind(self, operand: NativeSource | Constant, builder: Gen9Builder) -> Value:
        if (
            self.wide
            and operand.type is UD
            and isinstance(operand, NativeSource)
            and operand.negate
        ):
            plain = builder.read_source(replace(operand, negate=False), neighbours=self.neighbours)
            return builder.neg(builder.convert(plain, Q))
        return builder.read_source(operand, logic=self.logic, neighbours=self.neighbours)


class ElementsKind(SourceKind):
    """A source that is read as consecutive elements from its origin on, whatever its region.

    `count` of them, or (0) two for each channel.
    """

    def __init__(self, field: SourceBits, *, last: bool, count: int) -> None:
        super().__init__(field, last=last, modifiers=count > 0)
        self.count = count

    def bind(self, operand: NativeSource | Constant, builder: Gen9Builder) -> Value:
        return builder.elements(operand, self.count or 2 * builder.width)


class LaneMaskKind(SourceKind):
    """A source whose bits say which channels are on; the body gets a mask."""

    def bind(self, operand: NativeSource | Constant, builder: Gen9Builder) -> Value:
        width = builder.width
        if isinstance(operand, Constant):
            return builder.const(BOOL, [operand.bits >> k & 1 for k in range(width)], width)
        word = builder.slice(builder.read_source(operand), 0, 1)
        return builder.bits_mask(builder.convert(word, UD), width)


class ImplicitSourceKind(SourceKind):
    """A source of a branch, `r5.4`: its region is fixed and its type :d unless it is written."""

    def __init__(self, field: SourceBits, region: Region, type: Type) -> None:
        super().__init__(field, last=False)
        self.region, self.type = region, type

    def decode(self, word: int, site: InstructionSite) -> NativeSource:
        source = super().decode(word, site)
        assert isinstance(source, NativeSource)
        return replace(source, region=self.region)

    def print(self, operand: NativeSource | Constant) -> str:
        assert isinstance(operand, NativeSource)
        type = "" if operand.type is self.type else f":{operand.type}"
        modifier = print_modifier(operand.negate, operand.absolute)
        return f"{modifier}{print_place(operand)}{type}"

    def parse(self, cursor: Cursor, names: Any) -> NativeSource:
        negate, absolute, _ = parse_modifier(cursor)
        start = cursor.skip()
        place: Register | Pointer | None = parse_pointer(cursor)
        element = 0
        if place is None:
            place, element = parse_register(cursor)
        type = parse_type(cursor, bits.REGISTER_TYPES) or self.type
        if isinstance(place, Register):
            place = subregister(cursor, place, element, type, start)
        return NativeSource(place, self.region, type, negate, absolute)


def print_place(source: NativeSource) -> str:
    """The register or pointer of a source."""
    if isinstance(source.place, Pointer):
        return print_pointer(source.place)
    return print_register(source.place, source.type)


def _region(source: NativeSource) -> str:
    region = source.region
    if source.swizzle is not None:
        vstride = bits.PER_ROW if region.vstride is None else region.vstride
        return f"<{vstride}>{print_swizzle(source.swizzle)}"
    if region.vstride is None:
        return f"<{region.width},{region.hstride}>"
    return f"<{region.vstride};{region.width},{region.hstride}>"


def print_swizzle(swizzle: int) -> str:
    """`.xyzw` for 0b11_10_01_00."""
    return "." + "".join("xyzw"[swizzle >> 2 * k & 3] for k in range(4))


def parse_swizzle(cursor: Cursor) -> int | None:
    """`.xyzw`, if it comes right here."""
    match = cursor.adjacent(_SWIZZLE)
    return None if match is None else sum("xyzw".index(c) << 2 * k for k, c in enumerate(match[1]))


def _parse_region(cursor: Cursor) -> tuple[Region, int | None]:
    match = cursor.adjacent(_REGION)
    if match is None:
        return Region(1, 1, 0), None  # what the assembler takes for a source without a region
    v, w, h, w_of_row, h_of_row, v16 = (None if g is None else int(g) for g in match.groups())
    if v16 is not None:
        swizzle = parse_swizzle(cursor)
        if swizzle is None:
            cursor.fail("expected a swizzle such as .xyzw after an Align16 region")
        region = Region(None if v16 == bits.PER_ROW else v16, 1, 0)
    else:
        swizzle = None
        width, hstride = (w, h) if w is not None else (w_of_row, h_of_row)
        assert width is not None and hstride is not None
        region = Region(v, width, hstride)
    if (
        region.vstride not in (None, *bits.VSTRIDES)
        or region.width not in bits.WIDTHS
        or region.hstride not in bits.HSTRIDES
    ):
        cursor.fail(f"'{match.group()}' is no region", start=match.start())
    return region, swizzle
