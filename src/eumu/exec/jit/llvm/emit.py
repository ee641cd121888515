"""Writes LLVM IR as text: names, types, constants, calls of intrinsics.

A lane vector of width 1 is a scalar in LLVM, a wider one a vector; half and bfloat lanes are held
as their 16 bits, so that no conversion is left to the target's choice.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from eumu.types import BOOL, DF, F, Type

MARK = "  ; instruction "  # begins a line of its own
MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def scalar_type(type: Type) -> str:
    """The LLVM type of one lane."""
    if type is BOOL:
        return "i1"
    if type is F:
        return "float"
    if type is DF:
        return "double"
    return f"i{type.bits}"


def vector_of(scalar: str, width: int) -> str:
    """An LLVM vector, or the scalar itself for one lane."""
    return scalar if width == 1 else f"<{width} x {scalar}>"


def lane_type(type: Type, width: int) -> str:
    """The LLVM type of `width` lanes."""
    return vector_of(scalar_type(type), width)


def int_type(type: Type, width: int) -> str:
    """The LLVM type of the bits of `width` lanes."""
    return vector_of("i1" if type is BOOL else f"i{type.bits}", width)


def literal(type: Type, bits: int) -> str:
    """A bit pattern as a scalar constant."""
    if type is BOOL:
        return "true" if bits else "false"
    if type is F:
        value = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
        if value != value:  # LLVM's text form takes a NaN as the double that it widens to
            sign, fraction = bits >> 31, bits & 0x7FFFFF
            return f"0x{(sign << 63) | (0x7FF << 52) | (fraction << 29):016X}"
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if type is DF:
        return f"0x{bits & (1 << 64) - 1:016X}"
    return str(signed(bits, type.bits))


def signed(value: int, bits: int) -> int:
    """The two's complement value of the low `bits` of a number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def vector_literal(scalar: str, items: Sequence[str]) -> str:
    """A constant vector from the texts of its lanes."""
    if len(items) == 1:
        return items[0]
    if len(set(items)) == 1:
        return f"splat ({scalar} {items[0]})"
    return "<" + ", ".join(f"{scalar} {item}" for item in items) + ">"


