"""What messages to typed surfaces mean: their records, and what lies in which register."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eumu.addresses import SURFACE_STATE_BASE
from eumu.errors import Unsupported
from eumu.ir import Region, Value
from eumu.isa.kinds import InstBuilder, Rows, Surface
from eumu.isa.kinds.lsc_block2d import TypedCorner
from eumu.isa.kinds.lsc_model import SCALAR, model_surface
from eumu.isa.kinds.lsc_typed import SurfaceModel, TypedAddress
from eumu.isa.kinds.raw import RawKind
from eumu.isa.kinds.sampler import Pointed
from eumu.isa.visa.memory import Atomic, bindless_state
from eumu.messages import BlockRead, BlockWrite, TypedAtomic, TypedRead, TypedStatus, TypedWrite
from eumu.types import BOOL, UB, UD, UQ, UW, D

# Registers, or the lanes that were made of them.
Coordinates = Mapping[str, Rows | Value]
NAMES = ("u", "v", "r", "lod")
_RAW = RawKind(bare=True)


def surface_index(b: InstBuilder, surface: Surface | Pointed) -> Value:
    """The surface as a message names it: what `movs` put into a variable, or a bindless state."""
    if isinstance(surface, Pointed):
        return b.add(surface.offset, b.const(UD, SURFACE_STATE_BASE))
    if surface.predefined is not None and surface.name != "%bss":
        raise Unsupported(f"images through the predefined surface {surface.name}")
    root, _ = b.root(surface)
    index = b.read(root, Region.scalar(0), UD, 1)
    return bindless_state(b, index) if surface.name == "%bss" else index


def model_index(b: InstBuilder, named: SurfaceModel | TypedCorner) -> Value:
    """The surface of `bti(..)`, `ss(..)`, `bss(..)` or `surf(..)`."""
    model, surface = named.model, named.surface
    if model not in ("bti", "ss", "bss", "surf") or surface is None:
        raise Unsupported(f"images at {model} addresses")
    place = model_surface(b, model, surface, named.index)
    return place if model == "bti" else b.add(place, b.const(UD, SURFACE_STATE_BASE))


def typed_address(b: InstBuilder, address: TypedAddress) -> tuple[Value, Coordinates]:
    """Surface and coordinates of an LSC message, of 32 bits or, as documents write them, of 64."""
    if address.size not in (32, 64):
        raise Unsupported(f"coordinates of {address.size} bits")
    rows: dict[str, Rows] = {n: _RAW.bind(getattr(address, n), b) for n in NAMES}
    index = model_index(b, address.surface)
    places: dict[str, Rows | Value] = {**rows}
    if address.size == 64:
        places = {n: r if r.root is None else _narrowed(b, r) for n, r in rows.items()}
    for name, added in zip(NAMES, address.offsets, strict=False):
        if added:
            places[name] = _moved(b, places[name], added)
    return index, places


def _moved(b: InstBuilder, place: Rows | Value, added: int) -> Value:
    """A coordinate and what the instruction adds to it, in the 32 bits that coordinates have."""
    lanes = b.row_read(place, 0, UD, b.width) if isinstance(place, Rows) else place
    return b.add(lanes, b.const(UD, added, b.width))


def corner(b: InstBuilder, place: TypedCorner) -> tuple[Value, Value]:
    """Where a block begins, with the instruction's steps."""
    x, y = (b.convert(SCALAR.bind(v, b), D) for v in (place.x, place.y))
    right, down = place.steps
    return b.add(x, b.const(D, right)), b.add(y, b.const(D, down))


def _narrowed(b: InstBuilder, rows: Rows) -> Value:
    """Coordinates of 64 bits as dwords; what no dword holds lies outside of every image."""
    last = b.const(UQ, UD.maximum, b.width)
    return b.convert(b.min(b.row_read(rows, 0, UQ, b.width), last), UD)


