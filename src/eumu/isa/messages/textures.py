"""Messages on images: typed surfaces, media blocks, the sampler.  The device answers their records.

Payloads of eight slots have a register for each coordinate, parameter and channel, of sixteen two.
How many there are is what the message lengths leave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from eumu.addresses import BTI_BINDLESS
from eumu.ir import Value
from eumu.isa.kinds import InstBuilder
from eumu.isa.messages.gen8 import order_of
from eumu.isa.messages.known import known_dword
from eumu.isa.messages.request import REGISTER_BYTES, Lengths, MessageRequest, Slots, registers
from eumu.messages import (
    LOADS,
    PARAMETERS,
    BlockRead,
    BlockWrite,
    FlushStateCaches,
    Sample8x8,
    SamplerMessage,
    TypedAtomic,
    TypedRead,
    TypedWrite,
)
from eumu.types import BOOL, UB, UD, UW, F, Type

_COORDINATES: Final = ("u", "v", "r", "lod")
_INTEGERS: Final = frozenset({"offu", "offv", "mcs", "mcsl", "mcsh"})
_SLOTS: Final = 8
# Slot groups of typed messages with eight slots: the low and the high eight channels.
_GROUPS: Final = (1, 2)
_ATOMIC_GROUPS: Final = (0, 1)
_UNORM_BYTES: Final = 64  # of a channel of sample_unorm
_SIZES: Final = 0x003F_003F  # of a block, in M0.2
_SIMD_64: Final = 3  # the SIMD mode of messages that have no lanes
_SAMPLE_8X8, _SAMPLE_UNORM, _CACHE_FLUSH = 0xB, 0xC, 0x1F  # their types
_MASK_ENABLE: Final = 1 << 23  # of the pixel null mask, in M0.2


def surface_of(b: InstBuilder, request: MessageRequest) -> Value:
    """The index of the image that a message is for."""
    if request.surface is not None:
        return request.surface
    index = request.get("binding table index")
    if index >= BTI_BINDLESS:
        raise request.unsupported("images are found by the binding table only")
    return b.const(UD, index)


def _registers(request: MessageRequest) -> int:
    """Registers behind the header."""
    return request.sent - request.header // REGISTER_BYTES


def _lanes(
    b: InstBuilder, request: MessageRequest, first: int, count: int, lanes: int
) -> list[Value]:
    """`count` registers of the payload, the first lanes of each, from the `first` one on."""
    start = request.header + first * REGISTER_BYTES
    step = range(start, start + count * REGISTER_BYTES, REGISTER_BYTES)
    return [request.payload.read(b, place, UD, lanes) for place in step]


def _typed(
    b: InstBuilder, request: MessageRequest, data: int, groups: tuple[int, ...] = _GROUPS
) -> tuple[Slots, tuple[str, ...], list[Value]]:
    """Slots, the coordinates that there are, and their lanes followed by those of the data."""
    if request.get("slot group") not in groups:
        raise request.unsupported("its slot group is SIMD4x2, or reserved")
    group = request.get("slot group") - groups[0]
    slots = Slots.of(b, request, _SLOTS).of_pixels(b, request, _SLOTS * group)
    coordinates = _registers(request) - data
    if not 1 <= coordinates <= len(_COORDINATES):
        raise request.unsupported(f"it has {coordinates} coordinates")
    lanes = _lanes(b, request, 0, coordinates + data, slots.count)
    return slots, _COORDINATES[:coordinates], lanes


def _channels(request: MessageRequest) -> tuple[int, ...]:
    off = request.get("channels off")
    return tuple(c for c in range(4) if not off >> c & 1)


def typed_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Channels of texels."""
    channels = _channels(request)
    slots, names, lanes = _typed(b, request, 0)
    shape = [(UD, slots.count)] * len(channels)
    record = TypedRead(channels, names)
    texels = b.message(record, slots.mask, (surface_of(b, request), *lanes), shape)
    for k, value in enumerate(texels):
        request.answer(b, k * REGISTER_BYTES, value, slots.mask)
    return Lengths(request.sent, len(channels))


