"""The operation `dot`: matrix products of small elements, a row of sums in each vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from eumu.exec.jit.codegen.kernel import LOWERINGS, KernelLowering
from eumu.exec.jit.codegen.narrow import widen
from eumu.exec.jit.llvm.emit import Emitter, int_type, mangle, scalar_type, vector_of
from eumu.ir.operations.arithmetic import Dot
from eumu.records import dataclass
from eumu.types import F, Type

_OCTETS = 4  # that one dot product of the processor takes


@dataclass(frozen=True, slots=True)
class _Matrix:
    """An argument as an LLVM vector of `count` lanes of an LLVM type."""

    e: Emitter
    text: str
    scalar: str
    count: int
    memory: str = ""

    def pick(self, lanes: Sequence[int]) -> str:
        return self.e.shuffle(self.text, self.scalar, self.count, lanes)

    def splat(self, lane: int, width: int) -> str:
        """One lane for every column, out of memory: its load is part of what uses it."""
        place = self.e.op(f"getelementptr {self.scalar}, ptr {self.memory}, i64 {lane}")
        return self.e.splat(self.e.op(f"load {self.scalar}, ptr {place}"), self.scalar, width)

    def stored(self, k: KernelLowering) -> _Matrix:
        """With its lanes in memory, where LLVM leaves them as the address was a number once."""
        vector = vector_of(self.scalar, self.count)
        pad = k.scratchpad("matrix", vector)
        self.e.do(f"store {vector} {self.text}, ptr {pad}")
        number = self.e.op(f"ptrtoint ptr {pad} to i64")
        memory = self.e.op(f"inttoptr i64 {number} to ptr")
        return replace(self, memory=memory)

    def words(self, size: int) -> _Matrix:
        """The same bits as integers of so many bits, from lanes of 8."""
        count, scalar = self.count * 8 // size, f"i{size}"
        whole = vector_of(self.scalar, self.count)
        text = self.e.bitcast(self.text, whole, vector_of(scalar, count))
        return _Matrix(self.e, text, scalar, count)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Sizes of the product; `own` says that every column has its own a."""

    rows: int
    columns: int
    depth: int
    group: int
    own: bool

    @classmethod
    def of(cls, op: Dot) -> _Shape:
        (x, b, a), rows, group = op.args, op.rows, op.group
        columns = x.width // rows
        depth = b.width // (columns * group)
        return cls(rows, columns, depth, group, a.width != rows * depth * group)

    def right(self, d: int, first: int, count: int) -> list[int]:
        """Elements first … of the groups of all columns of b at a depth."""
        places = (((d * self.columns) + i) * self.group for i in range(self.columns))
        return [place + first + j for place in places for j in range(count)]

    def left(self, r: int, d: int, first: int, count: int) -> list[int]:
        """The elements of a that meet them in a row."""
        columns = range(self.columns)
        groups = (r * self.depth + d) * (self.columns if self.own else 1)
        places = ((groups + (i if self.own else 0)) * self.group for i in columns)
        return [place + first + j for place in places for j in range(count)]


@LOWERINGS.on(Dot)
def _dot(k: KernelLowering, op: Dot) -> None:
    e, shape = k.e, _Shape.of(op)
    x, b, a = (_Matrix(e, k.vector(v), scalar_type(v.type), v.width) for v in op.args)
    sums = [x.pick(range(r * shape.columns, (r + 1) * shape.columns)) for r in range(shape.rows)]
    kinds = op.args[1].type, op.args[2].type
    if op.result.type.is_float:
        sums = _floats(
            k, shape, sums, *(_singles(m, t) for m, t in zip((b, a), kinds, strict=True))
        )
    elif k.octet_products and shape.group % _OCTETS == 0 and shape.columns in (4, 8, 16):
        sums = _octets(k, shape, sums, b, a, kinds)
    else:
        sums = _integers(k, shape, sums, b, a, kinds)
    k.plain(op.result, _joined(e, sums, x.scalar, shape.columns))


def _joined(e: Emitter, rows: Sequence[str], scalar: str, width: int) -> str:
    if len(rows) == 1:
        return rows[0]
    part, whole = vector_of(scalar, width), vector_of(scalar, width * len(rows))
    name, text = f"llvm.vector.insert.{mangle(whole)}.{mangle(part)}", "poison"
    for r, row in enumerate(rows):
        text = e.call(whole, name, (whole, text), (part, row), ("i64", str(r * width)))
    return text


# ---- floats: a chain of fused multiply-adds for each sum


def _singles(m: _Matrix, type: Type) -> _Matrix:
    if type is F:
        return m
    return _Matrix(m.e, widen(m.e, type, m.count, m.text), "float", m.count)


