"""Messages of the data ports: memory.

A payload is a header where the descriptor says so, then a block of registers with the addresses of
all slots, then a block for each element of data.  The answer has a block for each element.  Short
elements lie in dword slots.  Registers of the answer keep what they have in lanes that are off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from eumu.addresses import (
    BTI_SLM,
    BTI_STATELESS,
    BTI_STATELESS_NON_COHERENT,
    SLM_POINTER_BIT,
)
from eumu.ir import Region, Space, Value
from eumu.isa.kinds import Meaning
from eumu.isa.messages.descriptor import Message
from eumu.isa.messages.request import (
    Lengths,
    Request,
    Slots,
    every,
    registers,
)
from eumu.types import UB, UD, UQ, UW, D, F, Q, Type

_OWORD, _HWORD = 16, 32
_SIZES: Final = {0: 1, 1: 2, 2: 4}
_TYPES: Final = {1: UB, 2: UW, 4: UD, 8: UQ}


@dataclass(frozen=True, slots=True)
class Target:
    """An address space, and in SURFACE the index of the surface (one ud lane).

    With `base`, one uq lane, addresses of 32 bits count from there.
    """

    space: Space
    surface: Value | None = None
    base: Value | None = None

    @property
    def type(self) -> Type:
        """Of an address in a message."""
        return UQ if self.space is Space.FLAT and self.base is None else UD

    def addresses(self, b: Meaning, lanes: Value) -> Value:
        if self.base is not None:
            return b.add(b.convert(lanes, UQ), b.splat(self.base, lanes.width))
        if self.space is not Space.SLM:
            return lanes
        return b.and_(lanes, b.const(UD, ~SLM_POINTER_BIT, lanes.width))


_FLAT: Final = Target(Space.FLAT)
_STATELESS: Final = (BTI_STATELESS, BTI_STATELESS_NON_COHERENT)
_BUFFER: Final = 5  # the dword of a header with an offset from General State Base Address
_SCRATCH_BASE: Final = 0xFFFF_FC00  # its bits
_BLOCKS: Final = frozenset({0x00, 0x01, 0x03})
# Messages with a binding table index and 32-bit addresses, by shared function.
_INDEXED: Final = {
    4: _BLOCKS,
    9: _BLOCKS,
    10: _BLOCKS | {0x04, 0x08, 0x0B, 0x0C},
    12: frozenset({0x01, 0x02, 0x09, 0x1B}),
}


def _target(b: Meaning, request: Request) -> Target:
    """What the binding-table index names."""
    if request.surface is not None:
        return Target(Space.SURFACE, request.surface)
    index = request.get("binding table index")
    if index == BTI_SLM:
        return Target(Space.SLM)
    if index in _STATELESS:
        if request.general is not None:
            return Target(Space.FLAT, base=request.general)
        return Target(Space.SCRATCH)
    return Target(Space.SURFACE, b.const(UD, index))


def is_stateless(message: Message) -> bool:
    """Whether a message has 32-bit stateless addresses, if its descriptor names the surface."""
    wanted = _INDEXED.get(message.sfid, frozenset())
    return (
        message.get("message type") in wanted and message.get("binding table index") in _STATELESS
    )


def stateless(
    b: Meaning, request: Request, route: Callable[[Meaning, Request], Lengths]
) -> Lengths:
    """A message with 32-bit stateless addresses, from General State Base Address on.

    A header has one more offset, in whole kilobytes.  Where that is the thread's own, from r0.5,
    the addresses are in its scratch space.
    """
    assert b.general_state is not None
    base = b.read(b.general_state, Region.scalar(0), UQ, 1)
    if not request.header:
        return route(b, replace(request, general=base))
    buffer = b.and_(request.header_dword(b, _BUFFER), b.const(UD, _SCRATCH_BASE))
    scratch = _scratch_offset(b)
    is_there = b.cmp("ne", scratch, b.const(UD, 0))
    is_scratch = b.and_(b.cmp("eq", buffer, scratch), is_there)
    with b.only_where(is_scratch):
        route(b, request)
    with b.only_where(b.not_(is_scratch)):
        return route(b, replace(request, general=b.add(base, b.convert(buffer, UQ))))


def _scratch_offset(b: Meaning) -> Value:
    assert b.general_state is not None
    return b.read(b.general_state, Region.scalar(8), UD, 1)


def _mode(request: Request) -> int:
    """Slots of a message whose SIMD mode has two bits."""
    room = {1: 16, 2: 8}.get(request.get("SIMD mode"))
    if room is None:
        raise request.unsupported("SIMD4x2 is not modelled")
    return room


# ---- elements side by side


def _load(
    b: Meaning,
    request: Request,
    target: Target,
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
        start = _at(b, address, first * type.size)
        for x in b.load(target.space, start, slots.mask, type, count, target.surface):
            request.answer(b, place, b.convert(x, slot), slots.mask)
            place += slots.pitch(b, slot.size)
    return place


def _store(
    b: Meaning,
    request: Request,
    target: Target,
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
        start = _at(b, address, first * type.size)
        b.store(target.space, start, slots.mask, data, target.surface)
    return Lengths(registers(place))


def _runs(channels: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring channels together: (first, count)."""
    found: list[tuple[int, int]] = []
    for channel in channels:
        if found and sum(found[-1]) == channel:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((channel, 1))
    return found


