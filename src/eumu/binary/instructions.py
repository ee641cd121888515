"""Instructions as bytes: walks the slots that each opcode declares, and knows none by name."""

from __future__ import annotations

from typing import Any

from eumu.errors import InternalError
from eumu.isa.kinds.bytes import EncodeError, Packer, Unpacker
from eumu.isa.spec import LayoutSlot, Opcode, Registry
from eumu.program import Inst


class InstructionReader:
    """Reads the instructions of one registry."""

    def __init__(self, registry: Registry) -> None:
        self._families: dict[int, _Family] = {}
        for opcode in registry:
            if opcode.slots is None:
                continue
            self._families.setdefault(opcode.number, _Family(opcode)).add(opcode)

    def read(self, source: Unpacker) -> Inst:
        """The instruction at the current position."""
        at = source.pos
        number = source.u8("an opcode")
        family = self._families.get(number)
        if family is None:
            source.fail(f"opcode {number:#04x} is not known", at)
        return family.read(source)


class _Family:
    """The opcodes of one number: they differ in their sub-opcode, and in nothing before it."""

    def __init__(self, first: Opcode) -> None:
        self._first = first
        self._by_sub: dict[int, Opcode] = {}
        slots = first.slots or ()
        place = next((k for k, slot in enumerate(slots) if slot.sub_bits), len(slots))
        self._before = slots[:place]
        self._sub_bits = slots[place].sub_bits if place < len(slots) else 0

    def add(self, opcode: Opcode) -> None:
        if opcode.sub is not None:
            self._by_sub[opcode.sub] = opcode

    def read(self, source: Unpacker) -> Inst:
        opcode = self._first
        operands: dict[str, Any] = {}
        parts: dict[str, dict[str, Any]] = {}
        for slot in self._before:
            _read_slot(source, slot, operands, parts)
        if self._sub_bits:
            opcode = self._choose(source)
        for slot in (opcode.slots or ())[len(self._before) :]:
            _read_slot(source, slot, operands, parts)
        for name, codes in parts.items():
            field = opcode.field(name)
            assert field is not None
            operands[name] = field.kind.join(codes)
        return Inst(opcode, tuple(operands.get(f.name, f.kind.default) for f in opcode.fields))

    def _choose(self, source: Unpacker) -> Opcode:
        """The opcode whose sub-opcode comes next; leaves its byte to be read."""
        at = source.need(1, "a sub-opcode")
        source.pos = at
        sub = source.data[at] & self._sub_bits
        if sub not in self._by_sub:
            source.fail(f"opcode {self._first.number:#04x} has no sub-opcode {sub:#04x}", at)
        return self._by_sub[sub]


def _read_slot(
    source: Unpacker, slot: LayoutSlot, operands: dict[str, Any], parts: dict[str, dict[str, Any]]
) -> None:
    if slot.above is not None and source.version <= slot.above:
        return
    if slot.constant:
        source.zero(slot.constant)
        return
    if slot.sub_bits:
        source.hide(slot.sub_bits)
        if slot.field is None:
            at = source.pos
            if rest := source.u8():
                source.fail(f"a sub-opcode has the bits {rest:#04x} too", at)
            return
    field = slot.field
    assert field is not None
    if slot.code:
        codes = parts.setdefault(field.name, {})
        codes[slot.code] = field.kind.unpack_code(slot.code, source, codes)
    else:
        operands[field.name] = field.kind.unpack(source)


def pack_instruction(inst: Inst, out: Packer) -> None:
    """Write one instruction; raises EncodeError where it has no binary form."""
    opcode = inst.opcode
    if opcode.slots is None:
        raise EncodeError(f"no document describes the binary form of {opcode}")
    out.u8(opcode.number)
    placed = set()
    for slot in opcode.slots:
        if slot.field is not None:
            placed.add(slot.field.name)
        if slot.constant:
            if slot.above is None or out.version > slot.above:
                out.data += slot.constant
            continue
        start = len(out.data)
        if slot.field is not None:
            _pack_field(inst, slot, out)
        if slot.sub_bits:
            _add_sub(opcode, slot, out, start)
    for field in opcode.fields:
        if field.name not in placed and inst.operands[field.index] != field.kind.default:
            raise EncodeError(f"the object file has no place for {field.name} of {opcode}")


def _pack_field(inst: Inst, slot: LayoutSlot, out: Packer) -> None:
    field = slot.field
    assert field is not None
    operand = inst.operands[field.index]
    if slot.above is not None and out.version <= slot.above:
        if slot.code:
            left_out = field.kind.left_out(slot.code, operand)
        else:
            left_out = operand == field.kind.default
        if not left_out:
            version, what = ".".join(map(str, out.version)), f"{slot.code} of {field.name}"
            raise EncodeError(f"version {version} has no place for {what.removeprefix(' of ')}")
    elif slot.code:
        field.kind.pack_code(slot.code, operand, out)
    else:
        field.kind.pack(operand, out)


def _add_sub(opcode: Opcode, slot: LayoutSlot, out: Packer, start: int) -> None:
    if opcode.sub is None or opcode.sub & ~slot.sub_bits:
        raise InternalError(f"{opcode}: the sub-opcode does not fit its bits")
    if slot.field is None:
        out.u8(opcode.sub)
    elif out.data[start] & slot.sub_bits:
        raise InternalError(f"{opcode}: {slot.field.name} uses the bits of the sub-opcode")
    else:
        out.data[start] |= opcode.sub
