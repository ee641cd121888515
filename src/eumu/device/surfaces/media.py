"""A media surface: its pixels as video analytics and the scaler read them.

Bytes lie as in a surface of the 3D sampler, so a media surface is read through one; what lies
outside is the nearest pixel or its mirror image, as Address Control says.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.state.codes import SurfaceFormat
from eumu.device.state.fields import StateError
from eumu.device.state.media import (
    AddressControl,
    MediaFormat,
    MediaSurfaceState,
    PictureStructure,
)
from eumu.device.state.surface import SurfaceState, TiledResourceMode
from eumu.device.surfaces.surface import Surface
from eumu.device.surfaces.texture import Arena, Texture
from eumu.errors import Unsupported
from eumu.records import dataclass

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# The formats that are modelled, and those of the 3D sampler with the same bytes.
PLAIN: Final = {
    MediaFormat.YCRCB_NORMAL: SurfaceFormat.YCRCB_NORMAL,
    MediaFormat.YCRCB_SWAPUVY: SurfaceFormat.YCRCB_SWAPUVY,
    MediaFormat.YCRCB_SWAPUV: SurfaceFormat.YCRCB_SWAPUV,
    MediaFormat.YCRCB_SWAPY: SurfaceFormat.YCRCB_SWAPY,
    MediaFormat.PLANAR_420_8: SurfaceFormat.PLANAR_420_8,
    MediaFormat.Y8_UNORM_VA: SurfaceFormat.R8_UINT,
    MediaFormat.Y16_SNORM: SurfaceFormat.R16_SINT,
    MediaFormat.Y16_UNORM_VA: SurfaceFormat.R16_UINT,
    MediaFormat.Y1_UNORM: SurfaceFormat.R8_UINT,
    MediaFormat.R10G10B10A2_UNORM: SurfaceFormat.R10G10B10A2_UNORM,
    MediaFormat.R8G8B8A8_UNORM: SurfaceFormat.R8G8B8A8_UNORM,
    MediaFormat.B8G8R8A8_UNORM: SurfaceFormat.B8G8R8A8_UNORM,
    MediaFormat.R8B8_UNORM_CRCB: SurfaceFormat.R8G8_UNORM,
    MediaFormat.R8_UNORM_CRCB: SurfaceFormat.R8_UNORM,
    MediaFormat.Y8_UNORM: SurfaceFormat.R8_UNORM,
}
RED, GREEN, BLUE, ALPHA = range(4)
CHROMA: Final = (RED, BLUE)
_PACKED: Final = frozenset(
    {
        MediaFormat.YCRCB_NORMAL,
        MediaFormat.YCRCB_SWAPUVY,
        MediaFormat.YCRCB_SWAPUV,
        MediaFormat.YCRCB_SWAPY,
    }
)
# Where the channels are that are not where the plain format has them.
_CHANNELS: Final = {
    MediaFormat.R8B8_UNORM_CRCB: {RED: 0, BLUE: 1},
    MediaFormat.R8_UNORM_CRCB: {RED: 0},
    MediaFormat.Y8_UNORM: {GREEN: 0},
}


@dataclass(frozen=True)
class MediaSurface:
    """A checked media surface, and the surface of the 3D sampler with the same bytes."""

    state: MediaSurfaceState
    plain: Surface
    width: int
    height: int

    @classmethod
    def of(cls, state: MediaSurfaceState) -> MediaSurface:
        """StateError if the state is not one that the hardware takes."""
        _check_modelled(state)
        width, height = state.width + 1, state.height + 1
        columns = -(-width // 8) if state.surface_format is MediaFormat.Y1_UNORM else width
        planar = state.surface_format is MediaFormat.PLANAR_420_8
        plain = SurfaceState(
            surface_format=PLAIN[state.surface_format],
            width=columns - 1,
            height=state.height,
            surface_pitch=state.surface_pitch,
            tile_mode=state.tile_mode,
            surface_base_address=state.surface_base_address,
            x_offset_for_u_or_uv_plane=state.x_offset_for_u if planar else 0,
            y_offset_for_u_or_uv_plane=state.y_offset_for_u if planar else 0,
        )
        try:
            return cls(state, Surface.of(plain), width, height)
        except StateError as error:
            raise _renamed(error) from None

    @property
    def code(self) -> MediaFormat:
        return self.state.surface_format

    def chroma_scale(self) -> tuple[int, int]:
        """Luma columns and rows for each of chrominance."""
        if self.code is MediaFormat.PLANAR_420_8:
            return 2, 2
        return (2, 1) if self.code in _PACKED else (1, 1)


def _check_modelled(state: MediaSurfaceState) -> None:
    if state.surface_format not in PLAIN:
        raise Unsupported(f"media surfaces of the format {state.surface_format.name}")
    reasons = {
        "Rotation": state.rotation,
        "Memory Compression Enable": state.memory_compression_enable,
        "X Offset or Y Offset": state.x_offset or state.y_offset,
        "Vertical Line Stride": state.vertical_line_stride,
    }
    for name, value in reasons.items():
        if value:
            raise Unsupported(f"media surfaces with {name}")
    if state.tiled_resource_mode is not TiledResourceMode.NONE:
        raise Unsupported(f"Tiled Resource Mode {state.tiled_resource_mode.name}")
    if state.picture_structure is not PictureStructure.FRAME_PICTURE:
        raise Unsupported(f"media surfaces with Picture Structure {state.picture_structure.name}")
    if state.surface_format is MediaFormat.PLANAR_420_8 and (
        state.half_pitch_for_chroma or not state.interleave_chroma
    ):
        raise Unsupported("planar media surfaces whose chrominance is not interleaved")


def _renamed(error: StateError) -> StateError:
    """An error of the plain surface's state with the field of the media surface's."""
    what = str(error).split(") ", 1)[1]
    name = {"Y Offset for U or Uv Plane": "y_offset_for_u"}.get(error.field)
    for row in MediaSurfaceState.rows():
        if row.title == error.field or row.name == name:
            return MediaSurfaceState.error(row.name, what)
    return StateError(f"{MediaSurfaceState.TITLE}: {error.field} {what}", error.field)


class MediaTexture:
    """A media surface and the memory it lies in; StateError if the memory is not there."""

    def __init__(self, surface: MediaSurface, memory: Arena) -> None:
        self.surface = surface
        try:
            self._texture = Texture(surface.plain, memory)
        except StateError as error:
            raise _renamed(error) from None

    def codes(self, x: Ints, y: Ints) -> Ints:
        """The numbers of pixels of video analytics, int64, for arrays of any one shape."""
        kind = self.surface.code
        column = self._inside(x, self.surface.width)
        row = self._inside(y, self.surface.height)
        if kind is MediaFormat.Y1_UNORM:
            octets = self._read(column // 8, row)[..., 0]
            return octets.astype(np.int64) >> column % 8 & 1
        return self._read(column, row)[..., 0].view(np.int32).astype(np.int64)

    def channel(self, channel: int, x: Ints, y: Ints) -> Floats:
        """A channel of pixels, 0 to 1; chrominance at its own resolution."""
        across, down = self.surface.chroma_scale() if channel in CHROMA else (1, 1)
        column = self._inside(x, -(-self.surface.width // across)) * across
        row = self._inside(y, -(-self.surface.height // down)) * down
        names = _CHANNELS.get(self.surface.code)
        if names is not None and channel not in names:
            return np.full(x.shape, float(channel == ALPHA))
        place = channel if names is None else names[channel]
        return self._read(column, row)[..., place].astype(np.float64)

    def _inside(self, k: Ints, size: int) -> Ints:
        """The column or row that stands for one outside the surface."""
        if self.surface.state.address_control is AddressControl.MIRROR:
            folded = k % (2 * size)
            return np.where(folded < size, folded, 2 * size - 1 - folded)
        return np.clip(k, 0, size - 1)

    def _read(self, column: Ints, row: Ints) -> NDArray[np.generic]:
        shape = np.broadcast_shapes(column.shape, row.shape)
        flat = [np.ascontiguousarray(np.broadcast_to(k, shape)).reshape(-1) for k in (column, row)]
        zero = np.zeros_like(flat[0])
        texels = self._texture.read(zero, flat[0], flat[1], zero)
        return np.ascontiguousarray(texels).reshape(*shape, 4)
