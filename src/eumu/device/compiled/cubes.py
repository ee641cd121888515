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

__all__ = ["leave_if_unordered", "texel_function"]

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


def leave_if_unordered(b: Body, active: str, direction: Sequence[Vector]) -> None:
    """Leave NaN in an active lane to the model."""
    x, y, z = direction
    sum = x + y + z
    unordered = b.differ(sum, sum) & b.vector("b", active)
    leave, on = b.name("leave"), b.name("ordered")
    b.do(f"br i1 {b.any(unordered.name)}, label %{leave}, label %{on}")
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
    type, names = kind.type(b), ("left", "row", "size", "x", "y", "slice", "face")
    size, x, y = (b.vector("i", f"%{n}") for n in ("size", "x", "y"))
    x, y = (b.least(b.most(v, -1), size) for v in (x, y))
    last = size - 1
    inner = [b.least(b.most(v, 0), last) for v in (x, y)]
    out = [b.differ(v, c) for v, c in zip((x, y), inner, strict=True)]
    b.do(f"br i1 {b.any((out[0] | out[1]).name)}, label %edge, label %plain")
    b.label("plain")
    here = b.ask(type, channels, "texel", *_given(b, x, y, b.vector("i", "%face")))
    b.do(f"ret {b.lanes(here, type)}")
    b.label("edge")
    corner = out[0] & out[1]
    first = _across(
        b, kind, channels, b.where(corner, inner[0], x), b.where(corner, inner[1], y), last
    )
    b.do(f"br i1 {b.any(corner.name)}, label %corner, label %done")
    b.label("done")
    b.do(f"ret {b.lanes(first, type)}")
    b.label("corner")
    second = _across(b, kind, channels, x, inner[1], last)
    third = _across(b, kind, channels, inner[0], y, last)
    values = []
    for texels in zip(first, second, third, strict=True):
        one, *others = (b.vector("f", v) for v in texels)
        values.append(b.where(corner, cube.corner_mean([one, *others]), one).name)
    b.do(f"ret {b.lanes(values, type)}")
    structure = "{" + ", ".join([type] * channels) + "}"
    given = ", ".join(f"{b.i} %{n}" for n in names)
    b.finish(f"internal {structure} @cube(ptr %rec, {given})")


def _given(b: Body, x: Vector, y: Vector, face: Vector) -> list[str]:
    left, row, slice = (b.vector("i", f"%{n}") for n in ("left", "row", "slice"))
    return ["ptr %rec", *(v.typed for v in (left, row, x, y, slice + face))]


def _across(b: Body, kind: Texels, channels: int, x: Vector, y: Vector, last: Vector) -> list[str]:
    """The texel at a place that may be one beyond one edge."""
    left, above, right, below = x < 0, y < 0, x > last, y > last
    sideways = left | right
    edge = b.where(
        sideways,
        b.where(left, b.constant(0), 1),
        b.where(above, b.constant(2), 3),
    )
    here = b.vector("i", "%face")
    rows = b.pointers("@neighbours", (((here << 2) + edge) * (4 * _ENTRY)).name)
    entry = [b.vector("i", b.gather(rows, 4 * n)) for n in range(5)]
    along = b.where(sideways, y, x)
    outside = sideways | above | below
    column = b.where(outside, entry[1] * last + entry[2] * along, x)
    row = b.where(outside, entry[3] * last + entry[4] * along, y)
    face = b.where(outside, entry[0], here)
    return b.ask(kind.type(b), channels, "texel", *_given(b, column, row, face))
