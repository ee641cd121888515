"""Messages of the data ports that move elements of their own for every slot.

The answer has a block of registers for each element.  Short elements lie in dword slots.  Registers
of the answer keep what they have in lanes that are off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eumu.ir import Value
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.port_addresses import (
    FLAT,
    AddressSpace,
    addresses,
    moved,
    target_of,
)
from eumu.isa.messages.request import (
    Lengths,
    MessageRequest,
    Slots,
    registers,
)
from eumu.types import UB, UD, UQ, UW, Type

_SIZES: Final = {0: 1, 1: 2, 2: 4}
_TYPES: Final = {1: UB, 2: UW, 4: UD, 8: UQ}


def _mode(request: MessageRequest) -> int:
    """Slots of a message whose SIMD mode has two bits."""
    room = {1: 16, 2: 8}.get(request.get("SIMD mode"))
    if room is None:
        raise request.unsupported("SIMD4x2 is not modelled")
    return room


def _load(
    b: InstBuilder,
    request: MessageRequest,
    target: AddressSpace,
    address: Value,
    slots: Slots,
    type: Type,
    channels: Sequence[int],
) -> int:
    """The elements `channels` of every slot, each of them a block of the answer; its bytes."""
    slot = UQ if type.size == 8 else UD
    place = 0
    if request.dst.root is None:
        return len(channels) * slots.pitch(b, slot.size)
    for first, count in _runs(channels):
        start = moved(b, address, first * type.size)
        for x in b.load(target.space, start, slots.mask, type, count, target.surface):
            request.answer(b, place, b.convert(x, slot), slots.mask)
            place += slots.pitch(b, slot.size)
    return place


def _store(
    b: InstBuilder,
    request: MessageRequest,
    target: AddressSpace,
    address: Value,
    slots: Slots,
    type: Type,
    channels: Sequence[int],
    place: int,
) -> Lengths:
    """The inverse; data is in the payload from byte `place` on."""
    slot = UQ if type.size == 8 else UD
    for first, count in _runs(channels):
        data = []
        for _ in range(count):
            data.append(b.convert(request.payload.read(b, place, slot, slots.count), type))
            place += slots.pitch(b, slot.size)
        start = moved(b, address, first * type.size)
        b.store(target.space, start, slots.mask, data, target.surface)
    return Lengths(registers(place))


def _runs(channels: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring channels together: (first, count)."""
    runs: list[tuple[int, int]] = []
    for channel in channels:
        if runs and sum(runs[-1]) == channel:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((channel, 1))
    return runs


def _untyped(b: InstBuilder, request: MessageRequest) -> tuple[AddressSpace, Slots, list[int]]:
    flat = request.desc >> 14 & 0x10
    target = FLAT if flat else target_of(b, request)
    off = request.get("channels off")
    slots = Slots.of(b, request, _mode(request)).of_pixels(b, request)
    return target, slots, [c for c in range(4) if not off >> c & 1]


def untyped_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Up to four dwords of every slot."""
    target, slots, channels = _untyped(b, request)
    address, sent = addresses(b, request, target, slots)
    return Lengths(
        registers(sent), registers(_load(b, request, target, address, slots, UD, channels))
    )


def untyped_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Up to four dwords of every slot."""
    target, slots, channels = _untyped(b, request)
    address, data = addresses(b, request, target, slots)
    return _store(b, request, target, address, slots, UD, channels, data)


def _byte_scattered(b: InstBuilder, request: MessageRequest) -> tuple[AddressSpace, Slots, Type]:
    size = _SIZES.get(request.get("data size"))
    if size is None:
        raise request.unsupported("its data size is reserved")
    slots = Slots.of(b, request, 16 if request.get("SIMD mode") else 8)
    return target_of(b, request), slots, _TYPES[size]


def byte_scattered_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """One byte, word or dword for every slot, at any byte address."""
    target, slots, type = _byte_scattered(b, request)
    address, sent = addresses(b, request, target, slots, scattered=True)
    return Lengths(
        registers(sent), registers(_load(b, request, target, address, slots, type, (0,)))
    )


def byte_scattered_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The inverse."""
    target, slots, type = _byte_scattered(b, request)
    address, data = addresses(b, request, target, slots, scattered=True)
    return _store(b, request, target, address, slots, type, (0,), data)


def _dword_scattered(b: InstBuilder, request: MessageRequest) -> tuple[AddressSpace, Slots]:
    room = {2: 8, 3: 16}.get(request.get("dwords"))
    if room is None:
        raise request.unsupported("its number of dwords is reserved")
    return target_of(b, request), Slots.of(b, request, room)


def dword_scattered_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """A dword for every slot; addresses count dwords."""
    target, slots = _dword_scattered(b, request)
    address, sent = addresses(b, request, target, slots, unit=4, scattered=True)
    return Lengths(registers(sent), registers(_load(b, request, target, address, slots, UD, (0,))))


def dword_scattered_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The inverse."""
    target, slots = _dword_scattered(b, request)
    address, data = addresses(b, request, target, slots, unit=4, scattered=True)
    return _store(b, request, target, address, slots, UD, (0,), data)


def _flat_scattered(b: InstBuilder, request: MessageRequest) -> tuple[Slots, Type, int]:
    """Slots, type of an element, elements of a slot; bytes of a slot are one element."""
    slots = Slots.of(b, request, 16 if request.get("SIMD mode") else 8)
    size = {0: 1, 1: 4, 2: 8}.get(request.get("data size"))
    if size is None:
        raise request.unsupported("its data size is reserved")
    count = 1 << request.get("elements")
    return (slots, _TYPES[count], 1) if size == 1 else (slots, _TYPES[size], count)


def flat_scattered_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Elements at 64-bit addresses."""
    slots, type, count = _flat_scattered(b, request)
    address, sent = addresses(b, request, FLAT, slots)
    return Lengths(
        registers(sent), registers(_load(b, request, FLAT, address, slots, type, range(count)))
    )


def flat_scattered_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The inverse."""
    slots, type, count = _flat_scattered(b, request)
    address, data = addresses(b, request, FLAT, slots)
    return _store(b, request, FLAT, address, slots, type, range(count), data)
