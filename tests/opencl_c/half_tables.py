"""Half precision: arithmetic, comparisons, vectors and functions, with their NumPy twins."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opencl_c.suite import patterns
from opencl_c.table import Piece, Row, Table, Twin

COUNT = 4096
HALF = np.float16
_COMPILER = "the compiler's sequence gives +0 for -0"
Wide = NDArray[np.float64]


def _wide(function: Callable[..., Any]) -> Twin:
    """A function of doubles: its result is rounded once."""

    def twin(p: Piece) -> Any:
        return np.asarray(function(*(x.astype(np.float64) for x in p.inputs)), HALF)

    return twin


def _each(function: Callable[..., float]) -> Twin:
    """The same for a function of Python's floats; what it does not define is NaN."""

    def one(*given: float) -> float:
        try:
            return function(*given)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return _wide(np.vectorize(one, otypes=[np.float64]))


def _least(a: Wide, b: Wide, c: Any = None) -> Any:
    return np.fmin(a, b)


def _between(p: Piece) -> Any:
    """Where the ends of clamp are no NaN; OpenCL leaves the rest open."""
    return ~(np.isnan(p.a) | np.isnan(p.b) | np.isnan(p.c))


def _finite(p: Piece) -> Any:
    return np.isfinite(p.a) & np.isfinite(p.b)


def _fused(p: Piece) -> Any:
    return _product_and_sum(p.a, p.b, p.c)


def _mixed_fused(p: Piece) -> Any:
    return _product_and_sum(p.b - p.a, p.c, p.a)


def _product_and_sum(*halves: NDArray[Any]) -> Any:
    """x·y + z, rounded once: the product is exact in doubles, and the sum is made odd."""
    a, b, c = (x.astype(np.float64) for x in halves)
    product = a * b
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    odd = (total.view(np.int64) & 1) == 1
    away = np.where((error > 0) == (total > 0), 1, -1)
    change = np.isfinite(total) & np.isfinite(error) & (error != 0) & ~odd
    # An even sum that is not exact steps to the odd neighbour on the side of the error.
    bits = np.where(change, total.view(np.int64) + away, total.view(np.int64))
    return np.where(change, bits.view(np.float64), total).astype(HALF)


def _next(p: Piece) -> Any:
    return np.nextafter(p.a, p.b)


_THREE = tuple(patterns(COUNT, k) for k in range(3))
_ALL = np.arange(1 << 16).astype(np.uint16).view(HALF)

ARITHMETIC = Table(
    "half_arithmetic",
    ("half", "half", "half"),
    "half",
    (
        Row("a + b", _wide(lambda a, b, c: a + b)),
        Row("a - b", _wide(lambda a, b, c: a - b)),
        Row("a * b", _wide(lambda a, b, c: a * b)),
        Row("a / b", _wide(lambda a, b, c: a / b)),
        Row("fma(a, b, c)", _fused),
        Row("-a", lambda p: -p.a),
        Row("fabs(a)", lambda p: np.abs(p.a)),
        Row("fmin(a, b)", _wide(_least), zeros=True),
        Row("fmax(a, b)", _wide(lambda a, b, c: np.fmax(a, b)), zeros=True),
        Row("copysign(a, b)", lambda p: np.copysign(p.a, p.b)),
        Row("fdim(a, b)", _wide(lambda a, b, c: np.where(a <= b, 0.0, a - b))),
        Row("fmod(a, b)", _wide(lambda a, b, c: np.fmod(a, b))),
        Row("remainder(a, b)", _each(lambda a, b, c: math.remainder(a, b))),
        Row("nextafter(a, b)", _next, zeros=True),
        Row("step(a, b)", _wide(lambda a, b, c: np.where(b < a, 0.0, 1.0))),
        Row(
            "clamp(a, fmin(b, c), fmax(b, c))",
            _wide(lambda a, b, c: np.fmin(np.fmax(a, np.fmin(b, c)), np.fmax(b, c))),
            zeros=True,
            defined=_between,
        ),
        Row("maxmag(a, b)", _wide(lambda a, b, c: _magnitude(a, b, 1)), zeros=True),
        Row("minmag(a, b)", _wide(lambda a, b, c: _magnitude(a, b, -1)), zeros=True),
        Row("mix(a, b, c)", lambda p: (p.b - p.a) * p.c + p.a, fused=_mixed_fused),
        Row("a > b ? a : c", lambda p: np.where(p.a > p.b, p.a, p.c)),
        Row("select(a, b, (short)(c > 0 ? -1 : 0))", lambda p: np.where(p.c > 0, p.b, p.a)),
        Row("bitselect(a, b, c)", lambda p: _bits(p.a, p.b, p.c)),
        Row("r = a; r += b; r *= c;", lambda p: (p.a + p.b) * p.c),
    ),
    _THREE,
)


