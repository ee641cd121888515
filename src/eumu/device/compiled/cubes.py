"""Cubes: what lies beyond a face's edge, which is rare."""

from __future__ import annotations

from collections.abc import Sequence

from eumu.device.compiled.texels import Texels
from eumu.device.compiled.writer import Body, Module
from eumu.device.sampler import cube
from eumu.exec.jit.llvm.vectors import Vector


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
    """Add `@cube(record, left, row, size, x, y, slice, face)`: x and y may lie beyond an edge."""
    b = Body(module)
    names = ("left", "row", "size", "x", "y", "slice", "face")
    left, row, size, x, y, slice, face = (b.vector("i", f"%{n}") for n in names)

    def texel(x: Vector, y: Vector, face: Vector) -> list[Vector]:
        arguments = (v.typed for v in (left, row, x, y, slice + face))
        return b.ask(kind.kind, channels, "texel", "ptr %rec", *arguments)

    def across(x: Vector, y: Vector) -> list[Vector]:
        other, column, line = cube.across(b, face, x, y, size)
        return texel(column, line, other)

    inner = [b.differ(b.least(b.most(v, 0), size - 1), v) for v in (x, y)]
    b.do(f"br i1 {b.any(inner[0] | inner[1])}, label %edge, label %plain")
    b.label("plain")
    b.give(texel(x, y, face))
    b.label("edge")
    corner, places = cube.beside(b, x, y, size)
    first = across(*places[0])
    b.do(f"br i1 {b.any(corner)}, label %corner, label %done")
    b.label("done")
    b.give(first)
    b.label("corner")
    coordinates = zip(first, across(*places[1]), across(*places[2]), strict=True)
    b.give([b.where(corner, cube.corner_mean(three), three[0]) for three in coordinates])
    b.finish_internal("cube", kind.kind, channels, names)
