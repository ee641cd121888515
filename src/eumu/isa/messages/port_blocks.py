"""Messages of the data ports that move registers to or from consecutive bytes."""

from __future__ import annotations

from typing import Final

from eumu.ir import Space, Value
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.port_addresses import (
    BUFFER,
    FLAT,
    GLOBAL_OFFSET,
    SCRATCH_BASE,
    AddressSpace,
    moved,
    scratch_offset,
    target_of,
)
from eumu.isa.messages.request import (
    Lengths,
    MessageRequest,
    every,
    registers,
)
from eumu.types import UD, UQ

_OWORD, _HWORD = 16, 32
_HWORDS: Final = 3  # a kind of flat blocks


def _owords(request: MessageRequest) -> tuple[int, int]:
    """Owords of a block, and at which byte of the registers they begin."""
    size = request.get("block size")
    count = (1, 1, 2, 4, 8)[size] if size < 5 else 0
    if not count:
        raise request.unsupported("its block size is reserved")
    return count, _OWORD * (size == 1)


def _block_read(
    b: InstBuilder,
    request: MessageRequest,
    target: AddressSpace,
    address: Value,
    count: int,
    place: int,
) -> Lengths:
    lengths = Lengths(1, registers(place + count))
    if request.dst.root is not None:
        mask = every(b)
        data = b.load_block(target.space, address, mask, UD, count // 4, target.surface)
        request.answer(b, place, data, b.splat(mask, count // 4))
    return lengths


def _block_write(
    b: InstBuilder,
    request: MessageRequest,
    target: AddressSpace,
    address: Value,
    count: int,
    place: int,
) -> Lengths:
    data = request.payload.read(b, request.header + place, UD, count // 4)
    b.store_block(target.space, address, every(b), data, target.surface)
    return Lengths(1 + registers(place + count))


def _global_offset(
    b: InstBuilder, request: MessageRequest, target: AddressSpace, unit: int
) -> Value:
    offset = request.header_dword(b, GLOBAL_OFFSET)
    if unit > 1:
        offset = b.mul(offset, b.const(UD, unit))
    return target.addresses(b, offset)


def oword_block_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Owords from an offset that counts owords; the execution mask plays no part in blocks."""
    target, (count, place) = target_of(b, request), _owords(request)
    address = _global_offset(b, request, target, _OWORD)
    return _block_read(b, request, target, address, count * _OWORD, place)


def unaligned_oword_block_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Owords from a byte offset."""
    target, (count, place) = target_of(b, request), _owords(request)
    address = _global_offset(b, request, target, 1)
    return _block_read(b, request, target, address, count * _OWORD, place)


def oword_block_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Owords to an offset that counts owords."""
    target, (count, place) = target_of(b, request), _owords(request)
    address = _global_offset(b, request, target, _OWORD)
    return _block_write(b, request, target, address, count * _OWORD, place)


def _flat_block(b: InstBuilder, request: MessageRequest, *, write: bool) -> Lengths:
    address, kind = request.payload.read(b, 0, UQ, 1), request.get("block")
    if kind == _HWORDS:
        size = request.get("block size")
        if not 1 <= size <= 4:
            raise request.unsupported("its block size is reserved")
        return _masked_block(b, request, Space.FLAT, address, _HWORD << size - 1, write=write)
    if kind > 1:
        raise request.unsupported("only blocks of consecutive bytes are modelled")
    count, place = _owords(request)
    move = _block_write if write else _block_read
    return move(b, request, FLAT, address, count * _OWORD, place)


def flat_block_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Owords or hwords from the 64-bit address in the header; channels have dwords of hwords."""
    return _flat_block(b, request, write=False)


def flat_block_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Owords or hwords to the 64-bit address in the header; channels have dwords of hwords."""
    return _flat_block(b, request, write=True)


def scratch_block(b: InstBuilder, request: MessageRequest, *, write: bool) -> Lengths:
    """Registers to or from the thread's scratch space, as many as the descriptor says.

    In dword mode channel k has dword k of each register, of each two registers where there are
    sixteen channels; the compiler writes what it spills in divergent code that way.
    """
    base = b.and_(request.header_dword(b, BUFFER), b.const(UD, SCRATCH_BASE))
    if b.general_state is not None:
        base = b.sub(base, scratch_offset(b))
    address = moved(b, base, request.get("hword offset") * _HWORD)
    count = _HWORD << request.get("hwords")
    if request.get("channel mode"):
        if b.width < 8:
            raise request.unsupported("in dword mode it has eight or sixteen channels")
        return _masked_block(b, request, Space.SCRATCH, address, count, write=write)
    move = _block_write if write else _block_read
    return move(b, request, AddressSpace(Space.SCRATCH), address, count, 0)


def _masked_block(
    b: InstBuilder,
    request: MessageRequest,
    space: Space,
    address: Value,
    count: int,
    *,
    write: bool,
) -> Lengths:
    """A block of which each channel has a dword in every register, or in every two.

    Up to eight channels have one in every register.
    """
    width = min(b.width, 16)
    pitch = 4 * max(width, 8)
    step = b.shl(b.iota(address.type, width), b.const(address.type, 2, width))
    mask = b.slice(b.mask, 0, width)
    for place in range(0, count, pitch):
        lanes = min(width, (count - place) // 4)
        start = b.add(b.splat(address, lanes), b.slice(step, 0, lanes))
        start, on = moved(b, start, place), b.slice(mask, 0, lanes)
        if write:
            data = request.payload.read(b, request.header + place, UD, lanes)
            b.store(space, start, on, [data])
        else:
            (bits,) = b.load(space, start, on, UD, 1)
            request.answer(b, place, bits, on)
    return Lengths(1 + registers(count)) if write else Lengths(1, registers(count))
