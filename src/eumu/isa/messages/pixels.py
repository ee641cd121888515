"""Messages to render targets, which are surfaces with a format.

Lanes are pixels, four to a block of two by two: lane 4k+0 is its upper left one, +1 upper right, +2
lower left, +3 lower right.  Where a block lies is in dwords 10 to 13 of the header, x in the low
and y in the high half (PRM, thread payload of pixel shaders); without a header, of the registers
that the thread was started with: of r1 for lanes 0 to 15, of r2 for lanes 16 to 31, as Mesa's
compiler reads them.  Bits 15:0 of M1.7 say which pixels there are; Intel's compiler puts the
predicate there.
"""

from __future__ import annotations

from typing import Final

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds import InstBuilder, Rows
from eumu.isa.messages.known import known_dword
from eumu.isa.messages.request import REGISTER_BYTES, Lengths, MessageRequest, Slots
from eumu.isa.messages.textures import surface_of
from eumu.messages import TypedRead, TypedWrite
from eumu.types import HF, UD, UW, F, Type

COORDINATES: Final = ("u", "v")
RGBA: Final = (0, 1, 2, 3)
_FIRST_BLOCK: Final = 10  # the dword of a header that has the place of the first block
_PIXELS: Final = 15  # the dword of a header that says which pixels there are
_M1: Final = 8  # dwords of a header before its second register
_GROUP: Final = 16  # lanes whose places a register has
_SIMD16, _REPLICATED, _SIMD8, _READ_SIMD8 = 0, 1, 4, 1
# Bits of M0.0: what comes beside the colours.
_ALPHA, _SAMPLES, _DEPTH, _STENCIL = 1 << 11, 1 << 12, 1 << 13, 1 << 14


