"""What messages of the data ports address: which memory, and where each slot's element lies.

A payload is a header where the descriptor says so, then a block of registers with the addresses of
all slots, then a block for each element of data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from eumu.addresses import (
    BTI_SLM,
    BTI_STATELESS,
    BTI_STATELESS_NON_COHERENT,
    SLM_POINTER_BIT,
)
from eumu.ir import Region, Space, Value
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.descriptor import Message
from eumu.isa.messages.request import (
    Lengths,
    MessageRequest,
    Slots,
)
from eumu.records import dataclass
from eumu.types import UD, UQ, Type


@dataclass(frozen=True, slots=True)
class AddressSpace:
    """An address space, and in SURFACE the index of the surface (one ud lane).

    With `base`, one uq lane, addresses of 32 bits count from there; `start`, one ud lane, is the
    address at which the space begins.
    """

    space: Space
    surface: Value | None = None
    base: Value | None = None
    start: Value | None = None

    @property
    def type(self) -> Type:
        """Of an address in a message."""
        return UQ if self.space is Space.FLAT and self.base is None else UD

    def addresses(self, b: InstBuilder, lanes: Value) -> Value:
        if self.base is not None:
            return b.add(b.convert(lanes, UQ), b.splat(self.base, lanes.width))
        if self.start is not None:
            return b.sub(lanes, b.splat(self.start, lanes.width))
        if self.space is not Space.SLM:
            return lanes
        return b.and_(lanes, b.const(UD, ~SLM_POINTER_BIT, lanes.width))


FLAT: Final = AddressSpace(Space.FLAT)
_STATELESS: Final = (BTI_STATELESS, BTI_STATELESS_NON_COHERENT)
BUFFER: Final = 5  # the dword of a header with an offset from General State Base Address
SCRATCH_BASE: Final = 0xFFFF_FC00  # its bits
_BLOCKS: Final = frozenset({0x00, 0x01, 0x03})
_COUNT_DWORDS: Final = frozenset({(4, 0x03), (9, 0x03), (10, 0x03), (10, 0x0B)})
# Messages with a binding table index and 32-bit addresses, by shared function.
_INDEXED: Final = {
    4: _BLOCKS,
    9: _BLOCKS,
    10: _BLOCKS | {0x04, 0x08, 0x0B, 0x0C},
    12: frozenset({0x01, 0x02, 0x09, 0x1B}),
}


def target_of(b: InstBuilder, request: MessageRequest) -> AddressSpace:
    """What the binding-table index names."""
    if request.surface is not None:
        return AddressSpace(Space.SURFACE, request.surface)
    index = request.get("binding table index")
    if index == BTI_SLM:
        return AddressSpace(Space.SLM)
    if index in _STATELESS:
        if request.general is not None:
            return AddressSpace(Space.FLAT, base=request.general)
        return AddressSpace(Space.SCRATCH, start=request.scratch)
    return AddressSpace(Space.SURFACE, b.const(UD, index))


def is_stateless(message: Message) -> bool:
    """Whether a message has 32-bit stateless addresses, if its descriptor names the surface."""
    wanted = _INDEXED.get(message.sfid, frozenset())
    return (
        message.get("message type") in wanted and message.get("binding table index") in _STATELESS
    )


def stateless(
    b: InstBuilder, request: MessageRequest, route: Callable[[InstBuilder, MessageRequest], Lengths]
) -> Lengths:
    """A message with 32-bit stateless addresses, from General State Base Address on.

    A header has one more offset, in whole kilobytes.  Where that is the thread's own, from r0.5,
    the addresses are in its scratch space.  Without a header code adds r0.5 itself: then they are
    where one of them is.
    """
    assert b.general_state is not None
    base = b.read(b.general_state, Region.scalar(0), UQ, 1)
    scratch = scratch_offset(b)
    if request.header:
        buffer = b.and_(request.header_dword(b, BUFFER), b.const(UD, SCRATCH_BASE))
        is_there = b.cmp("ne", scratch, b.const(UD, 0))
        is_scratch = b.and_(b.cmp("eq", buffer, scratch), is_there)
        own, general = request, b.add(base, b.convert(buffer, UQ))
    else:
        is_scratch = _reaches_scratch(b, request, scratch)
        own, general = replace(request, scratch=scratch), base
    with b.only_where(is_scratch):
        route(b, own)
    with b.only_where(b.not_(is_scratch)):
        return route(b, replace(request, general=general))


def _reaches_scratch(b: InstBuilder, request: MessageRequest, scratch: Value) -> Value:
    """Whether an address that takes part is in the thread's scratch space."""
    assert b.general_state is not None
    lanes = request.payload.read(b, 0, UD, b.width)
    if (request.message.sfid, request.message.get("message type")) in _COUNT_DWORDS:
        lanes = b.mul(lanes, b.const(UD, 4, b.width))
    size = b.read(b.general_state, Region.scalar(12), UD, 1)
    inside = b.cmp("lt", b.sub(lanes, b.splat(scratch, b.width)), b.splat(size, b.width))
    return b.any(b.and_(inside, b.mask))


def scratch_offset(b: InstBuilder) -> Value:
    assert b.general_state is not None
    return b.read(b.general_state, Region.scalar(8), UD, 1)


def moved(b: InstBuilder, address: Value, step: int) -> Value:
    """An address some bytes further on."""
    return b.add(address, b.const(address.type, step, address.width)) if step else address


GLOBAL_OFFSET: Final = 2  # the dword of the header that moves all slots of a scattered message


def addresses(
    b: InstBuilder,
    request: MessageRequest,
    target: AddressSpace,
    slots: Slots,
    unit: int = 1,
    *,
    scattered: bool = False,
) -> tuple[Value, int]:
    """Byte addresses of the slots, and where the data begin in the payload.

    The header of a `scattered` message moves all of them; it counts what the offsets count.
    """
    type = target.type
    lanes = request.payload.read(b, request.header, type, slots.count)
    if scattered and request.header:
        offset = b.convert(request.header_dword(b, GLOBAL_OFFSET), type)
        lanes = b.add(lanes, b.splat(offset, slots.count))
    if unit > 1:
        lanes = b.mul(lanes, b.const(type, unit, lanes.width))
    return target.addresses(b, lanes), request.header + slots.pitch(b, type.size)
