"""Cubes: what lies beyond a face's edge, from a table of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

from eumu.device.compiled.texels import Texels
from eumu.device.compiled.vectors import Vector
from eumu.device.compiled.writer import Body, Module
from eumu.device.sampler import cube

_ENTRY: Final = 8  # dwords of an edge's entry, five of them used


@cache
def _neighbours() -> tuple[int, ...]:
    """For each face and edge (left, right, top, bottom): the face beyond, how its column and row
    are made: a share of the last index, and of the place along the edge.
    """
    size, found = 4, []
    for face in range(6):
        for x, y in (((-1, -1), (0, 3)), ((4, 4), (0, 3)), ((0, 3), (-1, -1)), ((0, 3), (4, 4))):
            faces = np.full(2, face)
            other, *places = cube.across(faces, np.array(x), np.array(y), np.full(2, size))
            entry = [int(other[0])]
            for low, high in places:
                entry += [int(low) // 3, (int(high) - int(low)) // 3]
            found += [*entry, *[0] * (_ENTRY - len(entry))]
    return tuple(found)


def leave_if_unordered(b: Body, active: Vector, direction: Sequence[Vector]) -> None:
    """Leave NaN in an active lane to the model."""
    x, y, z = direction
    sum = x + y + z
    unordered = b.differ(sum, sum) & active
    leave, on = b.name("leave"), b.name("ordered")
    b.do(f"br i1 {b.any(unordered)}, label %{leave}, label %{on}")
    b.label(leave)
    b.do("ret i32 2")
    b.label(on)


def texel_function(module: Module, kind: Texels, channels: int) -> None:
    """Add `@cube(record, left, row, size, x, y, slice, face)`: x and y one beyond an edge at most,
    else they are taken as that.
    """
    table = ", ".join(f"i32 {n}" for n in _neighbours())
    count = len(_neighbours())
    module.declared.add(f"@neighbours = private constant [{count} x i32] [{table}]")
    b = Body(module)
    names = ("left", "row", "size", "x", "y", "slice", "face")
    size, x, y = (b.vector("i", f"%{n}") for n in ("size", "x", "y"))
    x, y = (b.least(b.most(v, -1), size) for v in (x, y))
    last = size - 1
    inner = [b.least(b.most(v, 0), last) for v in (x, y)]
    out = [b.differ(v, c) for v, c in zip((x, y), inner, strict=True)]
    b.do(f"br i1 {b.any(out[0] | out[1])}, label %edge, label %plain")
    b.label("plain")
    b.give(b.ask(kind.kind, channels, "texel", *_given(b, x, y, b.vector("i", "%face"))))
    b.label("edge")
    corner = out[0] & out[1]
    first = _across(
        b, kind, channels, b.where(corner, inner[0], x), b.where(corner, inner[1], y), last
    )
    b.do(f"br i1 {b.any(corner)}, label %corner, label %done")
    b.label("done")
    b.give(first)
    b.label("corner")
    second = _across(b, kind, channels, x, inner[1], last)
    third = _across(b, kind, channels, inner[0], y, last)
    means = [cube.corner_mean(texels) for texels in zip(first, second, third, strict=True)]
    b.give([b.where(corner, mean, one) for mean, one in zip(means, first, strict=True)])
    b.finish_internal("cube", kind.kind, channels, names)


def _given(b: Body, x: Vector, y: Vector, face: Vector) -> list[str]:
    left, row, slice = (b.vector("i", f"%{n}") for n in ("left", "row", "slice"))
    return ["ptr %rec", *(v.typed for v in (left, row, x, y, slice + face))]


def _across(
    b: Body, kind: Texels, channels: int, x: Vector, y: Vector, last: Vector
) -> list[Vector]:
    """The texel at a place that may be one beyond one edge."""
    left, above, right, below = x < 0, y < 0, x > last, y > last
    sideways = left | right
    edge = b.where(
        sideways,
        b.where(left, b.constant(0), 1),
        b.where(above, b.constant(2), 3),
    )
    here = b.vector("i", "%face")
    rows = b.pointers("@neighbours", ((here << 2) + edge) * (4 * _ENTRY))
    entry = [b.integer(b.gather(rows, 4 * n)) for n in range(5)]
    along = b.where(sideways, y, x)
    outside = sideways | above | below
    column = b.where(outside, entry[1] * last + entry[2] * along, x)
    row = b.where(outside, entry[3] * last + entry[4] * along, y)
    face = b.where(outside, entry[0], here)
    return b.ask(kind.kind, channels, "texel", *_given(b, column, row, face))