def _magnitude(a: Wide, b: Wide, sign: int) -> Any:
    """The one that is larger (smaller, if `sign` is -1) without its sign."""
    x, y = sign * np.abs(a), sign * np.abs(b)
    either = np.fmax(a, b) if sign > 0 else np.fmin(a, b)
    return np.where(x > y, a, np.where(y > x, b, either))


def _bits(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Any:
    x, y, z = (v.view(np.uint16) for v in (a, b, c))
    return ((x & ~z) | (y & z)).view(HALF)


def _truth(function: Callable[[Piece], Any]) -> Twin:
    return lambda p: function(p).astype(np.int32)


RELATIONAL = Table(
    "half_relational",
    ("half", "half"),
    "int",
    (
        Row("isequal(a, b)", _truth(lambda p: p.a == p.b)),
        Row("isnotequal(a, b)", _truth(lambda p: p.a != p.b)),
        Row("isgreater(a, b)", _truth(lambda p: p.a > p.b)),
        Row("isgreaterequal(a, b)", _truth(lambda p: p.a >= p.b)),
        Row("isless(a, b)", _truth(lambda p: p.a < p.b)),
        Row("islessequal(a, b)", _truth(lambda p: p.a <= p.b)),
        Row("islessgreater(a, b)", _truth(lambda p: (p.a < p.b) | (p.a > p.b))),
        Row("isordered(a, b)", _truth(lambda p: ~(np.isnan(p.a) | np.isnan(p.b)))),
        Row("isunordered(a, b)", _truth(lambda p: np.isnan(p.a) | np.isnan(p.b))),
        Row("isfinite(a)", _truth(lambda p: np.isfinite(p.a))),
        Row("isinf(a)", _truth(lambda p: np.isinf(p.a))),
        Row("isnan(a)", _truth(lambda p: np.isnan(p.a))),
        Row(
            "isnormal(a)",
            _truth(lambda p: np.isfinite(p.a) & (np.abs(p.a) >= np.finfo(HALF).tiny)),
        ),
        Row("signbit(a)", _truth(lambda p: np.signbit(p.a))),
        Row("a == b", _truth(lambda p: p.a == p.b)),
        Row("a < b", _truth(lambda p: p.a < p.b)),
        Row("!a", _truth(lambda p: p.a == 0)),
        Row("a && b", _truth(lambda p: (p.a != 0) & (p.b != 0))),
    ),
    _THREE[:2],
)


def _sign(a: Wide) -> Any:
    return np.where(np.isnan(a), 0.0, np.copysign(np.abs(np.sign(a)), a))


ROUNDING = Table(
    "half_rounding",
    ("half",),
    "half",
    (
        Row("floor(a)", _wide(np.floor)),
        Row("ceil(a)", _wide(np.ceil)),
        Row("trunc(a)", _wide(np.trunc)),
        Row("rint(a)", _wide(np.rint)),
        Row(
            "round(a)",
            _wide(lambda a: np.copysign(np.floor(np.abs(a) + 0.5), a)),
            zeros=True,  # round(-0): the compiler's sequence adds a half
        ),
        Row("half p; r = fract(a, &p);", _wide(lambda a: _fraction(a)), zeros=True,
            theirs="fract of an infinity is a zero"),
        Row("half p; fract(a, &p); r = p;", _wide(np.floor), zeros=True),
        Row("half p; r = modf(a, &p);", _wide(lambda a: np.modf(a)[0]), zeros=True),
        Row("half p; modf(a, &p); r = p;", _wide(lambda a: np.modf(a)[1]), zeros=True),
        Row("int e; r = frexp(a, &e);", _wide(lambda a: np.frexp(a)[0]), zeros=True),
        Row(
            "int e; frexp(a, &e); r = e;",
            _wide(lambda a: np.where(np.isfinite(a), np.frexp(a)[1], 0)),
            defined=lambda p: np.isfinite(p.a),
        ),
        Row("logb(a)", _wide(lambda a: _exponent(a))),
        Row(
            "r = ilogb(a);",
            _wide(lambda a: _exponent(a)),
            defined=lambda p: np.isfinite(p.a) & (p.a != 0),
        ),
        Row("ldexp(a, 3)", _wide(lambda a: a * 8)),
        Row("ldexp(a, -7)", _wide(lambda a: a / 128)),
        Row("sign(a)", _wide(_sign)),
        Row("sqrt(a)", _wide(np.sqrt)),
        Row("rsqrt(a)", _wide(lambda a: 1 / np.sqrt(a)), ulps=1),
        Row("degrees(a)", _wide(np.degrees), ulps=2),
        Row("radians(a)", _wide(np.radians), ulps=2),
    ),
    (_ALL,),
)  # fmt: skip


def _fraction(a: Wide) -> Any:
    # OpenCL C has the largest number below 1 where the difference rounds to 1; the compiler, 1.
    found = np.fmin(a - np.floor(a), 1.0)
    return np.where(np.isinf(a), np.copysign(0.0, a), np.where(np.isnan(a), np.nan, found))


def _exponent(a: Wide) -> Any:
    finite = np.frexp(a)[1] - 1.0
    special = np.where(a == 0, -np.inf, np.where(np.isnan(a), np.nan, np.inf))
    return np.where(np.isfinite(a) & (a != 0), finite, special)


VECTORS = Table(
    "half_vectors",
    ("half4", "half4", "half4"),
    "half4",
    (
        Row("a + b * c", None, defined=lambda p: np.zeros(len(p.a), bool)),  # may be contracted
        Row("a - b", lambda p: p.a - p.b),
        Row("(half4)(a.xy, b.zw)", lambda p: np.hstack([p.a[:, :2], p.b[:, 2:]])),
        Row("a.wzyx", lambda p: p.a[:, ::-1]),
        Row("(half4)(a.even, b.odd)", lambda p: np.hstack([p.a[:, ::2], p.b[:, 1::2]])),
        Row("fmin(a, b)", lambda p: np.fmin(p.a, p.b), zeros=True),
        Row("a < b ? a : c", lambda p: np.where(p.a < p.b, p.a, p.c)),
        Row(
            "shuffle2(a, b, (ushort4)(6, 1, 7, 0))",
            lambda p: np.hstack([p.a, p.b])[:, [6, 1, 7, 0]],
        ),
        Row("vload4(0, (global const half *)(a_ + i))", lambda p: p.a),
        Row("r.x = dot(a, b);", None, defined=lambda p: np.zeros(len(p.a), bool)),
        Row("convert_half4(convert_float4(a) + 1.0f)", lambda p: _plus_one(p.a)),
        Row("as_half4(as_ushort4(a) ^ (ushort)0x8000)", lambda p: -p.a),
        Row(
            "half8 v = (half8)(a, b); r = v.s0246 - v.s7531;",
            lambda p: np.hstack([p.a, p.b])[:, ::2] - np.hstack([p.a, p.b])[:, [7, 5, 3, 1]],
        ),
        Row(
            "half16 v = (half16)(a, b, c, a); r = v.sfb73;",
            lambda p: np.stack([p.a[:, 3], p.c[:, 3], p.b[:, 3], p.a[:, 3]], 1),
        ),
        Row("half3 v = a.xyz * b.xyz; r = (half4)(v, c.w);", lambda p: _three(p.a, p.b, p.c)),
        Row("r[i & 3] = a[(i + 1) & 3];", lambda p: _picked(p.a)),
    ),
    tuple(x[:2048] for x in _THREE),
)  # fmt: skip


def _plus_one(a: NDArray[Any]) -> Any:
    return (a.astype(np.float32) + np.float32(1)).astype(HALF)


def _three(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Any:
    found = c.copy()
    found[:, :3] = a[:, :3] * b[:, :3]
    return found


def _picked(a: NDArray[Any]) -> Any:
    k = np.arange(len(a))
    found = np.zeros_like(a)
    found[k, k & 3] = a[k, (k + 1) & 3]
    return found


def _over_pi(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: function(*given) / math.pi


def _turned(function: Callable[[Wide], Any]) -> Callable[[Wide], Any]:
    """sin(πx) and the like, with x made small first, which is exact."""

    def of(a: Wide) -> Any:
        return function(np.fmod(a, 2.0) * math.pi)

    return of


def _sine_of_pi(a: Wide) -> Any:
    r = np.fmod(a, 2.0)
    return np.where(r == np.trunc(r), 0.0, np.sin(r * math.pi))


def _cosine_of_pi(a: Wide) -> Any:
    r = np.abs(np.fmod(a, 2.0))
    return np.where((r == 0.5) | (r == 1.5), 0.0, np.cos(r * math.pi))


def _gamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    return math.nan if x == -math.inf else math.gamma(x)


# (function, of doubles, units in the last place that OpenCL C allows)
_ONE = (
    ("exp", np.exp, 2), ("exp2", np.exp2, 2), ("exp10", lambda a: np.power(10.0, a), 2),
    ("expm1", np.expm1, 2), ("log", np.log, 2), ("log2", np.log2, 2), ("log10", np.log10, 2),
    ("log1p", np.log1p, 2), ("sin", np.sin, 2), ("cos", np.cos, 2), ("tan", np.tan, 2),
    ("asin", np.arcsin, 2), ("acos", np.arccos, 2), ("atan", np.arctan, 2), ("sinh", np.sinh, 2),
    ("cosh", np.cosh, 2), ("tanh", np.tanh, 2), ("asinh", np.arcsinh, 2), ("acosh", np.arccosh, 2),
    ("atanh", np.arctanh, 2), ("sinpi", _sine_of_pi, 2), ("cospi", _cosine_of_pi, 2),
    ("asinpi", _over_pi(np.arcsin), 2), ("acospi", _over_pi(np.arccos), 2),
    ("atanpi", _over_pi(np.arctan), 2), ("cbrt", np.cbrt, 2),
)  # fmt: skip
_SPECIAL = (("erf", math.erf, 4), ("erfc", math.erfc, 4), ("tgamma", _gamma, 4))
_TWO = (
    ("pow", np.power, 4), ("atan2", np.arctan2, 2), ("atan2pi", _over_pi(np.arctan2), 2),
    ("hypot", np.hypot, 2),
)  # fmt: skip


def _function_tables(each: int = 5) -> list[Table]:
    """A few functions a kernel: large kernels take long to compile."""
    rows = [Row(f"{name}(a)", _wide(f), ulps, zeros=True) for name, f, ulps in _ONE]
    rows += [Row(f"{name}(a)", _each(f), ulps, zeros=True) for name, f, ulps in _SPECIAL]
    found = [
        Table(f"half_functions_{k // each}", ("half",), "half", tuple(rows[k : k + each]), (_ALL,))
        for k in range(0, len(rows), each)
    ]
    two = tuple(Row(f"{name}(a, b)", _wide(f), ulps, zeros=True) for name, f, ulps in _TWO)
    return [*found, Table("half_functions_two", ("half", "half"), "half", two, _THREE[:2])]


FUNCTIONS = tuple(_function_tables())
TABLES = (ARITHMETIC, RELATIONAL, ROUNDING, VECTORS)
