"""Messages to render targets, which are surfaces with a format.

Lanes are pixels, four to a block of two by two: lane 4k+0 is its upper left one, +1 upper right, +2
lower left, +3 lower right.  Where a block lies is in dwords 10 to 13 of the header, x in the low
and y in the high half (PRM, thread payload of pixel shaders); without a header, of the registers
that the thread was started with.
"""

from __future__ import annotations

from typing import Final

from eumu.ir import Value
from eumu.isa.kinds import Meaning, Rows
from eumu.isa.messages.request import REGISTER_BYTES, Request, Slots
from eumu.isa.messages.textures import surface_of
from eumu.messages import TypedRead, TypedWrite
from eumu.types import HF, UD, UW, F, Type

COORDINATES: Final = ("u", "v")
RGBA: Final = (0, 1, 2, 3)
_FIRST_BLOCK: Final = 10  # the dword of a header that has the place of the first block
_SIMD16, _REPLICATED, _SIMD8, _READ_SIMD8 = 0, 1, 4, 1


def places(b: Meaning, header: Rows, quarter: int, lanes: int) -> tuple[Value, Value]:
    """x and y of the pixels of so many lanes, of which the first is lane 4 * `quarter`."""
    if header.root is None:
        header = Rows(b.dispatch_header(), 0, UD)
    blocks = max(1, lanes // 4)
    corners = b.row_read(header, 4 * (_FIRST_BLOCK + quarter), UD, blocks)
    corner = b.shuffle(corners, [lane // 4 for lane in range(lanes)])
    low = b.and_(corner, b.const(UD, 0xFFFF, lanes))
    high = b.shr(corner, b.const(UD, 16, lanes))
    right = b.const(UD, [lane & 1 for lane in range(lanes)], lanes)
    down = b.const(UD, [lane >> 1 & 1 for lane in range(lanes)], lanes)
    return b.add(low, right), b.add(high, down)


def masked(b: Meaning, mask: Value, samples: Value) -> Value:
    """The lanes whose oMask (uw) has the only sample."""
    first = b.and_(samples, b.const(UW, 1, samples.width))
    return b.and_(mask, b.cmp("ne", first, b.const(UW, 0, samples.width)))


def write(
    b: Meaning, surface: Value, mask: Value, place: tuple[Value, Value], colours: list[Value]
) -> None:
    """Colours (bits of f) to the pixels at `place`."""
    b.message(TypedWrite(RGBA, COORDINATES), mask, (surface, *place, *colours), ())


def read(b: Meaning, surface: Value, mask: Value, place: tuple[Value, Value]) -> tuple[Value, ...]:
    """Red, green, blue and alpha (bits of f) of the pixels at `place`."""
    record = TypedRead(RGBA, COORDINATES)
    return b.message(record, mask, (surface, *place), [(UD, mask.width)] * 4)


# ---- native messages


def _form(b: Meaning, request: Request, eight: int) -> tuple[Slots, Type, tuple[Value, Value]]:
    """Slots, type of a colour, and where the pixels are; the header is two registers."""
    control = request.get("control")
    if control not in (_SIMD16, eight) and not (control == _REPLICATED and eight == _SIMD8):
        raise request.unsupported("targets with two sources, and images of pixels")
    if request.get("per sample") or request.message.get("per coarse pixel"):
        raise request.unsupported("targets of several samples a pixel, or of coarse pixels")
    slots = Slots.of(b, 8 if control == eight else 16)
    high = slots.room == 8 and request.get("slot group")
    header = request.payload.first if request.header else Rows(None, 0, UD)
    quarter = 2 if high else 0
    return slots, HF if request.get("data size") else F, places(b, header, quarter, slots.count)


def _header_bytes(request: Request) -> int:
    return 2 * request.header


def target_write(b: Meaning, request: Request) -> None:
    """The colours of the slots' pixels; in front of them may be the samples that each covers."""
    slots, type, place = _form(b, request, _SIMD8)
    if request.get("control") == _REPLICATED:
        _replicated(b, request, slots, type, place)
        return
    pitch = slots.pitch(b, type.size)
    size = request.payload.first_bytes + request.payload.second_bytes
    start, mask = _header_bytes(request), slots.mask
    extra = size - start - 4 * pitch
    if extra == REGISTER_BYTES and pitch > REGISTER_BYTES:
        mask = masked(b, mask, request.payload.read(b, start, UW, slots.count))
    elif extra:
        raise request.unsupported("depth, stencil, the alpha of another target, or no four colours")
    colours = []
    for k in range(4):
        x = request.payload.read(b, start + extra + k * pitch, type, slots.count)
        colours.append(b.bitcast(b.convert(x, F), UD))
    write(b, surface_of(b, request), mask, place, colours)


def _replicated(
    b: Meaning, request: Request, slots: Slots, type: Type, place: tuple[Value, Value]
) -> None:
    """One register has the colour of all pixels."""
    colour = request.payload.read(b, _header_bytes(request), type, 4)
    bits = b.bitcast(b.convert(colour, F), UD)
    colours = [b.splat(b.slice(bits, k, 1), slots.count) for k in range(4)]
    write(b, surface_of(b, request), slots.mask, place, colours)


def target_read(b: Meaning, request: Request) -> None:
    """Red, green, blue and alpha of the slots' pixels, each in registers of its own."""
    slots, type, place = _form(b, request, _READ_SIMD8)
    pitch = slots.pitch(b, type.size)
    for k, bits in enumerate(read(b, surface_of(b, request), slots.mask, place)):
        value = b.convert(b.bitcast(bits, F), type)
        request.answer(b, k * pitch, value, slots.mask)
