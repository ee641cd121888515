"""A message as it is sent: descriptors, the registers that go out, the register for the answer."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from eumu.errors import Unsupported
from eumu.ir import Value
from eumu.isa.kinds import InstBuilder, Rows
from eumu.isa.messages.descriptor import Message, describe
from eumu.records import dataclass
from eumu.types import BOOL, UD, Type

REGISTER_BYTES: Final = 32
_PIXEL_MASK: Final = 7  # the dword of a header

# The root that says where 32-bit stateless addresses count from, and its room in a payload.
GENERAL_STATE: Final = "general_state"
GENERAL_STATE_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class MessagePayload:
    """The registers of a message as one stretch: `first`, of so many bytes, then `second`."""

    first: Rows
    first_bytes: int
    second: Rows | None = None
    second_bytes: int = 0

    def read(
        self, b: InstBuilder, offset: int, type: Type, width: int, stride: int | None = None
    ) -> Value:
        """`width` elements from byte `offset` on, packed or `stride` bytes apart."""
        step = stride or type.size
        inside = sum(offset + k * step < self.first_bytes for k in range(width))
        parts = []
        if inside:
            parts.append(b.row_read(self.first, offset, type, inside, stride))
        if inside < width:
            start = offset + inside * step - self.first_bytes
            if self.second is None or start + (width - inside) * step > self.second_bytes:
                raise Unsupported("a message with fewer registers than its descriptor asks for")
            parts.append(b.row_read(self.second, start, type, width - inside, stride))
        return b.concat(parts)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Registers that a message takes, header included, and registers of its answer."""

    sent: int
    answered: int = 0


def registers(size: int) -> int:
    """How many registers so many bytes take."""
    return -(-size // REGISTER_BYTES)


@dataclass(frozen=True)
class MessageRequest:
    """A message.  `surface` is the binding-table index where it is not in the descriptor.

    Stateless addresses of 32 bits count from `general`, one lane of 64 bits; without it they are in
    scratch space, which begins at `scratch` if not at 0.  The instruction's execution size and mask
    are the builder's.
    """

    ex_desc: int
    desc: int
    payload: MessagePayload
    dst: Rows
    surface: Value | None = None
    general: Value | None = None
    scratch: Value | None = None

    def answer(self, b: InstBuilder, offset: int, x: Value, mask: Value) -> None:
        """Write lanes of the answer, from byte `offset` of it on."""
        if offset + x.width * x.type.size > self.get("response length") * REGISTER_BYTES:
            raise self.unsupported("its response is shorter than what it answers")
        if self.dst.root is None:
            return
        b.row_write(self.dst, offset, x, mask)

    @cached_property
    def message(self) -> Message:
        return describe(self.ex_desc, self.desc)

    def get(self, name: str) -> int:
        """A field of the descriptor that this message has."""
        value = self.message.get(name)
        assert value is not None, name
        return value

    def unsupported(self, why: str) -> Unsupported:
        """The error for what is not modelled; it says what the message is."""
        return Unsupported(f"the message '{self.message}': {why}")

    @property
    def sent(self) -> int:
        """Registers that are sent, header included."""
        return registers(self.payload.first_bytes + self.payload.second_bytes)

    def check_lengths(self, lengths: Lengths) -> None:
        """Raise unless the message has the registers that it takes, and room for its answer."""
        if self.sent != lengths.sent:
            raise self.unsupported(f"it takes {lengths.sent} registers, {self.sent} are sent")
        answered = self.get("response length")
        if answered < lengths.answered:
            raise self.unsupported("its response is shorter than what it answers")
        if answered > lengths.answered:
            raise self.unsupported(
                f"its answer has {lengths.answered} registers, its response length is {answered}"
            )

    @property
    def header(self) -> int:
        """Bytes of the header."""
        return REGISTER_BYTES if self.message.get("header") else 0

    def header_dword(self, b: InstBuilder, index: int) -> Value:
        """A dword of the header, one lane."""
        if not self.header:
            raise self.unsupported("it needs a header and has none")
        return self.payload.read(b, 4 * index, UD, 1)


@dataclass(frozen=True, slots=True)
class Slots:
    """The lanes of a message: `count` of them take part, registers have room for `room`."""

    count: int
    room: int
    mask: Value

    @classmethod
    def of(cls, b: InstBuilder, request: MessageRequest, room: int) -> Slots:
        """The instruction's lanes; Unsupported where the message has no slots for all of them."""
        if b.width > room:
            raise request.unsupported(
                f"it has {room} slots, and the instruction {b.width} lanes; no document says which"
                " of them take part"
            )
        return cls(b.width, room, b.slice(b.mask, 0, b.width))

    def of_pixels(
        self, b: InstBuilder, request: MessageRequest, first: int = 0, dword: int = _PIXEL_MASK
    ) -> Slots:
        """Those that the header's pixel mask leaves on; slot 0 has its bit `first`.

        The mask is bits 15:0 of a dword, and all ones without a header.
        """
        if not request.header:
            return self
        bits = request.header_dword(b, dword)
        place = b.const(UD, [1 << first + k for k in range(self.count)], self.count)
        pixels = b.and_(b.splat(bits, self.count), place)
        on = b.cmp("ne", pixels, b.const(UD, 0, self.count))
        return Slots(self.count, self.room, b.and_(self.mask, on))

    def pitch(self, b: InstBuilder, size: int) -> int:
        """Bytes of the registers with an element of `size` bytes for each slot."""
        return b.registers(self.room * size)


def every(b: InstBuilder) -> Value:
    """A mask of one lane that is set, whatever channels execute."""
    return b.const(BOOL, 1) if b.guard is None else b.guard
