"""The URB: one space of rows of 16 bytes, which all threads share.

Messages of eight slots begin with a register of handles, which count rows.  Where the descriptor
says so, a register with an offset of each slot follows, then one with the channel mask of each slot
in its high half.  Slots write or read a dword of every other register.
"""

from __future__ import annotations

from collections.abc import Sequence

from eumu.addresses import URB_SURFACE
from eumu.ir import Space, Value
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.request import REGISTER_BYTES, Lengths, MessageRequest, Slots
from eumu.types import UD

_ROW_SHIFT = 4
_SLOTS = 8


def start_of(b: InstBuilder, handle: Value, global_offset: int, slot_offset: Value | None) -> Value:
    """The byte at which each slot's data begin; handle and offsets count rows."""
    row = b.add(handle, b.const(UD, global_offset, handle.width))
    if slot_offset is not None:
        row = b.add(row, slot_offset)
    return b.shl(row, b.const(UD, _ROW_SHIFT, handle.width))


def store(
    b: InstBuilder, start: Value, dwords: Sequence[Value], mask: Value, channels: Value | None
) -> None:
    """Write dwords of each slot; bit k of its `channels` lets dword k through."""
    urb = b.const(UD, URB_SURFACE)
    if channels is None:
        b.store(Space.SURFACE, start, mask, dwords, urb)
        return
    for k, dword in enumerate(dwords):
        bit = b.and_(channels, b.const(UD, 1 << k, channels.width))
        on = b.and_(mask, b.cmp("ne", bit, b.const(UD, 0, channels.width)))
        place = b.add(start, b.const(UD, 4 * k, start.width))
        b.store(Space.SURFACE, place, on, [dword], urb)


def _payload(b: InstBuilder, request: MessageRequest) -> tuple[Slots, list[Value]]:
    """The slots, and their lanes of every register."""
    slots = Slots.of(b, request, _SLOTS)
    places = range(0, request.sent * REGISTER_BYTES, REGISTER_BYTES)
    return slots, [request.payload.read(b, place, UD, slots.count) for place in places]


def _take(request: MessageRequest, registers: list[Value], field: str) -> Value | None:
    """The next register, if the descriptor says that it is there."""
    if not request.get(field):
        return None
    if not registers:
        raise request.unsupported(f"it has no register for the {field}")
    return registers.pop(0)


def write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """A dword of every register of data for each slot."""
    slots, (handle, *rest) = _payload(b, request)
    offsets = _take(request, rest, "offset of each slot")
    masks = _take(request, rest, "channel mask")
    if masks is not None:
        masks = b.shr(masks, b.const(UD, 16, masks.width))
    if not rest:
        raise request.unsupported("it has no data")
    start = start_of(b, handle, request.get("global offset"), offsets)
    store(b, start, rest, slots.mask, masks)
    return Lengths(request.sent)


def read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The inverse: as many dwords for each slot as the answer has registers."""
    slots, (handle, *rest) = _payload(b, request)
    offsets = _take(request, rest, "offset of each slot")
    count = request.get("response length")
    if not count or rest or request.get("channel mask"):
        raise request.unsupported("this form of it is not modelled")
    start = start_of(b, handle, request.get("global offset"), offsets)
    urb = b.const(UD, URB_SURFACE)
    rows = b.load(Space.SURFACE, start, slots.mask, UD, count, urb)
    for k, dword in enumerate(rows):
        request.answer(b, k * REGISTER_BYTES, dword, slots.mask)
    return Lengths(request.sent, count)
