"""Operands of messages: payloads and descriptors."""

from __future__ import annotations

import re
from typing import Any, Final

from eumu.isa.gen9 import bits
from eumu.isa.gen9.bits import DST, SRC0, SRC1, Undecodable, Unencodable
from eumu.isa.gen9.kinds.base import InstructionSite, NativeKind, code, parse_type
from eumu.isa.gen9.kinds.destination import parse_pointer, print_pointer, sixteenths
from eumu.isa.gen9.operands import AddressWord, PayloadOperand, Pointer, Register
from eumu.isa.gen9.registers import ADDRESS_NUMBER, check_register, parse_register, print_register
from eumu.isa.kinds.cursor import Cursor
from eumu.types import UD

_DESCRIPTOR: Final = re.compile(r"0x([0-9a-fA-F]+)|a0\.(\d+)|(\d+)\b")
_SFID: Final = 0xF
_EOT: Final = 1 << 5


def _print(place: Register | Pointer) -> str:
    return print_pointer(place) if isinstance(place, Pointer) else print_register(place, None)


def _parse(cursor: Cursor, *, pointer: bool = True) -> Register | Pointer:
    start = cursor.skip()
    indirect = parse_pointer(cursor) if pointer else None
    if indirect is not None:
        return indirect
    register, element = parse_register(cursor)
    if element:
        cursor.fail("a message begins at the start of a register", start=start)
    return register


class PayloadDestinationKind(NativeKind):
    """`r13:w` or `null`: where the answer goes.  In a split message the type is always written."""

    def __init__(self, *, split: bool) -> None:
        self.file, self.split = (bits.SPLIT_DST_FILE if split else DST.file), split
        self.fixed = 0 if split else DST.hstride.put(1)

    def decode(self, word: int, site: InstructionSite) -> PayloadOperand:
        file = self.file.get(word)
        indirect = bool(DST.indirect.get(word))
        if file > bits.GRF or (indirect and (self.split or file == bits.ARF)):
            raise Undecodable("the answer of a message cannot go there")
        if indirect:
            pointer = Pointer(DST.element.get(word), DST.offset.get(word))
            return PayloadOperand(pointer, code(bits.REGISTER_TYPES, DST.type, word))
        register = Register(file == bits.ARF, DST.number.get(word))
        type = code(bits.REGISTER_TYPES, DST.type, word)
        return PayloadOperand(check_register(register, "dst"), type)

    def encode(self, operand: PayloadOperand, site: InstructionSite) -> int:
        assert operand.type is not None
        type = self.fixed | DST.type.put(bits.REGISTER_TYPES.index(operand.type))
        if isinstance(operand.place, Pointer):
            word = type | self.file.put(bits.GRF) | DST.indirect.put(1)
            word |= DST.element.put(operand.place.element)
            return word | DST.offset.put(operand.place.offset)
        word = type | self.file.put(bits.ARF if operand.place.is_arf else bits.GRF)
        return word | DST.number.put(operand.place.number)

    def print(self, operand: PayloadOperand) -> str:
        type = f":{operand.type}" if self.split or operand.type is not UD else ""
        return _print(operand.place) + type

    def parse(self, cursor: Cursor, names: Any) -> PayloadOperand:
        place = _parse(cursor, pointer=not self.split)
        return PayloadOperand(place, parse_type(cursor, bits.REGISTER_TYPES) or UD)


class PayloadSourceKind(NativeKind):
    """`r11:d`: the first register that is sent; a split message has no type here."""

    def __init__(self, *, split: bool) -> None:
        self.split = split
        self.offset = bits.SPLIT_SRC0_OFFSET if split else SRC0.offset16

    def decode(self, word: int, site: InstructionSite) -> PayloadOperand:
        type = None if self.split else code(bits.REGISTER_TYPES, SRC0.type, word)
        if not self.split and SRC0.file.get(word) != bits.GRF:
            raise Undecodable("a message is sent from general registers")
        if SRC0.indirect.get(word):
            return PayloadOperand(Pointer(SRC0.element.get(word), self.offset.get(word) * 16), type)
        return PayloadOperand(Register(False, SRC0.number.get(word)), type)

    def encode(self, operand: PayloadOperand, site: InstructionSite) -> int:
        word = 0
        if operand.type is not None:
            word |= SRC0.file.put(bits.GRF)
            word |= SRC0.type.put(bits.REGISTER_TYPES.index(operand.type))
        place = operand.place
        if isinstance(place, Pointer):
            word |= SRC0.indirect.put(1) | SRC0.element.put(place.element)
            return word | self.offset.put(sixteenths(place.offset))
        return word | SRC0.number.put(place.number)

    def print(self, operand: PayloadOperand) -> str:
        type = f":{operand.type}" if operand.type not in (None, UD) else ""
        return _print(operand.place) + type

    def parse(self, cursor: Cursor, names: Any) -> PayloadOperand:
        start = cursor.skip()
        place = _parse(cursor)
        if isinstance(place, Register) and place.is_arf:
            cursor.fail("a message is sent from general registers", start=start)
        type = parse_type(cursor, bits.REGISTER_TYPES)
        return PayloadOperand(place, None if self.split else type or UD)


