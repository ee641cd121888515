"""What every memory instruction shares: where an access goes, and how elements lie in registers.

The message families differ in how they name a place in memory.  Their payloads agree: lanes side
by side, one block of registers for each element of a vector, short elements in dword slots.
"""

from __future__ import annotations

from collections.abc import Sequence

from eumu.addresses import SLM_POINTER_BIT, SURFACE_STATE_BASE
from eumu.errors import Unsupported
from eumu.ir import Region, Space, Value
from eumu.isa.kinds import InstBuilder, Rows
from eumu.isa.kinds.variables import SurfaceVariable
from eumu.platforms import PLATFORMS
from eumu.records import dataclass
from eumu.types import DF, HF, UD, UQ, UW, D, F, Q, Type, W, integer

LSC_PLATFORMS = tuple(p.name for p in PLATFORMS.values() if p.has_lsc)


@dataclass(frozen=True, slots=True)
class MemoryTarget:
    """An address space, and in SURFACE the index of the surface (one ud lane)."""

    space: Space
    surface: Value | None = None

    def offsets(self, b: InstBuilder, lanes: Value) -> Value:
        """Byte addresses as the space takes them: uq in FLAT, ud elsewhere.

        An offset beyond 32 bits lies outside every surface, and so does the one it becomes.
        """
        if self.space is Space.FLAT:
            return b.convert(lanes, UQ)
        lanes = b.convert(lanes, UD, saturate=True)
        if self.space is Space.SLM:
            lanes = b.and_(lanes, b.const(UD, ~SLM_POINTER_BIT, lanes.width))
        return lanes


FLAT = MemoryTarget(Space.FLAT)
SLM = MemoryTarget(Space.SLM)


def surface_target(b: InstBuilder, surface: SurfaceVariable) -> MemoryTarget:
    """Where accesses through a surface variable go: `%slm`, `%scratch`, or what `movs` put in."""
    if surface.predefined is None or surface.name == "%bss":
        root, _ = b.root(surface)
        index = b.read(root, Region.scalar(0), UD, 1)
        if surface.name == "%bss" and not b.platform.has_lsc:
            index = bindless_state(b, index)
        return MemoryTarget(Space.SURFACE, index)
    if surface.name == "%slm":
        return SLM
    if surface.name in ("%scratch", "TSS"):
        return MemoryTarget(Space.SCRATCH)
    raise Unsupported(f"the predefined surface {surface.name}, of which nobody says what it is")


def bindless_state(b: InstBuilder, handle: Value) -> Value:
    """The surface that a handle in `%bss` names; with LSC it is the offset of the state."""
    if b.platform.has_lsc:
        return b.add(handle, b.const(UD, SURFACE_STATE_BASE))
    from eumu.isa.messages import bindless_surface  # not needed to read and print programs

    return bindless_surface(b, handle)


@dataclass(frozen=True, slots=True)
class Element:
    """An element in memory and its slot in a register; `high` puts it in the upper half."""

    memory: Type
    slot: Type
    high: bool = False

    def to_slot(self, b: InstBuilder, value: Value) -> Value:
        """Zero-extended, or shifted up."""
        value = b.convert(value, self.slot)
        return b.shl(value, b.const(self.slot, 16, value.width)) if self.high else value

    def from_slot(self, b: InstBuilder, value: Value) -> Value:
        """The low bytes, or the upper half."""
        if self.high:
            value = b.shr(value, b.const(self.slot, 16, value.width))
        return b.convert(value, self.memory)


DWORD = Element(UD, UD)
QWORD = Element(UQ, UQ)


def in_dwords(size: int) -> Element:
    """An element of `size` bytes in a dword slot (or what it needs, when larger)."""
    bits = 8 * size
    return Element(integer(bits, signed=False), integer(max(32, bits), signed=False))


def runs(channels: Sequence[int]) -> list[tuple[int, int, int]]:
    """Neighbouring channels together: (first channel, count, place of the first in the payload).

    >>> runs([0, 2, 3])
    [(0, 1, 0), (2, 2, 1)]
    """
    stretches: list[tuple[int, int, int]] = []
    for place, channel in enumerate(channels):
        if stretches and stretches[-1][0] + stretches[-1][1] == channel:
            first, count, start = stretches[-1]
            stretches[-1] = (first, count + 1, start)
        else:
            stretches.append((channel, 1, place))
    return stretches


def _at(b: InstBuilder, address: Value, step: int) -> Value:
    return b.add(address, b.const(address.type, step, address.width)) if step else address


