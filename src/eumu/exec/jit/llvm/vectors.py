"""Values of a function in the making, with the operators that equations are written with.

A value knows its kind, from which the instruction follows.  One lane is a scalar of LLVM, several
are a vector.  Wide integers are unsigned, addresses and what is counted.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, Literal

from eumu.exec.jit.llvm.emit import Emitter, literal, vector_literal, vector_of
from eumu.records import dataclass
from eumu.types import DF, F

# Float, double, signed and unsigned integer, flag, wide integer.
Kind = Literal["f", "d", "i", "u", "b", "w"]

SCALARS: Final = {"f": "float", "d": "double", "i": "i32", "u": "i32", "b": "i1", "w": "i64"}


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A value in every lane: the name of an LLVM value, and what its elements are."""

    e: Writer
    kind: Kind
    name: str
    width: int

    @property
    def is_float(self) -> bool:
        return self.kind in "fd"

    @property
    def type(self) -> str:
        """The LLVM type."""
        return vector_of(SCALARS[self.kind], self.width)

    @property
    def typed(self) -> str:
        """An argument of a call."""
        return f"{self.type} {self.name}"

    # ---- arithmetic

    def __add__(self, other: Vector | float) -> Vector:
        return self._result("fadd" if self.is_float else "add", other)

    def __sub__(self, other: Vector | float) -> Vector:
        return self._result("fsub" if self.is_float else "sub", other)

    def __rsub__(self, other: float) -> Vector:
        return self.like(other) - self

    def __mul__(self, other: Vector | float) -> Vector:
        return self._result("fmul" if self.is_float else "mul", other)

    def __truediv__(self, other: Vector | float) -> Vector:
        assert self.is_float
        return self._result("fdiv", other)

    def __floordiv__(self, other: Vector | int) -> Vector:
        """Of integers from 0 on."""
        return self._result("udiv", other)

    def __mod__(self, other: Vector | int) -> Vector:
        """Of integers from 0 on."""
        return self._result("urem", other)

    def __neg__(self) -> Vector:
        if self.is_float:
            return self._like(self.e.op(f"fneg {self.typed}"))
        return 0 - self

    def __lshift__(self, other: Vector | int) -> Vector:
        return self._result("shl", other)

    def __rshift__(self, other: Vector | int) -> Vector:
        return self._result("ashr" if self.kind == "i" else "lshr", other)

    def __and__(self, other: Vector | int) -> Vector:
        return self._result("and", other)

    def __or__(self, other: Vector | int) -> Vector:
        return self._result("or", other)

    def __xor__(self, other: Vector | int) -> Vector:
        return self._result("xor", other)

    def __invert__(self) -> Vector:
        return self._result("xor", -1)

    # ---- comparisons

    def __lt__(self, other: Vector | float) -> Vector:
        return self.compared("lt", other)

    def __le__(self, other: Vector | float) -> Vector:
        return self.compared("le", other)

    def __gt__(self, other: Vector | float) -> Vector:
        return self.compared("gt", other)

    def __ge__(self, other: Vector | float) -> Vector:
        return self.compared("ge", other)

    def compared(self, how: str, other: Vector | float) -> Vector:
        """A mask: `how` is lt, le, gt, ge, eq or ne."""
        if self.is_float:
            text = f"fcmp {'u' if how == 'ne' else 'o'}{how}"
        else:
            sign = "" if how in ("eq", "ne") else "s" if self.kind == "i" else "u"
            text = f"icmp {sign}{how}"
        return Vector(self.e, "b", self._op(text, other), self.width)

    # ---- text

    def like(self, value: Vector | float) -> Vector:
        """A value beside this one: a vector of its kind, or a number in every lane."""
        if isinstance(value, Vector):
            assert SCALARS[value.kind] == SCALARS[self.kind], (self, value)
            return value
        return self._like(constant(self.kind, value, self.width))

    def _op(self, text: str, other: Vector | float) -> str:
        return self.e.op(f"{text} {self.typed}, {self.like(other).name}")

    def _result(self, text: str, other: Vector | float) -> Vector:
        return self._like(self._op(text, other))

    def _like(self, name: str) -> Vector:
        return Vector(self.e, self.kind, name, self.width)


def constant(kind: Kind, value: float, width: int) -> str:
    """A number in every lane."""
    match kind:
        case "f":
            text = literal(F, int.from_bytes(struct.pack("<f", value), "little"))
        case "d":
            text = literal(DF, int.from_bytes(struct.pack("<d", value), "little"))
        case "b":
            text = "true" if value else "false"
        case _:
            wide = 1 << (64 if kind == "w" else 32)
            text = str(int(value) - wide if 2 * value >= wide else int(value))
    return vector_literal(SCALARS[kind], [text] * width)


class Writer(Emitter):
    """An emitter of functions on values: those of `device.lanes` that a processor has."""

    def where(self, mask: Vector, a: Vector | float, b: Vector | float) -> Vector:
        some = a if isinstance(a, Vector) else b
        assert isinstance(some, Vector)
        a, b = some.like(a), some.like(b)
        name = self.op(f"select {mask.typed}, {a.typed}, {b.typed}")
        return Vector(self, some.kind, name, some.width)

    def equal(self, a: Vector, b: Vector | float) -> Vector:
        return a.compared("eq", b)

    def differ(self, a: Vector, b: Vector | float) -> Vector:
        return a.compared("ne", b)

    def least(self, a: Vector, b: Vector | float) -> Vector:
        if not a.is_float:
            return self._intrinsic("smin" if a.kind == "i" else "umin", a, a.like(b))
        return self.where(a < b, a, b)

    def most(self, a: Vector, b: Vector | float) -> Vector:
        if not a.is_float:
            return self._intrinsic("smax" if a.kind == "i" else "umax", a, a.like(b))
        return self.where(a > b, a, b)

    def floor(self, x: Vector) -> Vector:
        return self._intrinsic("floor", x)

    def rint(self, x: Vector) -> Vector:
        return self._intrinsic("rint", x)

    def magnitude(self, x: Vector) -> Vector:
        return self._intrinsic("fabs", x)

    def sqrt(self, x: Vector) -> Vector:
        return self._intrinsic("sqrt", x)

    def single(self, x: Vector) -> Vector:
        return self._cast({"d": "fptrunc", "i": "sitofp", "u": "uitofp", "b": "uitofp"}, x, "f")

    def double(self, x: Vector) -> Vector:
        return self._cast({"f": "fpext", "i": "sitofp", "u": "uitofp"}, x, "d")

    def integer(self, x: Vector) -> Vector:
        return self._cast({"f": "fptosi", "d": "fptosi", "b": "zext", "u": ""}, x, "i")

    def unsigned(self, x: Vector) -> Vector:
        return self._cast({"f": "fptoui", "d": "fptoui", "i": ""}, x, "u")

    def bits(self, x: Vector) -> Vector:
        return self._cast({"f": "bitcast"}, x, "u")

    def from_bits(self, x: Vector) -> Vector:
        return self._cast({"u": "bitcast", "i": "bitcast"}, x, "f")

    def _cast(self, instructions: Mapping[Kind, str], x: Vector, kind: Kind) -> Vector:
        """No instruction: the bits are those of the other kind."""
        if x.kind == kind:
            return x
        how, to = instructions[x.kind], vector_of(SCALARS[kind], x.width)
        return Vector(self, kind, self.op(f"{how} {x.typed} to {to}") if how else x.name, x.width)

    def _intrinsic(self, name: str, *args: Vector) -> Vector:
        first = args[0]
        function = self.intrinsic(name, first.type, *(a.name for a in args))
        return Vector(self, first.kind, function, first.width)
