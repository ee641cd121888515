"""Mip levels of every lane, and what a filter for enlarging and one for reducing may differ in."""

from __future__ import annotations

from eumu.device.compiled.record import LEVEL, LEVEL_BYTES, RECORD
from eumu.device.compiled.writer import Body
from eumu.exec.jit.llvm.vectors import Vector
from eumu.records import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that a filter for enlarging and one for reducing may have or not."""

    enlarged: bool
    reduced: bool

    def of(self, magnified: Vector | None) -> Vector | bool:
        """For all lanes alike, or the mask of those that have it."""
        if magnified is None or self.enlarged is self.reduced:
            return self.enlarged
        return magnified if self.enlarged else ~magnified


@dataclass(frozen=True, slots=True)
class MipLevel:
    """A mip level in every lane: sizes in texels, where its texels begin."""

    sizes: tuple[Vector, Vector, Vector]
    left: Vector
    row: Vector


def place_of_level(b: Body, level: Vector | None) -> MipLevel:
    """Level 0 of the record, or that in a vector."""
    if level is None:
        width, height, depth, left, row = (b.every("level", n) for n in range(len(LEVEL)))
        return MipLevel((width, height, depth), left, row)
    assert RECORD.fields is not None
    table = b.at("%rec", int(RECORD.fields["level"][1]))
    rows = b.pointers(table, level * LEVEL_BYTES)
    width, height, depth, left, row = (b.integer(b.gather(rows, 4 * n)) for n in range(len(LEVEL)))
    return MipLevel((width, height, depth), left, row)
