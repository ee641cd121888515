"""Cubes: which face a direction meets, where on it, and what lies beyond a face's edge.

Faces are numbered +X, -X, +Y, -Y, +Z, -Z; on each, s goes to the right and t down, as in Direct3D,
OpenGL and Vulkan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from eumu.device.lanes import LaneFunctions, V

# For each face: axis and sign of s, of t, and of the major axis.
_FACES: Final = (
    ((2, -1), (1, -1), (0, 1)),
    ((2, 1), (1, -1), (0, -1)),
    ((0, 1), (2, 1), (1, 1)),
    ((0, 1), (2, -1), (1, -1)),
    ((0, 1), (1, -1), (2, 1)),
    ((0, -1), (1, -1), (2, -1)),
)
# For each axis, and there for each face: which of s, t and the major axis it is, and the sign.
_PARTS: Final = tuple(
    tuple(next((k, sign) for k, (a, sign) in enumerate(row) if a == axis) for row in _FACES)
    for axis in range(3)
)


def face_of(lanes: LaneFunctions[V], direction: Sequence[V]) -> V:
    """The face that each direction meets; of equal components z wins, then y."""
    x, y, z = direction
    size_x, size_y, size_z = (lanes.magnitude(c) for c in direction)
    is_z, is_y = (size_z >= size_x) & (size_z >= size_y), size_y >= size_x
    axis = lanes.where(is_z, 4, lanes.where(is_y, lanes.constant(2), 0))
    major = lanes.where(is_z, z, lanes.where(is_y, y, x))
    return axis + lanes.integer(major < 0.0)


def on_face(lanes: LaneFunctions[V], direction: Sequence[V], face: V) -> tuple[V, V]:
    """s and t in 0 … 1 where each direction meets the plane of a face."""
    s, t, m = (_by_face(lanes, direction, face, axes) for axes in zip(*_FACES, strict=True))
    m = lanes.where(lanes.equal(m, 0.0), 1.0, m)
    return (s / m + 1.0) * 0.5, (t / m + 1.0) * 0.5


def _by_face(
    lanes: LaneFunctions[V], parts: Sequence[V], face: V, choices: Sequence[tuple[int, int]]
) -> V:
    """One of the parts for each face, or its negative: its number and sign."""
    part, sign = before = choices[0]
    value = parts[part] if sign > 0 else -parts[part]
    for number, (part, sign) in enumerate(choices):
        if (part, sign) != before:
            here = parts[part] if sign > 0 else -parts[part]
            value = lanes.where(face >= number, here, value)
        before = part, sign
    return value


def beside(
    lanes: LaneFunctions[V], x: V, y: V, size: V
) -> tuple[V, tuple[tuple[V, V], tuple[V, V], tuple[V, V]]]:
    """Which texels are at a corner of the cube, and the three that meet there; others are first."""
    inner_x, inner_y = (lanes.least(lanes.most(k, 0), size - 1) for k in (x, y))
    corner = lanes.differ(x, inner_x) & lanes.differ(y, inner_y)
    first = lanes.where(corner, inner_x, x), lanes.where(corner, inner_y, y)
    return corner, (first, (x, inner_y), (inner_x, y))


def corner_mean(texels: Sequence[V]) -> V:
    """What stands at a corner of the cube, where three faces meet."""
    first, second, third = texels
    return (first + second + third) / 3.0


def across(lanes: LaneFunctions[V], face: V, x: V, y: V, size: V) -> tuple[V, V, V]:
    """Face and texel for a texel that may lie one row or column beyond the edge of its face."""
    edge = lanes.double(size)
    places = [(lanes.double(k) * 2.0 + 1.0) / edge - 1.0 for k in (x, y)]
    places.append(lanes.double(lanes.constant(1.0)))
    direction = [_by_face(lanes, places, face, parts) for parts in _PARTS]
    other = face_of(lanes, direction)
    outside = (x < 0) | (x >= size) | (y < 0) | (y >= size)
    coordinates = [lanes.where(outside, other, face)]
    for place, k in zip(on_face(lanes, direction, other), (x, y), strict=True):
        last = lanes.floor(lanes.least(lanes.most(place * edge, 0.0), edge - 1.0))
        coordinates.append(lanes.where(outside, lanes.integer(last), k))
    return coordinates[0], coordinates[1], coordinates[2]
