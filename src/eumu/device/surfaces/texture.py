"""Texels of one surface in device memory: read and written by their coordinates.

Coordinates are int64 arrays [N] and must exist; whoever asks has wrapped, clamped or masked them.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eumu.device.state.surface import ONE
from eumu.device.surfaces import texels
from eumu.device.surfaces.formats import Encoding
from eumu.device.surfaces.mcs import control_addresses, control_size
from eumu.device.surfaces.surface import Surface
from eumu.exec.gate import in_extents

Ints = NDArray[np.int64]
Lanes = NDArray[Any]


class Arena(Protocol):
    """Device memory: byte `a` is ``arena[a - base]``; `extents` are the live allocations."""

    arena: NDArray[np.uint8]
    base: int

    def extents(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...


class Texture:
    """A surface and the memory it lies in; StateError if the memory is not there."""

    def __init__(self, surface: Surface, memory: Arena) -> None:
        self.surface = surface
        self._memory = memory
        if not surface.is_null:
            _check_memory(surface, memory)

    def read(self, lod: Ints, x: Ints, y: Ints, slice: Ints) -> Lanes:
        """Texels [N, 4] as the format says, before the shader's channel selects."""
        if self.surface.is_null or len(x) == 0:
            zero = np.uint32 if self.surface.format.is_integer else np.float32
            return np.zeros((len(x), 4), zero)
        addresses, place = self.surface.addresses(lod, x, y, slice)
        data = self.gather(addresses, self.surface.format.bytes)
        if self.surface.format.encoding is Encoding.PLANAR:
            pair = self.gather(self.surface.chrominance(x, y), 2)
            data = np.stack([data[:, 0], pair[:, 0], pair[:, 1]], 1)
        return texels.decode(self.surface.format, data, place)

    def control(self, x: Ints, y: Ints, slice: Ints) -> NDArray[np.uint64]:
        """The elements [N] of the multisample control surface for pixels."""
        addresses, size = control_addresses(self.surface, x, y, slice)
        data = np.zeros((len(x), 8), np.uint8)
        data[:, :size] = self.gather(addresses, size)
        return data.view(np.uint64)[:, 0]

    def write(self, lod: Ints, x: Ints, y: Ints, slice: Ints, values: Lanes) -> None:
        """Texels [N, 4] as `read` gives them, in ascending order of N."""
        if self.surface.is_null or len(x) == 0:
            return
        addresses, _ = self.surface.addresses(lod, x, y, slice)
        self.scatter(addresses, texels.encode(self.surface.format, values))

    def raw(self, lod: Ints, x: Ints, y: Ints, slice: Ints) -> NDArray[np.uint64]:
        """Device addresses of texels, for atomics and blocks."""
        return self.surface.addresses(lod, x, y, slice)[0]

    def gather(self, addresses: NDArray[np.uint64], size: int) -> NDArray[np.uint8]:
        """Rows of bytes [N, size] at device addresses of the surface."""
        start = (addresses - np.uint64(self._memory.base)).astype(np.intp)
        data: NDArray[np.uint8] = self._memory.arena[start[:, None] + np.arange(size)]
        return data

    def scatter(self, addresses: NDArray[np.uint64], data: NDArray[np.uint8]) -> None:
        """Rows of bytes to device addresses; of two for one place the last one stays."""
        start = (addresses - np.uint64(self._memory.base)).astype(np.intp)
        self._memory.arena[start[:, None] + np.arange(data.shape[1])] = data

    def selected(self, values: Lanes) -> Lanes:
        """Texels [N, 4] after the shader's channel selects."""
        sources = self.surface.state.channel_sources
        if sources == (0, 1, 2, 3):
            return values
        wide: Lanes = np.pad(values, ((0, 0), (0, 2)))
        wide[:, ONE] = 1
        return wide[:, sources]


def bits_of(values: Lanes) -> NDArray[np.uint32]:
    """The bits of texels, floats or integers."""
    return np.ascontiguousarray(values).view(np.uint32)


def _check_memory(surface: Surface, memory: Arena) -> None:
    if surface.format.encoding is Encoding.OTHER:
        return
    places = [("surface_base_address", surface.base, surface.size)]
    if surface.is_compressed:
        control = surface.state.auxiliary_surface_base_address
        places.append(("auxiliary_surface_base_address", control, control_size(surface)))
    for field, base, size in places:
        if not in_extents(memory.extents(), base, size):
            raise surface.state.error(
                field, f"is {base:#x}; its {size} bytes are not in one allocation"
            )