def places(
    b: InstBuilder, header: Rows, first: int, lanes: int, *, starts: int = 0
) -> tuple[Value, Value]:
    """x and y of the pixels of so many lanes from lane `first` on.

    A header has the places of sixteen lanes; its dwords from `starts` on are given.
    """
    groups = 0  # of those before, how many have a register of their own
    if header.root is None:
        last = (first + lanes - 1) // _GROUP
        header, groups, starts = Rows(b.dispatch_header(2 + last), 0, UD), last, 0
    elif first % _GROUP + lanes > _GROUP:
        raise Unsupported("a header for more than 16 pixels")
    corners = []
    for lane in range(first, first + lanes, 4):
        group, place = divmod(lane, _GROUP)
        dword = _FIRST_BLOCK - starts + place // 4 + 8 * min(group, groups)
        corners.append(b.row_read(header, 4 * dword, UD, 1))
    corner = b.shuffle(b.concat(corners), [lane // 4 for lane in range(lanes)])
    low = b.and_(corner, b.const(UD, 0xFFFF, lanes))
    high = b.shr(corner, b.const(UD, 16, lanes))
    right = b.const(UD, [lane & 1 for lane in range(lanes)], lanes)
    down = b.const(UD, [lane >> 1 & 1 for lane in range(lanes)], lanes)
    return b.add(low, right), b.add(high, down)


def places_of_m1(b: InstBuilder, m1: Rows, first: int, lanes: int) -> tuple[Value, Value]:
    """The same where only the second register of a header is given, as vISA's operand is."""
    return places(b, m1, first, lanes, starts=_M1)


def on_in_m1(b: InstBuilder, m1: Rows, first: int, lanes: int) -> Value:
    """The lanes from lane `first` on that the second register of a header says are pixels."""
    bits = b.splat(b.row_read(m1, 4 * (_PIXELS - _M1), UD, 1), lanes)
    place = b.const(UD, [1 << (first + k) % _GROUP for k in range(lanes)], lanes)
    return b.cmp("ne", b.and_(bits, place), b.const(UD, 0, lanes))


def masked(b: InstBuilder, mask: Value, samples: Value) -> Value:
    """The lanes whose oMask (uw) has the only sample."""
    first = b.and_(samples, b.const(UW, 1, samples.width))
    return b.and_(mask, b.cmp("ne", first, b.const(UW, 0, samples.width)))


def write(
    b: InstBuilder, surface: Value, mask: Value, place: tuple[Value, Value], colours: list[Value]
) -> None:
    """Colours (bits of f) to the pixels at `place`."""
    b.message(TypedWrite(RGBA, COORDINATES), mask, (surface, *place, *colours), ())


def read(
    b: InstBuilder, surface: Value, mask: Value, place: tuple[Value, Value]
) -> tuple[Value, ...]:
    """Red, green, blue and alpha (bits of f) of the pixels at `place`."""
    record = TypedRead(RGBA, COORDINATES)
    return b.message(record, mask, (surface, *place), [(UD, mask.width)] * 4)


# ---- native messages


def _form(
    b: InstBuilder, request: MessageRequest, eight: int
) -> tuple[Slots, Type, tuple[Value, Value]]:
    """Slots, type of a colour, and where the pixels are; the header is two registers.

    The slot group says which sixteen lanes of the thread the message is for, which the
    instruction's channels say, too.
    """
    control = request.get("control")
    if control not in (_SIMD16, eight) and not (control == _REPLICATED and eight == _SIMD8):
        raise request.unsupported("targets with two sources, and images of pixels")
    slots, first = (
        Slots.of(b, request, 8 if control == eight else 16),
        _GROUP * request.get("slot group"),
    )
    if b.exec.offset != first:
        raise request.unsupported(
            f"its slot group is for channels from {first} on, the instruction's are those from"
            f" {b.exec.offset} on"
        )
    header = Rows(None, 0, UD)
    if request.header:
        header = request.payload.first
        request.payload.read(b, 0, UD, 2 * REGISTER_BYTES // 4)
        slots = slots.of_pixels(b, request, dword=_PIXELS)
    return slots, HF if request.get("data size") else F, places(b, header, first, slots.count)


def _header_bytes(request: MessageRequest) -> int:
    return 2 * request.header


def _beside(b: InstBuilder, request: MessageRequest) -> int:
    """What a header certainly says that there is beside the colours."""
    if not request.header:
        return 0
    bits = known_dword(b, request.payload.first, 0)
    return bits.known & bits.value & (_ALPHA | _SAMPLES | _DEPTH | _STENCIL)


def target_write(b: InstBuilder, request: MessageRequest) -> Lengths:
    """The colours of the slots' pixels; in front of them may be the samples that each covers."""
    slots, type, place = _form(b, request, _SIMD8)
    beside = _beside(b, request)
    if beside & ~_SAMPLES:
        raise request.unsupported("depth, stencil, or the alpha of another target")
    if request.get("control") == _REPLICATED:
        return _replicated(b, request, slots, type, place)
    pitch = slots.pitch(b, type.size)
    start, mask = _header_bytes(request), slots.mask
    extra = request.sent * REGISTER_BYTES - start - 4 * pitch
    if beside and extra != REGISTER_BYTES:
        raise request.unsupported("its header says that there are masks of samples")
    if beside or (extra == REGISTER_BYTES and pitch > REGISTER_BYTES):
        mask = masked(b, mask, request.payload.read(b, start, UW, slots.count))
    elif extra:
        raise request.unsupported("depth, stencil, the alpha of another target, or no four colours")
    colours = []
    for k in range(4):
        x = request.payload.read(b, start + extra + k * pitch, type, slots.count)
        colours.append(b.bitcast(b.convert(x, F), UD))
    write(b, surface_of(b, request), mask, place, colours)
    return Lengths(request.sent)


def _replicated(
    b: InstBuilder, request: MessageRequest, slots: Slots, type: Type, place: tuple[Value, Value]
) -> Lengths:
    """One register has the colour of all pixels."""
    colour = request.payload.read(b, _header_bytes(request), type, 4)
    bits = b.bitcast(b.convert(colour, F), UD)
    colours = [b.splat(b.slice(bits, k, 1), slots.count) for k in range(4)]
    write(b, surface_of(b, request), slots.mask, place, colours)
    return Lengths(_header_bytes(request) // REGISTER_BYTES + 1)


def target_read(b: InstBuilder, request: MessageRequest) -> Lengths:
    """Red, green, blue and alpha of the slots' pixels, each in registers of its own."""
    slots, type, place = _form(b, request, _READ_SIMD8)
    pitch = slots.pitch(b, type.size)
    for k, bits in enumerate(read(b, surface_of(b, request), slots.mask, place)):
        value = b.convert(b.bitcast(bits, F), type)
        request.answer(b, k * pitch, value, slots.mask)
    return Lengths(2 if request.header else 1, 4 * pitch // REGISTER_BYTES)