def load_channels(
    b: InstBuilder,
    target: MemoryTarget,
    address: Value,
    dst: Rows,
    element: Element,
    channels: Sequence[int],
) -> None:
    """Element c of every lane, for each channel c; channels follow each other in register blocks.

    A block is the lanes' slots (`InstBuilder.channel`).  Nothing is read for `%null`.
    """
    if dst.root is None:
        return
    pitch = b.channel(element.slot.size)
    loaded: list[Value] = []
    for first, count, _ in runs(channels):
        start = _at(b, address, first * element.memory.size)
        loaded += b.load(target.space, start, b.mask, element.memory, count, target.surface)
    for place, value in enumerate(loaded):
        b.row_write(dst, place * pitch, element.to_slot(b, value), b.mask)


def store_channels(
    b: InstBuilder,
    target: MemoryTarget,
    address: Value,
    src: Rows,
    element: Element,
    channels: Sequence[int],
) -> None:
    """The inverse of `load_channels`."""
    width = address.width
    pitch = b.channel(element.slot.size)
    for first, count, place in runs(channels):
        slots = [
            b.row_read(src, k * pitch, element.slot, width) for k in range(place, place + count)
        ]
        data = [element.from_slot(b, slot) for slot in slots]
        start = _at(b, address, first * element.memory.size)
        b.store(target.space, start, b.mask, data, target.surface)


def load_block(
    b: InstBuilder,
    target: MemoryTarget,
    address: Value,
    dst: Rows,
    type: Type,
    count: int,
    mask: Value,
) -> None:
    """`count` consecutive elements from one address to consecutive register bytes."""
    if dst.root is None:
        return
    block = b.load_block(target.space, address, mask, type, count, target.surface)
    b.row_write(dst, 0, block, b.splat(mask, count))


def store_block(
    b: InstBuilder,
    target: MemoryTarget,
    address: Value,
    src: Rows,
    type: Type,
    count: int,
    mask: Value,
) -> None:
    """The inverse of `load_block`."""
    data = _owords(b, src, type, count)
    b.store_block(target.space, address, mask, data, target.surface)


def _owords(b: InstBuilder, src: Rows, type: Type, count: int) -> Value:
    """The elements of whole owords; where the variable ends inside the last one, zeros follow.

    Registers go on behind a variable.  The compiler stores a frame pointer of 8 bytes as an oword.
    """
    there = count if src.root is None else (src.root.size - src.offset) // type.size
    if not 0 < count - there < 16 // type.size:
        return b.row_read(src, 0, type, count)
    rest = b.const(type, 0, count - there)
    return b.concat((b.row_read(src, 0, type, there), rest))


# ---- atomics

_ATOMIC_TYPES: dict[tuple[str, int], Type] = {
    ("unsigned", 16): UW,
    ("unsigned", 32): UD,
    ("unsigned", 64): UQ,
    ("signed", 16): W,
    ("signed", 32): D,
    ("signed", 64): Q,
    ("float", 16): HF,
    ("float", 32): F,
    ("float", 64): DF,
}


@dataclass(frozen=True, slots=True)
class Atomic:
    """An atomic operation: its IR name, how it reads numbers, which sources it takes in IR order.

    `negate` adds the negated source: how a float subtraction is spelled.
    """

    operation: str
    kind: str = "unsigned"
    sources: tuple[int, ...] = (0,)
    negate: bool = False

    def run(
        self,
        b: InstBuilder,
        target: MemoryTarget,
        address: Value,
        bits: int,
        dst: Rows,
        sources: Sequence[Rows],
    ) -> None:
        """One element per lane, 16 bits in the low half of a dword; `dst` gets the old value."""
        type = _ATOMIC_TYPES[self.kind, bits]
        b.aligned(type.size)
        data = [_operand(b, sources[k], type, address.width) for k in self.sources]
        if self.negate:
            data = [b.neg(x) for x in data]
        old = b.atomic(self.operation, target.space, address, b.mask, type, data, target.surface)
        if bits == 16:
            old = b.convert(b.bitcast(old, UW), UD)
        b.row_write(dst, 0, old, b.mask)


def _operand(b: InstBuilder, rows: Rows, type: Type, width: int) -> Value:
    if rows.root is None:
        raise Unsupported("an atomic operation without the source that it needs")
    if type.size == 2:
        return b.bitcast(b.convert(b.row_read(rows, 0, UD, width), UW), type)
    return b.row_read(rows, 0, type, width)
