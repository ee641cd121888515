"""The bytes of vector and raw operands, predicates and execution sizes.

A vector operand begins with a tag: its class in the low three bits, its modifier in the next three
(saturation is a modifier of the destination).  Source: vISA page "Operands", and the tag
encoding of the object file.
"""

from __future__ import annotations

from typing import Any

from eumu.isa.kinds.bytes import EncodeError, Packer, Unpacker
from eumu.isa.kinds.operands import (
    AddressOf,
    AddressOperand,
    ExecSize,
    General,
    Immediate,
    Indirect,
    Predicate,
    PredicateOperand,
    Raw,
    StateOperand,
)
from eumu.isa.kinds.variables import (
    AddressVariable,
    Declared,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from eumu.types import BF, BOOL, DF, HF, UB, UD, UQ, UV, UW, VF, B, D, F, Q, Type, V, W

# Codes of the element types, in order.
TYPE_CODES = (UD, D, UW, W, UB, B, DF, F, V, VF, BOOL, UQ, UV, Q, HF, BF)

_GENERAL, _ADDRESS, _PREDICATE, _INDIRECT, _IMMEDIATE, _STATE = 0, 1, 2, 3, 5, 6
_MODIFIERS = ("", "abs", "-", "-abs", ".sat", "~")
_ELEMENTS = (8, 16, 1)
_COMBINE = ("", "any", "all")
_STATES: tuple[type[Declared], ...] = (SurfaceVariable, SamplerVariable)

# Classes of variables, in order of their codes.
VARIABLE_CLASSES: tuple[type[Declared], ...] = (
    *(Variable, AddressVariable, PredicateVariable),
    *(SurfaceVariable, SamplerVariable),
)

# Codes of strides and widths; 0 says that there is none.
_STRIDES = (None, 0, 1, 2, 4, 8, 16, 32)
_NO_REGION = 0


# ---- execution size, predicate, raw operand


def pack_exec(operand: ExecSize, out: Packer) -> None:
    mask = operand.offset // 4 + 8 * operand.nomask
    out.u8((operand.size.bit_length() - 1) | mask << 4)


def pack_elements(operand: ExecSize, out: Packer) -> None:
    """The execution size of `gather` and `scatter`, which have 1, 8 or 16 lanes."""
    if operand.size not in _ELEMENTS:
        raise EncodeError(f"execution size {operand.size} is not one of 1, 8, 16")
    out.u8(_ELEMENTS.index(operand.size) | (operand.offset // 4 + 8 * operand.nomask) << 4)


def unpack_elements(source: Unpacker) -> ExecSize:
    at = source.pos
    byte = source.u8("an execution size")
    if byte & 15 >= len(_ELEMENTS):
        source.fail(f"the number of elements has code {byte & 15}", at)
    return _exec(_ELEMENTS[byte & 15], byte >> 4, source, at)


def unpack_exec(source: Unpacker) -> ExecSize:
    at = source.pos
    byte = source.u8("an execution size")
    return _exec(1 << (byte & 15), byte >> 4, source, at)


def _exec(size: int, mask: int, source: Unpacker, at: int) -> ExecSize:
    offset = 4 * (mask & 7)
    if offset + size > 32:
        source.fail(f"execution size {size} from lane {offset} on passes lane 31", at)
    return ExecSize(size, offset, mask > 7)


def pack_predicate(operand: Predicate | None, out: Packer) -> None:
    if operand is None:
        out.u16(0)
        return
    number = _predicate_number(operand.variable, out)
    out.u16(number | _COMBINE.index(operand.combine) << 13 | operand.invert << 15)


def _predicate_number(variable: PredicateVariable, out: Packer) -> int:
    number = out.variable(variable)
    if number > 0xFFF:
        raise EncodeError(f"predicate {number} does not fit the object file's 12 bits")
    return number


def unpack_predicate(source: Unpacker) -> Predicate | None:
    at = source.pos
    bits = source.u16("a predicate")
    if bits == 0:
        return None
    combine = bits >> 13 & 3
    if bits & 0x1000 or combine == 3:
        source.fail(f"{bits:#06x} is no predicate", at)
    variable = source.variable(PredicateVariable, bits & 0xFFF, at)
    return Predicate(variable, bool(bits >> 15), _COMBINE[combine])


def pack_raw(operand: Raw, out: Packer) -> None:
    out.u32(out.variable(operand.variable) if operand.variable else 0)
    out.u16(operand.offset, "offset")


def unpack_raw(source: Unpacker) -> Raw:
    at = source.pos
    number, offset = source.u32("a raw operand"), source.u16("a raw operand")
    if number == 0 and offset == 0:
        return Raw(None)
    return Raw(source.variable(Variable, number, at), offset)


# ---- vector operands


def pack_source(operand: Any, out: Packer, *, address: bool = False) -> None:
    """A source; an `address` one is `&V`, which has no class of its own."""
    if isinstance(operand, AddressOf):
        if not address:
            raise EncodeError("the object file has '&variable' in addr_add only")
        _pack_address_of(operand, out)
        return
    if address and isinstance(operand, General):
        raise EncodeError(f"'{operand.variable.name}' here would be read as its address")
    _pack(operand, out, _source_region)


def pack_destination(operand: Any, out: Packer) -> None:
    _pack(operand, out, lambda o: _STRIDES.index(o.hstride) << 8)


def _source_region(operand: General | Indirect) -> int:
    vstride, width = _STRIDES.index(operand.vstride), _STRIDES.index(operand.width)
    return vstride | width << 4 | _STRIDES.index(operand.hstride) << 8


def _pack(operand: Any, out: Packer, region: Any) -> None:
    modifier = ".sat" if getattr(operand, "saturate", False) else getattr(operand, "modifier", "")
    tag = _MODIFIERS.index(modifier) << 3
    match operand:
        case General():
            out.u8(tag | _GENERAL)
            out.u32(out.variable(operand.variable))
            out.u8(operand.row, "row")
            out.u8(operand.col, "column")
            out.u16(region(operand))
        case AddressOperand():
            out.u8(tag | _ADDRESS)
            out.u16(out.variable(operand.variable))
            out.u8(operand.element, "element")
            out.u8(operand.width.bit_length() - 1)
        case PredicateOperand():
            out.u8(tag | _PREDICATE)
            out.u16(_predicate_number(operand.variable, out))
        case Indirect():
            out.u8(tag | _INDIRECT)
            out.u16(out.variable(operand.address))
            out.u8(operand.element, "element")
            out.number("h", operand.offset, "offset")
            out.u8(TYPE_CODES.index(operand.type))
            out.u16(region(operand))
        case Immediate():
            out.u8(_IMMEDIATE)
            out.u8(TYPE_CODES.index(operand.type))
            out.number("Q" if operand.type.size == 8 else "I", operand.bits, "immediate")
        case StateOperand():
            _pack_state(operand.variable, operand.element, tag, out)


def _pack_state(variable: Declared, element: int, tag: int, out: Packer) -> None:
    out.u8(tag | _STATE)
    out.u8(_STATES.index(type(variable)))
    out.u16(out.variable(variable))
    out.u8(element, "element")


def _pack_address_of(operand: AddressOf, out: Packer) -> None:
    """`&V[n]` is the operand V(row,col)<0;1,0> whose first byte has offset n."""
    variable = operand.variable
    if not isinstance(variable, Variable):
        _pack_state(variable, operand.offset, 0, out)
        return
    row, rest = divmod(operand.offset, out.grf_bytes)
    col, odd = divmod(rest, variable.type.size)
    if odd:
        raise EncodeError(f"&{variable.name}[{operand.offset}] is not at an element")
    _pack(General(variable, row, col, 0, 1, 0), out, _source_region)


def unpack_source(source: Unpacker, *, address: bool = False) -> Any:
    """A source; where an `address` is expected, class 0 is `&V`."""
    at = source.pos
    tag = source.u8("an operand")
    modifier = tag >> 3
    if modifier not in (0, 1, 2, 3, 5) or (modifier and tag & 7 not in (_GENERAL, _INDIRECT)):
        source.fail(f"modifier {modifier} of a source", at)
    match tag & 7:
        case 0:
            variable, row, col = _unpack_general(source)
            vstride, width, hstride = _unpack_region(source)
            if vstride is None:
                source.fail("the region of a source has no vertical stride", source.pos - 2)
            if address:
                return AddressOf(variable, row * source.grf_bytes + col * variable.type.size)
            return General(variable, row, col, vstride, width, hstride, _MODIFIERS[modifier])
        case 3:
            place = _unpack_indirect(source)
            return Indirect(*place[:3], *_unpack_region(source), place[3], _MODIFIERS[modifier])
        case 5:
            return _unpack_immediate(source)
        case 6:
            state, element = _unpack_state(source)
            return AddressOf(state, element) if address else StateOperand(state, element)
    return _unpack_other(source, tag, at, saturate=False)


def unpack_destination(source: Unpacker) -> Any:
    at = source.pos
    tag = source.u8("an operand")
    if tag >> 3 not in (0, 4):
        source.fail(f"modifier {tag >> 3} of a destination", at)
    saturate = bool(tag >> 3)
    match tag & 7:
        case 0:
            variable, row, col = _unpack_general(source)
            return General(variable, row, col, 0, 1, _unpack_hstride(source), "", saturate)
        case 3:
            place = _unpack_indirect(source)
            return Indirect(*place[:3], 0, 1, _unpack_hstride(source), place[3], "", saturate)
        case 6:
            return StateOperand(*_unpack_state(source), saturate)
    return _unpack_other(source, tag, at, saturate=saturate)


def _unpack_other(source: Unpacker, tag: int, at: int, *, saturate: bool) -> Any:
    if tag & 7 == _ADDRESS:
        variable = source.variable(AddressVariable, source.u16("an address operand"), at + 1)
        element, code = source.u8("an address operand"), source.u8("an address operand")
        if code > 4:
            source.fail(f"the width of an address operand has code {code}", source.pos - 1)
        return AddressOperand(variable, element, 1 << code, saturate)
    if tag & 7 == _PREDICATE:
        number = source.u16("a predicate operand")
        return PredicateOperand(source.variable(PredicateVariable, number, at + 1), saturate)
    source.fail(f"operand class {tag & 7} cannot stand here", at)


def _unpack_general(source: Unpacker) -> tuple[Variable, int, int]:
    at = source.pos
    variable = source.variable(Variable, source.u32("a general operand"), at)
    return variable, source.u8("a row"), source.u8("a column")


def _unpack_indirect(source: Unpacker) -> tuple[AddressVariable, int, int, Type]:
    at = source.pos
    address = source.variable(AddressVariable, source.u16("an indirect operand"), at)
    element, offset = source.u8("an indirect operand"), source.i16("an indirect operand")
    type = source.code(TYPE_CODES, "the type of an indirect operand")
    if type.size == 0:
        source.fail(f"an indirect operand cannot have type {type}", source.pos - 1)
    return address, element, offset, type


def _unpack_immediate(source: Unpacker) -> Immediate:
    type = source.code(TYPE_CODES, "the type of an immediate")
    return Immediate(source.u64() if type.size == 8 else source.u32(), type)


def _unpack_state(source: Unpacker) -> tuple[Declared, int]:
    kind = source.code(_STATES, "the class of a state operand")
    at = source.pos
    variable: Declared = source.variable(kind, source.u16("a state operand"), at)
    return variable, source.u8("a state operand")


def _unpack_region(source: Unpacker) -> tuple[int | None, int, int]:
    """Vertical stride (None: an address per row), width, horizontal stride."""
    at = source.pos
    bits = source.u16("a region")
    codes = [bits >> shift & 15 for shift in (0, 4, 8)]
    if bits >> 12 or max(codes) > 7:
        source.fail(f"region {bits:#06x} has a stride without a meaning", at)
    vstride, width, hstride = (_STRIDES[code] for code in codes)
    if not width or width > 16 or hstride is None or hstride > 4:
        source.fail(f"region {bits:#06x} has width {width} and horizontal stride {hstride}", at)
    return vstride, width, hstride


def _unpack_hstride(source: Unpacker) -> int:
    at = source.pos
    bits = source.u16("a region")
    hstride = _STRIDES[bits >> 8] if bits >> 8 < len(_STRIDES) else None
    if bits & 0xFF != _NO_REGION or not hstride or hstride > 4:
        source.fail(f"{bits:#06x} is no region of a destination", at)
    return hstride
