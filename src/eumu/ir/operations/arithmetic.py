"""Arithmetic, comparisons and masks."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from eumu.ir.function import Findings, Function, Op, Value
from eumu.ir.operations.row import (
    ANY,
    BITS,
    DATA,
    FLOAT,
    INT,
    NUMBER,
    Emitter,
    operation,
    same,
)
from eumu.records import dataclass
from eumu.types import BF, BOOL, HF, UB, UD, B, D, F, Type


class Rounding(Enum):
    """How a float operation rounds; the first four in the encoding of cr0 bits 5:4."""

    RNE = 0  # to nearest even
    RU = 1  # toward +infinity
    RD = 2  # toward -infinity
    RTZ = 3  # toward zero
    CR0 = "cr0"  # the mode in %cr0 at this point
    KEPT = "kept"  # the mode in %cr0 before, if a register holds it; otherwise as CR0


CR0: Final = Rounding.CR0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded(Op):
    rounding: Rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Op):
    rel: str

    def problems(self, function: Function) -> Findings:
        if self.rel not in ("eq", "ne", "lt", "le", "gt", "ge"):
            yield f"no relation {self.rel!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert(Rounded):
    saturate: bool

    def problems(self, function: Function) -> Findings:
        source, target = self.args[0].type, self.result.type
        if BOOL in (source, target) or (BF in (source, target) and F not in (source, target)):
            yield f"no conversion from {source} to {target}"


_DOT_ELEMENTS = {UD: (UB, B), D: (UB, B), F: (HF, BF, F)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot(Op):
    rows: int
    group: int

    def problems(self, function: Function) -> Findings:
        x, b, a = self.args
        for value in (a, b):
            if value.type not in _DOT_ELEMENTS[x.type]:
                yield f"{value.typed} cannot be summed up in {x.type}"
        columns, rest = divmod(x.width, self.rows)
        depth, odd = divmod(b.width, columns * self.group) if columns else (0, 1)
        most = self.rows * depth * columns * self.group
        if rest or odd or a.width not in (self.rows * depth * self.group, most):
            yield (
                f"{x.width} sums in {self.rows} rows do not go with {b.width} and {a.width}"
                f" elements in groups of {self.group}"
            )


@dataclass(frozen=True, slots=True)
class InDword(Op):
    """A conversion between a mask and a dword."""

    def problems(self, function: Function) -> Findings:
        (mask,) = (v for v in (*self.args, *self.results) if v.is_mask)
        if mask.width > 32:
            yield f"a dword has no {mask.width} bits"


_Unary = Callable[["Arithmetic", Value], Value]
_Binary = Callable[["Arithmetic", Value, Value], Value]


def _unary(name: str, types: frozenset[Type], means: str = "") -> _Unary:
    """Declare an operation on one value, without attributes."""

    @operation(name, Op, types, "x -> x")
    def method(self: Arithmetic, x: Value) -> Value:
        return self.plain(name, (x,), x.type, x.width)

    method.__doc__ = means
    return method


def _binary(name: str, types: frozenset[Type], means: str = "") -> _Binary:
    """Declare an operation on two values, without attributes."""

    @operation(name, Op, types, "x x -> x")
    def method(self: Arithmetic, x: Value, y: Value) -> Value:
        same(name, x, y)
        return self.plain(name, (x, y), x.type, x.width)

    method.__doc__ = means
    return method


class Arithmetic(Emitter):
    def _rounded(self, name: str, rounding: Rounding, *args: Value) -> Value:
        x = same(name, *args)
        results = self.fresh(x.type, x.width)
        return self.append(Rounded(name, args, results, self.inst, rounding=rounding))[0]

    @operation("add", Rounded, NUMBER, "x x -> x")
    def add(self, x: Value, y: Value, rounding: Rounding = CR0) -> Value:
        """Sum; integers wrap."""
        return self._rounded("add", rounding, x, y)

    @operation("sub", Rounded, NUMBER, "x x -> x")
    def sub(self, x: Value, y: Value, rounding: Rounding = CR0) -> Value:
        """Difference; integers wrap."""
        return self._rounded("sub", rounding, x, y)

    @operation("mul", Rounded, NUMBER, "x x -> x")
    def mul(self, x: Value, y: Value, rounding: Rounding = CR0) -> Value:
        """Product; integers keep the low half."""
        return self._rounded("mul", rounding, x, y)

    @operation("div", Rounded, NUMBER, "x x -> x")
    def div(self, x: Value, y: Value, rounding: Rounding = CR0) -> Value:
        """Quotient; integers truncate, x/0 is all ones, MIN/-1 is MIN."""
        return self._rounded("div", rounding, x, y)

    @operation("fma", Rounded, FLOAT, "x x x -> x")
    def fma(self, x: Value, y: Value, z: Value, rounding: Rounding = CR0) -> Value:
        """x*y+z with one rounding."""
        return self._rounded("fma", rounding, x, y, z)

    @operation("sqrt", Rounded, FLOAT, "x -> x")
    def sqrt(self, x: Value, rounding: Rounding = CR0) -> Value:
        """Square root, correctly rounded."""
        return self._rounded("sqrt", rounding, x)

    @operation("round", Rounded, FLOAT, "x -> x")
    def round(self, x: Value, rounding: Rounding) -> Value:
        """Round to an integral value; keeps the sign of zero."""
        return self._rounded("round", rounding, x)

    # and, or, xor, not and select work on masks, too
    rem = _binary("rem", INT, "Remainder with the sign of x; x%0 is x, MIN%-1 is 0.")
    and_ = _binary("and", BITS)
    or_ = _binary("or", BITS)
    xor = _binary("xor", BITS)
    not_ = _unary("not", BITS)
    shl = _binary("shl", INT, "Shift left; the count is taken modulo the width in bits.")
    shr = _binary("shr", INT, "Shift right: arithmetic for signed types, logical for unsigned.")
    rotl = _binary("rotl", INT, "Rotate left; the count is taken modulo the width in bits.")
    popcount = _unary("popcount", INT, "Number of set bits.")
    clz = _unary("clz", INT, "Number of leading zeros; the width in bits for 0.")
    ctz = _unary("ctz", INT, "Number of trailing zeros; the width in bits for 0.")
    bitreverse = _unary("bitreverse", INT, "The bits in reverse order.")
    neg = _unary("neg", DATA, "Negate; integers wrap, floats (NaN, too) flip the sign bit.")
    abs = _unary("abs", DATA, "Absolute value; integers wrap, floats clear the sign bit.")
    min = _binary("min", NUMBER, "x if x < y or y is NaN, else y.")
    max = _binary("max", NUMBER, "x if x >= y or y is NaN, else y.")
    flush = _unary("flush", FLOAT, "Flush: a denormal becomes a zero of its sign.")

    @operation("cmp", Compare, NUMBER, "x x -> m")
    def cmp(self, rel: str, x: Value, y: Value) -> Value:
        """Compare; `rel` is eq, ne, lt, le, gt or ge.  With a NaN, only ne holds."""
        same("cmp", x, y)
        results = self.fresh(BOOL, x.width)
        return self.append(Compare("cmp", (x, y), results, self.inst, rel=rel))[0]

    @operation("select", Op, ANY, "m x x -> x")
    def select(self, mask: Value, x: Value, y: Value) -> Value:
        """mask ? x : y"""
        same("select", x, y)
        return self.plain("select", (mask, x, y), x.type, x.width)

    @operation("convert", Convert, DATA, "y -> x")
    def convert(
        self, x: Value, type: Type, *, saturate: bool = False, rounding: Rounding = CR0
    ) -> Value:
        """Convert to another type.

        Int to int truncates, or clamps with `saturate`.  Float to int rounds toward zero and
        clamps; NaN gives 0.  Int to float and float to float round.
        """
        if x.type is type:
            return x
        op = Convert(
            *("convert", (x,), self.fresh(type, x.width), self.inst),
            saturate=saturate,
            rounding=rounding,
        )
        return self.append(op)[0]

    @operation("dot", Dot, frozenset({UD, D, F}), "x y* y* -> x")
    def dot(self, x: Value, b: Value, a: Value, *, rows: int, group: int) -> Value:
        """x plus the matrix product of a (`rows` rows) and b (x.width/rows columns).

        Elements are multiplied in groups of `group` (g).  x has M=rows times N lanes and b has
        D*N*g elements; a has M*D*g, or M*D*N*g with a group for each column.  Row r, column i of
        the result is x[r,i] + the sum over d, then j, ascending, of b[d,i,j] * a[r,d,(i,)j].
        Integers wrap (x is ud or d; a and b are ub or b, each with its own sign).  Floats (x is f;
        a and b are hf, bf or f) are a chain of fused multiply-adds, rounded to nearest even;
        denormals are kept.
        """
        results = self.fresh(x.type, x.width)
        return self.append(Dot("dot", (x, b, a), results, self.inst, rows=rows, group=group))[0]

    # ---- masks

    @operation("any", Op, ANY, "m* -> m1")
    def any(self, m: Value) -> Value:
        """Whether any lane is set."""
        return self.plain("any", (m,), BOOL, 1)

    @operation("all", Op, ANY, "m* -> m1")
    def all(self, m: Value) -> Value:
        """Whether every lane is set."""
        return self.plain("all", (m,), BOOL, 1)

    @operation("mask_bits", InDword, ANY, "m* -> ud1")
    def mask_bits(self, m: Value) -> Value:
        """Lane k becomes bit k; at most 32 lanes."""
        return self.append(InDword("mask_bits", (m,), self.fresh(UD, 1), self.inst))[0]

    @operation("bits_mask", InDword, ANY, "ud1 -> m*")
    def bits_mask(self, x: Value, width: int) -> Value:
        """Bit k becomes lane k."""
        return self.append(InDword("bits_mask", (x,), self.fresh(BOOL, width), self.inst))[0]
