"""Surfaces and samplers of sample_8x8: what the media sampler reads, and what it does with it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eumu.device.state.media import (
    AddressControl,
    Convolve,
    ConvolveCoefficients,
    ConvolveState,
    MediaFormat,
    MediaSurfaceState,
    MorphologyState,
)
from eumu.device.state.scaler import Avs, AvsCoefficients, AvsControl, AvsState, FilterTaps
from eumu.device.state.surface import SurfaceState
from eumu.device.surfaces.media import PLAIN, MediaSurface
from eumu.errors import ArgumentError
from eumu.records import dataclass
from eumu.runtime.board import Board
from eumu.runtime.images import Image, make_image

_ADDRESSES: Final = {"clamp": AddressControl.CLAMP, "mirror": AddressControl.MIRROR}
_TAPS: Final = {4: FilterTaps.FOUR, 8: FilterTaps.EIGHT}
_PHASES: Final = 32
_KERNEL: Final = 31


class MediaImage(Image):
    """An image that the media sampler reads: its slot has the bytes of `media`."""

    def __init__(self, device: Board, state: SurfaceState, kind: str, **more: Any) -> None:
        wanted: MediaSurfaceState = more.pop("media")
        super().__init__(device, state, kind, **more)
        plain = self.state
        columns = wanted.width if wanted.surface_format is MediaFormat.Y1_UNORM else plain.width
        self.media = MediaSurfaceState(
            surface_format=wanted.surface_format,
            address_control=wanted.address_control,
            width=columns,
            height=plain.height,
            surface_pitch=plain.surface_pitch,
            tile_mode=plain.tile_mode,
            interleave_chroma=wanted.surface_format is MediaFormat.PLANAR_420_8,
            y_offset_for_u=plain.y_offset_for_u_or_uv_plane,
            surface_base_address=plain.surface_base_address,
        )
        MediaSurface.of(self.media)
        self.slot = device.heaps.surfaces.take(MediaSurfaceState.size())
        self.slot.write(self.media.encode())


def make_media_image(
    device: Board, data: ArrayLike, format: str, address: str, tiling: str, name: str
) -> MediaImage:
    """:meth:`Device.media_image`."""
    code = MediaFormat.__members__.get(format)
    if code not in PLAIN:
        raise ArgumentError(
            f"media format {format!r} is none of {', '.join(f.name for f in PLAIN)}"
        )
    if address not in _ADDRESSES:
        raise ArgumentError(f"address {address!r} is none of {', '.join(_ADDRESSES)}")
    values, width = np.asarray(data), 1
    if code is MediaFormat.Y1_UNORM:
        if values.ndim != 2:
            raise ArgumentError(f"an image of Y1_UNORM has two dimensions, not {values.ndim}")
        width = values.shape[1]
        values = np.packbits(values != 0, axis=1, bitorder="little")
    template = MediaSurfaceState(
        surface_format=code, address_control=_ADDRESSES[address], width=width - 1
    )
    made = make_image(
        device,
        values,
        PLAIN[code],
        tiling=tiling,
        name=name,
        make=partial(MediaImage, media=template),
    )
    assert isinstance(made, MediaImage)
    return made


# ---- what a message does


@dataclass(frozen=True, slots=True)
class MediaSampler:
    """A state of the media sampler; made by :meth:`Device.media_sampler`.

    Messages count such states in units of `unit` bytes; it begins at a multiple of `step` units,
    and has `size` bytes.
    """

    state: Avs | Convolve | MorphologyState
    unit: int
    size: int
    step: int = 1


def make_media_sampler(
    *,
    convolve: ArrayLike | None = None,
    line: Sequence[float] | None = None,
    places: ArrayLike | None = None,
    phases: ArrayLike | None = None,
    chroma: ArrayLike | None = None,
    scale_down: int = 0,
    coefficient_bits: int = 16,
    taps: int = 8,
    shuffle: bool = False,
) -> MediaSampler:
    """:meth:`Device.media_sampler`."""
    passed = [x is not None for x in (convolve, line, places, phases)]
    if sum(passed) != 1:
        raise ArgumentError("give exactly one of convolve, line, places and phases")
    if places is not None:
        return MediaSampler(_places(np.asarray(places)), 32, 32)
    if phases is not None:
        state = _scaler(np.asarray(phases), chroma, taps, shuffle=shuffle)
        return MediaSampler(state, 2048, state.size())
    if coefficient_bits not in (8, 16):
        raise ArgumentError(f"coefficient_bits={coefficient_bits} is neither 8 nor 16")
    more = {"scale_down_value": scale_down, "size_of_the_coefficient": coefficient_bits // 16}
    if line is not None:
        row = np.asarray(line, float)
        if row.ndim != 1 or not 1 <= len(row) <= 16:
            raise ArgumentError("a line has 1 to 16 coefficients")
        size = {"width": len(row) & 15, "msb_width": len(row) >> 4}
        size |= {"height": len(row) & 15, "msb_height": len(row) >> 4}
        return MediaSampler(_kernel(row[None], {**size, **more}), 128, 128)
    table = np.asarray(convolve, float)
    if table.ndim != 2 or not 1 <= min(table.shape) <= max(table.shape) <= _KERNEL:
        raise ArgumentError(f"a kernel has 1 to {_KERNEL} rows and columns, not {table.shape}")
    rows, columns = table.shape
    size = {"height": rows & 15, "msb_height": rows >> 4}
    size |= {"width": columns & 15, "msb_width": columns >> 4}
    is_large = max(rows, columns) > 15
    where = (2048, 2048, 1) if is_large else (512, 1024, 2)
    return MediaSampler(_kernel(table, {**size, **more}), *where)


def _kernel(table: NDArray[Any], fields: dict[str, Any]) -> Convolve:
    full = np.zeros((_KERNEL, 32))
    full[: table.shape[0], : table.shape[1]] = table
    parts = [full[:, :16], full[:, 16:]]
    rows = [ConvolveCoefficients(*row.tolist()) for part in parts for row in part]
    states = Convolve((ConvolveState(**fields), *rows))
    states.encode()
    return states


def _places(mask: NDArray[Any]) -> MorphologyState:
    if mask.ndim != 2 or not 1 <= min(mask.shape) <= max(mask.shape) <= 15:
        raise ArgumentError(f"a kernel of places has 1 to 15 rows and columns, not {mask.shape}")
    rows = {
        f"mask_for_row_{k}": sum(int(bit != 0) << j for j, bit in enumerate(row))
        for k, row in enumerate(mask)
    }
    return MorphologyState(mask.shape[0], mask.shape[1], **rows)


def _scaler(phases: NDArray[Any], chroma: ArrayLike | None, taps: int, *, shuffle: bool) -> Avs:
    """Phases [32, 8] for both directions, or [2, 32, 8]; of chrominance [32, 4] or [2, 32, 4]."""
    if taps not in _TAPS:
        raise ArgumentError(f"taps={taps} is neither 4 nor 8")
    luma = np.broadcast_to(phases, (2, _PHASES, 8))
    middle = luma[:, :, 2:6] if chroma is None else np.asarray(chroma)
    others = np.broadcast_to(middle, (2, _PHASES, 4))
    rows = [_phase(luma[:, k], others[:, k]) for k in range(_PHASES)]
    head = AvsState(enable_8_tap_filter=_TAPS[taps], shuffle_output_writeback=shuffle)
    control = AvsControl(
        default_sharpness_level=255,
        bypass_x_adaptive_filtering=True,
        bypass_y_adaptive_filtering=True,
    )
    states = Avs((head, *rows[:17], control, *rows[17:]))
    states.encode()
    return states


def _phase(luma: NDArray[Any], others: NDArray[Any]) -> AvsCoefficients:
    """The coefficients [2, 8] and [2, 4] of one phase, those along rows first."""
    fields = {
        f"table_0{axis}_filter_coefficient_{k}": float(luma[d, k])
        for d, axis in enumerate("xy")
        for k in range(8)
    }
    fields |= {
        f"table_1{axis}_filter_coefficient_{k + 2}": float(others[d, k])
        for d, axis in enumerate("xy")
        for k in range(4)
    }
    return AvsCoefficients(**fields)
