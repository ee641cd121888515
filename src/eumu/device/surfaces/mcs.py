"""Multisample control surfaces: which slice of a pixel's samples each of them is in.

The surface has an element for each pixel, one byte for 2 and 4 samples, four for 8, eight for 16,
in Y tiles; a sample's number of one, two or four bits says its slice, sample 0 in the lowest bits.
An element of ones says that the pixel is the clear colour.  Source: Mesa's isl and blorp.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.surfaces.surface import Surface

Ints = NDArray[np.int64]

# Bytes of an element and bits for each sample, by the number of samples.
_ELEMENTS: Final = {2: (1, 1), 4: (1, 2), 8: (4, 4), 16: (8, 4)}
_TILE_BYTES: Final = 128
_TILE_ROWS: Final = 32


def control_addresses(surface: Surface, x: Ints, y: Ints, slice: Ints) -> tuple[NDArray[Any], int]:
    """Device addresses [N] (uint64) of the elements of pixels, and the bytes of each."""
    state, (size, _) = surface.state, _ELEMENTS[surface.samples]
    row = y + (slice + state.minimum_array_element) * 4 * state.auxiliary_surface_qpitch
    left, tiles = x * size, state.auxiliary_surface_pitch + 1
    tile = row // _TILE_ROWS * tiles + left // _TILE_BYTES
    inside = left % _TILE_BYTES // 16 * 512 + row % _TILE_ROWS * 16 + left % 16
    return (state.auxiliary_surface_base_address + 4096 * tile + inside).astype(np.uint64), size


def control_size(surface: Surface) -> int:
    """Bytes up to the end of the last element's tiles."""
    state, slices = surface.state, surface.layers + surface.state.minimum_array_element
    rows = (slices - 1) * 4 * state.auxiliary_surface_qpitch + surface.height
    return 4096 * (state.auxiliary_surface_pitch + 1) * -(-rows // _TILE_ROWS)


def _mask(samples: int) -> int:
    bits = samples * _ELEMENTS[samples][1]
    return (1 << bits) - 1


def is_clear(samples: int, control: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether elements [N] say that their pixels are the clear colour."""
    mask = np.uint64(_mask(samples))
    clear: NDArray[np.bool_] = (control & mask) == mask
    return clear


def slices_of(samples: int, control: NDArray[np.uint64], sample: Ints) -> Ints:
    """The slice of each sample [N]."""
    width = _ELEMENTS[samples][1]
    codes = control >> (width * sample).astype(np.uint64) & np.uint64((1 << width) - 1)
    slices: Ints = np.minimum(codes.astype(np.int64), samples - 1)
    return slices
