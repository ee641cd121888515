"""LLVM text of vectors: `width` lanes of a message at a time, each channel a vector of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from eumu.device.compiled.record import RECORD
from eumu.exec.jit.llvm.emit import vector_of
from eumu.exec.jit.llvm.vectors import SCALARS, Kind, Vector, Writer, constant
from eumu.records import dataclass

_SCALARS: Final = {"u4": "i32", "i4": "i32", "u8": "i64", "f4": "float", "f8": "double"}
_ROOT_OF_HALF: Final = 0x3FE6A09E667F3BCD  # the bits of a double


@dataclass(slots=True)
class Module:
    """Functions and what they declare."""

    width: int
    functions: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        return "\n".join([*sorted(self.declarations.values()), *self.functions])


class Body(Writer):
    """One function in the making; what a method returns is the name of a value, or a vector.

    Vectors have the module's width; `i` is the type of those of integers.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module, self.width, self.declarations = module, module.width, module.declarations
        self.i = self.type("i")

    def finish(self, head: str) -> None:
        """Add the function to its module; `head` is its signature."""
        body = "\n".join([*self.entry, *self.lines])
        self.module.functions.append(f"define {head} #0 {{\nentry:\n{body}\n}}\n")

    # ---- vectors, and functions of `device.lanes`

    def lanes(self, scalar: str) -> str:
        """The LLVM type of a value in every lane."""
        return vector_of(scalar, self.width)

    def type(self, kind: Kind) -> str:
        return self.lanes(SCALARS[kind])

    def vector(self, kind: Kind, name: str) -> Vector:
        return Vector(self, kind, name, self.width)

    def wide(self, name: str) -> Vector:
        """An integer of 64 bits, once."""
        return Vector(self, "w", name, 1)

    def splatted(self, kind: Kind, value: float) -> Vector:
        """A number in every lane."""
        return self.vector(kind, constant(kind, value, self.width))

    def constant(self, value: float) -> Vector:
        return self.splatted("i" if isinstance(value, int) else "f", value)

    def modulo(self, a: Vector, b: Vector, *, near: bool) -> Vector:
        """Not near: half a unit keeps the quotient of floats away from integers."""
        if near:
            a = self.where(a < 0, a + b, a)
            return self.where(a >= b, a - b, a)
        quotient = (self.single(a) + 0.5) / self.single(b)
        return a - self.integer(self.floor(quotient)) * b

    def split(self, x: Vector) -> tuple[Vector, Vector]:
        wide = self.lanes("i64")
        bits = self.op(f"bitcast {x.typed} to {wide}")
        moved = self.op(f"sub {wide} {bits}, {constant('w', _ROOT_OF_HALF, self.width)}")
        places = constant("w", 52, self.width)
        exponent = self.op(f"ashr {wide} {moved}, {places}")
        shifted = self.op(f"shl {wide} {exponent}, {places}")
        factor = self.op(f"bitcast {wide} {self.op(f'sub {wide} {bits}, {shifted}')} to {x.type}")
        number = self.op(f"sitofp {wide} {exponent} to {x.type}")
        return self.vector("d", number), self.vector("d", factor)

    def any(self, mask: Vector) -> str:
        """i1: whether a lane is set."""
        bits = self.op(f"bitcast {mask.typed} to i{self.width}")
        return self.op(f"icmp ne i{self.width} {bits}, 0")

    def quad_step(self, x: Vector, lane: int) -> Vector:
        """A lane of each square of four less its first one."""
        sides = (
            self.shuffle(x.name, "float", x.width, [k // 4 * 4 + n for k in range(x.width)])
            for n in (lane, 0)
        )
        there, first = (self.vector("f", name) for name in sides)
        return there - first

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
        octets = self.lanes("i8")
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
        return self.wide(self.op(f"sext i32 {self.field(name, index)} to i64"))

    def every(self, name: str, index: int = 0) -> Vector:
        """A field of the record in every lane."""
        kind: Kind = "d" if RECORD[name].base.str[1:] == "f8" else "i"
        return self.vector(kind, self.splat(self.field(name, index), SCALARS[kind], self.width))

    def pointers(self, base: str, offsets: Vector) -> list[str]:
        """Of each lane: unsigned offsets in bytes from a base."""
        pointers = []
        for n in range(self.width):
            place = self.shuffle(offsets.name, "i32", self.width, [n])
            pointers.append(self.at(base, place))
        return pointers

    def gather(self, pointers: Sequence[str], offset: int = 0, bits: int = 32) -> Vector:
        """Integers of up to 32 bits at pointers, zero-extended."""
        out = "poison"
        for n, pointer in enumerate(pointers):
            where = self.at(pointer, offset) if offset else pointer
            value = self.load(f"i{bits}", where)
            if bits < 32:
                value = self.op(f"zext i{bits} {value} to i32")
            if self.width > 1:
                value = self.op(f"insertelement {self.i} {out}, i32 {value}, i64 {n}")
            out = value
        return self.vector("u", out)

    def give(self, values: Sequence[Vector]) -> None:
        """Return a structure of vectors."""
        kind, out = _structure([v.type for v in values]), "poison"
        for n, value in enumerate(values):
            out = self.op(f"insertvalue {kind} {out}, {value.typed}, {n}")
        self.do(f"ret {kind} {out}")

    def ask(self, kind: Kind, count: int, function: str, *args: str) -> list[Vector]:
        """The vectors that a function of this module returns; arguments with their types."""
        structure = _structure([self.type(kind)] * count)
        answer = self.op(f"call {structure} @{function}({', '.join(args)})")
        names = [self.op(f"extractvalue {structure} {answer}, {n}") for n in range(count)]
        return [self.vector(kind, name) for name in names]

    def finish_internal(self, name: str, kind: Kind, count: int, vectors: Sequence[str]) -> None:
        """Add a function of a record and vectors of integers, which returns vectors."""
        parameters = ", ".join(f"{self.i} %{n}" for n in vectors)
        structure = _structure([self.type(kind)] * count)
        self.finish(f"internal {structure} @{name}(ptr %rec, {parameters})")


def _structure(types: Sequence[str]) -> str:
    return "{" + ", ".join(types) + "}"
