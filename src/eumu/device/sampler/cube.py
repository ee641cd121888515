"""Cubes: which face a direction meets, where on it, and what lies beyond a face's edge.

Faces are numbered +X, -X, +Y, -Y, +Z, -Z; on each, s goes to the right and t down, as in Direct3D,
OpenGL and Vulkan.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["across", "face_of", "on_face"]

Floats = NDArray[Any]
Ints = NDArray[np.int64]

# For each face: axis and sign of s, of t, and of the major axis.
_FACES: Final = np.array(
    [
        ((2, -1), (1, -1), (0, 1)),
        ((2, 1), (1, -1), (0, -1)),
        ((0, 1), (2, 1), (1, 1)),
        ((0, 1), (2, -1), (1, -1)),
        ((0, 1), (1, -1), (2, 1)),
        ((0, -1), (1, -1), (2, -1)),
    ]
)


def face_of(direction: Floats) -> Ints:
    """The face that each direction [N, 3] meets; of equal components z wins, then y."""
    size = np.abs(direction)
    major = np.where(
        (size[:, 2] >= size[:, 0]) & (size[:, 2] >= size[:, 1]),
        2,
        np.where(size[:, 1] >= size[:, 0], 1, 0),
    )
    lane = np.arange(len(direction))
    return 2 * major + (direction[lane, major] < 0)


def on_face(direction: Floats, face: Ints) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """s and t in 0 … 1 where each direction meets the plane of a face."""
    lane = np.arange(len(direction))
    axes, signs = _FACES[face, :, 0], _FACES[face, :, 1]
    s, t, m = (direction[lane, axes[:, k]] * signs[:, k].astype(np.float32) for k in range(3))
    m = np.where(m == 0, np.float32(1), m)
    half = np.float32(0.5)
    return (s / m + 1) * half, (t / m + 1) * half


def across(face: Ints, x: Ints, y: Ints, size: Ints) -> tuple[Ints, Ints, Ints]:
    """Face and texel for a texel that may lie one row or column beyond the edge of its face."""
    lane = np.arange(len(face))
    direction = np.empty((len(face), 3))
    axes, signs = _FACES[face, :, 0], _FACES[face, :, 1]
    for k, place in enumerate(((2 * x + 1) / size - 1, (2 * y + 1) / size - 1, np.ones(len(x)))):
        direction[lane, axes[:, k]] = signs[:, k] * place
    outside = (x < 0) | (x >= size) | (y < 0) | (y >= size)
    other = np.where(outside, face_of(direction), face)
    s, t = on_face(direction, other)
    column = np.clip(np.floor(s * size).astype(np.int64), 0, size - 1)
    row = np.clip(np.floor(t * size).astype(np.int64), 0, size - 1)
    return other, np.where(outside, column, x), np.where(outside, row, y)
