"""The answer to a message of sample_8x8: its states found, its response in registers or memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.addresses import SURFACE_STATE_BASE
from eumu.device.sampler.header import Header, OutputFormat
from eumu.device.sampler.media.payload import MediaPayload, Sample8x8Function
from eumu.device.sampler.media.unit import Kernel, MediaRequest, execute, needs
from eumu.device.state.cache import StateCache
from eumu.device.state.fields import State, StateError
from eumu.device.state.media import MediaSurfaceState, Table
from eumu.device.surfaces import typed
from eumu.device.surfaces.media import MediaSurface, MediaTexture
from eumu.device.surfaces.texture import Arena, Texture
from eumu.messages import BlockWrite, Sample8x8
from eumu.records import dataclass

Lanes = NDArray[Any]

_SAMPLERS: Final = 16  # that a message can name
_REGISTER: Final = 32


@dataclass(slots=True)
class MediaCaches:
    """What the sampler has cached of media states."""

    surfaces: StateCache[MediaSurface] = field(
        default_factory=lambda: StateCache("media surface state")
    )
    kernels: StateCache[Kernel] = field(default_factory=lambda: StateCache("sample_8x8 state"))

    def invalidate(self) -> None:
        self.surfaces.invalidate()
        self.kernels.invalidate()


@dataclass(frozen=True, slots=True)
class Reach:
    """What a message can get at: states by their index or address, and memory.

    With `bindless_base` sampler states are bindless.
    """

    memory: Arena
    caches: MediaCaches
    dynamic_state_base: int
    bindless_base: int | None
    surface_address: Callable[[int], int]
    state_bytes: Callable[[int, type[State | Table], int], bytes]
    texture: Callable[[int], Texture]


def answer(record: Sample8x8, arguments: Sequence[Lanes], reach: Reach) -> list[Lanes]:
    """The registers of threads that name the same function and states."""
    header = Header.decode(arguments[2][0].tobytes())
    payload = MediaPayload.of(arguments[3])
    offsets = None
    if record.offsets:
        pairs = np.ascontiguousarray(arguments[4]).view(np.int16).astype(np.int64)
        offsets = pairs.reshape(len(pairs), -1, 2)
    texture = _texture(int(arguments[0][0, 0]), reach)
    places = int(arguments[0][0, 0]), int(arguments[1][0, 0])
    kernel = _kernel(places, header, payload, reach)
    is_direct = not record.registers
    answers = execute(MediaRequest(header, payload, texture, kernel, offsets, is_direct))
    if is_direct:
        is_picture = payload.function is Sample8x8Function.AVS
        is_planar = is_picture and header.output_format is OutputFormat.PLANAR_420_8
        _write(header, arguments[2][:, 4], answers, reach, is_planar=is_planar)
        return []
    size = _REGISTER * record.registers
    if answers.shape[1] > size:
        raise StateError(
            f"the response has {answers.shape[1]} bytes, the message expects {size}",
            "Response Length",
        )
    whole = np.zeros((len(answers), size), np.uint8)
    whole[:, : answers.shape[1]] = answers
    words = whole.view(np.uint32)
    return [words[:, 8 * k : 8 * k + 8] for k in range(record.registers)]


def _write(header: Header, place: Lanes, rows: Lanes, reach: Reach, *, is_planar: bool) -> None:
    """Rows of bytes [threads, rows, bytes] to where each thread's M0.4 says.

    Of a planar picture, the last third of the rows are chrominance.
    """
    texture = reach.texture(header.destination_binding_table_index)
    x, y = (place & 0xFFFF).astype(np.int64), (place >> 16).astype(np.int64)
    planes = [rows]
    if is_planar:
        if (y & 1).any():
            raise header.error("destination_y_address", "is odd, in a planar picture")
        planes = np.split(rows, [rows.shape[1] * 2 // 3], 1)
    for plane, part in enumerate(planes):
        wanted = BlockWrite(part.shape[2], part.shape[1], part.shape[2], plane)
        typed.write_block(texture, wanted, x, y >> plane, part.reshape(len(part), -1))


def _texture(index: int, reach: Reach) -> MediaTexture:
    address = reach.surface_address(index)
    data = reach.state_bytes(address, MediaSurfaceState, MediaSurfaceState.size())
    surface = reach.caches.surfaces.get(
        address, data, lambda b: MediaSurface.of(MediaSurfaceState.decode(b))
    )
    return MediaTexture(surface, reach.memory)


def _kernel(
    places: tuple[int, int], header: Header, payload: MediaPayload, reach: Reach
) -> Kernel | None:
    """The kernel or the tables that a function uses: the second of the places is the index of the
    sampler in units of the function, the first is the surface."""
    surface, index = places
    is_large = payload.function is Sample8x8Function.CONVOLVE and bool(payload.mode & 1)
    wanted = needs(payload.function, is_large=is_large)
    if wanted is None:
        return None
    kind, unit, size = wanted
    if index >= _SAMPLERS:
        raise StateError(
            f"sampler index {index} is outside a table of {_SAMPLERS}", "Sampler Index"
        )
    address = reach.dynamic_state_base + header.sampler_state_pointer + unit * index
    if reach.bindless_base is not None:
        if surface < SURFACE_STATE_BASE:
            raise StateError(
                "a bindless sampler needs a bindless surface; this one is from the binding table",
                "Sampler State Pointer",
            )
        address = reach.bindless_base + header.sampler_state_pointer
    data = reach.state_bytes(address, kind, size).ljust(kind.size(), b"\0")
    return reach.caches.kernels.get(address, data, kind.decode)
