"""LLVM text of vectors: `width` lanes of a message at a time, each channel a vector of its own."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from eumu.device.compiled.record import RECORD
from eumu.device.compiled.vectors import SCALARS, Kind, Vector

_SCALARS: Final = {"u4": "i32", "i4": "i32", "u8": "i64", "f4": "float", "f8": "double"}
_ROOT_OF_HALF: Final = 0x3FE6A09E667F3BCD  # the bits of a double


@dataclass(slots=True)
class Module:
    """Functions and what they declare."""

    width: int
    functions: list[str] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)

    def text(self) -> str:
        return "\n".join([*sorted(self.declared), *self.functions])


def number(value: float) -> str:
    """A float, exactly."""
    wide = struct.pack("<d", float(np.float32(value)))
    return f"0x{int.from_bytes(wide, 'little'):016X}"


def _constant(kind: Kind, value: float) -> str:
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return str(value if value < 1 << 31 else int(value) - (1 << 32))
    return number(value) if kind == "f" else f"0x{struct.pack('>d', value).hex().upper()}"


class Body:
    """One function in the making; what a method returns is the name of a value.

    Vectors have the module's width; `i` is the type of those of integers.
    """

    def __init__(self, module: Module) -> None:
        self.module, self.width = module, module.width
        self.i = self.type("i")
        self._lines: list[str] = []
        self._count = 0
        self.block = "entry"

    # ---- text

    def op(self, text: str) -> str:
        """A value."""
        self._count += 1
        self._lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def do(self, text: str) -> None:
        self._lines.append(f"  {text}")

    def name(self, word: str) -> str:
        """A label that there is not yet."""
        self._count += 1
        return f"{word}{self._count}"

    def label(self, name: str) -> None:
        self._lines.append(f"{name}:")
        self.block = name

    def finish(self, head: str) -> None:
        """Add the function to its module; `head` is its signature."""
        body = "\n".join(self._lines)
        self.module.functions.append(f"define {head} #0 {{\nentry:\n{body}\n}}\n")

    def call(self, type: str, name: str, *args: str) -> str:
        """An intrinsic on arguments of one type."""
        suffix = type.strip("<>").replace("float", "f32").replace("double", "f64")
        suffix = "v" + suffix.replace(" x ", "") if "x" in type else suffix
        kinds = ", ".join([type] * len(args))
        self.module.declared.add(f"declare {type} @llvm.{name}.{suffix}({kinds})")
        given = ", ".join(f"{type} {a}" for a in args)
        return self.op(f"call {type} @llvm.{name}.{suffix}({given})")

    # ---- the functions of `device.lanes`

    def type(self, kind: Kind) -> str:
        """The LLVM type of a vector."""
        return SCALARS[kind] if kind == "w" else f"<{self.width} x {SCALARS[kind]}>"

    def vector(self, kind: Kind, name: str) -> Vector:
        return Vector(self, kind, name)

    def splatted(self, kind: Kind, value: float) -> Vector:
        """A number in every lane."""
        if kind == "w":
            return Vector(self, kind, str(value))
        text = f"{SCALARS[kind]} {_constant(kind, value)}"
        return Vector(self, kind, f"splat ({text})" if value else "zeroinitializer")

    def constant(self, value: float) -> Vector:
        return self.splatted("i" if isinstance(value, int) else "f", value)

    def where(self, mask: Vector, a: Vector | float, b: Vector | float) -> Vector:
        kind = a if isinstance(a, Vector) else b
        assert isinstance(kind, Vector)
        a, b = kind.like(a), kind.like(b)
        return Vector(self, kind.kind, self.op(f"select {mask.typed}, {a.typed}, {b.typed}"))

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

    def modulo(self, a: Vector, b: Vector, *, near: bool) -> Vector:
        """Not near: half a unit keeps the quotient of floats away from integers."""
        if near:
            a = self.where(a < 0, a + b, a)
            return self.where(a >= b, a - b, a)
        quotient = (self.single(a) + 0.5) / self.single(b)
        return a - self.integer(self.floor(quotient)) * b

    def floor(self, x: Vector) -> Vector:
        return self._intrinsic("floor", x)

    def rint(self, x: Vector) -> Vector:
        return self._intrinsic("rint", x)

    def magnitude(self, x: Vector) -> Vector:
        return self._intrinsic("fabs", x)

    def sqrt(self, x: Vector) -> Vector:
        return self._intrinsic("sqrt", x)

    def split(self, x: Vector) -> tuple[Vector, Vector]:
        wide = f"<{self.width} x i64>"
        bits = self.op(f"bitcast {x.typed} to {wide}")
        moved = self.op(f"sub {wide} {bits}, splat (i64 {_ROOT_OF_HALF})")
        exponent = self.op(f"ashr {wide} {moved}, splat (i64 52)")
        shifted = self.op(f"shl {wide} {exponent}, splat (i64 52)")
        factor = self.op(f"bitcast {wide} {self.op(f'sub {wide} {bits}, {shifted}')} to {x.type}")
        number = self.op(f"sitofp {wide} {exponent} to {x.type}")
        return self.vector("d", number), self.vector("d", factor)

    def single(self, x: Vector) -> Vector:
        return self._cast({"d": "fptrunc", "i": "sitofp", "u": "uitofp", "b": "uitofp"}, x, "f")

    def double(self, x: Vector) -> Vector:
        return self._cast({"f": "fpext", "i": "sitofp", "u": "uitofp"}, x, "d")

    def integer(self, x: Vector) -> Vector:
        if x.kind == "u":
            return Vector(self, "i", x.name)
        return self._cast({"f": "fptosi", "d": "fptosi", "b": "zext"}, x, "i")

    def unsigned(self, x: Vector) -> Vector:
        if x.kind == "i":
            return Vector(self, "u", x.name)
        return self._cast({"f": "fptoui", "d": "fptoui"}, x, "u")

    def bits(self, x: Vector) -> Vector:
        return self._cast({"f": "bitcast"}, x, "u")

    def from_bits(self, x: Vector) -> Vector:
        return self._cast({"u": "bitcast", "i": "bitcast"}, x, "f")

    def _cast(self, instructions: Mapping[Kind, str], x: Vector, kind: Kind) -> Vector:
        if x.kind == kind:
            return x
        type = self.type(kind)
        return Vector(self, kind, self.op(f"{instructions[x.kind]} {x.typed} to {type}"))

    def _intrinsic(self, name: str, *args: Vector) -> Vector:
        first = args[0]
        return Vector(self, first.kind, self.call(first.type, name, *(a.name for a in args)))

    def any(self, mask: Vector) -> str:
        """i1: whether a lane is set."""
        bits = self.op(f"bitcast {mask.typed} to i{self.width}")
        return self.op(f"icmp ne i{self.width} {bits}, 0")

    def quad_step(self, x: Vector, lane: int) -> Vector:
        """A lane of each square of four less its first one."""
        sides = []
        for n in (lane, 0):
            lanes = ", ".join(f"i32 {k // 4 * 4 + n}" for k in range(self.width))
            shuffle = f"shufflevector {x.typed}, {x.type} poison, <{self.width} x i32> <{lanes}>"
            sides.append(Vector(self, x.kind, self.op(shuffle)))
        return sides[0] - sides[1]

    # ---- memory

    def at(self, pointer: str, offset: int | str) -> str:
        """Bytes behind a pointer; a name is an i32, unsigned."""
        if isinstance(offset, str):
            offset = self.op(f"zext i32 {offset} to i64")
        return self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, type: str, pointer: str) -> str:
        return self.op(f"load {type}, ptr {pointer}, align 1")

    def store(self, type: str, value: str, pointer: str) -> None:
        self.do(f"store {type} {value}, ptr {pointer}, align 1")

    def store_flags(self, mask: Vector, pointer: str) -> None:
        """A byte for each lane of a mask, 0 or 1."""
        octets = f"<{self.width} x i8>"
        self.store(octets, self.op(f"zext {mask.typed} to {octets}"), pointer)

    def field(self, name: str, index: int = 0) -> str:
        """A scalar of the record."""
        kind, offset = RECORD.fields[name][:2]  # type: ignore[index]
        base = kind.subdtype[0] if kind.subdtype else kind
        type = _SCALARS[base.str[1:]]
        return self.load(type, self.at("%rec", offset + index * base.itemsize))

    def pointer(self, name: str, index: int = 0) -> str:
        return self.op(f"inttoptr i64 {self.field(name, index)} to ptr")

    def alone(self, name: str, index: int = 0) -> Vector:
        """An integer of the record, once."""
        return Vector(self, "w", self.op(f"sext i32 {self.field(name, index)} to i64"))

    def every(self, name: str, index: int = 0) -> Vector:
        """A field of the record in every lane."""
        kind: Kind = "d" if RECORD[name].base.str[1:] == "f8" else "i"
        type, scalar = self.type(kind), f"{SCALARS[kind]} {self.field(name, index)}"
        first = self.op(f"insertelement {type} poison, {scalar}, i32 0")
        lanes = f"<{self.width} x i32> zeroinitializer"
        name = self.op(f"shufflevector {type} {first}, {type} poison, {lanes}")
        return Vector(self, kind, name)

    def pointers(self, base: str, offsets: Vector) -> list[str]:
        """Of each lane: unsigned offsets in bytes from a base."""
        found = []
        for n in range(self.width):
            place = self.op(f"extractelement {offsets.typed}, i32 {n}")
            found.append(self.at(base, place))
        return found

    def gather(self, pointers: Sequence[str], offset: int = 0, bits: int = 32) -> Vector:
        """Integers of up to 32 bits at pointers, zero-extended."""
        out = "poison"
        for n, pointer in enumerate(pointers):
            where = self.at(pointer, offset) if offset else pointer
            value = self.load(f"i{bits}", where)
            if bits < 32:
                value = self.op(f"zext i{bits} {value} to i32")
            out = self.op(f"insertelement {self.i} {out}, i32 {value}, i32 {n}")
        return Vector(self, "u", out)

    def give(self, values: Sequence[Vector]) -> None:
        """Return a structure of vectors."""
        kind, out = _structure([v.type for v in values]), "poison"
        for n, value in enumerate(values):
            out = self.op(f"insertvalue {kind} {out}, {value.typed}, {n}")
        self.do(f"ret {kind} {out}")

    def ask(self, kind: Kind, count: int, function: str, *args: str) -> list[Vector]:
        """The vectors that a function of this module returns; arguments with their types."""
        structure = _structure([self.type(kind)] * count)
        found = self.op(f"call {structure} @{function}({', '.join(args)})")
        names = [self.op(f"extractvalue {structure} {found}, {n}") for n in range(count)]
        return [Vector(self, kind, name) for name in names]

    def finish_internal(self, name: str, kind: Kind, count: int, vectors: Sequence[str]) -> None:
        """Add a function of a record and vectors of integers, which returns vectors."""
        given = ", ".join(f"{self.i} %{n}" for n in vectors)
        structure = _structure([self.type(kind)] * count)
        self.finish(f"internal {structure} @{name}(ptr %rec, {given})")


def _structure(types: Sequence[str]) -> str:
    return "{" + ", ".join(types) + "}"
