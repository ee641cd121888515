"""Adaptive video scaling: pixels filtered from eight or four of their neighbours on each line.

A pixel at place p (in pixels, from the centre of the first) is filtered from pixels floor(p) - 3
to floor(p) + 4, of four taps floor(p) - 1 to floor(p) + 2, with the coefficients of the phase that
the fraction of p is in, one of 32; first along the row, then along the column.  Table 0 is for
luma and green, table 1 for the others.  Decided: the fraction is truncated, and nothing is rounded
before the end.

What the documents do not define is an error: the equations of the adaptive and of the smooth
filter (so an adaptive mode must be bypassed with a sharpness of 255), and the detail filter, whose
Gain Factor must be 0.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.sampler.media.payload import MediaPayload, Sequence
from eumu.device.state.scaler import Avs, FilterTaps
from eumu.device.surfaces.media import CHROMA, GREEN, MediaTexture
from eumu.errors import Unsupported
from eumu.records import dataclass

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

_PHASES: Final = 32
_SHARP: Final = 255
_FAR: Final = float(1 << 30)
# Rows and columns of a block by Message Sequence.
SIZES: Final = {
    Sequence.BLOCK_16X4: (4, 16),
    Sequence.BLOCK_8X4: (4, 8),
    Sequence.BLOCK_16X8_OR_16X1: (8, 16),
    Sequence.BLOCK_4X4_OR_1X1: (4, 4),
}


def scale(texture: MediaTexture, state: Avs, payload: MediaPayload) -> list[Floats]:
    """The channels of a block, red first: [threads, rows, columns] each, from 0 to 1."""
    _check(state)
    _check_chroma(texture)
    rows, columns = SIZES[payload.sequence]
    if payload.sequence is not Sequence.BLOCK_16X4:
        _check_shuffle(state, payload.sequence)
    first = 4 * payload.words[:, 1:2].astype(np.int64)
    u = place(payload.floats(2), payload.floats(4), payload.floats(6), np.arange(columns))
    v = place(payload.floats(3), payload.floats(5), payload.floats(0), first + np.arange(rows))
    return [_channel(texture, state, k, u, v) for k in range(4)]


def place(start: Singles, delta: Singles, second: Singles, k: Ints) -> Floats:
    """The coordinate of the k-th pixel, whose distances grow by `second` from one to the next."""
    wide = [x.astype(np.float64) for x in (start, delta, second)]
    position = wide[0] + wide[1] * k + wide[2] * (k * (k - 1) // 2)
    return np.nan_to_num(position, nan=0.0, posinf=_FAR, neginf=-_FAR)


def _check(state: Avs) -> None:
    head, control = state.head, state.control
    if head.gain_factor:
        raise Unsupported(
            "AVS with a Gain Factor: no public page has the equations of its detail filter"
        )
    adaptive = (FilterTaps.EIGHT_ADAPTIVE_GREEN, FilterTaps.EIGHT_ADAPTIVE)
    if head.enable_8_tap_filter not in adaptive:
        return
    if not (control.bypass_x_adaptive_filtering and control.bypass_y_adaptive_filtering):
        raise Unsupported("adaptive AVS: no public page says how it chooses between its filters")
    if control.default_sharpness_level != _SHARP:
        raise Unsupported(
            f"AVS with Default Sharpness Level {control.default_sharpness_level}: no public page"
            " has the smooth filter that it mixes in"
        )


def _check_shuffle(state: Avs, sequence: Sequence) -> None:
    wanted = sequence is not Sequence.BLOCK_16X8_OR_16X1
    if state.head.shuffle_output_writeback != wanted:
        raise state.head.error(
            "shuffle_output_writeback", f"must be {int(wanted)} for a block of {_words(sequence)}"
        )


def _words(sequence: Sequence) -> str:
    rows, columns = SIZES[sequence]
    return f"{columns} x {rows}"


@dataclass(frozen=True, slots=True)
class _Line:
    """The pixels that places on a line are filtered from, [threads, places, 8], and how much."""

    pixels: Ints
    weights: Floats


def _line(state: Avs, table: str, at: Floats, taps: int) -> _Line:
    """Coefficients for places in pixels."""
    rows = np.array([p.taps(table) for p in state.phases])
    if taps == 4:
        rows[:, [0, 1, 6, 7]] = 0
    at = np.clip(at, -_FAR, _FAR)
    whole = np.floor(at)
    phase = np.floor((at - whole) * _PHASES).astype(np.int64)
    pixels = whole.astype(np.int64)[..., None] + np.arange(-3, 5)
    return _Line(pixels, rows[phase])


def _channel(texture: MediaTexture, state: Avs, channel: int, u: Floats, v: Floats) -> Floats:
    surface = texture.surface
    mode = state.head.enable_8_tap_filter
    eight = mode in (FilterTaps.EIGHT, FilterTaps.EIGHT_ADAPTIVE) or (
        mode is FilterTaps.EIGHT_ADAPTIVE_GREEN and channel == GREEN
    )
    table = (
        "0" if channel == GREEN or mode in (FilterTaps.EIGHT, FilterTaps.EIGHT_ADAPTIVE) else "1"
    )
    scale = surface.chroma_scale() if channel in CHROMA else (1, 1)
    taps = 8 if eight else 4
    across = _line(state, table + "x", (u * surface.width - 0.5) / scale[0], taps)
    down = _line(state, table + "y", (v * surface.height - 0.5) / scale[1], taps)
    x = across.pixels[:, None, None, :, :]  # thread, row, its tap, column, its tap
    y = down.pixels[:, :, :, None, None]
    texels = texture.channel(channel, x, y)
    value = np.einsum("nrtcs,nrt,ncs->nrc", texels, down.weights, across.weights)
    clipped: Floats = np.clip(value, 0.0, 1.0)
    return clipped


def _check_chroma(texture: MediaTexture) -> None:
    if texture.surface.chroma_scale() != (1, 1) and any(texture.surface.state.chroma_offset):
        raise Unsupported(
            "AVS of chrominance that lies beside the even luma pixel: the unit of its distance is"
            " not public"
        )