def _given(b: InstBuilder, at: Coordinates) -> tuple[tuple[str, ...], list[Value]]:
    """The coordinates that have a register, and their lanes."""
    coordinates = {n: at[n] for n in NAMES}
    lanes = {
        n: b.row_read(c, 0, UD, b.width) if isinstance(c, Rows) else c
        for n, c in coordinates.items()
        if not isinstance(c, Rows) or c.root is not None
    }
    return tuple(lanes), list(lanes.values())


def read(
    b: InstBuilder, surface: Value, at: Coordinates, dst: Rows, channels: tuple[int, ...]
) -> None:
    """Channels of texels, each to the next registers."""
    if dst.root is None:
        return
    names, lanes = _given(b, at)
    shape = [(UD, b.width)] * len(channels)
    texels = b.message(TypedRead(channels, names), b.mask, (surface, *lanes), shape)
    for k, value in enumerate(texels):
        b.row_write(dst, k * b.registers(4 * b.width), value, b.mask)


def write(
    b: InstBuilder, surface: Value, at: Coordinates, src: Rows, channels: tuple[int, ...]
) -> None:
    """Write channels of texels."""
    names, lanes = _given(b, at)
    pitch = b.registers(4 * b.width)
    data = [b.row_read(src, k * pitch, UD, b.width) for k in range(len(channels))]
    record = TypedWrite(channels, names)
    b.message(record, b.mask, (surface, *lanes, *data), ())


def atomic(
    b: InstBuilder,
    surface: Value,
    at: Coordinates,
    operation: Atomic,
    sources: Sequence[Rows],
    dst: Rows,
    bits: int = 32,
) -> None:
    """Replace texels; 16-bit ones lie in dwords."""
    names, lanes = _given(b, at)
    data = [b.row_read(sources[k], 0, UD, b.width) for k in operation.sources]
    if operation.negate:
        data[0] = b.xor(data[0], b.const(UD, 1 << bits - 1, b.width))
    record = TypedAtomic(operation.operation, names, len(data), operation.kind, bits)
    shape = [(UD, b.width)]
    (old,) = b.message(record, b.mask, (surface, *lanes, *data), shape)
    if bits == 16:
        old = b.convert(b.convert(old, UW), UD)
    b.row_write(dst, 0, old, b.mask)


def status(b: InstBuilder, surface: Value, at: Coordinates, dst: Rows) -> None:
    """A bit for each lane whose texel has memory."""
    names, lanes = _given(b, at)
    record = TypedStatus(names)
    (bits,) = b.message(record, b.mask, (surface, *lanes), [(UD, 1)])
    b.row_write(dst, 0, bits, b.any(b.mask))


# ---- rectangles of bytes


def pitch_of(width: int) -> int:
    """Bytes from row to row of a block in registers: a power of two, 4 at least."""
    return max(4, 1 << (width - 1).bit_length())


def read_block(
    b: InstBuilder, surface: Value, x: Value, y: Value, dst: Rows, record: BlockRead
) -> None:
    """The rows of a block; the bytes between them are not defined and come out as 0."""
    if dst.root is None:
        return
    size = record.height * record.pitch
    corner = (b.convert(x, UD), b.convert(y, UD))
    every = b.const(BOOL, 1)
    (rows,) = b.message(record, every, (surface, *corner), [(UB, size)])
    _write_bytes(b, dst, rows)


def write_block(
    b: InstBuilder, surface: Value, x: Value, y: Value, src: Rows, record: BlockWrite
) -> None:
    size = record.height * record.pitch
    corner = (b.convert(x, UD), b.convert(y, UD))
    data = b.row_read(src, 0, UB, size)
    b.message(record, b.const(BOOL, 1), (surface, *corner, data), ())


def _write_bytes(b: InstBuilder, dst: Rows, rows: Value) -> None:
    b.row_write(dst, 0, rows, b.const(BOOL, 1, rows.width))
