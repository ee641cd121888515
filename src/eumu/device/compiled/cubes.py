"""Cubes: faces of directions, and what lies beyond a face's edge, from a table of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

from eumu.device.compiled.texels import Texels
from eumu.device.compiled.writer import Body, Module
from eumu.device.sampler import cube

__all__ = ["leave_if_unordered", "project", "texel_function"]

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


def leave_if_unordered(b: Body, active: str, direction: Sequence[str]) -> None:
    """Leave NaN in an active lane to the model."""
    x, y, z = direction
    sum = b.floats("fadd", b.floats("fadd", x, y), z)
    unordered = b.both(b.fcmp("uno", sum, sum), active)
    leave, on = b.name("leave"), b.name("ordered")
    b.do(f"br i1 {b.any(unordered)}, label %{leave}, label %{on}")
    b.label(leave)
    b.do("ret i32 2")
    b.label(on)


def project(b: Body, x: str, y: str, z: str) -> tuple[str, str, str]:
    """The face that a direction meets (z before y before x), s and t on it."""
    ax, ay, az = (b.call(b.f, "fabs", v) for v in (x, y, z))
    is_z = b.both(b.fcmp("oge", az, ax), b.fcmp("oge", az, ay))
    is_y = b.both(b.fcmp("oge", ay, ax), b.negate(is_z))
    major = b.choose(is_z, b.f, z, b.choose(is_y, b.f, y, x))
    negative = b.fcmp("olt", major, "zeroinitializer")
    axis = b.choose(is_z, b.i, b.k(4), b.choose(is_y, b.i, b.k(2), b.k(0)))
    face = b.ints("sub", axis, b.cast("sext", negative, b.b, b.i))
    back_x, back_y, back_z = (b.op(f"fneg {b.f} {v}") for v in (x, y, z))
    s = b.choose(is_z, b.f, b.choose(negative, b.f, back_x, x), x)
    on_x = b.choose(negative, b.f, z, back_z)
    s = b.choose(b.either(is_y, is_z), b.f, s, on_x)
    t = b.choose(is_y, b.f, b.choose(negative, b.f, back_z, z), back_y)
    m = b.choose(negative, b.f, b.op(f"fneg {b.f} {major}"), major)
    m = b.choose(b.fcmp("oeq", m, "zeroinitializer"), b.f, b.x(1.0), m)
    places = []
    for v in (s, t):
        sum = b.floats("fadd", b.floats("fdiv", v, m), b.x(1.0))
        places.append(b.floats("fmul", sum, b.x(0.5)))
    return face, places[0], places[1]


def texel_function(module: Module, kind: Texels, channels: int) -> None:
    """Add `@cube(record, left, row, size, x, y, slice, face)`: x and y from -1 to `size`."""
    table = ", ".join(f"i32 {n}" for n in _neighbours())
    count = len(_neighbours())
    module.declared.add(f"@neighbours = private constant [{count} x i32] [{table}]")
    b = Body(module)
    type, vectors = kind.type(b), ("left", "row", "size", "x", "y", "slice", "face")
    last = b.ints("sub", "%size", b.k(1))
    inner = [b.clamp(v, "zeroinitializer", last) for v in ("%x", "%y")]
    out = [b.icmp("ne", v, c) for v, c in zip(("%x", "%y"), inner, strict=True)]
    b.do(f"br i1 {b.any(b.either(*out))}, label %edge, label %plain")
    b.label("plain")
    here = b.ask(type, channels, "texel", *_given(b, "%x", "%y", "%face"))
    b.do(f"ret {b.lanes(here, type)}")
    b.label("edge")
    corner = b.both(*out)
    x, y = (b.choose(corner, b.i, c, v) for v, c in zip(("%x", "%y"), inner, strict=True))
    first = _across(b, kind, channels, x, y, last)
    b.do(f"br i1 {b.any(corner)}, label %corner, label %done")
    b.label("done")
    b.do(f"ret {b.lanes(first, type)}")
    b.label("corner")
    second = _across(b, kind, channels, "%x", inner[1], last)
    third = _across(b, kind, channels, inner[0], "%y", last)
    values = []
    for f, s, t in zip(first, second, third, strict=True):
        mean = b.floats("fdiv", b.floats("fadd", b.floats("fadd", f, s), t), b.x(3.0))
        values.append(b.choose(corner, b.f, mean, f))
    b.do(f"ret {b.lanes(values, type)}")
    structure = "{" + ", ".join([type] * channels) + "}"
    given = ", ".join(f"{b.i} %{n}" for n in vectors)
    b.finish(f"internal {structure} @cube(ptr %rec, {given})")


def _given(b: Body, x: str, y: str, face: str) -> list[str]:
    slice = b.ints("add", "%slice", face)
    vectors = [f"{b.i} {v}" for v in ("%left", "%row", x, y, slice)]
    return ["ptr %rec", *vectors]


def _across(b: Body, kind: Texels, channels: int, x: str, y: str, last: str) -> list[str]:
    """The texel at a place that may be one beyond one edge."""
    left, above = (b.icmp("slt", v, "zeroinitializer") for v in (x, y))
    right, below = (b.icmp("sgt", v, last) for v in (x, y))
    sideways = b.either(left, right)
    edge = b.choose(
        sideways,
        b.i,
        b.choose(left, b.i, b.k(0), b.k(1)),
        b.choose(above, b.i, b.k(2), b.k(3)),
    )
    entry = b.ints("add", b.ints("shl", "%face", b.k(2)), edge)
    rows = b.pointers("@neighbours", b.ints("mul", entry, b.k(4 * _ENTRY)))
    face = b.gather(rows)
    along = b.choose(sideways, b.i, y, x)
    outside = b.either(sideways, b.either(above, below))
    places = []
    for n, plain in ((1, x), (3, y)):
        share = b.ints("mul", b.gather(rows, 4 * n), last)
        moved = b.ints("mul", b.gather(rows, 4 * n + 4), along)
        places.append(b.choose(outside, b.i, b.ints("add", share, moved), plain))
    face = b.choose(outside, b.i, face, "%face")
    return b.ask(kind.type(b), channels, "texel", *_given(b, places[0], places[1], face))
