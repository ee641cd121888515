"""The data port's messages to typed surfaces: texels by integer coordinates, atomics, blocks.

Sources: vISA pages "GATHER4_TYPED", "SCATTER4_TYPED", "TYPED_ATOMIC", "MEDIA_LD", "MEDIA_ST" and
"LSC_TYPED".  Coordinates are unsigned.  Outside the surface a read gives 0, 0, 0, 1, an atomic 0,
and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.lanes import ARRAYS
from eumu.device.lanes import LaneFunctions as Operators
from eumu.device.state.fields import StateError
from eumu.device.state.surface import SurfaceType
from eumu.device.surfaces.formats import Encoding, Numbers, TexelFormat
from eumu.device.surfaces.places import places
from eumu.device.surfaces.surface import Surface
from eumu.device.surfaces.texture import Texture, bits_of
from eumu.errors import Unsupported
from eumu.messages import BlockRead, BlockWrite, TypedAtomic

Ints = NDArray[np.int64]
Lanes = NDArray[Any]
Mask = NDArray[np.bool_]
Coordinates = dict[str, Ints]


def _places(texture: Texture, at: Coordinates) -> tuple[tuple[Ints, Ints, Ints, Ints], Mask]:
    """Level, x, y and slice of coordinates [N], and which of them exist."""
    surface = texture.surface
    if surface.samples > 1:
        raise surface.state.error("number_of_multisamples", "is more than 1 in a typed access")
    return places(surface, at)


def _some(places: tuple[Ints, Ints, Ints, Ints], k: NDArray[np.intp]) -> list[Ints]:
    return [p[k] for p in places]


def _check_format(texture: Texture) -> None:
    format = texture.surface.format
    if format.encoding is not Encoding.PLAIN:
        raise texture.surface.state.error(
            "surface_format", f"is {format.name}, which typed messages cannot access"
        )


def read(texture: Texture, at: Coordinates) -> NDArray[np.uint32]:
    """Texels [N, 4] as bits."""
    _check_format(texture)
    places, inside = _places(texture, at)
    one = 1 if texture.surface.format.is_integer else 0x3F800000
    out = np.zeros((len(inside), 4), np.uint32)
    out[:, 3] = one
    k = np.flatnonzero(inside)
    out[k] = bits_of(texture.selected(texture.read(*_some(places, k))))
    return out


def write(
    texture: Texture, at: Coordinates, data: NDArray[np.uint32], channels: tuple[int, ...]
) -> None:
    """Write bits [N, 4]; channels of the format that are not given keep their texel's value."""
    _check_format(texture)
    places, inside = _places(texture, at)
    k = np.flatnonzero(inside)
    some = _some(places, k)
    values = data[k]
    if texture.surface.format.outputs - set(channels):
        old = bits_of(texture.read(*some))
        kept = [c for c in range(4) if c not in channels]
        values[:, kept] = old[:, kept]
    kind = np.uint32 if texture.surface.format.is_integer else np.float32
    level, x, y, slice = some
    texture.write(level, x, y, slice, np.ascontiguousarray(values).view(kind))


# ---- atomics

_Operation = Callable[[Operators[Any], Any, Any, Any], Any]  # old, data, compare -> new
OPERATIONS: Final[dict[str, _Operation]] = {
    "add": lambda lanes, old, x, y: old + x,
    "sub": lambda lanes, old, x, y: old - x,
    "inc": lambda lanes, old, x, y: old + 1,
    "dec": lambda lanes, old, x, y: old - 1,
    "predec": lambda lanes, old, x, y: old - 1,
    "and": lambda lanes, old, x, y: old & x,
    "or": lambda lanes, old, x, y: old | x,
    "xor": lambda lanes, old, x, y: old ^ x,
    "xchg": lambda lanes, old, x, y: x,
    "load": lambda lanes, old, x, y: old,
    "min": lambda lanes, old, x, y: lanes.where((old < x) | lanes.differ(x, x), old, x),
    "max": lambda lanes, old, x, y: lanes.where((old >= x) | lanes.differ(x, x), old, x),
    "cmpxchg": lambda lanes, old, x, y: lanes.where(lanes.equal(old, y), x, old),
}


def atomic(
    texture: Texture, at: Coordinates, message: TypedAtomic, data: list[NDArray[np.uint32]]
) -> NDArray[np.uint32]:
    """The old texels [N] (`predec`: the new ones); lanes one after the other."""
    kind = _atomic_type(texture, message)
    places, inside = _places(texture, at)
    k = np.flatnonzero(inside)
    addresses = texture.raw(*_some(places, k))
    operands = [d[k].astype(f"u{kind.itemsize}").view(kind) for d in data]
    out = np.zeros(len(inside), np.uint32)
    operation = OPERATIONS[message.operation]
    with np.errstate(over="ignore"):
        for n, lane in enumerate(k):
            where = addresses[n : n + 1]
            old = texture.gather(where, kind.itemsize).view(kind)[0, 0]
            x = operands[0][n] if operands else old
            new = kind.type(operation(ARRAYS, old, x, operands[1][n] if len(operands) > 1 else old))
            texture.scatter(where, np.array([[new]], kind).view(np.uint8))
            seen = new if message.operation == "predec" else old
            out[lane] = np.array([seen], kind).view(f"u{kind.itemsize}")[0]
    return out


