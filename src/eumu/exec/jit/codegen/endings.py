"""Loads that may end behind an array, because the compiler reads more than a program asks for."""

from __future__ import annotations

from typing import Final

from eumu.exec.jit.codegen.access import CompiledAccess
from eumu.exec.jit.llvm.functions import FunctionBuilder
from eumu.exec.jit.llvm.layout import LOCAL, Context, SurfaceBits
from eumu.exec.jit.llvm.vectors import Vector
from eumu.ir import Space
from eumu.ir.operations.memory import HALVES, LARGEST_JOINED, THREE_HALVES, least_inside
from eumu.records import dataclass
from eumu.types import Type

_PAIR: Final = "{ i64, i64 }"


@dataclass(frozen=True, slots=True)
class Ending:
    """A load of `size` bytes by one lane, of which `least` are inside an array; others are 0.

    Of a surface that is not of constants `of_any` bytes are.
    """

    space: Space
    size: int
    least: int
    of_any: int = 0

    def is_allowed(self, f: FunctionBuilder, a: Vector, room: Vector) -> Vector:
        """Whether enough of it is inside, of one that is not inside as a whole."""
        enough = room >= self.least
        if self.size != HALVES:
            return enough
        return enough | f.equal(room, THREE_HALVES) & f.equal(a & (HALVES - 1), 0)

    def load(self, f: FunctionBuilder, room: Vector, memory: Vector) -> None:
        """Load the bytes that are inside."""
        zeros = f.context(Context.ZEROS).place
        with f.times(self.size) as k:
            inside = k + 1 <= room
            source = f.op(f"select {inside.typed}, ptr {f.pointer(memory + k)}, ptr {zeros}")
            f.copy(8, source, f.elements(8, "%data", k))

    def room(self, f: FunctionBuilder, a: Vector) -> tuple[Vector, Vector]:
        """How many bytes may be loaded from an address on, 0 if none; where they are."""
        arena = f.context(Context.ARENA).get()
        if self.space is Space.FLAT:
            extent = f.op(f"call {_PAIR} @extent(ptr %ctx, {a.typed}, i1 false)")
            end = f.number(f.op(f"extractvalue {_PAIR} {extent}, 1"))
            room = f.intrinsic("usub.sat", "i64", end.name, a.name)
            return f.number(room), arena + (a - f.context(Context.BASE).get())
        room_found, memory = f.variable(), f.variable()
        row = f.op("call ptr @surface.row(ptr %ctx, i64 %surface)")
        with f.when(f.flag(f"icmp ne ptr {row}, null")):
            place, size, bits = (f.word(row, k).get() for k in (1, 2, 3))
            found = f.number(f.intrinsic("usub.sat", "i64", size.name, a.name))
            constant = int(SurfaceBits.CONSTANT)
            is_enough = f.equal(bits & constant, constant) | (found >= self.of_any)
            with f.when(f.equal(bits & int(SurfaceBits.NO_LOADS), 0) & is_enough):
                room_found.set(found)
                memory.set(arena + (place + a))
        return room_found.get(), memory.get()


def ending_of(
    access: CompiledAccess, block_of: Type | None = None, of_surface: int = 0
) -> Ending | None:
    """How the load of one lane may end, or a block of several elements; None: inside only.

    Of a block of constants all but the first element of a surface, and one in four at an address,
    may be outside.  Of any surface `of_surface` elements must be inside, of any load the first
    three of four halves.
    """
    if access.space in LOCAL or access.address.width > 1:
        return None
    least, of_any = access.size, access.size
    if block_of is not None and access.space is Space.SURFACE:
        least = block_of.size
        of_any = of_surface * block_of.size
    elif block_of is not None and access.size <= LARGEST_JOINED:
        least = least_inside(access.size // block_of.size) * block_of.size
    is_inside = least == access.size != HALVES
    return None if is_inside else Ending(access.space, access.size, least, of_any)
