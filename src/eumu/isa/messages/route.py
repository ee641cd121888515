"""From a descriptor to what the message does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from eumu.isa.kinds import InstBuilder
from eumu.isa.messages import (
    gateway,
    motion,
    pixels,
    port_addresses,
    port_atomics,
    port_blocks,
    port_elements,
    textures,
    urb,
)
from eumu.isa.messages.gen8 import check_gen8
from eumu.isa.messages.request import Lengths, MessageRequest
from eumu.isa.messages.unheeded import check

Route = Callable[[InstBuilder, MessageRequest], Lengths]

_SAMPLER, _GATEWAY, _SAMPLER_PORT, _RENDER, _URB, _SPAWNER = 2, 3, 4, 5, 6, 7
_CONSTANT_PORT, _PORT_0, _PORT_1 = 9, 10, 12


def _scratch(b: InstBuilder, request: MessageRequest) -> Lengths:
    return port_blocks.scratch_block(b, request, write=bool(request.desc >> 17 & 1))


# By shared function and message type; see the descriptor's tables for the names.
ROUTES: Final[dict[tuple[int, int], Route]] = {
    **{
        (port, kind): route
        for port in (_SAMPLER_PORT, _CONSTANT_PORT, _PORT_0)
        for kind, route in {
            0x00: port_blocks.oword_block_read,
            0x01: port_blocks.unaligned_oword_block_read,
            0x03: port_elements.dword_scattered_read,
        }.items()
    },
    (_PORT_0, 0x04): port_elements.byte_scattered_read,
    (_PORT_0, 0x07): port_atomics.memory_fence,
    (_PORT_0, 0x08): port_blocks.oword_block_write,
    (_PORT_0, 0x0B): port_elements.dword_scattered_write,
    (_PORT_0, 0x0C): port_elements.byte_scattered_write,
    **{(_PORT_0, kind): _scratch for kind in range(0x10, 0x20, 2)},
    (_PORT_1, 0x01): port_elements.untyped_read,
    (_PORT_1, 0x02): port_atomics.untyped_atomic,
    (_PORT_1, 0x04): textures.media_block_read,
    (_PORT_1, 0x05): textures.typed_read,
    (_PORT_1, 0x06): textures.typed_atomic,
    (_PORT_1, 0x09): port_elements.untyped_write,
    (_PORT_1, 0x0A): textures.media_block_write,
    (_PORT_1, 0x0D): textures.typed_write,
    (_PORT_1, 0x10): port_elements.flat_scattered_read,
    (_PORT_1, 0x11): port_elements.untyped_read,
    (_PORT_1, 0x12): port_atomics.flat_atomic,
    (_PORT_1, 0x14): port_blocks.flat_block_read,
    (_PORT_1, 0x15): port_blocks.flat_block_write,
    (_PORT_1, 0x19): port_elements.untyped_write,
    (_PORT_1, 0x1A): port_elements.flat_scattered_write,
    (_PORT_1, 0x1B): port_atomics.untyped_float_atomic,
    (_PORT_1, 0x1D): port_atomics.flat_float_atomic,
    (_URB, 7): urb.write,
    (_URB, 8): urb.read,
    (_RENDER, 12): pixels.target_write,
    (_RENDER, 13): pixels.target_read,
    **dict.fromkeys(motion.MESSAGES, motion.estimate),
}


def _spawner(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The end of a thread; what is sent with it says nothing."""
    if not ends_thread(request.ex_desc):
        raise request.unsupported("a thread cannot start others")
    if request.get("operation"):
        raise request.unsupported("a thread cannot start others when it ends")
    return Lengths(1)


# Shared functions whose messages one function tells apart.
_WHOLE: Final[dict[int, Route]] = {
    **{_GATEWAY: gateway.message, _SPAWNER: _spawner, _SAMPLER: textures.sampler},
}

_REASONS: Final = {
    8: "no public description says where the points of the mesh are",
    11: "there is no pixel to interpolate",
}


def send(b: InstBuilder, request: MessageRequest) -> None:
    """What a message does, end of thread aside; `Unsupported` says which message it is."""
    if not request.message.is_known:
        raise request.unsupported("Gen9 has no such message")
    if b.platform.generation == "gen8":
        check_gen8(request)
    check(request)
    route, message = _route(request), request.message
    is_indexed = request.surface is None
    if b.general_state is not None and is_indexed and port_addresses.is_stateless(message):
        lengths = port_addresses.stateless(b, request, route)
    else:
        lengths = route(b, request)
    request.check_lengths(lengths)


def _route(request: MessageRequest) -> Route:
    message = request.message
    if message.sfid in _WHOLE:
        return _WHOLE[message.sfid]
    kind = message.get("operation" if message.sfid == _URB else "message type")
    route = ROUTES.get((message.sfid, -1 if kind is None else kind))
    if route is None:
        raise request.unsupported(_REASONS.get(message.sfid, "it is not modelled"))
    return route


def ends_thread(ex_desc: int) -> bool:
    """Whether an extended descriptor says that the thread ends with the message."""
    return bool(ex_desc >> 5 & 1)
