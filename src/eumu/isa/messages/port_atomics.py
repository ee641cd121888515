"""Atomic messages of the data ports, and fences."""

from __future__ import annotations

from typing import Final

from eumu.addresses import (
    BTI_SLM,
)
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.port_addresses import (
    FLAT,
    AddressSpace,
    addresses,
    target_of,
)
from eumu.isa.messages.request import (
    Lengths,
    MessageRequest,
    Slots,
    registers,
)
from eumu.types import UD, UQ, D, F, Q, Type

# IR operation, type of 32 bits and of 64, which operands it takes in the IR's order.
_Row = tuple[str, Type, Type, tuple[int, ...]]
_ATOMICS: Final[dict[int, _Row]] = {
    1: ("and", UD, UQ, (0,)),
    2: ("or", UD, UQ, (0,)),
    3: ("xor", UD, UQ, (0,)),
    4: ("xchg", UD, UQ, (0,)),
    5: ("inc", UD, UQ, ()),
    6: ("dec", UD, UQ, ()),
    7: ("add", UD, UQ, (0,)),
    8: ("sub", UD, UQ, (0,)),
    10: ("max", D, Q, (0,)),
    11: ("min", D, Q, (0,)),
    12: ("max", UD, UQ, (0,)),
    13: ("min", UD, UQ, (0,)),
    14: ("cmpxchg", UD, UQ, (1, 0)),
    15: ("predec", UD, UQ, ()),
}
_FLOAT_ATOMICS: Final[dict[int, _Row]] = {
    1: ("max", F, F, (0,)),
    2: ("min", F, F, (0,)),
    3: ("cmpxchg", F, F, (1, 0)),
    4: ("add", F, F, (0,)),  # as the compiler sends it
}


def _atomic(
    b: InstBuilder,
    request: MessageRequest,
    target: AddressSpace,
    room: int,
    row: _Row | None,
    wide: bool,
) -> Lengths:
    if row is None:
        raise request.unsupported("this atomic operation is not modelled")
    operation, type, sources = row[0], row[2] if wide else row[1], row[3]
    slots = Slots.of(b, request, room).of_pixels(b, request)
    address, place = addresses(b, request, target, slots)
    pitch = slots.pitch(b, type.size)
    data = [request.payload.read(b, place + k * pitch, type, slots.count) for k in sources]
    old = b.atomic(operation, target.space, address, slots.mask, type, data, target.surface)
    lengths = Lengths(registers(place + len(sources) * pitch))
    if not request.get("return data"):
        return lengths
    request.answer(b, 0, old, slots.mask)
    return Lengths(lengths.sent, registers(pitch))


def untyped_atomic(b: InstBuilder, request: MessageRequest) -> Lengths:
    """An operation on a dword of a surface for every slot."""
    room = 8 if request.get("SIMD mode") else 16
    row = _ATOMICS.get(request.get("operation"))
    return _atomic(b, request, target_of(b, request), room, row, False)


def untyped_float_atomic(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The same on a float."""
    room = 8 if request.get("SIMD mode") else 16
    row = _FLOAT_ATOMICS.get(request.get("operation"))
    return _atomic(b, request, target_of(b, request), room, row, False)


def flat_atomic(b: InstBuilder, request: MessageRequest) -> Lengths:
    """An operation on a dword or qword at a 64-bit address for each of eight slots."""
    row = _ATOMICS.get(request.get("operation"))
    return _atomic(b, request, FLAT, 8, row, bool(request.get("data size")))


def flat_float_atomic(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The same on a float."""
    return _atomic(b, request, FLAT, 8, _FLOAT_ATOMICS.get(request.get("operation")), False)


def memory_fence(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Memory is in order here; the answer that says so has no meaning.

    Local memory is in order without a fence, for which the compiler's native code has none.
    """
    index = request.get("binding table index")
    if index not in (0, BTI_SLM):
        raise request.unsupported("it is for all memory (0) or shared local memory (254)")
    b.fence("local")
    if index != BTI_SLM:
        b.fence("global")
    return Lengths(1, request.get("commit"))
