"""Vectors of a function in the making, with the operators that equations are written with.

See `device.lanes`.  A vector knows its kind, from which the instruction follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol

# Float, double, signed and unsigned integer, flag; a wide integer that is alone, no vector.
Kind = Literal["f", "d", "i", "u", "b", "w"]

SCALARS: Final = {"f": "float", "d": "double", "i": "i32", "u": "i32", "b": "i1", "w": "i64"}


class Emitter(Protocol):
    """The function in the making, as far as vectors and their functions ask it for text."""

    width: int

    def op(self, text: str) -> str:
        """The name of an instruction's result."""

    def type(self, kind: Kind) -> str:
        """The LLVM type of a vector."""

    def vector(self, kind: Kind, name: str) -> Vector: ...

    def splatted(self, kind: Kind, value: float) -> Vector:
        """A number in every lane."""

    def where(self, mask: Vector, a: Vector | float, b: Vector | float) -> Vector: ...

    def equal(self, a: Vector, b: Vector | float) -> Vector: ...


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """A value in every lane: the name of an LLVM vector, and what its elements are."""

    body: Emitter
    kind: Kind
    name: str

    @property
    def is_float(self) -> bool:
        return self.kind in "fd"

    @property
    def type(self) -> str:
        """The LLVM type."""
        return self.body.type(self.kind)

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

    def __floordiv__(self, other: int) -> Vector:
        """Of integers from 0 on."""
        return self._result("udiv", other)

    def __neg__(self) -> Vector:
        if self.is_float:
            return Vector(self.body, self.kind, self.body.op(f"fneg {self.typed}"))
        return 0 - self

    def __lshift__(self, other: Vector | int) -> Vector:
        return self._result("shl", other)

    def __rshift__(self, other: Vector | int) -> Vector:
        return self._result("ashr" if self.kind == "i" else "lshr", other)

    def __and__(self, other: Vector | int) -> Vector:
        return self._result("and", other)

    def __or__(self, other: Vector | int) -> Vector:
        return self._result("or", other)

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
        return Vector(self.body, "b", self._op(text, other))

    # ---- text

    def like(self, value: Vector | float) -> Vector:
        """A value beside this one: a vector of its kind, or a number in every lane."""
        if isinstance(value, Vector):
            assert SCALARS[value.kind] == SCALARS[self.kind], (self, value)
            return value
        return self.body.splatted(self.kind, value)

    def _op(self, text: str, other: Vector | float) -> str:
        return self.body.op(f"{text} {self.typed}, {self.like(other).name}")

    def _result(self, text: str, other: Vector | float) -> Vector:
        return Vector(self.body, self.kind, self._op(text, other))