def typed_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The inverse."""
    channels = _channels(request)
    slots, names, lanes = _typed(b, request, len(channels))
    record = TypedWrite(channels, names)
    b.message(record, slots.mask, (surface_of(b, request), *lanes), ())
    return Lengths(request.sent)


# IR operation, its kind, and the operands that it takes in the IR's order of those sent.
_ATOMICS: Final[dict[int, tuple[str, str, tuple[int, ...]]]] = {
    **{1: ("and", "unsigned", (0,)), 2: ("or", "unsigned", (0,)), 3: ("xor", "unsigned", (0,))},
    **{4: ("xchg", "unsigned", (0,)), 5: ("inc", "unsigned", ()), 6: ("dec", "unsigned", ())},
    **{7: ("add", "unsigned", (0,)), 8: ("sub", "unsigned", (0,)), 10: ("max", "signed", (0,))},
    **{11: ("min", "signed", (0,)), 12: ("max", "unsigned", (0,)), 13: ("min", "unsigned", (0,))},
    **{14: ("cmpxchg", "unsigned", (1, 0)), 15: ("predec", "unsigned", ())},
}


def typed_atomic(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Replace texels of one channel."""
    row = _ATOMICS.get(request.get("operation"))
    if row is None:
        raise request.unsupported("this atomic operation is not modelled")
    operation, kind, order = row
    slots, names, lanes = _typed(b, request, len(order), _ATOMIC_GROUPS)
    data = [lanes[len(names) + k] for k in order]
    record = TypedAtomic(operation, names, len(data), kind)
    args = (surface_of(b, request), *lanes[: len(names)], *data)
    (old,) = b.message(record, slots.mask, args, [(UD, slots.count)])
    if not request.get("return data"):
        return Lengths(request.sent)
    request.answer(b, 0, old, slots.mask)
    return Lengths(request.sent, 1)


# ---- rectangles of bytes


def _block(
    b: InstBuilder, request: MessageRequest
) -> tuple[tuple[Value, ...], tuple[int, int, int]]:
    """Surface and corner; width, height and the distance of rows in registers.

    The header has the corner in M0.0 and M0.1, the size less one in M0.2.  The size must be a
    constant that the code writes right before, as the compiler does.
    """
    rows = request.payload.first
    bits = known_dword(b, rows, 8)
    if not request.header or not bits.covers(_SIZES):
        raise request.unsupported("the size of the block is not a constant written just before")
    size = bits.value
    width, height = (size & 0x3F) + 1, (size >> 16 & 0x3F) + 1
    corner = request.header_dword(b, 0), request.header_dword(b, 1)
    return (surface_of(b, request), *corner), (width, height, max(4, 1 << (width - 1).bit_length()))


def media_block_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """A rectangle of bytes, edges repeated."""
    args, (width, height, pitch) = _block(b, request)
    record, every = BlockRead(width, height, pitch), b.const(BOOL, 1)
    (rows,) = b.message(record, every, args, [(UB, height * pitch)])
    request.answer(b, 0, rows, b.const(BOOL, 1, rows.width))
    return Lengths(1, registers(height * pitch))