class Emitter:
    """Collects the lines of one LLVM function and the declarations that it needs."""

    def __init__(
        self,
        *,
        half_conversions: bool = True,
        half_arithmetic: bool = False,
        embedded_rounding: bool = False,
        fenced_bytes: bool = False,
        marks: bool = False,
    ) -> None:
        self.half_conversions = half_conversions  # the host converts half in hardware
        self.half_arithmetic = half_arithmetic  # and adds, multiplies, … in it
        self.embedded_rounding = embedded_rounding  # its instructions can name a rounding mode
        self.fenced_bytes = fenced_bytes  # 64 bytes that repeat others are kept from arithmetic
        self.marks = marks  # say which instruction lines come from
        self.lines: list[str] = []
        self.entry: list[str] = []  # allocas
        self.prologue: list[str] = []  # values that are the same in all threads
        self.shared: dict[str, str] = {}  # their types
        self._made: dict[str, str] = {}  # and names, by what makes them
        self.declarations: dict[str, str] = {}
        self.support: dict[str, str] = {}  # definitions of support functions, by name
        self._names = 0
        self._label = "entry"

    def another(self) -> Emitter:
        """For another version of the function: what goes before or beside it is shared."""
        other = Emitter(
            half_conversions=self.half_conversions,
            half_arithmetic=self.half_arithmetic,
            embedded_rounding=self.embedded_rounding,
            fenced_bytes=self.fenced_bytes,
            marks=self.marks,
        )
        other.prologue, other.shared = self.prologue, self.shared
        other._made = self._made
        other.declarations, other.support = self.declarations, self.support
        other._names = self._names
        return other

    def name(self, hint: str = "t") -> str:
        self._names += 1
        return f"{hint}{self._names}"

    def mark(self, inst: int) -> None:
        """What follows comes from an instruction of the program."""
        if self.marks:
            self.lines.append(MARK + str(inst))

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def op(self, text: str) -> str:
        """Append an instruction and give its result a name."""
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def byte(self, base: str, offset: int) -> str:
        """The address so many bytes behind another one."""
        return self.op(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def once(self, type: str, text: str) -> str:
        """The same for a value that is the same in all threads of a run."""
        if text not in self._made:
            name = self._made[text] = f"%{self.name('c')}"
            self.prologue.append(f"  {name} = {text}")
            self.shared[name] = type
        return self._made[text]

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self._label = name

    def rewind(self, count: int, label: str) -> None:
        """Take back all lines but so many; the last of them are in the block of a label."""
        del self.lines[count:]
        self._label = label

    def current_label(self) -> str:
        """The label of the LLVM block that is being written."""
        return self._label

    def alloca(self, type: str, initial: str | None = "zeroinitializer") -> str:
        """Stack space for the whole function, set to `initial` on entry."""
        name = f"%{self.name('a')}"
        self.entry.append(f"  {name} = alloca {type}")
        if initial is not None:
            self.entry.append(f"  store {type} {initial}, ptr {name}")
        return name

    def call(self, result: str, name: str, *args: tuple[str, str], attributes: str = "") -> str:
        """Call a function, declaring it if it is an intrinsic; `args` are (type, value)."""
        if name.startswith("llvm."):
            types = ", ".join(t for t, _ in args)
            self.declarations[name] = f"declare {result} @{name}({types})"
        text = f"call {result} @{name}({', '.join(f'{t} {v}' for t, v in args)}){attributes}"
        if result == "void":
            self.do(text)
            return ""
        return self.op(text)

    def intrinsic(self, base: str, vector: str, *args: str, extra: str = "") -> str:
        """Call an intrinsic overloaded on one type whose arguments and result all have it."""
        mangled = mangle(vector)
        operands = [(vector, a) for a in args]
        if extra:
            kind, value = extra.split()
            operands.append((kind, value))
        return self.call(vector, f"llvm.{base}.{mangled}", *operands)

    def bitcast(self, value: str, source: str, target: str) -> str:
        return value if source == target else self.op(f"bitcast {source} {value} to {target}")

    def splat(self, value: str, scalar: str, width: int) -> str:
        """One lane repeated."""
        if width == 1:
            return value
        vector = vector_of(scalar, width)
        first = self.op(f"insertelement {vector} poison, {scalar} {value}, i64 0")
        return self.op(
            f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer"
        )

    def shuffle(self, value: str, scalar: str, width: int, lanes: Sequence[int]) -> str:
        """Result lane k is lane lanes[k]; -1 leaves a lane undefined."""
        if list(lanes) == list(range(width)):
            return value
        if width == 1:
            return self.splat(value, scalar, len(lanes))
        vector = vector_of(scalar, width)
        if len(lanes) == 1:
            return self.op(f"extractelement {vector} {value}, i64 {lanes[0]}")
        indices = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in lanes)
        fenced = self.fenced_bytes and scalar == "i8" and len(lanes) >= 64 and _repeats(lanes)
        if fenced:
            value = self._fence(value, width)
        moved = self.op(
            f"shufflevector {vector} {value}, {vector} poison, <{len(lanes)} x i32> <{indices}>"
        )
        return self._fence(moved, len(lanes)) if fenced else moved

    def _fence(self, value: str, width: int) -> str:
        """The same bytes, out of which and into which LLVM moves no arithmetic; no instruction."""
        if width % 4:
            return value  # no vector of floats, and too few to be moved with others
        octets, floats = vector_of("i8", width), vector_of("float", width // 4)
        fenced = self.intrinsic("arithmetic.fence", floats, self.bitcast(value, octets, floats))
        return self.bitcast(fenced, floats, octets)

    def blend(self, a: str, b: str, scalar: str, width: int, lanes: Sequence[int]) -> str:
        """Lanes of two vectors of `width` > 1; indices from `width` on name lanes of b."""
        vector = vector_of(scalar, width)
        indices = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in lanes)
        return self.op(
            f"shufflevector {vector} {a}, {vector} {b}, <{len(lanes)} x i32> <{indices}>"
        )


def _repeats(lanes: Sequence[int]) -> bool:
    """Whether a shuffle uses a lane more than once."""
    used = [k for k in lanes if k >= 0]
    return len(set(used)) < len(used)


def mangle(type: str) -> str:
    """How LLVM spells a type in the name of an overloaded intrinsic."""
    if type.startswith("<"):
        count, scalar = type[1:-1].split(" x ")
        return f"v{count}{mangle(scalar)}"
    return {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}.get(type, type)


def bit_width(type: Type) -> int:
    """Bits of a lane; one for a predicate."""
    return 1 if type is BOOL else type.bits