def _at(b: Meaning, address: Value, step: int) -> Value:
    return b.add(address, b.const(address.type, step, address.width)) if step else address


_GLOBAL_OFFSET: Final = 2  # the dword of the header that moves all slots of a scattered message


def _addresses(
    b: Meaning,
    request: Request,
    target: Target,
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
        moved = b.convert(request.header_dword(b, _GLOBAL_OFFSET), type)
        lanes = b.add(lanes, b.splat(moved, slots.count))
    if unit > 1:
        lanes = b.mul(lanes, b.const(type, unit, lanes.width))
    return target.addresses(b, lanes), request.header + slots.pitch(b, type.size)


def _untyped(b: Meaning, request: Request) -> tuple[Target, Slots, list[int]]:
    flat = request.desc >> 14 & 0x10
    target = _FLAT if flat else _target(b, request)
    off = request.get("channels off")
    slots = Slots.of(b, _mode(request)).of_pixels(b, request)
    return target, slots, [c for c in range(4) if not off >> c & 1]


def untyped_read(b: Meaning, request: Request) -> Lengths:
    """Up to four dwords of every slot."""
    target, slots, channels = _untyped(b, request)
    address, sent = _addresses(b, request, target, slots)
    return Lengths(
        registers(sent), registers(_load(b, request, target, address, slots, UD, channels))
    )


def untyped_write(b: Meaning, request: Request) -> Lengths:
    """Up to four dwords of every slot."""
    target, slots, channels = _untyped(b, request)
    address, data = _addresses(b, request, target, slots)
    return _store(b, request, target, address, slots, UD, channels, data)


def _byte_scattered(b: Meaning, request: Request) -> tuple[Target, Slots, Type]:
    size = _SIZES.get(request.get("data size"))
    if size is None:
        raise request.unsupported("its data size is reserved")
    slots = Slots.of(b, 16 if request.get("SIMD mode") else 8)
    return _target(b, request), slots, _TYPES[size]


def byte_scattered_read(b: Meaning, request: Request) -> Lengths:
    """One byte, word or dword for every slot, at any byte address."""
    target, slots, type = _byte_scattered(b, request)
    address, sent = _addresses(b, request, target, slots, scattered=True)
    return Lengths(
        registers(sent), registers(_load(b, request, target, address, slots, type, (0,)))
    )


def byte_scattered_write(b: Meaning, request: Request) -> Lengths:
    """The inverse."""
    target, slots, type = _byte_scattered(b, request)
    address, data = _addresses(b, request, target, slots, scattered=True)
    return _store(b, request, target, address, slots, type, (0,), data)


def _dword_scattered(b: Meaning, request: Request) -> tuple[Target, Slots]:
    room = {2: 8, 3: 16}.get(request.get("dwords"))
    if room is None:
        raise request.unsupported("its number of dwords is reserved")
    return _target(b, request), Slots.of(b, room)


def dword_scattered_read(b: Meaning, request: Request) -> Lengths:
    """A dword for every slot; addresses count dwords."""
    target, slots = _dword_scattered(b, request)
    address, sent = _addresses(b, request, target, slots, unit=4, scattered=True)
    return Lengths(registers(sent), registers(_load(b, request, target, address, slots, UD, (0,))))


def dword_scattered_write(b: Meaning, request: Request) -> Lengths:
    """The inverse."""
    target, slots = _dword_scattered(b, request)
    address, data = _addresses(b, request, target, slots, unit=4, scattered=True)
    return _store(b, request, target, address, slots, UD, (0,), data)


def _flat_scattered(b: Meaning, request: Request) -> tuple[Slots, Type, int]:
    """Slots, type of an element, elements of a slot; bytes of a slot are one element."""
    slots = Slots.of(b, 16 if request.get("SIMD mode") else 8)
    size = {0: 1, 1: 4, 2: 8}.get(request.get("data size"))
    if size is None:
        raise request.unsupported("its data size is reserved")
    count = 1 << request.get("elements")
    return (slots, _TYPES[count], 1) if size == 1 else (slots, _TYPES[size], count)


def flat_scattered_read(b: Meaning, request: Request) -> Lengths:
    """Elements at 64-bit addresses."""
    slots, type, count = _flat_scattered(b, request)
    address, sent = _addresses(b, request, _FLAT, slots)
    return Lengths(
        registers(sent), registers(_load(b, request, _FLAT, address, slots, type, range(count)))
    )


def flat_scattered_write(b: Meaning, request: Request) -> Lengths:
    """The inverse."""
    slots, type, count = _flat_scattered(b, request)
    address, data = _addresses(b, request, _FLAT, slots)
    return _store(b, request, _FLAT, address, slots, type, range(count), data)


# ---- blocks


def _owords(request: Request) -> tuple[int, int]:
    """Owords of a block, and at which byte of the registers they begin."""
    size = request.get("block size")
    count = (1, 1, 2, 4, 8)[size] if size < 5 else 0
    if not count:
        raise request.unsupported("its block size is reserved")
    return count, _OWORD * (size == 1)


def _block_read(
    b: Meaning, request: Request, target: Target, address: Value, count: int, place: int
) -> Lengths:
    lengths = Lengths(1, registers(place + count))
    if request.dst.root is not None:
        mask = every(b)
        data = b.load_block(target.space, address, mask, UD, count // 4, target.surface)
        request.answer(b, place, data, b.splat(mask, count // 4))
    return lengths


def _block_write(
    b: Meaning, request: Request, target: Target, address: Value, count: int, place: int
) -> Lengths:
    data = request.payload.read(b, request.header + place, UD, count // 4)
    b.store_block(target.space, address, every(b), data, target.surface)
    return Lengths(1 + registers(place + count))


def _global_offset(b: Meaning, request: Request, target: Target, unit: int) -> Value:
    offset = request.header_dword(b, _GLOBAL_OFFSET)
    if unit > 1:
        offset = b.mul(offset, b.const(UD, unit))
    return target.addresses(b, offset)


def oword_block_read(b: Meaning, request: Request) -> Lengths:
    """Owords from an offset that counts owords; the execution mask plays no part in blocks."""
    target, (count, place) = _target(b, request), _owords(request)
    address = _global_offset(b, request, target, _OWORD)
    return _block_read(b, request, target, address, count * _OWORD, place)


def unaligned_oword_block_read(b: Meaning, request: Request) -> Lengths:
    """Owords from a byte offset."""
    target, (count, place) = _target(b, request), _owords(request)
    address = _global_offset(b, request, target, 1)
    return _block_read(b, request, target, address, count * _OWORD, place)


def oword_block_write(b: Meaning, request: Request) -> Lengths:
    """Owords to an offset that counts owords."""
    target, (count, place) = _target(b, request), _owords(request)
    address = _global_offset(b, request, target, _OWORD)
    return _block_write(b, request, target, address, count * _OWORD, place)


def _flat_block(b: Meaning, request: Request) -> tuple[Value, int, int]:
    if request.get("block") > 1:
        raise request.unsupported("only blocks of consecutive owords are modelled")
    count, place = _owords(request)
    return request.payload.read(b, 0, UQ, 1), count * _OWORD, place


def flat_block_read(b: Meaning, request: Request) -> Lengths:
    """Owords from the 64-bit address in the header."""
    address, count, place = _flat_block(b, request)
    return _block_read(b, request, _FLAT, address, count, place)


def flat_block_write(b: Meaning, request: Request) -> Lengths:
    """Owords to the 64-bit address in the header."""
    address, count, place = _flat_block(b, request)
    return _block_write(b, request, _FLAT, address, count, place)


def scratch_block(b: Meaning, request: Request, *, write: bool) -> Lengths:
    """Registers to or from the thread's scratch space, as many as the descriptor says.

    In dword mode channel k has dword k of each register, of each two registers where there are
    sixteen channels; the compiler writes what it spills in divergent code that way.
    """
    base = b.and_(request.header_dword(b, _BUFFER), b.const(UD, _SCRATCH_BASE))
    if b.general_state is not None:
        base = b.sub(base, _scratch_offset(b))
    address = _at(b, base, request.get("hword offset") * _HWORD)
    count = _HWORD << request.get("hwords")
    if request.get("channel mode"):
        return _masked_block(b, request, address, count, write=write)
    move = _block_write if write else _block_read
    return move(b, request, Target(Space.SCRATCH), address, count, 0)


def _masked_block(
    b: Meaning, request: Request, address: Value, count: int, *, write: bool
) -> Lengths:
    """A scratch block of which each channel has a dword in every register, or in every two."""
    width = min(b.width, 16)
    if width < 8:
        raise request.unsupported("in dword mode it has eight or sixteen channels")
    pitch = 4 * width
    step = b.shl(b.iota(UD, width), b.const(UD, 2, width))
    mask = b.slice(b.mask, 0, width)
    for place in range(0, count, pitch):
        lanes = min(width, (count - place) // 4)
        start = b.add(b.splat(address, lanes), b.slice(step, 0, lanes))
        start, on = _at(b, start, place), b.slice(mask, 0, lanes)
        if write:
            data = request.payload.read(b, request.header + place, UD, lanes)
            b.store(Space.SCRATCH, start, on, [data])
        else:
            (found,) = b.load(Space.SCRATCH, start, on, UD, 1)
            request.answer(b, place, found, on)
    return Lengths(1 + registers(count)) if write else Lengths(1, registers(count))


# ---- atomics

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
    b: Meaning, request: Request, target: Target, room: int, row: _Row | None, wide: bool
) -> Lengths:
    if row is None:
        raise request.unsupported("this atomic operation is not modelled")
    operation, type, sources = row[0], row[2] if wide else row[1], row[3]
    slots = Slots.of(b, room).of_pixels(b, request)
    address, place = _addresses(b, request, target, slots)
    pitch = slots.pitch(b, type.size)
    data = [request.payload.read(b, place + k * pitch, type, slots.count) for k in sources]
    old = b.atomic(operation, target.space, address, slots.mask, type, data, target.surface)
    lengths = Lengths(registers(place + len(sources) * pitch))
    if not request.get("return data"):
        return lengths
    request.answer(b, 0, old, slots.mask)
    return Lengths(lengths.sent, registers(pitch))


def untyped_atomic(b: Meaning, request: Request) -> Lengths:
    """An operation on a dword of a surface for every slot."""
    room = 8 if request.get("SIMD mode") else 16
    row = _ATOMICS.get(request.get("operation"))
    return _atomic(b, request, _target(b, request), room, row, False)


def untyped_float_atomic(b: Meaning, request: Request) -> Lengths:
    """The same on a float."""
    room = 8 if request.get("SIMD mode") else 16
    row = _FLOAT_ATOMICS.get(request.get("operation"))
    return _atomic(b, request, _target(b, request), room, row, False)


def flat_atomic(b: Meaning, request: Request) -> Lengths:
    """An operation on a dword or qword at a 64-bit address for each of eight slots."""
    row = _ATOMICS.get(request.get("operation"))
    return _atomic(b, request, _FLAT, 8, row, bool(request.get("data size")))


def flat_float_atomic(b: Meaning, request: Request) -> Lengths:
    """The same on a float."""
    return _atomic(b, request, _FLAT, 8, _FLOAT_ATOMICS.get(request.get("operation")), False)


def memory_fence(b: Meaning, request: Request) -> Lengths:
    """Memory is in order here; the answer that says so has no meaning."""
    index = request.get("binding table index")
    if index not in (0, BTI_SLM):
        raise request.unsupported("it is for all memory (0) or shared local memory (254)")
    b.fence("local" if index == BTI_SLM else "global")
    return Lengths(1, request.get("commit"))
