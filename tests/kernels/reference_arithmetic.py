"""Integer and floating-point operations one by one: the rows of the arithmetic kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kernels.case import Array, Buffer, Case, Output, Setup

N = 96
LOCAL_SIZE = 48


@dataclass(frozen=True, slots=True)
class Width:
    """An integer type of OpenCL C."""

    bits: int
    signed: bool

    @property
    def low(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - self.signed) - 1

    def wrap(self, value: int) -> int:
        return (value - self.low) % (1 << self.bits) + self.low

    def saturate(self, value: int) -> int:
        return min(max(value, self.low), self.high)

    def unsigned(self, value: int) -> int:
        return value % (1 << self.bits)


def _quotient(x: int, y: int) -> int:
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def _rotate(x: int, y: int, w: Width) -> int:
    u, s = w.unsigned(x), y % w.bits
    return u << s | u >> (w.bits - s)


IntegerRow = tuple[str, Callable[[int, int, int, Width], int]]
INTEGER_ROWS: dict[str, tuple[IntegerRow, ...]] = {
    "integer_arithmetic": (
        ("x + y", lambda x, y, z, w: x + y),
        ("x - y", lambda x, y, z, w: x - y),
        ("x * y", lambda x, y, z, w: x * y),
        ("x * y + z", lambda x, y, z, w: x * y + z),
        ("-x", lambda x, y, z, w: -x),
        ("min", lambda x, y, z, w: min(x, y)),
        ("max", lambda x, y, z, w: max(x, y)),
        ("x < y ? z : x", lambda x, y, z, w: z if x < y else x),
        ("(x == y) + 2 * (x <= z)", lambda x, y, z, w: (x == y) + 2 * (x <= z)),
        ("clamp", lambda x, y, z, w: min(max(x, min(y, z)), max(y, z))),
    ),
    "integer_division": (
        ("x / y", lambda x, y, z, w: _quotient(x, y or 1)),
        ("x % y", lambda x, y, z, w: x - (y or 1) * _quotient(x, y or 1)),
        ("x / 10", lambda x, y, z, w: _quotient(x, 10)),
        ("x % 7", lambda x, y, z, w: x - 7 * _quotient(x, 7)),
    ),
    "integer_bits": (
        ("x & y", lambda x, y, z, w: x & y),
        ("x | y", lambda x, y, z, w: x | y),
        ("x ^ y", lambda x, y, z, w: x ^ y),
        ("~x", lambda x, y, z, w: ~x),
        ("x << s", lambda x, y, z, w: x << (y & w.bits - 1)),
        ("x >> s", lambda x, y, z, w: x >> (y & w.bits - 1)),
        ("rotate", lambda x, y, z, w: _rotate(x, y, w)),
        ("clz", lambda x, y, z, w: w.bits - w.unsigned(x).bit_length()),
        ("popcount", lambda x, y, z, w: w.unsigned(x).bit_count()),
        ("bitselect", lambda x, y, z, w: x & ~z | y & z),
        ("(x & y) | (~x & z)", lambda x, y, z, w: x & y | ~x & z),
        ("x << 3", lambda x, y, z, w: x << 3),
    ),
    "integer_saturation": (
        ("add_sat", lambda x, y, z, w: w.saturate(x + y)),
        ("sub_sat", lambda x, y, z, w: w.saturate(x - y)),
        ("abs", lambda x, y, z, w: abs(x)),
        ("abs_diff", lambda x, y, z, w: abs(x - y)),
        ("hadd", lambda x, y, z, w: x + y >> 1),
        ("rhadd", lambda x, y, z, w: x + y + 1 >> 1),
        ("mul_hi", lambda x, y, z, w: x * y >> w.bits),
        ("mad_sat", lambda x, y, z, w: w.saturate(x * y + z)),
    ),
}
INTEGER_TYPES = {
    **{"char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16},
    **{"int": np.int32, "uint": np.uint32, "long": np.int64, "ulong": np.uint64},
}


def _integer_inputs(case: Case, dtype: type[np.integer], w: Width) -> Array:
    """Three rows: random numbers of every magnitude, then corner values in all pairs."""
    rng = case.rng()
    bits = rng.integers(0, 2**63, (3, case.n), dtype=np.uint64) * np.uint64(2)
    values = (bits.astype(dtype) >> rng.integers(0, w.bits, (3, case.n)).astype(dtype)).astype(
        dtype
    )
    corners = [0, 1, w.wrap(-1), w.low, w.high, 5]
    pairs = np.array([(x, y) for x in corners for y in corners], dtype=dtype).T
    values[:2, : pairs.shape[1]] = pairs
    # The quotient of the lowest number and -1 does not fit: undefined.
    values[1, (values[0] == w.low) & (values[1] == w.wrap(-1)) & (w.low < 0)] = 3
    return values


def _as_compiled(
    name: str, x: int, y: int, z: int, w: Width, right: int, *, newest: bool = False
) -> int:
    """What the compiler's code (IGC 1.0.12504) gives: its 64-bit saturation has three mistakes.

    IGC 2.40, the `newest` that was tried, has the last two, and one of its own: `sub_sat(long)`
    looks for overflow of positive numbers only, and zero minus the lowest number overflows, too.

    `add_sat(long)` looks for a positive sum to see underflow, and the lowest number twice sums to
    zero; `rhadd(ulong)` looks for a sum below an operand, and with both at the maximum it is equal;
    `mad_sat(long)` takes a zero product of operands of different sign for underflow, and misses
    underflow when the product itself still fits.
    """
    if w.bits != 64:
        return right
    product = x * y
    if name == "add_sat" and w.low < 0 and x == y == w.low and not newest:
        return w.high
    if name == "sub_sat" and w.low < 0 and x == 0 and y == w.low and newest:
        return w.low
    if name == "rhadd" and w.low == 0 and x == y == w.high:
        return w.high >> 1
    if name == "mad_sat" and w.low < 0:
        if product == 0 and (x < 0) != (y < 0):
            return w.low
        if w.low < product < 0 and product + z < w.low:
            return w.wrap(product + z)
    return right


def integer(case: Case, dtype: type[np.integer]) -> Setup:
    w = Width(np.dtype(dtype).itemsize * 8, np.issubdtype(dtype, np.signedinteger))
    abc = _integer_inputs(case, dtype, w)
    rows = INTEGER_ROWS[case.kernel]
    triples = [tuple(map(int, t)) for t in abc.T]
    want = np.array([[w.wrap(f(x, y, z, w)) for x, y, z in triples] for _, f in rows], dtype=dtype)
    compiled, now = (
        np.array(
            [
                [
                    _as_compiled(name, *t, w, int(v), newest=newest)
                    for t, v in zip(triples, row, strict=True)
                ]
                for (name, _), row in zip(rows, want, strict=True)
            ],
            dtype=dtype,
        )
        for newest in (False, True)
    )
    names = tuple(name for name, _ in rows)
    output = Output(3, want, rows=names, compiled=compiled, compiled_now=now)
    return Setup((*map(Buffer, abc), Buffer(np.zeros_like(want))), (output,))


def _nearest(exact: Fraction, dtype: np.dtype[np.floating]) -> np.floating:
    """`exact` rounded once, to nearest even."""
    with np.errstate(over="ignore"):
        first = dtype.type(float(exact))
    if not np.isfinite(first):
        return first
    around = [np.nextafter(first, dtype.type(side)) for side in (-np.inf, np.inf)]
    bits = f"u{dtype.itemsize}"

    def distance(value: np.floating) -> tuple[Fraction, int]:
        return abs(Fraction(float(value)) - exact), int(value.view(bits)) & 1

    return min((first, *filter(np.isfinite, around)), key=distance)


def _fma(x: Array, y: Array, z: Array) -> Array:
    """x * y + z with one rounding, which NumPy does not have."""
    with np.errstate(all="ignore"):
        plain = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
    want = plain.astype(x.dtype)
    for i in np.flatnonzero(np.isfinite(plain) & (plain != 0)):
        exact = Fraction(float(x[i])) * Fraction(float(y[i])) + Fraction(float(z[i]))
        want[i] = _nearest(exact, x.dtype)
    return want


def _round(x: Array) -> Array:
    """To nearest, halves away from zero."""
    down = np.floor(np.abs(x))
    return np.copysign(down + (np.abs(x) - down >= 0.5), x)


FloatRow = tuple[str, Callable[[Array, Array, Array], Array]]
FLOAT_ROWS: dict[str, tuple[FloatRow, ...]] = {
    "float_arithmetic": (
        ("x + y", lambda x, y, z: x + y),
        ("x - y", lambda x, y, z: x - y),
        ("x * y", lambda x, y, z: x * y),
        ("fma", _fma),
        ("-x", lambda x, y, z: -x),
        ("fabs", lambda x, y, z: np.abs(x)),
        ("fmin", lambda x, y, z: np.fmin(x, y)),
        ("fmax", lambda x, y, z: np.fmax(x, y)),
        ("x < y ? z : x", lambda x, y, z: np.where(x < y, z, x)),
        ("copysign", lambda x, y, z: np.copysign(x, y)),
    ),
    "float_division": (
        ("x / y", lambda x, y, z: x / y),
        ("sqrt", lambda x, y, z: np.sqrt(np.abs(x))),
        ("1 / x", lambda x, y, z: 1 / x),
    ),
    "float_rounding": (
        ("floor", lambda x, y, z: np.floor(x)),
        ("ceil", lambda x, y, z: np.ceil(x)),
        ("trunc", lambda x, y, z: np.trunc(x)),
        ("rint", lambda x, y, z: np.rint(x)),
        ("round", lambda x, y, z: _round(x)),
        ("x - floor(x)", lambda x, y, z: x - np.floor(x)),
    ),
    "float_comparison": (
        ("x < y", lambda x, y, z: x < y),
        ("x <= y", lambda x, y, z: x <= y),
        ("x > y", lambda x, y, z: x > y),
        ("x >= y", lambda x, y, z: x >= y),
        ("x == y", lambda x, y, z: x == y),
        ("x != y", lambda x, y, z: x != y),
        ("isnan", lambda x, y, z: np.isnan(x)),
        ("isinf", lambda x, y, z: np.isinf(x)),
        ("signbit", lambda x, y, z: np.signbit(x)),
        ("!(x < y)", lambda x, y, z: ~(x < y)),
    ),
}
# Units in the last place that OpenCL allows for division and square root.
FLOAT_TYPES = {
    "half": (np.float16, 1.0),
    "float": (np.float32, 3.0),
    "float_exact": (np.float32, 0.0),
    "double": (np.float64, 0.0),
}


def _float_inputs(case: Case, dtype: type[np.floating], special: bool) -> Array:
    """Three rows; with `special` also NaN, infinities, subnormals and zeros (never two at once)."""
    rng, info = case.rng(), np.finfo(dtype)
    values = (rng.uniform(1, 2, (3, case.n)) * 2.0 ** rng.integers(-6, 6, (3, case.n))).astype(
        dtype
    )
    values *= rng.choice(np.array([-1, 1], dtype), values.shape)
    values[0, :8] = (0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 1, -4)
    values[1, 4:12] = values[0, 4:12]
    if special:
        tiny, least = info.smallest_normal, info.smallest_subnormal
        odd = np.array([0, -0.0, np.inf, -np.inf, np.nan, tiny, least, 3 * least, info.max], dtype)
        values[0, 20:29], values[1, 30:39], values[2, 40:49] = odd, odd, odd
        values[0, 50:54], values[1, 50:54] = tiny * dtype(1.5), (0.5, 0.25, 0.75, 2)
        values[0, 54:58] = (np.inf, np.nan, np.inf, -np.inf)
        values[1, 54:58] = (np.inf, np.nan, -np.inf, np.nan)
    return values


def floating(case: Case, dtype: type[np.floating], ulps: float) -> Setup:
    dividing = case.kernel == "float_division"
    abc = _float_inputs(case, dtype, special=not dividing or ulps == 0)
    rows = FLOAT_ROWS[case.kernel]
    with np.errstate(all="ignore"):
        want = np.array([f(*abc) for _, f in rows])
    names, rtol = tuple(name for name, _ in rows), ulps * float(np.finfo(dtype).eps)
    if case.kernel == "float_comparison":
        truth = want.astype(f"i{abc.dtype.itemsize}")
        result = Buffer(np.zeros_like(truth))
        return Setup((Buffer(abc[0]), Buffer(abc[1]), result), (Output(2, truth, rows=names),))
    want = want.astype(dtype)
    output = Output(
        *(3, want, rtol if dividing else 0.0),
        rows=names,
        bits=case.kernel == "float_arithmetic",
    )
    return Setup((*map(Buffer, abc), Buffer(np.zeros_like(want))), (output,))


def _integer_case(name: str, kernel: str) -> Case:
    dtype = INTEGER_TYPES[name]
    sizes = ((N,), (LOCAL_SIZE,))
    return Case(f"arithmetic_{name}", kernel, *sizes, lambda case: integer(case, dtype))


def _float_case(name: str, kernel: str) -> Case:
    dtype, ulps = FLOAT_TYPES[name]
    sizes = ((N,), (LOCAL_SIZE,))
    return Case(f"arithmetic_{name}", kernel, *sizes, lambda case: floating(case, dtype, ulps))


CASES = (
    *(_integer_case(name, kernel) for name in INTEGER_TYPES for kernel in INTEGER_ROWS),
    *(_float_case(name, kernel) for name in FLOAT_TYPES for kernel in FLOAT_ROWS),
)
