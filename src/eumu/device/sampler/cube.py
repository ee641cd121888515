"""Cubes: which face a direction meets, where on it, and what lies beyond a face's edge.

Faces are numbered +X, -X, +Y, -Y, +Z, -Z; on each, s goes to the right and t down, as in Direct3D,
OpenGL and Vulkan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from eumu.device.lanes import ARRAYS, Lanes, V

Ints = NDArray[np.int64]

# For each face: axis and sign of s, of t, and of the major axis.
_FACES: Final = (
    ((2, -1), (1, -1), (0, 1)),
    ((2, 1), (1, -1), (0, -1)),
    ((0, 1), (2, 1), (1, 1)),
    ((0, 1), (2, -1), (1, -1)),
    ((0, 1), (1, -1), (2, 1)),
    ((0, -1), (1, -1), (2, -1)),
)


def face_of(lanes: Lanes[V], direction: Sequence[V]) -> V:
    """The face that each direction meets; of equal components z wins, then y."""
    x, y, z = direction
    size_x, size_y, size_z = (lanes.magnitude(c) for c in direction)
    is_z, is_y = (size_z >= size_x) & (size_z >= size_y), size_y >= size_x
    axis = lanes.where(is_z, 4, lanes.where(is_y, lanes.constant(2), 0))
    major = lanes.where(is_z, z, lanes.where(is_y, y, x))
    return axis + lanes.integer(major < 0.0)


def on_face(lanes: Lanes[V], direction: Sequence[V], face: V) -> tuple[V, V]:
    """s and t in 0 … 1 where each direction meets the plane of a face."""
    s, t, m = (_component(lanes, direction, face, k) for k in range(3))
    m = lanes.where(lanes.equal(m, 0.0), 1.0, m)
    return (s / m + 1.0) * 0.5, (t / m + 1.0) * 0.5


def _component(lanes: Lanes[V], direction: Sequence[V], face: V, k: int) -> V:
    """What s (0), t (1) or the major axis (2) of a face is of a direction."""
    axis, sign = before = _FACES[0][k]
    value = direction[axis] if sign > 0 else -direction[axis]
    for number, row in enumerate(_FACES):
        axis, sign = row[k]
        if row[k] != before:
            here = direction[axis] if sign > 0 else -direction[axis]
            value = lanes.where(face >= number, here, value)
        before = row[k]
    return value


def corner_mean(texels: Sequence[V]) -> V:
    """What stands at a corner of the cube, where three faces meet."""
    first, second, third = texels
    return (first + second + third) / 3.0


def across(face: Ints, x: Ints, y: Ints, size: Ints) -> tuple[Ints, Ints, Ints]:
    """Face and texel for a texel that may lie one row or column beyond the edge of its face."""
    lane = np.arange(len(face))
    direction: NDArray[Any] = np.empty((3, len(face)))
    table = np.array(_FACES)[face]
    axes, signs = table[:, :, 0], table[:, :, 1]
    for k, place in enumerate(((2 * x + 1) / size - 1, (2 * y + 1) / size - 1, np.ones(len(x)))):
        direction[axes[:, k], lane] = signs[:, k] * place
    outside = (x < 0) | (x >= size) | (y < 0) | (y >= size)
    parts = list(direction)
    other = np.where(outside, face_of(ARRAYS, parts), face)
    s, t = on_face(ARRAYS, parts, other)
    column = np.clip(np.floor(s * size).astype(np.int64), 0, size - 1)
    row = np.clip(np.floor(t * size).astype(np.int64), 0, size - 1)
    return other, np.where(outside, column, x), np.where(outside, row, y)