def _floats(k: KernelLowering, shape: _Shape, sums: list[str], b: _Matrix, a: _Matrix) -> list[str]:
    vector, n = vector_of("float", shape.columns), shape.columns
    if not shape.own:
        a = a.stored(k)
    for d in range(shape.depth):
        for j in range(shape.group):
            right = b.pick(shape.right(d, j, 1))
            for r in range(shape.rows):
                lanes = shape.left(r, d, j, 1)
                left = a.pick(lanes) if shape.own else a.splat(lanes[0], n)
                sums[r] = b.e.intrinsic("fma", vector, right, left, sums[r])
    return sums


# ---- integers


def _integers(
    k: KernelLowering,
    shape: _Shape,
    sums: list[str],
    b: _Matrix,
    a: _Matrix,
    kinds: tuple[Type, Type],
) -> list[str]:
    """Products of all elements of a group, added in pairs: LLVM knows that as one instruction."""
    e, width = b.e, shape.columns * shape.group
    vector, octets = vector_of("i32", width), vector_of("i8", width)
    halves = shape.group % 2 == 0
    partial = ["zeroinitializer"] * shape.rows
    groups = None if shape.own else a.words(8 * shape.group).stored(k)
    narrow = vector_of("i32", width // 2 if halves else width)
    for d in range(shape.depth):
        right = _extended(e, b.pick(shape.right(d, 0, shape.group)), kinds[0], width)
        for r in range(shape.rows):
            if groups is None:
                left = a.pick(shape.left(r, d, 0, shape.group))
            else:
                left = groups.splat(r * shape.depth + d, shape.columns)
                left = e.bitcast(left, vector_of(groups.scalar, shape.columns), octets)
            left = _extended(e, left, kinds[1], width)
            product = e.op(f"mul {vector} {right}, {left}")
            if halves:
                product = _pair_sums(e, product, width)
            partial[r] = e.op(f"add {narrow} {partial[r]}, {product}")
    for r in range(shape.rows):
        have = width // 2 if halves else width
        while have > shape.columns:
            partial[r] = _pair_sums(e, partial[r], have)
            have //= 2
        sums[r] = e.op(f"add {vector_of('i32', shape.columns)} {sums[r]}, {partial[r]}")
    return sums


def _extended(e: Emitter, text: str, type: Type, width: int) -> str:
    word = "sext" if type.is_signed else "zext"
    return e.op(f"{word} {int_type(type, width)} {text} to {vector_of('i32', width)}")


def _pair_sums(e: Emitter, text: str, width: int) -> str:
    even, odd = (e.shuffle(text, "i32", width, range(k, width, 2)) for k in (0, 1))
    return e.op(f"add {vector_of('i32', width // 2)} {even}, {odd}")


def _octets(
    k: KernelLowering,
    shape: _Shape,
    sums: list[str],
    b: _Matrix,
    a: _Matrix,
    kinds: tuple[Type, Type],
) -> list[str]:
    """Sums of four products of an unsigned and a signed octet, the processor's own instruction.

    Where both have the same sign, a's sign bit is flipped, which adds 128 to each of its elements
    or takes it away; what that adds to the sums of a column is what a = 0 gives.
    """
    e, n = b.e, shape.columns
    signed_b, signed_a = (kind.is_signed for kind in kinds)
    multiply = _octet_sums(e, n, unsigned_first=not signed_b)
    if signed_a == signed_b:
        whole = vector_of("i8", a.count)
        flipped = e.op(f"xor {whole} {a.text}, splat (i8 -128)")
        a = _Matrix(e, flipped, a.scalar, a.count)
    b, a = b.words(32), a.words(32)
    if not shape.own:
        a = a.stored(k)
    steps = range(shape.group // _OCTETS)
    words = _Shape(shape.rows, n, shape.depth, len(steps), shape.own)
    if signed_a == signed_b:
        extra = "zeroinitializer"
        flip = f"splat (i32 {-0x7F7F7F80})"  # four octets of 0x80
        for d in range(shape.depth):
            for c in steps:
                extra = multiply(extra, b.pick(words.right(d, c, 1)), flip)
        sums = [e.op(f"sub {vector_of('i32', n)} {x}, {extra}") for x in sums]
    for d in range(shape.depth):
        for c in steps:
            right = b.pick(words.right(d, c, 1))
            for r in range(shape.rows):
                lanes = words.left(r, d, c, 1)
                left = a.pick(lanes) if shape.own else a.splat(lanes[0], n)
                sums[r] = multiply(sums[r], right, left)
    return sums


def _octet_sums(
    e: Emitter, columns: int, *, unsigned_first: bool
) -> Callable[[str, str, str], str]:
    """sum, words of b, words of a -> sum; the instruction takes the unsigned operand first."""
    vector, octets = vector_of("i32", columns), vector_of("i8", 4 * columns)
    name = f"llvm.x86.avx512.vpdpbusd.{32 * columns}"

    def multiply(x: str, right: str, left: str) -> str:
        pair = (right, left) if unsigned_first else (left, right)
        first, second = (e.op(f"bitcast {vector} {word} to {octets}") for word in pair)
        return e.call(vector, name, (vector, x), (octets, first), (octets, second))

    return multiply