def media_block_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The inverse; what lies outside the surface is dropped."""
    args, (width, height, pitch) = _block(b, request)
    data = request.payload.read(b, request.header, UB, height * pitch)
    record = BlockWrite(width, height, pitch)
    b.message(record, b.const(BOOL, 1), (*args, data), ())
    return Lengths(1 + registers(height * pitch))


# ---- the sampler


def sampler(b: InstBuilder, request: MessageRequest) -> Lengths:
    """A sampled or plain read of an image, or facts about it."""
    if request.get("SIMD mode") == _SIMD_64 and request.get("message type") in _WITHOUT_LANES:
        return _WITHOUT_LANES[request.get("message type")](b, request)
    operation = request.message.name.removesuffix(", end of thread")
    if request.get("SIMD mode") == 0:
        return _pairs(b, request, operation)
    room = {1: 8, 2: 16}.get(request.get("SIMD mode"))
    if room is None or operation not in PARAMETERS:
        raise request.unsupported("this form of it is not modelled")
    slots, each = Slots.of(b, request, room), room // 8
    names = order_of(b, operation)
    count = min(_registers(request) // each, len(names))
    values = [_parameter(b, request, operation, names[k], k * each, slots) for k in range(count)]
    values, told = _in_order(b, operation, names[:count], values)
    bits = 16 if request.get("return format") else 32
    pitch = slots.pitch(b, bits // 8)
    shape = _response(b, request, UW if bits == 16 else UD, slots)
    record = SamplerMessage(
        operation,
        slots.count,
        told,
        has_header=bool(request.header),
        results=len(shape),
        bits=bits,
        takes_mask=pitch == REGISTER_BYTES or shape[-1:] == [(UD, 1)],
    )
    states = [surface_of(b, request)]
    if operation not in LOADS:
        states.append(b.const(UD, request.get("sampler index")))
    header = [_header(b, request)] if request.header else []
    args = (*states, *header, *values)
    for k, value in enumerate(b.message(record, slots.mask, args, shape)):
        one = shape[k] == (UD, 1) and slots.count > 1
        request.answer(b, k * pitch, value, b.const(BOOL, 1) if one else slots.mask)
    return Lengths(request.header // REGISTER_BYTES + count * each, request.get("response length"))


def _in_order(
    b: InstBuilder, operation: str, sent: tuple[str, ...], values: list[Value]
) -> tuple[list[Value], int]:
    """Parameters as records have them, and how many: those that were left out between are 0."""
    order = PARAMETERS[operation]
    if sent == order[: len(sent)]:
        return values, len(sent)
    count = 1 + max(map(order.index, sent))
    zero = b.const(values[0].type, 0, values[0].width)
    return [values[sent.index(n)] if n in sent else zero for n in order[:count]], count


def _response(
    b: InstBuilder, request: MessageRequest, type: Type, slots: Slots
) -> list[tuple[Type, int]]:
    """What the registers of the response hold: channels, and at last perhaps a pixel null mask.

    The mask is one register, so a response of an odd number of registers ends with it where a
    channel takes two.  Where channels take one, too, it is a fifth part, or what the header's bit
    says if that is known.
    """
    size, pitch = request.get("response length") * REGISTER_BYTES, slots.pitch(b, type.size)
    channels, rest = divmod(size, pitch)
    bit = known_dword(b, request.payload.first, 8)
    is_asked = bit.covers(_MASK_ENABLE) and bool(bit.value & _MASK_ENABLE)
    if pitch == REGISTER_BYTES and channels and (channels > 4 or (request.header and is_asked)):
        channels, rest = channels - 1, REGISTER_BYTES
    return [(type, slots.count)] * channels + [(UD, 1)] * (rest > 0)


# Parameters of SIMD4x2 in the order of their dwords, four in a register for each of two lanes; as
# Mesa's vec4 compiler fills them.
_PAIRS: Final[dict[str, tuple[str, ...]]] = {
    "sample_lz": ("u", "v", "r", "ai"),
    "sample_l": ("u", "v", "r", "ai", "lod"),
    "sample_c_lz": ("u", "v", "r", "ai", "ref"),
    "sample_l_c": ("u", "v", "r", "ai", "ref", "lod"),
    "sample_d": ("u", "v", "r", "ai", "dudx", "dudy", "dvdx", "dvdy", "drdx", "drdy"),
    "sample_d_c": ("u", "v", "r", "ai", "dudx", "dudy", "dvdx", "dvdy", "drdx", "drdy", "ref"),
    "gather4": ("u", "v", "r", "ai"),
    "gather4_c": ("u", "v", "r", "ai", "ref"),
    "gather4_po": ("u", "v", "r", "", "offu", "offv"),
    "gather4_po_c": ("u", "v", "r", "ref", "offu", "offv"),
    "ld": ("u", "v", "r", "lod"),
    "ld_lz": ("u", "v", "r"),
    "ld_mcs": ("u", "v", "r", "lod"),
    "ld2dms": ("u", "v", "r", "lod", "si", "mcs"),
    "resinfo": ("lod",),
    "sampleinfo": (),
}


def _pairs(b: InstBuilder, request: MessageRequest, operation: str) -> Lengths:
    """SIMD4x2: two lanes, four channels of each side by side.

    A lane takes part if any of its four slots does; what the header masks is not written.
    """
    order = _PAIRS.get(operation)
    if order is None or not request.header or request.get("return format") or b.width < 8:
        raise request.unsupported("this form of it is not modelled")
    length = 4 * _registers(request)
    names = PARAMETERS[operation]
    values = []
    for name in names:
        type = UD if operation in LOADS or name in _INTEGERS else F
        place = order.index(name) if name in order else length
        if place < length:
            start = request.header + place // 4 * REGISTER_BYTES + place % 4 * 4
            values.append(request.payload.read(b, start, type, 2, 4 * 4))
        else:
            values.append(b.const(type, 0, 2))
    record = SamplerMessage(operation, 2, len(names), has_header=True, results=5, is_4x2=True)
    states = [surface_of(b, request)]
    if operation not in LOADS:
        states.append(b.const(UD, request.get("sampler index")))
    halves = [b.any(b.slice(b.mask, start, 4)) for start in (0, 4)]
    mask = b.concat(halves)
    args = (*states, _header(b, request), *values)
    shape = [(UD, 2)] * 4 + [(UD, 1)]
    *channels, written = b.message(record, mask, args, shape)
    for k, value in enumerate(channels):
        bit = b.and_(written, b.const(UD, 1 << k))
        is_written = b.cmp("ne", bit, b.const(UD, 0))
        for lane in range(2):
            at = 16 * lane + 4 * k
            slot = b.slice(b.mask, 4 * lane + k, 1)
            request.answer(b, at, b.slice(value, lane, 1), b.and_(slot, is_written))
    most = 1 + registers(4 * 2 * len(order))  # four dwords of both lanes in a register
    return Lengths(min(most, request.sent), 1)


def _without_format(request: MessageRequest) -> None:
    """Raise for a return format: the header of such messages says how channels come back."""
    if request.get("return format"):
        raise request.unsupported("its header says the format of what it answers")


def _media(b: InstBuilder, request: MessageRequest) -> Lengths:
    """sample_8x8: header, payload and, in two more registers, offsets; no answer goes to memory."""
    _without_format(request)
    if not request.header or _registers(request) not in (1, 3):
        raise request.unsupported("sample_8x8 has a header, a register, and two more with offsets")
    registers_of_answer = request.get("response length")
    record = Sample8x8(registers_of_answer, offsets=_registers(request) == 3)
    header = request.payload.read(b, 0, UD, 8)
    payload = request.payload.read(b, request.header, UD, 8)
    more = []
    if record.offsets:
        more = [request.payload.read(b, request.header + REGISTER_BYTES, UD, 16)]
    states = surface_of(b, request), b.const(UD, request.get("sampler index"))
    args = (*states, header, payload, *more)
    answer = b.message(record, b.const(BOOL, 1), args, [(UD, 8)] * registers_of_answer)
    for k, value in enumerate(answer):
        request.answer(b, k * REGISTER_BYTES, value, b.const(BOOL, 1, 8))
    return Lengths(request.sent, registers_of_answer)


def _unorm(b: InstBuilder, request: MessageRequest) -> Lengths:
    """sample_unorm: header and a register; 32 pixels of two bytes for each channel."""
    _without_format(request)
    if not request.header or _registers(request) != 1:
        raise request.unsupported("sample_unorm has a header and one register")
    count = request.get("response length") * REGISTER_BYTES // _UNORM_BYTES
    record = SamplerMessage(
        "sample_unorm", 32, 4, has_header=True, results=count, bits=16, takes_mask=False
    )
    payload = request.payload.read(b, request.header, F, 8)
    corner = [b.slice(payload, k, 1) for k in (2, 3, 4, 5)]
    states = surface_of(b, request), b.const(UD, request.get("sampler index"))
    every = b.const(BOOL, 1, 32)
    args = (*states, _header(b, request), *corner)
    answer = b.message(record, every, args, [(UW, 32)] * count)
    for k, value in enumerate(answer):
        request.answer(b, k * _UNORM_BYTES, value, every)
    return Lengths(2, registers(count * _UNORM_BYTES))


def _flush(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Cached states are forgotten; a register comes back when that is done, and says nothing."""
    b.message(FlushStateCaches(), b.const(BOOL, 1), (), ())
    return Lengths(1, min(1, request.get("response length")))


# Messages of SIMD mode 3, by type.
_WITHOUT_LANES: Final[dict[int, Callable[[InstBuilder, MessageRequest], Lengths]]] = {
    **{_SAMPLE_8X8: _media, _SAMPLE_UNORM: _unorm, _CACHE_FLUSH: _flush},
}


def _header(b: InstBuilder, request: MessageRequest) -> Value:
    """The header without M0.5, which is for video messages; a copy of r0 has other things there."""
    low, high = (request.payload.read(b, start, UD, n) for start, n in ((0, 5), (24, 2)))
    return b.concat([low, b.const(UD, 0), high])


def _parameter(
    b: InstBuilder, request: MessageRequest, operation: str, name: str, first: int, slots: Slots
) -> Value:
    type = UD if operation in LOADS or name in _INTEGERS else F
    return request.payload.read(b, request.header + first * REGISTER_BYTES, type, slots.count)