_ALLOWED: Final = {
    "unsigned": (Numbers.UINT, Numbers.SINT, Numbers.FLOAT),
    "signed": (Numbers.SINT,),
    "float": (Numbers.FLOAT,),
}


def suits(format: TexelFormat, message: TypedAtomic) -> bool:
    """Whether texels are one number of the message's kind and size."""
    if [c.size for c in format.channels] != [message.bits] or 8 * format.bytes != message.bits:
        return False
    return format.channels[0].numbers in _ALLOWED[message.kind]


def _atomic_type(texture: Texture, message: TypedAtomic) -> np.dtype[Any]:
    """The NumPy type of the texel, which the format must suit."""
    format = texture.surface.format
    if not suits(format, message):
        names = ", ".join(f"R{message.bits}_{n.value}" for n in _ALLOWED[message.kind])
        raise texture.surface.state.error(
            "surface_format", f"is {format.name}; {message.operation} needs one of {names}"
        )
    letter = {"unsigned": "u", "signed": "i", "float": "f"}[message.kind]
    return np.dtype(f"<{letter}{message.bits // 8}")


# ---- rectangles of bytes


def read_block(texture: Texture, message: BlockRead, x: Ints, y: Ints) -> NDArray[np.uint8]:
    """Rows [N, height * pitch] of the blocks at x (bytes) and y (rows), int64 [N]."""
    addresses, inside = _block(texture, message, x, y, clamp=message.media)
    out = np.zeros((len(x), message.height, message.pitch), np.uint8)
    row = np.zeros(inside.shape, np.uint8)
    row[inside] = texture.gather(addresses[inside], 1)[:, 0]
    out[:, :, : message.width] = row
    return out.reshape(len(x), -1)


def write_block(
    texture: Texture, message: BlockWrite, x: Ints, y: Ints, data: NDArray[np.uint8]
) -> None:
    """Write rows [N, height * pitch]; bytes outside the surface are dropped."""
    if (x % 4).any():
        bad = int(x[(x % 4) != 0][0])
        raise StateError(f"a block is written at byte {bad} of a row, no multiple of 4", "X Offset")
    addresses, inside = _block(texture, message, x, y, clamp=False)
    rows = data.reshape(len(x), message.height, message.pitch)[:, :, : message.width]
    texture.scatter(addresses[inside], rows[inside][:, None])


def plane(surface: Surface, number: int) -> tuple[int, int, int]:
    """Bytes of a row, rows of blocks, and the first row, of a plane."""
    level, (across, down) = surface.level(0), surface.format.block
    row = -(-level.width // across) * surface.format.bytes
    if number:  # chrominance: half as many rows of pairs
        return row, -(-level.height // 2), surface.state.y_offset_for_u_or_uv_plane
    return row, -(-level.height // down), 0


def _block(
    texture: Texture, message: BlockRead | BlockWrite, x: Ints, y: Ints, *, clamp: bool
) -> tuple[NDArray[np.uint64], Mask]:
    """Addresses [N, height, width] of a block's bytes, and which of them are in the surface.

    With `clamp`, what is left or right of it, above or below, is the nearest texel or row.  Of one
    field, rows are every other one of the surface, and so is its edge.
    """
    surface = texture.surface
    if surface.kind not in (SurfaceType.S2D, SurfaceType.NULL):
        raise surface.state.error(
            "surface_type", f"is {surface.kind.name}; blocks are read from S2D surfaces"
        )
    if message.plane > (surface.format.encoding is Encoding.PLANAR):
        raise Unsupported(f"plane {message.plane} of a surface of {surface.format.name}")
    if message.field and surface.state.vertical_line_stride:
        raise Unsupported("media blocks that name a field of a surface that is one field")
    shape = (len(x), message.height, message.width)
    if surface.is_null:
        return np.zeros(shape, np.uint64), np.zeros(shape, bool)
    size = surface.format.bytes
    left = np.broadcast_to(x[:, None, None] + np.arange(message.width), shape)
    row = np.broadcast_to(y[:, None, None] + np.arange(message.height)[:, None], shape)
    block_w, block_h = surface.format.block
    across, down, first = plane(surface, message.plane)
    step, parity = (2, int(message.field == "bottom")) if message.field else (1, 0)
    down = -(-(down - parity) // step)
    inside = (left >= 0) & (left < across) & (row >= 0) & (row < down)
    if clamp:
        # Beyond an edge, the bytes of the last texel repeat.
        near = np.where(left < 0, left % size, across - size + left % size)
        left = np.where((left < 0) | (left >= across), near, left)
        row = np.clip(row, 0, down - 1)
        inside = np.ones(shape, bool)
    safe_left, safe_row = np.where(inside, left, 0), np.where(inside, row, 0)
    zero = np.zeros(safe_left.size, np.int64)
    texel = (safe_left // size).reshape(-1)
    line = step * safe_row.reshape(-1) + parity + first
    start = texture.raw(zero, texel * block_w, line * block_h, zero)
    bytes_in = (safe_left % size).reshape(-1).astype(np.uint64)
    return (start + bytes_in).reshape(shape), inside
