"""Pixels of source and reference pictures: luma, chrominance, frames or single fields."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.state.surface import SurfaceType
from eumu.device.surfaces.formats import Encoding
from eumu.device.surfaces.texture import Texture
from eumu.records import dataclass

Pixels = NDArray[np.int64]

_LUMA: Final = ("R8_UNORM", "PLANAR_420_8")


@dataclass(frozen=True, slots=True)
class Picture:
    """A surface as motion estimation reads it.  What lies outside repeats the edge.

    With a `field`, 0 or 1, only every second row is there, from that one on.
    """

    texture: Texture
    field: int | None = None

    @classmethod
    def of(cls, texture: Texture, field: int | None) -> Picture:
        """StateError for a surface that is no picture."""
        surface = texture.surface
        if surface.format.name not in _LUMA:
            raise surface.state.error(
                "surface_format",
                f"is {surface.format.name}; motion estimation takes {' or '.join(_LUMA)}",
            )
        if surface.kind is not SurfaceType.S2D:
            raise surface.state.error(
                "surface_type", f"is {surface.kind.name}; motion estimation takes S2D surfaces"
            )
        return cls(texture, field)

    def luma(self, x: int, y: int, width: int, height: int) -> Pixels:
        """A rectangle [height, width]; x and y may be outside."""
        surface = self.texture.surface
        columns = np.clip(np.arange(x, x + width), 0, surface.width - 1)
        rows = self._rows(np.arange(y, y + height), surface.height)
        grid = np.broadcast_to(columns, (height, width)).reshape(-1)
        down = np.broadcast_to(rows[:, None], (height, width)).reshape(-1)
        zero = np.zeros(grid.size, np.int64)
        data = self.texture.gather(self.texture.raw(zero, grid, down, zero), 1)
        return data.reshape(height, width).astype(np.int64)

    def chroma(self, x: int, y: int, width: int, height: int) -> Pixels:
        """Pairs Cb, Cr [height, width, 2] of an NV12 picture; x and y count pairs."""
        surface = self.texture.surface
        if surface.format.encoding is not Encoding.PLANAR:
            raise surface.state.error(
                "surface_format", f"is {surface.format.name}, which has no chrominance"
            )
        columns = np.clip(np.arange(x, x + width), 0, (surface.width + 1) // 2 - 1)
        rows = self._rows(np.arange(y, y + height), (surface.height + 1) // 2)
        grid = np.broadcast_to(columns, (height, width)).reshape(-1)
        down = np.broadcast_to(rows[:, None], (height, width)).reshape(-1)
        data = self.texture.gather(surface.chrominance(2 * grid, 2 * down), 2)
        return data.reshape(height, width, 2).astype(np.int64)

    def _rows(self, rows: Pixels, height: int) -> Pixels:
        """The rows of the surface that rows of the frame, or of the field, are."""
        if self.field is None:
            return np.clip(rows, 0, height - 1)
        last = max(0, (height - self.field + 1) // 2 - 1)
        return np.minimum(2 * np.clip(rows, 0, last) + self.field, height - 1)