class SecondPayloadKind(NativeKind):
    """`r15` or `null`: the registers that follow in a split message."""

    def decode(self, word: int, site: InstructionSite) -> PayloadOperand:
        is_arf = bits.SPLIT_SRC1_FILE.get(word) == bits.ARF
        register = Register(is_arf, bits.SPLIT_SRC1_NUMBER.get(word))
        return PayloadOperand(check_register(register, "src1"), None)

    def encode(self, operand: PayloadOperand, site: InstructionSite) -> int:
        assert isinstance(operand.place, Register)
        word = bits.SPLIT_SRC1_FILE.put(bits.ARF if operand.place.is_arf else bits.GRF)
        return word | bits.SPLIT_SRC1_NUMBER.put(operand.place.number)

    def print(self, operand: PayloadOperand) -> str:
        return _print(operand.place)

    def parse(self, cursor: Cursor, names: Any) -> PayloadOperand:
        place = _parse(cursor, pointer=False)
        parse_type(cursor, bits.REGISTER_TYPES)
        return PayloadOperand(place, None)


def _parse_descriptor(cursor: Cursor) -> int | AddressWord:
    match = cursor.need(_DESCRIPTOR, "a descriptor such as 0x02106E00 or a0.0")
    if match[2] is not None:
        return AddressWord(int(match[2]))
    return int(match[1], 16) if match[1] is not None else int(match[3])


class ExtendedDescriptorKind(NativeKind):
    """`0x8C`: shared function, end of thread, length of the second payload, and more."""

    def __init__(self, *, split: bool) -> None:
        self.split = split

    def decode(self, word: int, site: InstructionSite) -> int | AddressWord:
        if self.split and bits.SPLIT_EXTENDED_INDIRECT.get(word):
            return AddressWord(bits.SPLIT_EXTENDED_ELEMENT.get(word))
        value = bits.CONDITION.get(word) | (_EOT if bits.EOT.get(word) else 0)
        if self.split:
            length, rest = bits.SPLIT_LENGTH.get(word), bits.SPLIT_EXTENDED.get(word)
            return value | length << 6 | rest << 16
        if site.is_gen8:
            return value
        return value | bits.EXTENDED.get(word) << 16

    def encode(self, operand: int | AddressWord, site: InstructionSite) -> int:
        if isinstance(operand, AddressWord):
            if not self.split:
                raise Unencodable("only a split message reads its extended descriptor from a0")
            word = bits.SPLIT_EXTENDED_INDIRECT.put(1)
            return word | bits.SPLIT_EXTENDED_ELEMENT.put(operand.element)
        word = bits.CONDITION.put(operand & _SFID) | bits.EOT.put(bool(operand & _EOT))
        if self.split:
            word |= bits.SPLIT_LENGTH.put(operand >> 6 & 0xF) | bits.SPLIT_EXTENDED.put(
                operand >> 16
            )
            rest = operand & 0xFFFF & ~(_SFID | _EOT | 0xF << 6)
        else:
            word |= bits.EXTENDED.put(operand >> 16)
            rest = operand & 0xFFFF & ~(_SFID | _EOT)
        if rest:
            raise Unencodable(f"bits {rest:#x} of the extended descriptor have no place")
        return word

    def print(self, operand: int | AddressWord) -> str:
        return f"a0.{operand.element}" if isinstance(operand, AddressWord) else f"0x{operand:X}"

    def parse(self, cursor: Cursor, names: Any) -> int | AddressWord:
        return _parse_descriptor(cursor)


class DescriptorKind(NativeKind):
    """`0x04205E00`, or `a0.0`: what the message is."""

    def __init__(self, *, split: bool) -> None:
        self.split = split

    def decode(self, word: int, site: InstructionSite) -> int | AddressWord:
        if self.split:
            indirect = bool(bits.SPLIT_INDIRECT.get(word))
        else:
            file = SRC1.file.get(word)
            if file not in (bits.ARF, bits.IMMEDIATE):
                raise Undecodable(f"{SRC1.file}: a descriptor is an immediate or a0")
            indirect = file == bits.ARF
        return AddressWord(0) if indirect else bits.DESCRIPTOR.get(word)

    def encode(self, operand: int | AddressWord, site: InstructionSite) -> int:
        if isinstance(operand, AddressWord):
            if operand.element:
                raise Unencodable(f"a descriptor can be a0.0, not a0.{operand.element}")
            return bits.SPLIT_INDIRECT.put(1) if self.split else SRC1.number.put(ADDRESS_NUMBER)
        word = bits.DESCRIPTOR.put(operand)
        return word if self.split else word | SRC1.file.put(bits.IMMEDIATE)

    def print(self, operand: int | AddressWord) -> str:
        return f"a0.{operand.element}" if isinstance(operand, AddressWord) else f"0x{operand:08X}"

    def parse(self, cursor: Cursor, names: Any) -> int | AddressWord:
        return _parse_descriptor(cursor)
